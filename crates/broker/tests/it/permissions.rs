//! by a real server.

use std::sync::Arc;

use futures_util::StreamExt as _;
use karwan_broker::nats_conf::{Roles, emit, inbox, variable};
use karwan_broker::publisher::{Letter, publish_letters};
use karwan_broker::topology::names::letters_topic;
use karwan_broker::{
    Broker, Error, Mode, Options as Connection, Place, Publisher, Start, Subscription, Topology, Walk,
};
use karwan_registry::Catalogue;
use karwan_testkit::nats::{Options, Server};
use tokio::sync::mpsc;

use crate::fixture::{CONFIRMED, STREAM, ids, message};

const INVOICE: &str = "BILLING";

/// Two services, of which one follows the other.
fn topology() -> Topology {
    let catalogue = Catalogue::of(&karwan_testkit::platforms::MELMASTOON).expect("a test needs it");
    let topology = Topology::of(&catalogue).of_services(&["reservation-service", "billing-service"]);
    topology.consumer("billing-service.folios", "billing-service", &[CONFIRMED]).expect("a test needs it")
}

/// A server with the configuration that we write, in which each password is the user's name turned around.
fn server() -> Option<Server> {
    let configuration = emit(&topology(), &roles());
    let users = ["reservation-service", "billing-service", "audit-service", "karwan-topology", "ann"];
    let environment = users.map(|user| (variable(user), password(user))).to_vec();
    Server::start(Options { configuration, environment, ..Options::default() }).or_skip()
}

fn roles() -> Roles {
    Roles { on_call: vec!["ann".to_owned()], ..Roles::default() }
}

fn password(user: &str) -> String {
    user.chars().rev().collect()
}

async fn login(server: &Server, user: &str) -> Broker {
    let options = Connection { answer_ms_max: 3_000, ..Connection::default() };
    Broker::connect(&server.url_as(user, &password(user)), options).await.expect("a test needs it")
}

async fn prepared(server: &Server) {
    topology().apply(&login(server, "karwan-topology").await).await.expect("a test needs it");
}

#[tokio::test]
async fn a_service_publishes_its_own_topics_and_pulls_its_own_durables() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let (mut publisher, _) =
        Publisher::open(&login(&server, "reservation-service").await, STREAM, Mode::Pipelined).await.unwrap();
    publisher.send(&message(1, &ids(1))).await.unwrap();
    publisher.flush().await.unwrap();
    let topology = topology();
    let settings = topology.consumers()[0].settings();
    for start in [Start::Floor, Start::After(0)] {
        let billing = login(&server, "billing-service").await;
        let (mut subscription, _) = Subscription::open(&billing, &settings, start).await.unwrap();
        let got = subscription.next_batch(10, std::time::Duration::from_secs(10)).await.unwrap();
        assert_eq!(got.iter().map(|one| one.stream_seq).collect::<Vec<_>>(), [1]);
        subscription.ack_all(1).await.unwrap();
        while subscription.caught_up().await.unwrap() != Some(1) {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn publishing_anothers_topic_is_denied() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let billing = login(&server, "billing-service").await;
    let (mut publisher, _) = Publisher::open(&billing, INVOICE, Mode::Pipelined).await.unwrap();
    let texts = ids(1);
    publisher.send(&message(1, &texts)).await.unwrap();
    let error = publisher.flush().await.unwrap_err();
    assert!(matches!(&error, Error::Denied { what, .. } if what.contains(CONFIRMED)), "{error:?}");
    let (_, end) =
        Publisher::open(&login(&server, "reservation-service").await, STREAM, Mode::Pipelined).await.unwrap();
    assert_eq!(end.last_seq, 0);
}

#[tokio::test]
async fn anothers_stream_and_durables_are_denied() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let billing = login(&server, "billing-service").await;
    let stranger = karwan_broker::Settings::new(STREAM, "somebody-else", &[CONFIRMED.to_owned()]);
    let error = Subscription::open(&billing, &stranger, Start::Floor).await.unwrap_err();
    assert!(matches!(&error, Error::Denied { .. }), "{error:?}");
    let reservation = login(&server, "reservation-service").await;
    let error = Publisher::open(&reservation, INVOICE, Mode::Pipelined).await.unwrap_err();
    assert!(matches!(&error, Error::Denied { .. }), "{error:?}");
    let error = topology().replicated(1).consumer("x.y", "x", &[CONFIRMED]).unwrap().apply(&billing).await.unwrap_err();
    assert!(matches!(&error, Error::Denied { .. }), "{error:?}");
}

