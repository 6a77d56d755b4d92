//! What the catalogue says about each event besides its payload.

use std::collections::BTreeSet;

use karwan_registry::{AiRule, Row, Scope, Tenancy};

use crate::document;

fn rows() -> Vec<Row> {
    learning::events().iter().map(|event| (event.row)()).collect()
}

fn row(subject: &str) -> Row {
    rows().into_iter().find(|row| row.subject == subject).unwrap_or_else(|| panic!("no event {subject}"))
}

fn subjects(keep: impl Fn(&Row) -> bool) -> BTreeSet<String> {
    rows().into_iter().filter(keep).map(|row| row.subject).collect()
}

fn check(keep: impl Fn(&Row) -> bool, expected: &[&str]) {
    assert_eq!(subjects(keep), expected.iter().map(|subject| (*subject).to_owned()).collect());
}

/// 71 with a payload in the document, two that only a saga names.
#[test]
fn catalogue_has_the_73_documented_subjects() {
    let documented = document::rows();
    assert_eq!(documented.iter().filter(|row| !row.saga_only).count(), 71);
    assert_eq!(documented.len(), 73);
    assert_eq!(rows().len(), 73);
    assert_eq!(subjects(|_| true), documented.iter().map(|row| row.subject.to_owned()).collect());
}

#[test]
fn only_the_payloads_of_the_saga_only_rows_are_decided_here() {
    check(|row| row.decided_here, &["marketplace.order.failed.v1", "gdpr.subject_request.acknowledged.v1"]);
    let saga_only = document::rows().into_iter().filter(|row| row.saga_only).map(|row| row.subject.to_owned());
    assert_eq!(subjects(|row| row.decided_here), saga_only.collect());
}

#[test]
fn owners_are_the_documented_services() {
    for documented in document::rows() {
        let row = row(documented.subject);
        let expected = match documented.subject.split('.').next().unwrap() {
            // U-29: a platform module that runs in the tenant service.
            "gdpr" => "tenant-service",
            "audit" => "audit-service",
            _ => documented.owner,
        };
        assert_eq!(row.owner, expected, "{}", row.subject);
    }
}

/// C-64: the 18 services as written, without the catalogue service.
#[test]
fn every_service_in_scope_may_acknowledge_a_subject_request_and_nobody_else_shares_an_event() {
    let acknowledged = row("gdpr.subject_request.acknowledged.v1");
    let scope = "identity tenant authoring content marketplace billing enrollment assignment delivery progress \
                 assessment certification notification media search analytics ai-gateway sync";
    let expected: Vec<String> = scope.split_whitespace().map(|service| format!("{service}-service")).collect();
    assert_eq!(acknowledged.producers, expected);
    assert_eq!(acknowledged.producers.len(), 18);
    check(|row| row.producers != [row.owner.clone()], &["gdpr.subject_request.acknowledged.v1"]);
}

/// R-032 and C-30.
#[test]
fn provenance_is_mandatory_on_six_and_optional_on_one() {
    check(
        |row| row.ai_provenance == AiRule::Payload,
        &[
            "assignment.recommendation.generated.v1",
            "delivery.assistant.turn.completed.v1",
            "assessment.short_answer.ai_graded.v1",
            "media.ai.image.generated.v1",
            "search.recommendation.generated.v1",
            "analytics.insight.generated.v1",
        ],
    );
    check(|row| row.ai_provenance == AiRule::PayloadOptional, &["authoring.draft.block.added.v1"]);
    check(|row| row.ai_provenance == AiRule::Metadata, &[]);
    for event in learning::events() {
        let schema = (event.schema)();
        let present = schema["properties"].get("aiProvenance").is_some();
        let required = schema["required"].as_array().unwrap().contains(&"aiProvenance".into());
        let rule = match (present, required) {
            (true, true) => AiRule::Payload,
            (true, false) => AiRule::PayloadOptional,
            (false, _) => AiRule::None,
        };
        assert_eq!((event.row)().ai_provenance, rule, "{}", (event.row)().subject);
    }
}

/// C-12 and U-08; where the document gives billing both classes, the longer one.
#[test]
fn retention_follows_the_stream_classes() {
    for documented in document::rows() {
        let service = documented.subject.split('.').next().unwrap();
        let regulated = documented.retention.contains("regulated")
            || documented.retention == "unspecified"
                && matches!(service, "enrollment" | "assessment" | "gdpr" | "audit");
        let expected = if regulated { "regulated" } else { "operational" };
        assert_eq!(row(documented.subject).retention, expected, "{}", documented.subject);
    }
}

/// the document's examples, and whatever a saga in another service acts on.
#[test]
fn events_that_another_service_acts_on_are_integration_events() {
    check(
        |row| row.scope == Scope::Integration,
        &[
            "billing.payment.failed.v1",
            "billing.payment.succeeded.v1",
            "catalog.course_version.published.v1",
            "content.play_package.built.v1",
            "content.play_package.bundle.published.v1",
            "enrollment.created.v1",
            "gdpr.subject_request.acknowledged.v1",
            "gdpr.subject_request.received.v1",
            "marketplace.license.granted.v1",
            "progress.completion.recorded.v1",
            "sync.push.applied.v1",
        ],
    );
    for documented in document::rows().iter().filter(|row| !row.kind.is_empty()) {
        let integration = row(documented.subject).scope == Scope::Integration;
        assert_eq!(integration, documented.kind.starts_with("integration"), "{}", documented.subject);
    }
}

/// C-69: its envelope is the platform's, its payload may name a tenant.
#[test]
fn only_the_audit_anchor_is_the_platforms_own() {
    check(|row| row.tenancy == Tenancy::Platform, &["audit.merkle.anchored.v1"]);
    check(|row| row.tenancy == Tenancy::CrossTenant, &[]);
}

/// A template over an optional field would leave some events without a key.
#[test]
fn keys_are_made_of_required_fields() {
    for event in learning::events() {
        let (row, schema) = ((event.row)(), (event.schema)());
        let required = schema["required"].as_array().unwrap();
        for field in row.key.fields().chain(row.idempotency_key.fields()) {
            assert!(required.contains(&field.into()), "{}: `{field}` may be missing", row.subject);
        }
    }
}
