//! by a real server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use karwan_broker::nats_conf::{OnCall, RelayUser, Roles, emit, inbox, variable};
use karwan_broker::publisher::{Letter, publish_letters};
use karwan_broker::topology::names::letters_topic;
use karwan_broker::{
    Broker, Error, Mode, Options as Connection, Place, Publisher, Start, Subscription, Topology, Walk,
};
use karwan_envelope::time::Timestamp;
use karwan_registry::Catalogue;
use karwan_testkit::nats::{Options, Server};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::fixture::{CONFIRMED, STREAM, ids, message};

const INVOICE: &str = "BILLING";

/// The durable of the one consumer.
const FOLIOS: &str = "billing-service-folios";

/// The login of a relay of both services that are not the auditor's.
const RELAY: &str = "desk-relay";

/// When the time of whoever is on call is over, in milliseconds after 1970.
const OVER: i64 = 1_800_000_000_000;

/// Two services, of which one follows the other, and the auditor's own.
fn topology() -> Topology {
    let catalogue = Catalogue::of(&karwan_testkit::platforms::MELMASTOON).expect("a test needs it");
    let services = ["reservation-service", "billing-service", "audit-service"];
    let topology = Topology::of(&catalogue).of_services(&services);
    topology.consumer("billing-service.folios", "billing-service", &[CONFIRMED]).expect("a test needs it")
}

/// A server with the configuration that we write, in which each password is the user's name turned around.
fn server() -> Option<Server> {
    let configuration = configuration(OVER - 1);
    let users = ["reservation-service", "billing-service", "audit-service", "karwan-topology", RELAY, "ann"];
    let environment = users.map(|user| (variable(user), password(user))).to_vec();
    Server::start(Options { configuration, environment, ..Options::default() }).or_skip()
}

/// What is printed at a time.
fn configuration(now_ms: i64) -> String {
    let on_call = OnCall { users: vec!["ann".to_owned()], until: Timestamp::from_unix_ms(OVER) };
    let services = ["reservation-service", "billing-service"].map(str::to_owned).to_vec();
    let relays = vec![RelayUser { user: RELAY.to_owned(), services }];
    let roles = Roles { relays, on_call: Some(on_call), ..Roles::default() };
    emit(&topology(), &roles, Timestamp::from_unix_ms(now_ms))
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
    one_is_published(&server).await;
    let topology = topology();
    let settings = topology.consumers()[0].settings();
    for start in [Start::Floor, Start::After(0)] {
        let billing = login(&server, "billing-service").await;
        let (mut subscription, _) = Subscription::open(&billing, &settings, start).await.unwrap();
        let got = subscription.next_batch(10, Duration::from_secs(10)).await.unwrap();
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

/// What a client of a login tries.
enum Try<'a> {
    Subscribe(&'a str),
    Publish(&'a str),
}

/// What the server says to a client of this login that tries something; nothing where it may.
async fn refused(server: &Server, user: &str, what: Try<'_>) -> Option<String> {
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
    let own = inbox(user);
    let mut probe = client.subscribe(format!("{own}.probe")).await.expect("a test needs it");
    match what {
        Try::Subscribe(subject) => drop(client.subscribe(subject.to_owned()).await.expect("a test needs it")),
        Try::Publish(subject) => {
            let sent = client.publish_with_reply(subject.to_owned(), format!("{own}.answer"), "{}".into()).await;
            sent.expect("a test needs it");
        }
    }
    // What the server refuses it says before it answers to anything later; the client tells of it a moment after.
    const MOMENT: Duration = Duration::from_millis(200);
    client.publish_with_reply(known(user), format!("{own}.probe"), "".into()).await.expect("a test needs it");
    tokio::select! {
        refused = hears.recv() => refused,
        _ = probe.next() => tokio::time::timeout(MOMENT, hears.recv()).await.ok().flatten(),
    }
}

/// A question that a login may ask.
fn known(user: &str) -> &'static str {
    match user {
        "billing-service" => "$JS.API.STREAM.INFO.BILLING",
        _ => "$JS.API.STREAM.INFO.RESERVATION",
    }
}

/// Every one of them is refused, and nothing but a publication is what is refused of it.
async fn publications_are_refused(server: &Server, user: &str, subjects: &[&str]) {
    for subject in subjects {
        let said = refused(server, user, Try::Publish(subject)).await;
        let said = said.unwrap_or_else(|| panic!("{user} may publish {subject}"));
        let wanted = format!("permissions violation for publish to \"{}\"", subject.to_lowercase());
        assert!(said.to_lowercase().contains(&wanted), "{user}: {said}");
    }
}

#[tokio::test]
async fn listening_to_topics_or_to_others_answers_is_denied() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    for user in ["billing-service", "audit-service", RELAY, "ann", "karwan-topology"] {
        for subject in [CONFIRMED, "melmastoon.>", ">", "_INBOX.>", "_INBOX.reservation-service.>", "$JS.ACK.>"] {
            let said = refused(&server, user, Try::Subscribe(subject)).await;
            let said = said.unwrap_or_else(|| panic!("{user} may hear {subject}"));
            assert!(said.to_lowercase().contains("permissions violation for subscription"), "{said}");
        }
        let own = format!("{}.>", inbox(user));
        assert_eq!(refused(&server, user, Try::Subscribe(&own)).await, None, "{user}");
    }
}

/// a consumer reads what it follows, through its own durable, and does nothing else to a stream, also not to its own.
#[tokio::test]
async fn streams_are_made_changed_emptied_and_deleted_by_their_keeper_alone() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    for user in ["reservation-service", "billing-service", "audit-service", RELAY, "ann"] {
        for stream in [STREAM, INVOICE, "ANOTHER"] {
            let verbs = ["CREATE", "UPDATE", "DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE"];
            let calls = verbs.map(|verb| format!("$JS.API.STREAM.{verb}.{stream}"));
            publications_are_refused(&server, user, &calls.each_ref().map(String::as_str)).await;
        }
        publications_are_refused(
            &server,
            user,
            &["$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$SYS.REQ.SERVER.PING"],
        )
        .await;
    }
    assert_eq!(refused(&server, "karwan-topology", Try::Publish("$JS.API.STREAM.NAMES")).await, None);
    assert_eq!(topology().check(&login(&server, "karwan-topology").await).await.unwrap(), [], "all of it is as it was");
}

