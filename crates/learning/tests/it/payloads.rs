//! The Rust structs against payloads made from the document's interfaces.

use karwan_registry::Event;
use learning::types::Money;
use serde_json::{Map, Value, json};

use crate::document::{self, Documented};
use crate::typescript::{Field, Type};

/// One event type, seen through what its struct does with a payload.
struct Typed {
    subject: &'static str,
    read: fn(Value) -> Result<Read, serde_json::Error>,
}

/// What came out of a payload that was read.
struct Read {
    printed: Value,
    keys: [String; 2],
    rendered: [Option<String>; 2],
}

fn read<E: Event>(payload: Value) -> Result<Read, serde_json::Error> {
    let row = E::row();
    let rendered = [row.key.render(&payload), row.idempotency_key.render(&payload)];
    let event: E = serde_json::from_value(payload)?;
    Ok(Read { printed: serde_json::to_value(&event)?, keys: [event.key(), event.idempotency_key()], rendered })
}

macro_rules! typed {
    ($($module:ident::$event:ident,)*) => {
        [$(Typed { subject: learning::$module::$event::SUBJECT, read: read::<learning::$module::$event> }),*]
    };
}

#[expect(clippy::too_many_lines, reason = "one line an event")]
fn typed() -> [Typed; 73] {
    typed![
        identity::UserRegistered,
        identity::UserLoggedIn,
        identity::DeviceBoundForOffline,
        identity::SessionRevoked,
        identity::PasswordResetRequested,
        tenant::OrgProvisioned,
        tenant::UserInvited,
        tenant::RoleAssigned,
        tenant::DynamicGroupEvaluated,
        tenant::DataResidencyChanged,
        catalog::CourseRegistered,
        catalog::CourseVersionPublished,
        catalog::CourseVersionWithdrawn,
        authoring::DraftCreated,
        authoring::BlockAdded,
        authoring::BlockAiGenerated,
        authoring::BlockAiAccepted,
        authoring::CourseDraftPublished,
        content::PlayPackageBuilt,
        content::BundlePublished,
        content::BundleLicenseIssued,
        content::BundleRevoked,
        content::BundleTamperDetected,
        marketplace::ListingApproved,
        marketplace::OrderPlaced,
        marketplace::LicenseGranted,
        marketplace::LicenseAssigned,
        marketplace::LicenseRevoked,
        marketplace::OrderFailed,
        billing::PaymentSucceeded,
        billing::PaymentFailed,
        billing::SubscriptionStarted,
        billing::SubscriptionChanged,
        enrollment::EnrollmentCreated,
        enrollment::EnrollmentCompleted,
        enrollment::EnrollmentRevoked,
        assignment::ComplianceWindowOpened,
        assignment::ComplianceWindowCompleted,
        assignment::ComplianceWindowOverdue,
        assignment::AssignmentRecommendationGenerated,
        delivery::PlaySessionStarted,
        delivery::NavigationCursorMoved,
        delivery::AssistantTurnCompleted,
        delivery::OfflineTamperDetected,
        progress::StatementRecorded,
        progress::AttemptClosed,
        progress::CompletionRecorded,
        assessment::AttemptScored,
        assessment::ShortAnswerAiGraded,
        certification::CertificateIssued,
        certification::OfflineClaimVerified,
        certification::CertificateRevoked,
        notification::NotificationSent,
        notification::NotificationFailed,
        media::MediaAssetReady,
        media::MediaAiImageGenerated,
        media::MediaAssetQuarantined,
        search::RecommendationGenerated,
        analytics::AnalyticsExportCompleted,
        analytics::AnalyticsInsightGenerated,
        ai::AiCallCompleted,
        ai::AiCallRefused,
        ai::AiLocalInferenceCompleted,
        ai::AiSafetyFlagRaised,
        ai::AiBudgetExceeded,
        sync::SyncPushApplied,
        sync::SyncConflictDetected,
        sync::SyncConflictResolved,
        sync::SyncDeviceWiped,
        gdpr::SubjectRequestReceived,
        gdpr::SubjectRequestCompleted,
        gdpr::SubjectRequestAcknowledged,
        audit::MerkleAnchored,
    ]
}

/// A payload of this interface; `with_optional` decides about the fields that may be absent, `pick` about literals.
fn sample(fields: &[Field], with_optional: bool, pick: usize) -> Value {
    let kept = fields.iter().filter(|field| with_optional || !field.optional);
    let values = kept.map(|field| (field.name.clone(), sample_type(&field.name, &field.of, with_optional, pick)));
    Value::Object(values.collect::<Map<String, Value>>())
}

fn sample_type(name: &str, of: &Type, with_optional: bool, pick: usize) -> Value {
    match of {
        Type::Literals(literals) => literals[pick % literals.len()].as_str().into(),
        Type::List(entry) => vec![sample_type(name, entry, with_optional, pick); 2].into(),
        Type::Object(fields) => sample(fields, with_optional, pick),
        Type::AnyOf(_) if pick == 0 => json!({"objectType": "StatementRef", "id": "stm_1"}),
        Type::AnyOf(_) => json!({"objectType": "Activity", "id": "https://example.org/a", "definition": {
            "name": {"ps-AF": "لوست"}, "type": "http://adlnet.gov/expapi/activities/lesson"
        }}),
        Type::Named(named) => sample_name(name, named),
    }
}

