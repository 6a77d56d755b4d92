//! Consumers in another database than their events': fed from a stream, they behave as those that read the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use karwan_broker::{Broker, Topology};
use karwan_engine::fed_consumer::Error as FedError;
use karwan_engine::{Consumer, Engine, FedConsumer, Received, Relay, Verdict, Work};
use karwan_envelope::mint::OsRandom;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::operator::{Chosen, Operator, Place, Who};
use karwan_store::{Error, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::shop::{self, OrderChanged, OrderPlaced};

on_both! {
    every_event_is_handled_once_and_in_order_per_key_in_another_database,
    a_process_that_comes_after_a_crash_goes_on_and_handles_nothing_twice,
    of_two_processes_one_is_fed_and_the_other_follows_it,
    a_failing_event_is_parked_in_the_consumers_own_store_and_holds_back_its_key_alone,
    a_broker_that_is_killed_under_way_changes_nothing,
    a_broker_that_lost_everything_has_nothing_handled_twice,
    a_consumer_is_sent_to_a_number_of_its_stream_while_it_runs_and_while_nobody_runs_it,
    what_came_since_a_time_is_handled_again_and_nothing_before,
    what_is_handled_again_goes_before_what_waits_in_its_key,
    a_replay_is_seen_by_its_consumer_alone_and_is_taken_back_while_nobody_has_tried_it,
    a_place_that_a_stream_does_not_have_is_refused,
}

const NAME: &str = "sales-service.secretary";

/// A producer's store with its relay, a broker, and the store of a consumer.
struct Line {
    server: Server,
    producer: Fixture,
    consumer: Fixture,
    relay: Engine,
}

impl Line {
    async fn of(producer: Fixture) -> Option<Self> {
        let server = Server::start(Options::default()).or_skip()?;
        let consumer = if producer.database.is_some() { fixture::postgres().await? } else { fixture::sqlite().await? };
        let relay = Relay::new(broker(&server).await, Topology::of(&shop::catalogue()));
        let relay = producer.start_work("relay", Work::new().relay(relay));
        Some(Self { server, producer, consumer, relay })
    }

    async fn start(&self, node: &str, consumer: Consumer) -> Engine {
        let work = Work::new().consumer(consumer.from_stream("SALES")).broker(broker(&self.server).await);
        self.consumer.start_work(node, work)
    }

    /// The consumer in the hands of an operator.
    async fn operated(&self) -> FedConsumer {
        let operator = Operator::new(&self.consumer.owner, Vec::new()).with_clock(self.consumer.clock.clone());
        let declared = operator.declared(NAME).await.expect("it has run");
        FedConsumer::of(&operator, declared, broker(&self.server).await, Arc::new(OsRandom)).expect("a stream feeds it")
    }

    /// Waits until a note of the consumer is as it should be.
    async fn noted(&self, tenant: u64, id: &str, expected: &str) {
        until(&format!("{id} as {expected}"), async || {
            let found = self.consumer.notes(tenant, id).await;
            assert!(expected.starts_with(&found), "{id}: {found} instead of {expected}");
            (found == expected).then_some(())
        })
        .await;
    }
}

fn who() -> Who {
    Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() }
}

async fn broker(server: &Server) -> Broker {
    let options = karwan_broker::Options { answer_ms_max: 2_000, ..karwan_broker::Options::default() };
    Broker::connect(&server.url(), options).await.expect("a server that runs can be reached")
}

/// Notes every revision of an order; of order `bad` the second fails until it is healed.
fn secretary(healed: &Arc<AtomicBool>) -> Consumer {
    let healed = healed.clone();
    Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderPlaced>| {
            note(&tx, &received.event.order_id, "p").await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .on(move |tx: TenantTx, received: Received<OrderChanged>| {
            let healed = healed.load(Ordering::Relaxed);
            async move {
                let OrderChanged { order_id, revision } = received.event;
                if order_id == "bad" && revision == 2 && !healed {
                    return Ok(Verdict::Retry("no".to_owned()));
                }
                note(&tx, &order_id, &revision.to_string()).await?;
                Ok::<_, Error>(Verdict::Done)
            }
        })
}

fn well() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(true))
}

async fn every_event_is_handled_once_and_in_order_per_key_in_another_database(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let engine = line.start("n-1", secretary(&well())).await;
    for number in 0..30 {
        line.producer.order(number % 3, &format!("o-{number}"), 9).await;
    }
    for number in 0..30 {
        line.noted(number % 3, &format!("o-{number}"), "p123456789").await;
    }
    engine.stop().await;
    line.relay.stop().await;
}

async fn a_process_that_comes_after_a_crash_goes_on_and_handles_nothing_twice(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    for round in 0..4 {
        let engine = line.start("n-1", secretary(&well())).await;
        for number in 0..10 {
            line.producer.order(1, &format!("o-{round}-{number}"), 5).await;
        }
        line.noted(1, &format!("o-{round}-0"), "p12345").await;
        // As a crash would: nothing is finished, released, saved or acknowledged.
        drop(engine);
        line.consumer.lease_runs_out().await;
    }
    let engine = line.start("n-1", secretary(&well())).await;
    for round in 0..4 {
        for number in 0..10 {
            line.noted(1, &format!("o-{round}-{number}"), "p12345").await;
        }
    }
    engine.stop().await;
    line.relay.stop().await;
}