#[tokio::test]
async fn durables_of_others_are_neither_made_nor_pulled_acknowledged_or_deleted() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let others = |stream: &str, durable: &str| {
        let made = [
            format!("$JS.API.CONSUMER.CREATE.{stream}"),
            format!("$JS.API.CONSUMER.CREATE.{stream}.{durable}"),
            format!("$JS.API.CONSUMER.CREATE.{stream}.{durable}.{CONFIRMED}"),
            format!("$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{durable}"),
            format!("$JS.API.CONSUMER.INFO.{stream}.{durable}"),
            format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"),
            format!("$JS.API.CONSUMER.DELETE.{stream}.{durable}"),
            format!("$JS.API.CONSUMER.LIST.{stream}"),
            format!("$JS.API.CONSUMER.NAMES.{stream}"),
            format!("$JS.ACK.{stream}.{durable}.1.2.3.4.0"),
        ];
        made.to_vec()
    };
    let cases = [
        ("billing-service", STREAM, "audit-service"),
        ("billing-service", STREAM, "one-of-nobody"),
        ("billing-service", "AUDIT", "billing-service-folios"),
        ("reservation-service", INVOICE, "reservation-service"),
        ("reservation-service", STREAM, "billing-service-folios"),
        ("audit-service", STREAM, "billing-service-folios"),
        (RELAY, STREAM, "billing-service-folios"),
        ("ann", STREAM, "billing-service-folios"),
    ];
    for (user, stream, durable) in cases {
        let calls = others(stream, durable);
        publications_are_refused(&server, user, &calls.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    // Single messages are a way around a durable.
    let around = ["$JS.API.STREAM.MSG.GET.RESERVATION", "$JS.API.DIRECT.GET.RESERVATION"];
    publications_are_refused(&server, "billing-service", &around).await;
    assert_eq!(refused(&server, "billing-service", Try::Publish("$JS.API.STREAM.INFO.RESERVATION")).await, None);
}

/// the file that is printed when their time is over ends the login, and the connection that stands.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_on_call_is_let_go_when_the_time_is_over() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let ann = login(&server, "ann").await;
    let billing = login(&server, "billing-service").await;
    assert_eq!(ann.last_sequence("RESERVATION_DLQ").await.unwrap(), 0);
    assert_eq!(configuration(OVER - 1).matches("ANN_PASSWORD").count(), 1);
    let later = configuration(OVER);
    assert!(!later.contains("ANN_PASSWORD") && later.contains("the time of ann was over at"), "{later}");
    tokio::task::block_in_place(|| server.reload(&later));
    let began = Instant::now();
    while ann.is_connected() {
        assert!(began.elapsed() < Duration::from_secs(30), "{}", server.log());
        tokio::task::yield_now().await;
    }
    let again = Broker::connect(&server.url_as("ann", &password("ann")), Connection::default()).await.unwrap_err();
    assert!(matches!(again, Error::Denied { .. }), "{again:?}");
    assert_eq!(billing.last_sequence(STREAM).await.unwrap(), 0, "the others go on");
}

