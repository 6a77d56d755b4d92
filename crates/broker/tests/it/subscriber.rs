use std::time::Duration;

use karwan_broker::{Broker, Delivery, Error, Mode, Place, Settings, Start, Subscription, Watermark};
use karwan_testkit::nats;
use karwan_testkit::nats::Server;

use crate::fixture::{CANCELLED, CONFIRMED, STREAM, connected, counted, prepared, publish, topology};

const SOON: Duration = Duration::from_secs(20);
const NOW: Duration = Duration::from_millis(50);

fn settings() -> Settings {
    Settings::new(STREAM, "billing-service-folios", &[CONFIRMED.to_owned(), CANCELLED.to_owned()])
}

async fn subscribed(broker: &Broker, start: Start) -> Subscription {
    Subscription::open(broker, &settings(), start).await.expect("a test needs it").0
}

/// The numbers of so many deliveries.
async fn pulled(subscription: &mut Subscription, count: usize) -> Vec<u64> {
    let mut all = Vec::new();
    while all.len() < count {
        let batch = subscription.next_batch(count - all.len(), SOON).await.expect("a test needs it");
        assert!(!batch.is_empty(), "only {} of {count} came", all.len());
        all.extend(batch.iter().map(number));
    }
    all
}

fn number(delivery: &Delivery) -> u64 {
    let value: serde_json::Value = serde_json::from_slice(&delivery.payload).expect("a test needs it");
    value["number"].as_u64().expect("a test needs it")
}

#[tokio::test]
async fn deliveries_come_in_order_across_subjects_with_what_the_producer_said() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=3000).await;
    let (mut subscription, floor) = Subscription::open(&broker, &settings(), Start::Floor).await.unwrap();
    assert_eq!((floor.after, floor.first_seq, floor.last_seq), (0, 1, 3000));
    let first = subscription.next_batch(1, SOON).await.unwrap().remove(0);
    assert_eq!((first.stream_seq, first.subject.as_ref(), first.redelivered), (1, CONFIRMED, false));
    assert_eq!((first.event_id.as_str(), first.ordering_key.as_str()), ("event-1", "tnt_1:b-1"));
    assert_eq!(first.position, Some(Watermark { incarnation: 1, seq: 1 }));
    assert_eq!(first.logged_ms, Some(1_700_000_000_001));
    assert_eq!(pulled(&mut subscription, 2999).await, (2..=3000).collect::<Vec<_>>());
}

#[tokio::test]
async fn only_the_topics_that_were_named_are_delivered() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=9).await;
    let settings = Settings { subjects: vec![CANCELLED.to_owned()], ..settings() };
    let (mut subscription, _) = Subscription::open(&broker, &settings, Start::Floor).await.unwrap();
    assert_eq!(pulled(&mut subscription, 3).await, [3, 6, 9]);
    assert_eq!(subscription.next_batch(10, NOW).await.unwrap(), []);
}

#[tokio::test]
async fn what_was_not_acknowledged_comes_again_in_order_before_what_is_new() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=10).await;
    let mut first = subscribed(&broker, Start::Floor).await;
    assert_eq!(pulled(&mut first, 8).await, counted(8));
    first.ack_all(5).await.unwrap();
    broker.flush().await.unwrap();
    // The next holder of the lane, while the first one is stopped or dead.
    publish(&broker, Mode::Pipelined, 11..=12).await;
    let (mut second, floor) = Subscription::open(&broker, &settings(), Start::Floor).await.unwrap();
    assert_eq!(floor.after, 5);
    assert_eq!(pulled(&mut second, 7).await, [6, 7, 8, 9, 10, 11, 12]);
    let error = loop {
        match first.next_batch(10, SOON).await {
            Ok(batch) => assert_eq!(batch.iter().map(number).filter(|number| *number > 10).count(), 0),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::ConsumerGone { .. } | Error::Interrupted { .. }), "{error:?}");
}

#[tokio::test]
async fn a_late_acknowledgement_delivers_nothing_twice() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=20).await;
    let settings = Settings { ack_wait: Duration::from_millis(100), ..settings() };
    let (mut subscription, _) = Subscription::open(&broker, &settings, Start::Floor).await.unwrap();
    assert_eq!(pulled(&mut subscription, 20).await, counted(20));
    // Slower than the deadline: the server delivers them again, which is of no use to anybody.
    while redelivered(&server).await == 0 {
        assert_eq!(subscription.next_batch(100, NOW).await.unwrap(), []);
    }
    publish(&broker, Mode::Pipelined, 21..=25).await;
    assert_eq!(pulled(&mut subscription, 5).await, [21, 22, 23, 24, 25]);
    subscription.ack_all(25).await.unwrap();
    while subscription.caught_up().await.unwrap() != Some(25) {
        assert_eq!(subscription.next_batch(100, NOW).await.unwrap(), []);
    }
}

/// How many messages the server says it delivered again.
async fn redelivered(server: &Server) -> u64 {
    info(server).await["num_redelivered"].as_u64().expect("a test needs it")
}

async fn info(server: &Server) -> serde_json::Value {
    let client = async_nats::connect(server.url()).await.expect("a test needs it");
    let subject = format!("$JS.API.CONSUMER.INFO.{STREAM}.{}", settings().durable);
    let answer = client.request(subject, "".into()).await.expect("a test needs it");
    serde_json::from_slice(&answer.payload).expect("a test needs it")
}

