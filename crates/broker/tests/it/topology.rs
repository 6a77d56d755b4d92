use expect_test::expect;
use karwan_broker::topology::{Difference, names};
use karwan_broker::{Error, Topology};
use karwan_envelope::subject::Grammar;
use karwan_registry::Catalogue;
use karwan_testkit::nats;
use serde_json::{Value, json};

use crate::fixture::{CANCELLED, CONFIRMED, STREAM, connected, prepared, topology};

/// A topic that the catalogue had once.
const RETIRED: &str = "melmastoon.reservation.booking.dreamt.v1";

fn hotels() -> Topology {
    Topology::of(&Catalogue::of(&karwan_testkit::platforms::MELMASTOON).expect("a test needs it"))
}

fn grammar() -> Grammar<'static> {
    karwan_testkit::platforms::MELMASTOON.grammar
}

/// R-091, the seven examples of document 000 §2.2.
#[test]
fn subscriptions_are_named_after_their_service_and_the_short_topic() {
    let services = [
        ("inventory-service", "inventory-service.reservation.booking.confirmed.v1.sub"),
        ("billing-service", "billing-service.reservation.booking.confirmed.v1.sub"),
        ("lock-integration-service", "lock-integration-service.reservation.booking.confirmed.v1.sub"),
        ("notification-service", "notification-service.reservation.booking.confirmed.v1.sub"),
        ("analytics-service", "analytics-service.reservation.booking.confirmed.v1.sub"),
        ("search-aggregation-service", "search-aggregation-service.reservation.booking.confirmed.v1.sub"),
        ("audit-service", "audit-service.reservation.booking.confirmed.v1.sub"),
    ];
    for (service, name) in services {
        assert_eq!(names::subscription(service, CONFIRMED, &grammar()), name);
    }
}

#[test]
fn streams_are_named_after_the_domain_of_their_service() {
    assert_eq!(names::stream("reservation-service"), "RESERVATION");
    assert_eq!(names::stream("lock-integration-service"), "LOCK_INTEGRATION");
    assert_eq!(names::stream("authoring"), "AUTHORING");
    assert_eq!(names::letters_stream("AUTHORING"), "AUTHORING_DLQ");
    assert_eq!(names::letters_topic(CONFIRMED), format!("{CONFIRMED}.dlq"));
    assert_eq!(names::durable("billing-service.folios"), "billing-service-folios");
}

#[test]
fn every_event_that_leaves_its_device_has_exactly_one_stream() {
    for platform in [&karwan_testkit::platforms::MELMASTOON, &karwan_testkit::platforms::LEARNING] {
        let catalogue = Catalogue::of(platform).unwrap();
        let topology = Topology::of(&catalogue);
        for entry in catalogue.directory().entries() {
            let takers =
                topology.streams().iter().filter(|stream| stream.subjects.contains(&entry.row.subject)).count();
            assert_eq!(takers, usize::from(!entry.row.local_only), "{}", entry.row.subject);
        }
    }
}