/// A message of the stream's own service.
async fn one_is_published(server: &Server) {
    let reservation = login(server, "reservation-service").await;
    let (mut publisher, _) =
        Publisher::open(&reservation, STREAM, Mode::Pipelined).await.expect("it may feed its stream");
    publisher.send(&message(1, &ids(1))).await.expect("it can be sent");
    publisher.flush().await.expect("the server takes it");
}

#[tokio::test]
async fn the_auditor_reads_every_stream_and_feeds_none() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    one_is_published(&server).await;
    let audit = login(&server, "audit-service").await;
    for stream in topology().streams() {
        let settings = karwan_broker::Settings::new(&stream.name, "audit-service", &stream.subjects);
        Subscription::open(&audit, &settings, Start::Beginning).await.unwrap();
    }
    let error = Publisher::open(&audit, STREAM, Mode::Pipelined).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
    let own = topology().stream("AUDIT").map(|stream| stream.subjects.clone()).expect("it tells of its own work");
    for topic in topology().streams().iter().flat_map(|stream| &stream.subjects) {
        match own.contains(topic) {
            true => assert_eq!(refused(&server, "audit-service", Try::Publish(topic)).await, None, "{topic}"),
            false => publications_are_refused(&server, "audit-service", &[topic]).await,
        }
    }
}

/// the topics of its services with their dead letters, and those of nobody else.
#[tokio::test]
async fn a_relay_of_several_services_feeds_their_streams_and_no_other() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let relay = login(&server, RELAY).await;
    let (mut publisher, _) = Publisher::open(&relay, STREAM, Mode::Pipelined).await.unwrap();
    publisher.send(&message(1, &ids(1))).await.unwrap();
    publisher.flush().await.unwrap();
    Publisher::open(&relay, INVOICE, Mode::Pipelined).await.unwrap();
    let error = Publisher::open(&relay, "AUDIT", Mode::Pipelined).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
    for stream in topology().streams() {
        for topic in stream.subjects.iter().take(2) {
            let letters = letters_topic(topic);
            if stream.name == "AUDIT" {
                publications_are_refused(&server, RELAY, &[topic, &letters]).await;
                continue;
            }
            for subject in [topic, &letters] {
                assert_eq!(refused(&server, RELAY, Try::Publish(subject)).await, None, "{subject}");
            }
        }
    }
}

/// Whoever names no service means all.
#[test]
fn a_relay_of_everything_may_publish_what_the_services_may() {
    let relays = |services: &[&str]| {
        let services = services.iter().map(|&service| service.to_owned()).collect();
        let relays = vec![RelayUser { user: RELAY.to_owned(), services }];
        emit(&topology(), &Roles { relays, ..Roles::default() }, Timestamp::from_unix_ms(0))
    };
    let all = ["reservation-service", "billing-service", "audit-service"];
    assert_eq!(relays(&[]), relays(&all));
    assert_ne!(relays(&[]), relays(&all[..2]));
}

/// nobody publishes by hand, also not who is on call.
#[tokio::test]
async fn who_is_on_call_looks_at_streams_and_dead_letters_and_publishes_nothing() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    one_is_published(&server).await;
    let ann = login(&server, "ann").await;
    let at = Timestamp::from_unix_ms(0);
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
    let text = configuration(OVER - 1);
    for line in text.lines().filter(|line| line.contains("password:")) {
        assert!(line.contains("password: $"), "{line}");
    }
    assert_eq!(text.matches("password: $").count(), 6, "{text}");
}

/// Whoever may not know the account's limits, or others' streams, is told that, and still learns what the own stream has.
#[tokio::test]
async fn what_bounds_a_stream_is_told_as_far_as_the_login_may_know_it() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let (keeper, service) = (login(&server, "karwan-topology").await, login(&server, "reservation-service").await);
    assert!(keeper.room(STREAM).await.unwrap().knows_account);
    let room = service.room(STREAM).await.unwrap();
    assert!(!room.knows_account && room.full().is_none(), "{room:?}");
    assert_eq!(keeper.takers(CONFIRMED).await.unwrap(), [STREAM]);
    assert!(matches!(service.takers(CONFIRMED).await, Err(Error::Denied { .. })));
}

/// A client of a login that asks JetStream by itself, and names what our own would not.
async fn stranger(server: &Server, user: &str) -> async_nats::Client {
    let options = async_nats::ConnectOptions::new().custom_inbox_prefix(inbox(user));
    let options = options.user_and_password(user.to_owned(), password(user));
    options.connect(server.url()).await.expect("a test needs it")
}

/// Has a durable of billing's over the topics of the reservation made, with what else is said of it; the server's answer.
async fn made(client: &async_nats::Client, more: Value) -> String {
    let mut config = json!({ "durable_name": FOLIOS, "ack_policy": "explicit", "deliver_policy": "all" });
    config.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    asked(client, &format!("$JS.API.CONSUMER.DELETE.{STREAM}.{FOLIOS}"), Value::Null).await;
    let body = json!({ "stream_name": STREAM, "config": config });
    asked(client, &format!("$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.{FOLIOS}"), body).await
}