async fn of_two_processes_one_is_fed_and_the_other_follows_it(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let first = line.start("n-1", secretary(&well())).await;
    line.producer.order(1, "before", 3).await;
    line.noted(1, "before", "p123").await;
    let second = line.start("n-2", secretary(&well())).await;
    line.producer.order(1, "both", 3).await;
    line.noted(1, "both", "p123").await;
    first.stop().await;
    line.producer.order(1, "after", 3).await;
    line.noted(1, "after", "p123").await;
    second.stop().await;
    line.relay.stop().await;
}

async fn a_failing_event_is_parked_in_the_consumers_own_store_and_holds_back_its_key_alone(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let healed = Arc::new(AtomicBool::new(false));
    let engine = line.start("n-1", secretary(&healed)).await;
    line.producer.order(1, "bad", 4).await;
    line.producer.order(1, "good", 4).await;
    line.noted(1, "good", "p1234").await;
    line.noted(1, "bad", "p1").await;
    // Somebody else takes over what waits, from the consumer's own store: the stream has nothing of it any more.
    engine.stop().await;
    healed.store(true, Ordering::Relaxed);
    line.consumer.clock.advance_ms(2_000);
    let engine = line.start("n-2", secretary(&healed)).await;
    line.noted(1, "bad", "p1234").await;
    engine.stop().await;
    line.relay.stop().await;
}

async fn a_broker_that_is_killed_under_way_changes_nothing(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let engine = line.start("n-1", secretary(&well())).await;
    for round in 0..3 {
        for number in 0..10 {
            line.producer.order(1, &format!("o-{round}-{number}"), 5).await;
        }
        line.server.kill();
        line.server.start_again();
    }
    for round in 0..3 {
        for number in 0..10 {
            line.noted(1, &format!("o-{round}-{number}"), "p12345").await;
        }
    }
    engine.stop().await;
    line.relay.stop().await;
}

async fn a_broker_that_lost_everything_has_nothing_handled_twice(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let engine = line.start("n-1", secretary(&well())).await;
    for number in 0..10 {
        line.producer.order(1, &format!("o-{number}"), 5).await;
    }
    for number in 0..10 {
        line.noted(1, &format!("o-{number}"), "p12345").await;
    }
    line.server.kill();
    line.server.start_again_empty();
    line.producer.order(1, "after", 5).await;
    line.noted(1, "after", "p12345").await;
    for number in 0..10 {
        line.noted(1, &format!("o-{number}"), "p12345").await;
    }
    engine.stop().await;
    line.relay.stop().await;
}

async fn a_consumer_is_sent_to_a_number_of_its_stream_while_it_runs_and_while_nobody_runs_it(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let engine = line.start("n-1", secretary(&well())).await;
    line.producer.order(1, "before", 3).await;
    line.noted(1, "before", "p123").await;
    let operator = Operator::new(&line.consumer.owner, vec![shop::catalogue()]);
    let who = Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() };
    operator.seek(&who, NAME, Place::Start).await.expect("it can be moved");
    line.producer.order(1, "after", 3).await;
    line.noted(1, "after", "p123").await;
    assert_eq!(line.consumer.notes(1, "before").await, "p123", "what it has handled stays handled");
    engine.stop().await;
    line.producer.order(1, "skipped", 3).await;
    let end = line.producer.store.relay().end().await.expect("it can be asked");
    line.relay.published("SALES", end).await.expect("it is published");
    let last = broker(&line.server).await.last_sequence("SALES").await.expect("it can be asked").cast_signed();
    operator.seek(&who, NAME, Place::Seq(last)).await.expect("it can be moved");
    let engine = line.start("n-2", secretary(&well())).await;
    line.producer.order(1, "later", 3).await;
    line.noted(1, "later", "p123").await;
    assert_eq!(line.consumer.notes(1, "skipped").await, "");
    let refused = operator.seek(&who, NAME, Place::Time(0)).await;
    assert!(matches!(refused, Err(Error::StreamFed { .. })), "{refused:?}");
    engine.stop().await;
    line.relay.stop().await;
}

