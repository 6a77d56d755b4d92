//! A broker with the streams of a small platform, and the two ends of a stream.

use std::time::Duration;

use futures_util::StreamExt as _;
use karwan_broker::{Attributes, Broker, Message, Mode, Options, Publisher, StreamEnd, Topology, Watermark};
use karwan_registry::Catalogue;
use karwan_testkit::nats::Server;

/// A topic of the stream that most tests use.
pub const CONFIRMED: &str = "melmastoon.reservation.booking.confirmed.v1";
/// Another one of the same stream.
pub const CANCELLED: &str = "melmastoon.reservation.booking.cancelled.v1";
/// That stream.
pub const STREAM: &str = "RESERVATION";

/// What the hotels need, of one service.
pub fn topology() -> Topology {
    let catalogue = Catalogue::of(&karwan_testkit::platforms::MELMASTOON).expect("a test needs it");
    Topology::of(&catalogue).of_services(&["reservation-service"])
}

/// A connection whose answers are missed soon.
pub async fn connected(server: &Server) -> Broker {
    let options = Options { name: "test".to_owned(), answer_ms_max: 2_000, ..Options::default() };
    Broker::connect(&server.url(), options).await.expect("a test needs it")
}

/// A connection to a server with the streams.
pub async fn prepared(server: &Server) -> Broker {
    let broker = connected(server).await;
    topology().apply(&broker).await.expect("a test needs it");
    broker
}

/// The message of a number, which is also its place in the producer's log.
pub fn message(number: u64, ids: &Ids) -> Message<'_> {
    let subject = if number.is_multiple_of(3) { CANCELLED } else { CONFIRMED };
    Message {
        tag: number,
        subject,
        attributes: Attributes {
            event_id: &ids.0,
            event_type: "melmastoon.reservation.booking.confirmed",
            event_version: 1,
            tenant_id: "tnt_1",
            idempotency_key: &ids.0,
            ordering_key: "tnt_1:b-1",
        },
        payload: format!("{{\"number\":{number}}}").into(),
        position: Watermark { incarnation: 1, seq: number as i64 },
        logged_ms: 1_700_000_000_000 + number as i64,
    }
}

/// The texts of a message.
pub struct Ids(String);

/// Those of the message of a number.
pub fn ids(number: u64) -> Ids {
    Ids(format!("event-{number}"))
}

/// Opens the stream that most tests use.
pub async fn open(broker: &Broker, mode: Mode) -> (Publisher, StreamEnd) {
    Publisher::open(broker, STREAM, mode).await.expect("a test needs it")
}

/// Sends these messages and waits until all are stored.
pub async fn publish(broker: &Broker, mode: Mode, numbers: std::ops::RangeInclusive<u64>) {
    let (mut publisher, _) = open(broker, mode).await;
    for number in numbers {
        publisher.send(&message(number, &ids(number))).await.expect("a test needs it");
    }
    publisher.flush().await.expect("a test needs it");
}

/// Everything in a stream, as a client that knows nothing of us sees it: subject, headers and payload in order.
pub async fn content(server: &Server, stream: &str) -> Vec<async_nats::Message> {
    let client = async_nats::connect(server.url()).await.expect("a test needs it");
    let inbox = client.new_inbox();
    let mut messages = client.subscribe(inbox.clone()).await.expect("a test needs it");
    let config = serde_json::json!({
        "stream_name": stream,
        "config": { "deliver_subject": inbox, "ack_policy": "none", "deliver_policy": "all", "replay_policy": "instant" },
    });
    let answer = client
        .request(format!("$JS.API.CONSUMER.CREATE.{stream}"), config.to_string().into())
        .await
        .expect("a test needs it");
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).expect("a test needs it");
    let pending = answer["num_pending"].as_u64().unwrap_or_else(|| panic!("{answer}"))
        + answer["delivered"]["consumer_seq"].as_u64().expect("a test needs it");
    let mut all = Vec::new();
    while (all.len() as u64) < pending {
        let next = tokio::time::timeout(Duration::from_secs(20), messages.next()).await;
        all.push(next.expect("the stream gives what it says it holds").expect("a test needs it"));
    }
    all
}

/// The numbers of the messages in a stream, in order.
pub async fn numbers(server: &Server, stream: &str) -> Vec<u64> {
    let number = |message: &async_nats::Message| {
        let value: serde_json::Value = serde_json::from_slice(&message.payload).expect("a test needs it");
        value["number"].as_u64().expect("a test needs it")
    };
    content(server, stream).await.iter().map(number).collect()
}

/// One to `n`, each once, in order.
pub fn counted(n: u64) -> Vec<u64> {
    (1..=n).collect()
}