async fn asked(client: &async_nats::Client, subject: &str, body: Value) -> String {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = client.request(subject.to_owned(), body.into()).await.expect("the server answers");
    String::from_utf8(answer.payload.to_vec()).expect("JSON is text")
}

/// The messages of a stream, once there are so many; what the server does for a client comes a moment later.
async fn fills(keeper: &Broker, stream: &str, messages: u64) {
    let began = Instant::now();
    while keeper.last_sequence(stream).await.expect("the keeper may ask") < messages {
        assert!(began.elapsed() < Duration::from_secs(30), "{stream} has no {messages} messages");
        tokio::task::yield_now().await;
    }
}

/// R-098, and where it ends (docs/adr/0013-the-broker.md): a permission is asked about the subject of what a client publishes. Where
/// the answer goes the client says, and the server puts it there, also into a stream of others. An event takes along what its
/// publisher expected of its own stream, and is taken elsewhere only where that happens to fit.
#[tokio::test]
async fn an_answer_goes_where_its_question_says_also_into_a_stream_of_others() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    one_is_published(&server).await;
    let topology = topology();
    let foreign = topology.stream("AUDIT").expect("it is there").subjects[0].clone();
    let own = topology.stream(INVOICE).expect("it is there").subjects[0].clone();
    publications_are_refused(&server, "billing-service", &[&foreign]).await;
    let keeper = login(&server, "karwan-topology").await;
    let billing = stranger(&server, "billing-service").await;
    let next = format!("$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{FOLIOS}");
    let nothing_more = json!({ "batch": 1, "no_wait": true }).to_string();
    let answered_there = async |subject: &str, body: &str, messages: u64| {
        let sent = billing.publish_with_reply(subject.to_owned(), foreign.clone(), body.to_owned().into()).await;
        sent.expect("the client takes it");
        fills(&keeper, "AUDIT", messages).await;
    };
    // The event: it was the first of its stream, and would be the first of this one.
    made(&billing, json!({})).await;
    answered_there(&next, "1", 1).await;
    // What the server says of a stream, and of an event that was taken.
    answered_there(&format!("$JS.API.STREAM.INFO.{STREAM}"), "", 2).await;
    answered_there(&own, "{}", 3).await;
    // The event once more, which does not fit; and that there is no other.
    made(&billing, json!({})).await;
    answered_there(&next, "1", 3).await;
    answered_there(&next, &nothing_more, 4).await;
    let last = keeper.headers_of("AUDIT", 4).await.unwrap().expect("it is there");
    assert!(!last.contains_key("Nats-Msg-Id"), "{last:?}");
    // The same pushed: the event does not fit, and what says that the server lives does.
    let pushed = made(&billing, json!({ "deliver_subject": foreign, "idle_heartbeat": 200_000_000 })).await;
    assert!(!pushed.contains("error"), "{pushed}");
    fills(&keeper, "AUDIT", 5).await;
    // The one thing that JetStream looks at: a durable that would feed its own stream.
    let cycle = made(&billing, json!({ "deliver_subject": CONFIRMED })).await;
    assert!(cycle.contains("forms a cycle"), "{cycle}");
    // None of it is what a publisher of the stream would have said, but for the one that fitted.
    for seq in 2..=5 {
        let headers = keeper.headers_of("AUDIT", seq).await.unwrap().expect("it is there");
        assert!(!headers.contains_key("Karwan-Position"), "{seq}: {headers:?}");
    }
}

/// The same, where it hurts most: what says that nothing is there to pull is empty, as the question is that deletes a stream.
#[tokio::test]
async fn whoever_pulls_a_durable_can_have_the_server_delete_a_stream_of_others() {
    let Some(server) = server() else { return };
    prepared(&server).await;
    let keeper = login(&server, "karwan-topology").await;
    let delete = "$JS.API.STREAM.DELETE.AUDIT";
    publications_are_refused(&server, "billing-service", &[delete]).await;
    let billing = stranger(&server, "billing-service").await;
    made(&billing, json!({})).await;
    let next = format!("$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{FOLIOS}");
    let nothing = json!({ "batch": 1, "no_wait": true }).to_string();
    billing.publish_with_reply(next, delete, nothing.into()).await.expect("the client takes it");
    let began = Instant::now();
    while keeper.last_sequence("AUDIT").await.is_ok() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "it is there still: say so in the decision, and turn this around"
        );
        tokio::task::yield_now().await;
    }
    assert_eq!(keeper.last_sequence(STREAM).await.unwrap(), 0, "the others are there");
}