/// by the broker's time, and with claims that are taken back.
async fn what_came_since_a_time_is_handled_again_and_nothing_before(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let engine = line.start("n-1", secretary(&well())).await;
    line.producer.order(1, "before", 3).await;
    line.noted(1, "before", "p123").await;
    let stored = SystemClock.now().unix_ms();
    let later = async || Some(SystemClock.now().unix_ms()).filter(|now| *now > stored + 1);
    let since = until("a later millisecond", later).await;
    line.producer.order(1, "after", 3).await;
    line.noted(1, "after", "p123").await;
    let consumer = line.operated().await;
    let moved = consumer.seek(&who(), Place::Time(since)).await.expect("it can be moved");
    assert_eq!(moved.now, [4; 4], "behind the four that came before");
    assert_eq!(consumer.count_claims(Place::Time(since), &Chosen::default()).await.expect("they can be counted"), 4);
    let whole = Chosen::default();
    let moved = consumer.seek_and_clear(&who(), Place::Time(since), &whole, &|_, _| {}).await.expect("it can be moved");
    assert_eq!((moved.now, moved.cleared), (vec![4; 4], 4));
    line.noted(1, "after", "p123p123").await;
    line.producer.order(1, "more", 3).await;
    line.noted(1, "more", "p123").await;
    assert_eq!(line.consumer.notes(1, "before").await, "p123");
    engine.stop().await;
    line.relay.stop().await;
}

async fn what_is_handled_again_goes_before_what_waits_in_its_key(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let healed = Arc::new(AtomicBool::new(false));
    let engine = line.start("n-1", secretary(&healed)).await;
    line.producer.order(1, "bad", 4).await;
    line.noted(1, "bad", "p1").await;
    until("what waits", async || (line.consumer.parked(NAME).await == 3).then_some(())).await;
    let whole = Chosen::default();
    let consumer = line.operated().await;
    let moved = consumer.seek_and_clear(&who(), Place::Start, &whole, &|_, _| {}).await.expect("it can be moved");
    assert_eq!(moved.cleared, 2);
    healed.store(true, Ordering::Relaxed);
    line.consumer.clock.advance_ms(2_000);
    line.noted(1, "bad", "p1p1234").await;
    engine.stop().await;
    line.relay.stop().await;
}

/// the original id and key, and only one subscriber.
async fn a_replay_is_seen_by_its_consumer_alone_and_is_taken_back_while_nobody_has_tried_it(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let engine = line.start("n-1", secretary(&well())).await;
    line.producer.order(1, "a", 3).await;
    line.producer.order(1, "b", 3).await;
    line.noted(1, "a", "p123").await;
    line.noted(1, "b", "p123").await;
    let before = broker(&line.server).await.last_sequence("SALES").await.expect("it can be asked");
    let consumer = line.operated().await;
    let subject = "shop.sales.order.changed.v1".parse().expect("a pattern");
    let chosen = Chosen { subject: Some(subject), key: Some("a".to_owned()), ..Chosen::default() };
    let would = consumer.would_replay(Place::Start, &chosen).await.expect("it can be counted");
    assert_eq!((would.events, would.keys), (3, 1));
    let sent = consumer.replay(&who(), Place::Start, &chosen, &|_, _| {}).await.expect("it can be sent");
    assert_eq!(sent.events, 3);
    line.noted(1, "a", "p123123").await;
    let after = broker(&line.server).await.last_sequence("SALES").await.expect("it can be asked");
    assert_eq!(after, before, "others would see it");
    engine.stop().await;
    let sent = consumer.replay(&who(), Place::Start, &chosen, &|_, _| {}).await.expect("it can be sent");
    let operator = Operator::new(&line.consumer.owner, Vec::new()).with_clock(line.consumer.clock.clone());
    let back = operator.undo_replay(&who(), sent.action).await.expect("nobody has tried it");
    assert_eq!((back.events, line.consumer.parked(NAME).await), (3, 0));
    operator.seek(&who(), NAME, Place::Start).await.expect("it can be moved");
    let engine = line.start("n-2", secretary(&well())).await;
    line.producer.order(1, "c", 3).await;
    line.noted(1, "c", "p123").await;
    assert_eq!(line.consumer.notes(1, "a").await, "p123123", "the claims are there again");
    assert_eq!(line.consumer.notes(1, "b").await, "p123");
    engine.stop().await;
    line.relay.stop().await;
}

async fn a_place_that_a_stream_does_not_have_is_refused(fixture: Fixture) {
    let Some(line) = Line::of(fixture).await else { return };
    let engine = line.start("n-1", secretary(&well()).forward_only()).await;
    line.producer.order(1, "a", 3).await;
    line.noted(1, "a", "p123").await;
    let consumer = line.operated().await;
    let beyond = consumer.seek(&who(), Place::Seq(5)).await;
    assert!(matches!(&beyond, Err(FedError::Broker(error)) if error.code() == "broker-no-place"), "{beyond:?}");
    let back = consumer.replay(&who(), Place::Start, &Chosen::default(), &|_, _| {}).await;
    assert!(matches!(back, Err(FedError::Store(Error::ForwardOnly { .. }))), "{back:?}");
    let position = Place::Position(karwan_store::Position { incarnation: 1, seq: 1 });
    let of_a_log = consumer.seek(&who(), position).await;
    assert!(matches!(of_a_log, Err(FedError::Store(Error::StreamFed { .. }))), "{of_a_log:?}");
    engine.stop().await;
    line.relay.stop().await;
}
