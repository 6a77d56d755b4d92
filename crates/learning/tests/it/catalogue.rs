//! The catalogue's files against the policy gates, and the names that the grammar does not allow.

use std::collections::BTreeSet;

use expect_test::expect;
use karwan_envelope::subject::Grammar;
use karwan_registry::files::{self, Topics};
use karwan_registry::hash::hash;
use karwan_registry::{Catalogue, check, schema};
use learning::platform::{GRAMMAR, PLATFORM, SERVICES};
use serde_json::Value;

fn catalogue() -> Catalogue {
    Catalogue::of(&PLATFORM).unwrap()
}

/// R-038, R-040.
#[test]
fn the_files_have_73_topics_and_no_findings() {
    let tree = files::emit(&catalogue());
    let topics: Topics = serde_json::from_slice(&tree["learning/topics.json"]).unwrap();
    assert_eq!((topics.topics.len(), topics.local_only.len()), (73, 0));
    let files: BTreeSet<&String> = topics.topics.iter().map(|topic| &topic.schema_file).collect();
    assert_eq!(files.len(), 73);
    for topic in &topics.topics {
        let document: Value = serde_json::from_slice(&tree[&format!("learning/{}", topic.schema_file)]).unwrap();
        assert_eq!(hash(&document), Ok(topic.schema_uri.hash), "{}", topic.subject);
        assert!(schema::validator(&document).is_ok(), "{}", topic.subject);
    }
    assert_eq!(check::check(&tree, PLATFORM.profiles), []);
}

/// R-039, C-64: the nineteen tokens of the document, and the two that its catalogue uses besides.
#[test]
fn the_service_tokens_are_the_document_s_and_two_more() {
    let tokens: Vec<&str> = SERVICES.iter().map(|service| service.token).collect();
    let documented = "identity tenant catalog authoring content marketplace billing enrollment assignment delivery \
                      progress assessment certification notification media search analytics ai sync gdpr audit";
    assert_eq!(tokens, documented.split_whitespace().collect::<Vec<_>>());
}

/// C-07, C-08: published names only, 5 short, 13 long, 2 not in the past tense.
#[test]
fn the_exceptions_of_the_grammar_are_pinned() {
    let pinned: Vec<&str> = GRAMMAR.exceptions.iter().map(|exception| exception.subject).collect();
    expect![[r#"
        enrollment.created.v1
        enrollment.completed.v1
        enrollment.revoked.v1
        notification.sent.v1
        notification.failed.v1
        authoring.draft.block.added.v1
        authoring.draft.ai.block_generated.v1
        authoring.draft.ai.block_accepted.v1
        content.play_package.bundle.published.v1
        content.play_package.bundle.license_issued.v1
        content.play_package.bundle.revoked.v1
        delivery.assistant.turn.completed.v1
        delivery.offline.bundle.tamper_detected.v1
        media.ai.image.generated.v1
        ai.gateway.call.completed.v1
        ai.gateway.call.refused.v1
        ai.inference.local.completed.v1
        ai.safety.flag.raised.v1
        assignment.compliance_window.overdue.v1
        media.asset.ready.v1"#]]
    .assert_eq(&pinned.join("\n"));
    let strict = Grammar { exceptions: &[], ..GRAMMAR };
    for event in learning::events() {
        let subject = (event.row)().subject;
        assert_eq!(strict.parse(&subject).is_err(), pinned.contains(&subject.as_str()), "{subject}");
    }
}

#[test]
fn every_property_says_what_it_is() {
    fn walk(place: &str, schema: &Value) {
        match schema {
            Value::Object(object) => {
                for (name, of) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    let told = of["description"].is_string() || of.get("const").is_some();
                    assert!(told, "{place}: `{name}` has no description: {of}");
                }
                object.values().for_each(|inner| walk(place, inner));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(place, item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    for event in learning::events() {
        walk(&(event.row)().subject, &(event.schema)());
    }
}

/// R-039: a partition bucket may follow the version.
#[test]
fn a_subject_may_end_in_a_partition() {
    let parts = GRAMMAR.parse("enrollment.created.v1.07").unwrap();
    assert_eq!((parts.subject.as_str(), parts.partition.as_deref()), ("enrollment.created.v1", Some("07")));
    let parts = GRAMMAR.parse("authoring.course_draft.published.v1.b3").unwrap();
    assert_eq!((parts.verb.as_str(), parts.partition.as_deref()), ("published", Some("b3")));
    assert!(GRAMMAR.parse("authoring.course_draft.published.v1.b3.b4").is_err());
}

/// R-026: the envelope's schema is at its own address, and admits the document's envelope.
#[test]
fn the_envelope_schema_is_published_and_admits_the_sample() {
    let tree = files::emit(&catalogue());
    let envelope: Value = serde_json::from_slice(&tree["learning/event-schemas/envelope/v1.json"]).unwrap();
    let validator = schema::validator(&envelope).unwrap();
    for (name, text) in learning::samples::envelopes() {
        assert!(validator.is_valid(&serde_json::from_str(text).unwrap()), "{name}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "eventId": "01ARZ3NDEKTSV4RRFFQ69G5FAV" })));
}

/// Document 003 §2: 30 days hot and 13 months cold, or 180 days and 7 years.
#[test]
fn the_retention_classes_are_the_document_s() {
    let classes: Vec<_> = PLATFORM.retention.iter().map(|it| (it.label, it.broker_days, it.cold_days)).collect();
    assert_eq!(classes, [("operational", 30, 396), ("regulated", 180, 2555), ("audit", 180, 2555)]);
}