#[test]
fn the_printed_form_is_stable() {
    let topology = hotels().of_services(&["audit-service"]);
    let topology =
        topology.consumer("archive-service.seals", "archive-service", &["melmastoon.audit.entry.appended.v1"]);
    match topology {
        Ok(topology) => expect![[r#"
            AUDIT  fed by audit-service, kept 7 days, dead letters in AUDIT_DLQ
              melmastoon.audit.entry.appended.v1
              melmastoon.audit.merkle.anchored.v1
              > archive-service.seals  durable archive-service-seals
                archive-service.audit.entry.appended.v1.sub
        "#]]
        .assert_eq(&topology.to_string()),
        Err(error) => panic!("{error}\n{}", hotels().of_services(&["audit-service"])),
    }
}

/// R-092.
#[test]
fn a_subscription_is_never_shared_and_a_consumer_has_one_stream() {
    let one = topology().consumer("billing-service.folios", "billing-service", &[CONFIRMED, CANCELLED]).unwrap();
    let error = one.clone().consumer("billing-service.more", "billing-service", &[CONFIRMED]).unwrap_err();
    expect![
        "billing-service.reservation.booking.confirmed.v1.sub belongs to billing-service.folios and is never shared"
    ]
    .assert_eq(&error.to_string());
    let error = one.clone().consumer("billing-service-folios", "other-service", &[CONFIRMED]).unwrap_err();
    expect!["billing-service-folios and billing-service.folios would share the durable billing-service-folios"]
        .assert_eq(&error.to_string());
    let of = |stream: &str| hotels().stream(stream).unwrap().subjects[0].clone();
    let (audit, inventory, pricing) = (of("AUDIT"), of("INVENTORY"), of("PRICING"));
    let two = hotels().consumer("x.y", "x", &[CONFIRMED, &audit, CANCELLED]).unwrap_err();
    expect!["x.y follows AUDIT and RESERVATION: a consumer is fed from one stream, so make it one for each"]
        .assert_eq(&two.to_string());
    let all = hotels().consumer("x.y", "x", &[&pricing, CONFIRMED, &inventory, &audit]).unwrap_err();
    expect![
        "x.y follows AUDIT, INVENTORY, PRICING and RESERVATION: a consumer is fed from one stream, so make it one for each"
    ]
    .assert_eq(&all.to_string());
    assert!(one.consumer("x.y", "x", &["no.such.thing"]).is_err());
}

#[tokio::test]
async fn applying_makes_what_is_missing_and_a_second_time_nothing() {
    let Some(server) = nats().or_skip() else { return };
    let broker = connected(&server).await;
    let wanted = topology().consumer("billing-service.folios", "billing-service", &[CONFIRMED]).unwrap();
    let missing: Vec<String> = wanted.check(&broker).await.unwrap().iter().map(ToString::to_string).collect();
    expect![[r#"
        RESERVATION: is not there
        RESERVATION_DLQ: is not there
        RESERVATION billing-service-folios: is not there"#]]
    .assert_eq(&missing.join("\n"));
    let changes: Vec<String> = wanted.apply(&broker).await.unwrap().iter().map(ToString::to_string).collect();
    expect![[r#"
        made    RESERVATION
        made    RESERVATION_DLQ
        made    RESERVATION billing-service-folios"#]]
    .assert_eq(&changes.join("\n"));
    assert_eq!(wanted.check(&broker).await.unwrap(), []);
    assert_eq!(wanted.apply(&broker).await.unwrap(), []);
}

/// Asks JetStream without us.
async fn ask(url: &str, verb: &str, body: &Value) -> Value {
    let client = async_nats::connect(url).await.expect("a test needs it");
    let answer = client.request(format!("$JS.API.{verb}"), body.to_string().into()).await.expect("a test needs it");
    serde_json::from_slice(&answer.payload).expect("a test needs it")
}

/// R-096, as far as JetStream has it.
#[tokio::test]
async fn streams_have_the_settings_of_the_documents() {
    let Some(server) = nats().or_skip() else { return };
    prepared(&server).await;
    let config = ask(&server.url(), &format!("STREAM.INFO.{STREAM}"), &json!({})).await["config"].take();
    let day = 24 * 60 * 60 * 1_000_000_000_u64;
    assert_eq!(config["max_age"], json!(7 * day));
    assert_eq!(config["discard"], "new");
    assert_eq!(config["storage"], "file");
    assert_eq!(config["retention"], "limits");
    assert_eq!(config["allow_direct"], true);
    assert_eq!(config["allow_atomic"], true);
}

/// R-096: a subscription that pulls has ten minutes for a delivery; one of an older release is mended.
#[tokio::test]
async fn durables_have_the_settings_of_the_documents() {
    let Some(server) = nats().or_skip() else { return };
    let broker = connected(&server).await;
    let wanted = topology().consumer("billing-service.folios", "billing-service", &[CONFIRMED]).unwrap();
    wanted.apply(&broker).await.unwrap();
    let durable = format!("{STREAM}.billing-service-folios");
    let config = ask(&server.url(), &format!("CONSUMER.INFO.{durable}"), &json!({})).await["config"].take();
    assert_eq!(config["ack_wait"], json!(600 * 1_000_000_000_u64));
    assert_eq!(config["ack_policy"], "all");
    assert_eq!(config["max_deliver"], -1, "attempts are counted by the consumer's store");
    let mut old = config.clone();
    old["ack_wait"] = json!(60 * 1_000_000_000_u64);
    let body = json!({ "stream_name": STREAM, "config": old });
    let made = ask(&server.url(), &format!("CONSUMER.DURABLE.CREATE.{durable}"), &body).await;
    assert!(made["error"].is_null(), "{made}");
    let changes: Vec<String> = wanted.apply(&broker).await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(changes, ["mended  RESERVATION billing-service-folios: ack_wait is 60 s, and should be 600 s"]);
    assert_eq!(wanted.check(&broker).await.unwrap(), []);
}

#[tokio::test]
async fn applying_adds_subjects_keeps_others_and_lets_messages_live_longer_only() {
    let Some(server) = nats().or_skip() else { return };
    let broker = connected(&server).await;
    let day = 24 * 60 * 60 * 1_000_000_000_u64;
    let old = json!({
        "name": STREAM, "subjects": [CONFIRMED, RETIRED], "storage": "file", "retention": "limits",
        "discard": "old", "max_age": day, "num_replicas": 1, "max_consumers": -1, "max_msgs_per_subject": 77,
    });
    let made = ask(&server.url(), &format!("STREAM.CREATE.{STREAM}"), &old).await;
    assert!(made["error"].is_null(), "{made}");
    let changes: Vec<String> = topology().apply(&broker).await.unwrap().iter().map(ToString::to_string).collect();
    let printed = changes.join("\n");
    assert!(printed.contains(&format!("kept    RESERVATION: also takes {RETIRED}")), "{printed}");
    assert!(printed.contains("mended  RESERVATION: max_age is 86400 s, and should be 604800 s"), "{printed}");
    assert!(printed.contains("mended  RESERVATION: does not take ") && printed.contains(CANCELLED), "{printed}");
    let config = ask(&server.url(), &format!("STREAM.INFO.{STREAM}"), &json!({})).await["config"].take();
    let subjects: Vec<&str> = config["subjects"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(subjects.contains(&RETIRED) && subjects.contains(&CANCELLED), "{subjects:?}");
    assert_eq!(config["max_msgs_per_subject"], 77, "what nobody asked about stays");
    assert!(topology().check(&broker).await.unwrap().iter().all(|difference| !difference.matters()));
}

#[tokio::test]
async fn what_cannot_be_changed_in_place_is_refused_and_left() {
    let Some(server) = nats().or_skip() else { return };
    let broker = connected(&server).await;
    let memory = json!({ "name": STREAM, "subjects": [CONFIRMED], "storage": "memory", "num_replicas": 1 });
    let made = ask(&server.url(), &format!("STREAM.CREATE.{STREAM}"), &memory).await;
    assert!(made["error"].is_null(), "{made}");
    let error = topology().apply(&broker).await.unwrap_err();
    assert!(matches!(error, Error::Topology { .. }), "{error:?}");
    expect!["RESERVATION: storage is memory, and should be file, which cannot be changed in place"]
        .assert_eq(&error.to_string());
}

/// JetStream says that subjects overlap, and neither which nor with whom.
#[tokio::test]
async fn of_a_subject_that_another_stream_has_it_is_said_which_and_whose() {
    let Some(server) = nats().or_skip() else { return };
    let broker = connected(&server).await;
    let refused = async |what: &str| {
        let error = topology().apply(&broker).await.unwrap_err();
        assert_eq!(error.code(), "broker-overlap", "{error:?}");
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("take the subjects out")), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("RESERVATION cannot get its subjects: the stream LEGACY takes {what} already")
        );
    };
    let legacy = json!({ "name": "LEGACY", "subjects": [format!("{CANCELLED}.>"), CONFIRMED] });
    ask(&server.url(), "STREAM.CREATE.LEGACY", &legacy).await;
    refused(CONFIRMED).await;
    assert!(!broker.has_stream(STREAM).await.unwrap());
    // Also where ours is there already, and lacks the subject.
    let own = json!({ "name": STREAM, "subjects": [CANCELLED], "storage": "file", "discard": "new" });
    let made = ask(&server.url(), &format!("STREAM.CREATE.{STREAM}"), &own).await;
    assert!(made["error"].is_null(), "{made}");
    refused(CONFIRMED).await;
    broker.delete_stream("LEGACY").await.unwrap();
    topology().apply(&broker).await.unwrap();
}

/// Streams are called after services, and two platforms have services of one name.
#[tokio::test]
async fn a_stream_of_another_platform_is_refused_and_nothing_at_all_is_touched() {
    const SHARED: &str = "ANALYTICS";
    let Some(server) = nats().or_skip() else { return };
    let broker = connected(&server).await;
    let courses = Topology::of(&Catalogue::of(&karwan_testkit::platforms::LEARNING).expect("a test needs it"));
    let config = async || ask(&server.url(), &format!("STREAM.INFO.{SHARED}"), &json!({})).await["config"].take();
    for (first, second) in [(hotels(), courses.clone()), (courses.clone(), hotels())] {
        let name = first.stream(SHARED).unwrap().service.clone();
        first.clone().of_services(&[&name]).apply(&broker).await.unwrap();
        let before = config().await;
        let error = second.apply(&broker).await.unwrap_err();
        assert_eq!(error.code(), "broker-other-platform", "{error:?}");
        assert!(
            error.to_string().starts_with(&format!("ANALYTICS is not of {}: it takes ", second.platform())),
            "{error}"
        );
        assert!(
            error.remedy().is_some_and(|remedy| remedy.contains("an account of that server, or a broker")),
            "{error:?}"
        );
        assert_eq!(config().await, before);
        let other = second.streams().iter().find(|stream| first.stream(&stream.name).is_none()).unwrap();
        assert!(!broker.has_stream(&other.name).await.unwrap(), "{} was made", other.name);
        let found = second.check(&broker).await.unwrap();
        let about: Vec<String> = found.iter().filter(|one| one.stream == SHARED).map(ToString::to_string).collect();
        assert!(matches!(&about[..], [one] if one.ends_with(" of another platform")), "{about:?}");
        assert!(found.iter().all(Difference::matters), "{found:?}");
        // Of its own, the platform may want more at any time.
        first.clone().apply(&broker).await.unwrap();
        for stream in first.streams() {
            broker.delete_stream(&stream.name).await.unwrap();
            broker.delete_stream(&stream.letters()).await.unwrap();
        }
    }
}