/// What the server says to a client of this login that subscribes to a subject.
async fn subscribing(server: &Server, user: &str, subject: &str) -> Option<String> {
    let (said, mut hears) = mpsc::channel(8);
    let said = Arc::new(said);
    let client = async_nats::ConnectOptions::new()
        .user_and_password(user.to_owned(), password(user))
        .event_callback(move |event| {
            let said = Arc::clone(&said);
            async move {
                if let async_nats::Event::ServerError(error) = event {
                    said.send(error.to_string()).await.expect("a test needs it");
                }
            }
        })
        .connect(server.url())
        .await
        .expect("a test needs it");
    let mut subscriber = client.subscribe(subject.to_owned()).await.expect("a test needs it");
    client.flush().await.expect("a test needs it");
    // What the server refuses it says before it answers to anything later.
    let inbox = format!("{}.probe", inbox(user));
    let mut probe = client.subscribe(inbox.clone()).await.expect("a test needs it");
    client.publish_with_reply("$JS.API.STREAM.INFO.RESERVATION", inbox, "".into()).await.expect("a test needs it");
    tokio::select! {
        refused = hears.recv() => refused,
        _ = probe.next() => hears.try_recv().ok(),
        _ = subscriber.next() => None,
    }
}

#[tokio::test]
async fn listening_to_topics_or_to_others_answers_is_denied() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    for subject in [CONFIRMED, "melmastoon.>", "_INBOX.>", "_INBOX.reservation-service.>", "$JS.ACK.>"] {
        let said = subscribing(&server, "billing-service", subject).await;
        let said = said.unwrap_or_else(|| panic!("{subject} was allowed"));
        assert!(said.to_lowercase().contains("permissions violation for subscription"), "{said}");
    }
    assert_eq!(subscribing(&server, "billing-service", "_INBOX.billing-service.>").await, None);
}

#[tokio::test]
async fn the_auditor_reads_every_stream_and_feeds_none() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let (mut publisher, _) =
        Publisher::open(&login(&server, "reservation-service").await, STREAM, Mode::Pipelined).await.unwrap();
    publisher.send(&message(1, &ids(1))).await.unwrap();
    publisher.flush().await.unwrap();
    let audit = login(&server, "audit-service").await;
    for stream in topology().streams() {
        let settings = karwan_broker::Settings::new(&stream.name, "audit-service", &stream.subjects);
        Subscription::open(&audit, &settings, Start::Beginning).await.unwrap();
    }
    let error = Publisher::open(&audit, STREAM, Mode::Pipelined).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
}

/// nobody publishes by hand, also not who is on call.
#[tokio::test]
async fn who_is_on_call_looks_at_streams_and_dead_letters_and_publishes_nothing() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let (mut publisher, _) =
        Publisher::open(&login(&server, "reservation-service").await, STREAM, Mode::Pipelined).await.unwrap();
    publisher.send(&message(1, &ids(1))).await.unwrap();
    publisher.flush().await.unwrap();
    let ann = login(&server, "ann").await;
    let at = karwan_envelope::time::Timestamp::from_unix_ms(0);
    assert_eq!(ann.number_of(STREAM, Place::Time(at), &ann.reader(0)).await.unwrap(), 0);
    let settings = |stream: &str| karwan_broker::Settings::new(stream, &ann.reader(0), &[]);
    let mut walk = Walk::begin(&ann, settings(STREAM), Start::Beginning).await.unwrap();
    assert_eq!(walk.next().await.unwrap().map(|batch| batch.len()), Some(1));
    walk.end().await.unwrap();
    let mut walk = Walk::begin(&ann, settings("RESERVATION_DLQ"), Start::Beginning).await.unwrap();
    assert_eq!(walk.next().await.unwrap(), None);
    walk.end().await.unwrap();
    let error = Publisher::open(&ann, STREAM, Mode::Pipelined).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
    let others = karwan_broker::Settings::new(STREAM, "billing-service-folios", &[]);
    let error = Subscription::open(&ann, &others, Start::Floor).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
    let texts = ids(2);
    let event = message(2, &texts);
    let letter = Letter {
        tag: 0,
        stream: "RESERVATION_DLQ",
        subject: &letters_topic(event.subject),
        id: "x",
        attributes: event.attributes,
        about: &[],
        payload: event.payload.clone(),
    };
    let told = publish_letters(&ann, &[letter]).await;
    assert!(matches!(told[..], [Err(Error::Denied { .. })]), "{told:?}");
    assert_eq!(ann.last_sequence("RESERVATION_DLQ").await.unwrap(), 0);
}

#[test]
fn no_secret_is_written() {
    let text = emit(&topology(), &roles());
    for line in text.lines().filter(|line| line.contains("password:")) {
        assert!(line.contains("password: $"), "{line}");
    }
    assert_eq!(text.matches("password: $").count(), 5, "{text}");
}
