//! A list of consumers makes a replay contract for each.

use std::sync::Arc;

use karwan::registry::{Event, events};
use karwan::store::metrics::{Result as Consumed, Subscription};
use karwan::store::simulation::leave_out;
use karwan::testing::{Throwaway, replay, replay_in};
use karwan::{
    Catalogue, Consumer, Document, Error, Kind, KindType, Options, Platform, Received, Service, Store, TenantTx,
    Verdict,
};
use karwan_testkit::simulation::{Rule, Undisturbed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Somebody pressed it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[event(
    crate = "karwan::registry",
    subject = "bell.porter.bell.pressed.v1",
    owner = "porter-service",
    retention = "year",
    key = "{door}",
    idempotency = "{door}:{time}"
)]
struct Pressed {
    /// Where.
    door: String,
    /// Which time.
    time: i64,
}

/// Somebody was let in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[event(
    crate = "karwan::registry",
    subject = "bell.porter.bell.answered.v1",
    owner = "porter-service",
    retention = "year",
    key = "{door}",
    idempotency = "{door}:{time}"
)]
struct Answered {
    /// Where.
    door: String,
    /// Which time.
    time: i64,
}

/// How often a door was pressed.
#[derive(Clone, Serialize, Deserialize)]
struct Door {
    door: String,
    times: i64,
}

impl Document for Door {
    const KIND: Kind = Kind::named("door");
    fn id(&self) -> String {
        self.door.clone()
    }
}

static BELL: Platform = Platform::plain("bell", &[Service { name: "porter-service", token: "porter" }], || {
    events![Pressed, Answered].into()
});

fn kinds() -> Vec<KindType> {
    vec![KindType::of::<Door>()]
}

fn porter() -> Consumer {
    Consumer::new("porter-service", "porter").on(async |tx: TenantTx, pressed: Received<Pressed>| {
        let Pressed { door, time } = pressed.event;
        let before: Option<Door> = tx.find(&door).await?;
        tx.put(Door { door: door.clone(), times: before.map_or(0, |door| door.times) + 1 });
        tx.emit(Answered { door, time });
        Ok::<_, Error>(Verdict::Done)
    })
}

fn watchman() -> Consumer {
    Consumer::new("porter-service", "watchman")
        .on(async |_: TenantTx, _: Received<Pressed>| Ok::<_, Error>(Verdict::Done))
        .on(async |_: TenantTx, _: Received<Answered>| Ok::<_, Error>(Verdict::Done))
}

async fn somebody_rings(store: Store) -> Result<(), Error> {
    for time in 1..=3 {
        let ring = async |tx: TenantTx| {
            tx.emit(Pressed { door: "front".to_owned(), time });
            Ok::<_, Error>(())
        };
        store.unit(&karwan::context("porter-service", 1), ring).await?;
    }
    Ok(())
}

async fn somebody_rings_and_is_let_in(store: Store) -> Result<(), Error> {
    somebody_rings(store.clone()).await?;
    let open = async |tx: TenantTx| {
        tx.emit(Answered { door: "front".to_owned(), time: 1 });
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("porter-service", 1), open).await.map(drop)
}

karwan::consumers! {
    platform: &BELL,
    kinds: kinds(),
    porter => somebody_rings,
    watchman => somebody_rings_and_is_let_in,
}

#[test]
fn the_list_is_what_a_node_starts() {
    let names: Vec<String> = consumers().iter().map(|consumer| consumer.name().to_owned()).collect();
    assert_eq!(names, ["porter-service.porter", "porter-service.watchman"]);
}

#[test]
#[should_panic(expected = "no event of bell.porter.bell.answered.v1 was handled")]
fn a_contract_that_leaves_an_event_out_does_not_hold() {
    replay(&BELL, kinds(), watchman(), somebody_rings);
}

#[test]
#[should_panic(expected = "one of its events failed")]
fn a_contract_of_a_consumer_that_fails_does_not_hold() {
    let clumsy = Consumer::new("porter-service", "clumsy").on(async |tx: TenantTx, pressed: Received<Pressed>| {
        if pressed.event.time == 2 {
            return Ok(Verdict::Dead("it fell".to_owned()));
        }
        let _: Option<Door> = tx.find("front").await?;
        Ok::<_, Error>(Verdict::Done)
    });
    replay(&BELL, kinds(), clumsy, somebody_rings);
}

/// What the contract of a consumer says over a store that claims nothing, as a handler that does not commit with its claim would.
async fn unclaimed(consumer: Consumer) -> Result<(), String> {
    let catalogue = Arc::new(Catalogue::of(&BELL).expect("its events make a catalogue"));
    let simulated = |options| Options { simulation: Some(Arc::new(Undisturbed)), ..options };
    let place = Throwaway::opened(catalogue, kinds(), simulated).await.expect("it can be made");
    // On this thread, on which a simulated store does its work.
    leave_out(Some(Rule::Claim));
    let held = replay_in(&place, &consumer, somebody_rings).await;
    leave_out(None);
    held
}

#[tokio::test]
async fn a_contract_of_a_consumer_that_handles_an_event_twice_does_not_hold() {
    let counter = Consumer::new("porter-service", "counter")
        .on(async |_: TenantTx, _: Received<Pressed>| Ok::<_, Error>(Verdict::Done));
    assert_eq!(unclaimed(counter).await, Err("an event that was delivered twice was handled twice".to_owned()));
}

/// What it tells is in the log already: it is not handled again, and nobody knew before.
#[tokio::test]
async fn a_contract_of_a_consumer_that_tells_the_same_twice_does_not_hold() {
    assert_eq!(unclaimed(porter()).await, Err("not every event was delivered twice".to_owned()));
}

/// It answers beside its unit of work, whenever it hears that somebody has rung once more.
#[test]
#[should_panic(expected = "delivering twice has brought about more events")]
fn a_contract_of_a_consumer_that_tells_something_past_its_unit_does_not_hold() {
    let (handed, store) = tokio::sync::watch::channel(None::<Store>);
    let hasty = Consumer::new("porter-service", "hasty").on(move |_: TenantTx, pressed: Received<Pressed>| {
        let store = store.borrow().clone().expect("it was handed over");
        if pressed.event.time == 1 {
            tokio::spawn(answers_once_more(store));
        }
        async { Ok::<_, Error>(Verdict::Done) }
    });
    let given = async |store: Store| {
        handed.send_replace(Some(store.clone()));
        somebody_rings(store).await
    };
    replay(&BELL, kinds(), hasty, given);
}

async fn answers_once_more(store: Store) {
    let by = Subscription { service: "porter-service", topic: Pressed::SUBJECT, consumer: "porter-service.hasty" };
    while store.metrics().count(&by, Consumed::Noop) == 0 {
        tokio::task::yield_now().await;
    }
    let answer = async |tx: TenantTx| {
        tx.emit(Answered { door: "front".to_owned(), time: 1 });
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("porter-service", 1), answer).await.expect("it can be told");
}