#[tokio::test]
async fn a_full_window_of_unacknowledged_messages_waits_and_goes_on() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=50).await;
    let settings = Settings { unacked_max: 10, ..settings() };
    let (mut subscription, _) = Subscription::open(&broker, &settings, Start::Floor).await.unwrap();
    assert_eq!(pulled(&mut subscription, 10).await, counted(10));
    assert_eq!(subscription.next_batch(10, NOW).await.unwrap(), []);
    assert_eq!(subscription.unacked(), 10);
    let mut all = counted(10);
    while all.len() < 50 {
        subscription.ack_all(all.len() as u64).await.unwrap();
        all.extend(pulled(&mut subscription, 10).await);
    }
    assert_eq!(all, counted(50));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_interrupts_and_behind_what_was_finished_nothing_is_missing() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=2000).await;
    let mut all: Vec<u64> = Vec::new();
    let mut kills = 0;
    while all.len() < 2000 {
        let opened = Subscription::open(&broker, &settings(), Start::After(all.len() as u64)).await;
        let Ok((mut subscription, _)) = opened else { continue };
        while let Ok(batch) = subscription.next_batch(100, SOON).await {
            all.extend(batch.iter().map(number));
            subscription.ack_all(all.len() as u64).await.unwrap();
            if all.len() >= 2000 {
                break;
            }
            if all.len() >= (kills + 1) * 400 && kills < 4 {
                kills += 1;
                tokio::task::block_in_place(|| {
                    server.kill();
                    server.start_again();
                });
            }
        }
    }
    assert_eq!(kills, 4);
    assert_eq!(all, counted(2000));
}

#[tokio::test]
async fn a_deleted_durable_and_a_deleted_stream_are_told_apart() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let mut subscription = subscribed(&broker, Start::Floor).await;
    assert_eq!(subscription.next_batch(1, NOW).await.unwrap(), []);
    Subscription::delete(&broker, STREAM, &settings().durable).await.unwrap();
    let error = subscription.next_batch(1, SOON).await.unwrap_err();
    assert!(matches!(error, Error::ConsumerGone { .. }), "{error:?}");
    let mut subscription = subscribed(&broker, Start::Floor).await;
    assert_eq!(subscription.next_batch(1, NOW).await.unwrap(), []);
    let client = async_nats::connect(server.url()).await.unwrap();
    client.request(format!("$JS.API.STREAM.DELETE.{STREAM}"), "".into()).await.unwrap();
    let error = subscription.next_batch(1, SOON).await.unwrap_err();
    assert!(matches!(error, Error::StreamGone { .. }), "{error:?}");
    assert!(matches!(Subscription::open(&broker, &settings(), Start::Floor).await, Err(Error::StreamGone { .. })));
}

#[tokio::test]
async fn what_was_purged_unseen_is_a_gap_and_a_replaced_stream_is_behind() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=10).await;
    let mut subscription = subscribed(&broker, Start::Floor).await;
    assert_eq!(pulled(&mut subscription, 4).await, counted(4));
    subscription.ack_all(2).await.unwrap();
    broker.flush().await.unwrap();
    let client = async_nats::connect(server.url()).await.unwrap();
    let purge = serde_json::json!({ "seq": 6 }).to_string();
    client.request(format!("$JS.API.STREAM.PURGE.{STREAM}"), purge.into()).await.unwrap();
    let error = Subscription::open(&broker, &settings(), Start::After(2)).await.unwrap_err();
    assert!(matches!(error, Error::Gap { after: 2, first: 6, .. }), "{error:?}");
    // what is older than what a stream keeps is refused, and not passed over.
    let long_ago = Place::Time(karwan_envelope::time::Timestamp::from_unix_ms(0));
    for place in [long_ago, Place::After(2), Place::After(11)] {
        let error = broker.number_of(STREAM, place, "question").await.unwrap_err();
        assert!(matches!(error, Error::NoPlace { first: 6, last: 10, .. }), "{error:?}");
    }
    assert_eq!(broker.number_of(STREAM, Place::End, "question").await.unwrap(), 10);
    client.request(format!("$JS.API.STREAM.DELETE.{STREAM}"), "".into()).await.unwrap();
    topology().apply(&broker).await.unwrap();
    let error = Subscription::open(&broker, &settings(), Start::After(2)).await.unwrap_err();
    assert!(matches!(error, Error::Behind { after: 2, last: 0, .. }), "{error:?}");
}

#[tokio::test]
async fn two_consumers_each_get_their_own_copy() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=5).await;
    for durable in ["one", "other"] {
        let settings = Settings { durable: durable.to_owned(), ..settings() };
        let (mut subscription, _) = Subscription::open(&broker, &settings, Start::Floor).await.unwrap();
        assert_eq!(pulled(&mut subscription, 5).await, counted(5));
    }
}

#[tokio::test]
async fn work_in_progress_is_not_delivered_again() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=5).await;
    let settings = Settings { ack_wait: Duration::from_secs(2), ..settings() };
    let (mut subscription, _) = Subscription::open(&broker, &settings, Start::Floor).await.unwrap();
    assert_eq!(pulled(&mut subscription, 5).await, counted(5));
    for _ in 0..10 {
        assert_eq!(subscription.next_batch(1, Duration::from_millis(400)).await.unwrap(), []);
        subscription.in_progress().await.unwrap();
    }
    assert_eq!(redelivered(&server).await, 0);
    let _ = connected(&server).await;
}
