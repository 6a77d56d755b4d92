//! Park, then acknowledge: a process that ends right before it parks has passed nothing on, and whoever follows begins there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use karwan_broker::Broker;
use karwan_engine::{Consumer, Engine, Received, Relay, Verdict, Work};
use karwan_store::simulation::{Fate, Simulation};
use karwan_store::{Error, Store, TenantTx};
use karwan_testkit::nats::Options;
use tokio::sync::Notify;

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::{broker, server, topology};
use crate::shop::{self, OrderChanged};

const NAME: &str = "sales-service.secretary";
const OTHERS: usize = 5;

/// Lets nobody park any more once an event has failed, and counts beats: in between positions are saved, and streams told.
#[derive(Default)]
struct Unparked {
    failed: AtomicBool,
    reached: Notify,
    beats: AtomicU32,
}

impl Simulation for Unparked {
    fn before(&self, call: &'static str) -> Fate {
        if call.contains("::park::") && self.failed.load(Ordering::Relaxed) {
            self.reached.notify_one();
            return Box::pin(std::future::pending());
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, call: &'static str) -> Fate {
        if call.contains("::beat::") {
            self.beats.fetch_add(1, Ordering::Relaxed);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Notes revisions, one a transaction; the second one of order `bad` fails where somebody wants to hear of it.
fn picky(failed: Option<Arc<Unparked>>) -> Consumer {
    let consumer = Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, got: Received<OrderChanged>| {
        let failed = failed.clone();
        async move {
            let OrderChanged { order_id, revision } = got.event;
            if let Some(held) = failed.filter(|_| order_id == "bad" && revision == 2) {
                held.failed.store(true, Ordering::Relaxed);
                return Ok(Verdict::Retry("no".to_owned()));
            }
            note(&tx, &order_id, &revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        }
    });
    consumer.lanes(1).batch(1)
}

/// Order `bad`, and others behind it.
async fn orders(fixture: &Fixture) {
    // Nothing of its key comes behind the one that fails: its lane could go on, and be saved.
    fixture.order(1, "bad", 2).await;
    for number in 0..OTHERS {
        fixture.order(1, &format!("o-{number}"), 2).await;
    }
}

async fn held_before_parking(fixture: &Fixture, held: &Arc<Unparked>, work: Work) -> Engine {
    let options = karwan_store::Options {
        clock: fixture.clock.clone(),
        simulation: Some(held.clone()),
        ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
    };
    let store = Store::open(&fixture.address, options).await.expect("a migrated store opens");
    let engine = fixture.start_over(&store, "n-1", work);
    held.reached.notified().await;
    // Whatever could be saved or acknowledged by mistake has had its time.
    let beats = held.beats.load(Ordering::Relaxed);
    until("two beats", async || (held.beats.load(Ordering::Relaxed) >= beats + 2).then_some(())).await;
    engine
}

/// Whoever follows finds everything.
async fn is_whole(fixture: &Fixture, heir: Engine) {
    for id in std::iter::once("bad".to_owned()).chain((0..OTHERS).map(|number| format!("o-{number}"))) {
        until(&id, async || {
            let found = fixture.notes(1, &id).await;
            assert!("12".starts_with(&found), "{id}: {found}");
            (found == "12").then_some(())
        })
        .await;
    }
    heir.stop().await;
}

#[test]
fn a_process_that_ends_before_it_parks_has_saved_no_position_behind_the_event() {
    fixture::run(fixture::sqlite(), async |fixture: Fixture| {
        orders(&fixture).await;
        let held = Arc::new(Unparked::default());
        let engine = held_before_parking(&fixture, &held, Work::new().consumer(picky(Some(held.clone())))).await;
        let bad = row_of_the_second(&fixture).await;
        let positions = fixture.store.relay().positions(NAME).await.expect("they can be asked for");
        assert!(
            positions.iter().all(|position| *position < bad),
            "{positions:?} are behind {bad}, which is in no store"
        );
        drop(engine);
        fixture.lease_runs_out().await;
        let heir = fixture.start_work("n-2", Work::new().consumer(picky(None)));
        is_whole(&fixture, heir).await;
    });
}

#[test]
fn a_process_that_ends_before_it_parks_has_acknowledged_nothing_behind_the_event() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let Some(fixture) = fixture::sqlite().await else { return };
        let relay = producer.start_work("relay", Work::new().relay(Relay::new(broker(&server).await, topology())));
        orders(&producer).await;
        let end = producer.store.relay().end().await.expect("it can be asked");
        relay.published("SALES", end).await.expect("it is published");
        let work = |held: Option<&Arc<Unparked>>, broker: Broker| {
            Work::new().consumer(picky(held.cloned()).from_stream("SALES")).broker(broker)
        };
        let held = Arc::new(Unparked::default());
        let engine = held_before_parking(&fixture, &held, work(Some(&held), broker(&server).await)).await;
        let out = broker(&server).await.out("SALES", "sales-service-secretary").await.expect("it can be asked");
        // All but the first one: what is acknowledged is everything before it.
        assert_eq!(out.unacked, 1 + 2 * OTHERS as u64, "something was acknowledged behind what is in no store");
        let positions = fixture.store.relay().positions(NAME).await.expect("they can be asked for");
        assert!(positions.iter().all(|position| *position < 3), "{positions:?}");
        drop(engine);
        fixture.lease_runs_out().await;
        let heir = fixture.start_work("n-2", work(None, broker(&server).await));
        is_whole(&fixture, heir).await;
        relay.stop().await;
    });
}

/// The number of the event that fails.
async fn row_of_the_second(fixture: &Fixture) -> i64 {
    let rows = fixture.store.relay().rows(0, i64::MAX, &karwan_store::log::Filter::default(), 1000).await;
    let rows = rows.expect("it can be read");
    let of_bad = |row: &&karwan_store::log::LogRow| row.envelope.contains("\"bad\"") && row.subject.contains("changed");
    rows.iter().filter(of_bad).nth(1).expect("it was committed").seq
}