fn sample_name(field: &str, named: &str) -> Value {
    match named {
        "ISODate" => "2026-05-01T14:00:00.250Z".into(),
        "TenantId" => "01ARZ3NDEKTSV4RRFFQ69G5FAV".into(),
        "Money" => json!({"amountMicro": 12_500_000, "currency": "AFN"}),
        "ISO4217" => "AFN".into(),
        "Email" => "learner@example.org".into(),
        "Locale" => "fa-AF".into(),
        "SemVer" => "1.4.0-rc.1".into(),
        "JWS" => "eyJhbGciOiJFZERTQSJ9..c2ln".into(),
        "RRULEString" => "FREQ=YEARLY;BYMONTH=3".into(),
        "string" if field == "deliveryUrl" => "https://example.org/exports/1".into(),
        "I18nString" => json!({"en": "Hand hygiene", "fa-AF": "بهداشت دست"}),
        "SHA256" => "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
        "AIProvenance" => json!({
            "modelId": "m", "modelVersion": "1", "promptId": "p", "promptVersion": "1.0.0", "traceId": "t",
            "local": false, "inputHash": "h", "generatedAt": "2026-05-01T14:00:00Z"
        }),
        "Actor" => json!({"objectType": "Agent", "account": {"homePage": "https://example.org", "name": "usr_1"}}),
        "Verb" => json!({"id": "http://adlnet.gov/expapi/verbs/completed", "display": {"en": "completed"}}),
        "Result" => json!({"score": {"scaled": 0.5}, "success": true, "duration": "PT4M"}),
        "SafetyVerdict" => json!({"decision": "warn", "categories": ["pii"]}),
        "boolean" => true.into(),
        "number" if matches!(field, "score" | "scaledScore" | "confidence") => 0.5.into(),
        "number" => 9_007_199_254_740_991_u64.into(),
        text => format!("{text}_1").into(),
    }
}

/// Every interface with and without its optional fields, and with enough picks to meet every literal.
fn check_all(check: impl Fn(&Typed, &Documented, Value)) {
    let documented = document::rows();
    for typed in typed() {
        let row = documented.iter().find(|row| row.subject == typed.subject).expect("every struct has its row");
        for (with_optional, pick) in [true, false].into_iter().flat_map(|with| (0..7).map(move |pick| (with, pick))) {
            check(&typed, row, sample(&row.payload, with_optional, pick));
        }
    }
}

#[test]
fn every_event_of_the_catalogue_is_read_and_printed_unchanged() {
    let mut listed: Vec<&str> = typed().iter().map(|typed| typed.subject).collect();
    let mut catalogued: Vec<String> = learning::events().iter().map(|event| (event.row)().subject).collect();
    listed.sort_unstable();
    catalogued.sort_unstable();
    assert_eq!(listed, catalogued);
    check_all(|typed, _, payload| {
        let read = (typed.read)(payload.clone()).unwrap_or_else(|error| panic!("{}: {error}", typed.subject));
        assert_eq!(read.printed, payload, "{}", typed.subject);
    });
}

/// A reader in another language renders the row's template over the payload; it must get the key that Rust gets.
#[test]
fn keys_of_the_struct_are_those_of_the_row_over_the_payload() {
    check_all(|typed, _, payload| {
        let read = (typed.read)(payload).unwrap();
        assert_eq!(read.keys.map(Some), read.rendered, "{}", typed.subject);
    });
}

#[test]
fn a_payload_without_a_required_field_is_refused() {
    check_all(|typed, row, payload| {
        for field in row.payload.iter().filter(|field| !field.optional) {
            let mut without = payload.clone();
            without.as_object_mut().unwrap().remove(&field.name);
            assert!((typed.read)(without).is_err(), "{} was read without `{}`", typed.subject, field.name);
        }
    });
}

/// An old consumer meets a field that was added later.
#[test]
fn a_field_that_is_not_known_is_ignored() {
    check_all(|typed, _, payload| {
        let mut newer = payload.clone();
        newer["addedLater"] = 1.into();
        assert_eq!((typed.read)(newer).unwrap().printed, payload, "{}", typed.subject);
    });
}

#[test]
fn a_tenant_that_is_no_ulid_is_refused() {
    let read = read::<learning::enrollment::EnrollmentRevoked>;
    let payload =
        |tenant: &str| json!({"tenantId": tenant, "enrollmentId": "e", "reason": "r", "at": "2026-05-01T14:00:00Z"});
    assert!(read(payload("01ARZ3NDEKTSV4RRFFQ69G5FAV")).is_ok());
    let error = read(payload("tnt_01ARZ3NDEKTSV4RRFFQ69G5FAV")).err().unwrap().to_string();
    assert!(error.contains("is not a ULID in upper case"), "{error}");
}

/// C-29: what is an integer on this platform's wire is exact money inside.
#[test]
fn the_largest_amount_becomes_exact_money() {
    let money: Money =
        serde_json::from_value(json!({"amountMicro": 9_007_199_254_740_991_u64, "currency": "AFN"})).unwrap();
    let exact = karwan_envelope::money::Money::from(money);
    assert_eq!(serde_json::to_value(exact).unwrap(), json!({"amountMicro": "9007199254740991", "currency": "AFN"}));
}
