//! The catalogue against the table that was taken from the documents, and its files against the policy gates.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use karwan::registry::check;
use karwan::registry::files::{self, Topics, Tree};
use karwan::registry::hash::hash;
use karwan::registry::{AiRule, Catalogue, Row, Tenancy, schema};
use melmastoon::platform::{GRAMMAR, PLATFORM, SERVICES};
use serde_json::Value;

/// One line of the table: a spelling that a document uses.
struct Spelling {
    subject: &'static str,
    owner: &'static str,
    mark: &'static str,
    retention: &'static str,
    canonical: &'static str,
}

fn table() -> Vec<Spelling> {
    let lines = include_str!("catalog_melmastoon.tsv").lines().skip(1);
    let spellings = lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[subject, owner, _, _, _, mark, _, retention, canonical, ..] = cells.as_slice() else {
            panic!("a line of another shape: {line}")
        };
        Spelling { subject, owner, mark, retention, canonical }
    });
    spellings.collect()
}

fn is_local(spelling: &Spelling) -> bool {
    spelling.mark == "004-local-only"
}

fn rows() -> BTreeMap<String, Row> {
    let rows = melmastoon::events().into_iter().map(|event| (event.row)());
    rows.map(|row| (row.subject.clone(), row)).collect()
}

fn subjects(keep: impl Fn(&Row) -> bool) -> Vec<String> {
    rows().into_values().filter(keep).map(|row| row.subject).collect()
}

fn catalogue() -> Catalogue {
    Catalogue::of(&PLATFORM).expect("the platform's types make a catalogue")
}

/// R-035, R-041, C-05, C-06, C-09: 82 of the first document, 15 more that the lock document produces, 4 that it reads.
#[test]
fn the_101_canonical_subjects_are_those_of_the_table() {
    let expected: BTreeSet<String> =
        table().iter().filter(|it| !is_local(it)).map(|it| it.canonical.to_owned()).collect();
    let public: BTreeSet<String> = subjects(|row| !row.local_only).into_iter().collect();
    assert_eq!(public, expected);
    assert_eq!(public.len(), 101);
    let new_in = |mark: &str| {
        let own = |it: &&Spelling| it.mark.starts_with(mark) && !it.mark.starts_with("000");
        let canonical: BTreeSet<&str> = table().iter().filter(own).map(|it| it.canonical).collect();
        let catalogued: Vec<Spelling> = table().into_iter().filter(|it| it.mark.starts_with("000")).collect();
        canonical.iter().filter(|name| catalogued.iter().all(|it| it.subject != **name)).count()
    };
    let first = table().iter().filter(|it| it.mark.starts_with("000")).count();
    assert_eq!((first, new_in("004-produced"), new_in("004-consumed")), (82, 15, 4));
}

/// C-04.
#[test]
fn the_23_aliases_are_those_of_the_table() {
    let expected: BTreeMap<&str, &str> = table()
        .iter()
        .filter(|it| !is_local(it) && it.subject != it.canonical)
        .map(|it| (it.subject, it.canonical))
        .collect();
    assert_eq!(expected.len(), 23);
    let rows = rows();
    let aliases: BTreeMap<&str, &str> =
        rows.values().flat_map(|row| row.aliases.iter().map(|alias| (alias.as_str(), row.subject.as_str()))).collect();
    assert_eq!(aliases, expected);
    let catalogue = catalogue();
    for (alias, canonical) in aliases {
        let entry = catalogue.directory().resolve(alias).expect("an alias resolves");
        assert_eq!(entry.row.subject, canonical);
    }
}

/// R-042.
#[test]
fn the_two_local_subjects_have_no_topic() {
    let local: Vec<String> = table().iter().filter(|it| is_local(it)).map(|it| it.subject.to_owned()).collect();
    assert_eq!(subjects(|row| row.local_only), local);
    assert_eq!(local.len(), 2);
    let topics = topics(&files::emit(&catalogue()));
    assert!(topics.topics.iter().all(|topic| !local.contains(&topic.subject)));
}

/// U-08, C-12.
#[test]
fn owner_and_retention_are_those_of_the_table() {
    let rows = rows();
    for spelling in table().iter().filter(|it| !is_local(it)) {
        let row = &rows[spelling.canonical];
        assert_eq!(row.retention, spelling.retention, "{}", spelling.subject);
        // C-06: of two producers that a document leaves open, the one whose token the name has.
        let owner = if spelling.subject.starts_with("melmastoon.staff.") { "staff-service" } else { spelling.owner };
        assert_eq!(row.owner, owner, "{}", spelling.subject);
        assert_eq!(row.producers, [owner], "{}", spelling.subject);
    }
}

/// Document 004 §4: door attempts, and the life of a credential after it was asked for.
#[test]
fn what_the_lock_document_anchors_is_anchored() {
    expect![[r#"
        melmastoon.lock_integration.audit.attempt.v1
        melmastoon.lock_integration.key_credential.failed.v1
        melmastoon.lock_integration.key_credential.issued.v1
        melmastoon.lock_integration.key_credential.revoked.v1
        melmastoon.lock_integration.key_credential.suspended.v1
        melmastoon.lock_integration.key_credential.unsuspended.v1
        melmastoon.lock_integration.key_credential.updated.v1"#]]
    .assert_eq(&subjects(|row| row.merkle).join("\n"));
}

/// U-07, R-045, R-047.
#[test]
fn all_but_three_events_are_a_tenant_s_own() {
    expect![[r#"
        melmastoon.analytics.snapshot.computed.v1
        melmastoon.audit.merkle.anchored.v1
        melmastoon.search_aggregation.listing.indexed.v1"#]]
    .assert_eq(&subjects(|row| row.tenancy != Tenancy::Tenant).join("\n"));
    assert_eq!(subjects(|row| row.tenancy == Tenancy::Platform), ["melmastoon.audit.merkle.anchored.v1"]);
}

/// R-019.
#[test]
fn every_event_of_the_ai_orchestrator_says_which_ai() {
    let ai = subjects(|row| row.ai_provenance != AiRule::None);
    assert_eq!(ai, subjects(|row| row.subject.starts_with("melmastoon.ai_orchestrator.")));
    assert_eq!(ai, subjects(|row| row.ai_provenance == AiRule::Metadata));
    assert!(!ai.is_empty());
}

/// U-02: payloads that a document gives are those of the lock document; all others were designed here.
#[test]
fn payloads_are_decided_here_unless_the_lock_document_gives_them() {
    let produced: BTreeSet<&str> =
        table().iter().filter(|it| it.mark == "004-produced").map(|it| it.canonical).collect();
    let given: BTreeSet<String> = subjects(|row| !row.decided_here && !row.local_only).into_iter().collect();
    assert_eq!(given.iter().map(String::as_str).collect::<BTreeSet<_>>(), produced);
    assert_eq!(given.len(), 20);
}

/// R-034 and C-44: the document's map, and the two BFFs that it leaves out.
#[test]
fn the_service_map_has_22_rows_and_two_more_bffs() {
    let pairs: Vec<String> = SERVICES.iter().map(|service| format!("{} → {}", service.name, service.token)).collect();
    assert_eq!(pairs.len(), 24);
    expect![[r#"
        iam-service → iam
        tenant-service → tenant
        property-service → property
        reservation-service → reservation
        inventory-service → inventory
        pricing-service → pricing
        housekeeping-service → housekeeping
        maintenance-service → maintenance
        billing-service → billing
        payment-gateway-service → payment
        notification-service → notification
        theme-config-service → theme
        lock-integration-service → lock_integration
        search-aggregation-service → search_aggregation
        ai-orchestrator-service → ai_orchestrator
        file-storage-service → file
        reporting-service → reporting
        analytics-service → analytics
        audit-service → audit
        sync-service → sync
        staff-service → staff
        bff-tenant-booking-service → bff_tenant_booking
        bff-consumer-service → bff_consumer
        bff-backoffice-service → bff_backoffice"#]]
    .assert_eq(&pairs.join("\n"));
}

/// C-07, C-08: published names only. Whoever adds one here explains why a new name cannot follow the grammar.
#[test]
fn the_exceptions_of_the_grammar_are_pinned() {
    let lines: Vec<String> = GRAMMAR
        .exceptions
        .iter()
        .map(|it| format!("{} = {}/{}/{}: {}", it.subject, it.service, it.aggregate, it.verb, it.why))
        .collect();
    expect![[r#"
        melmastoon.file.uploaded.v1 = file/file/uploaded: published without an aggregate; the service stands for it
        melmastoon.file.scanned.v1 = file/file/scanned: published without an aggregate; the service stands for it
        melmastoon.reservation.booking.no_show.v1 = reservation/booking/no_show: published with a verb that is not in the past tense
        melmastoon.reservation.booking.early_checkout.v1 = reservation/booking/early_checkout: published with a verb that is not in the past tense
        melmastoon.lock_integration.vendor.error.v1 = lock_integration/vendor/error: published with a verb that is not in the past tense
        melmastoon.lock_integration.device.offline.v1 = lock_integration/device/offline: published with a verb that is not in the past tense
        melmastoon.lock_integration.device.online.v1 = lock_integration/device/online: published with a verb that is not in the past tense
        melmastoon.lock_integration.device.battery_low.v1 = lock_integration/device/battery_low: published with a verb that is not in the past tense
        melmastoon.lock_integration.device.health_alert.v1 = lock_integration/device/health_alert: published with a verb that is not in the past tense
        melmastoon.lock_integration.audit.attempt.v1 = lock_integration/audit/attempt: published with a verb that is not in the past tense
        melmastoon.lock.credential.issued.local.v1 = lock_integration/key_credential/issued_local: written on a device, and never published
        melmastoon.lock.credential.revoked.local.v1 = lock_integration/key_credential/revoked_local: written on a device, and never published"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn every_other_name_follows_the_grammar() {
    let strict = karwan::envelope::subject::Grammar { exceptions: &[], ..GRAMMAR };
    let pinned: BTreeSet<&str> = GRAMMAR.exceptions.iter().map(|it| it.subject).collect();
    for subject in rows().keys() {
        assert_eq!(strict.parse(subject).is_err(), pinned.contains(subject.as_str()), "{subject}");
    }
}

fn topics(tree: &Tree) -> Topics {
    serde_json::from_slice(&tree["melmastoon/topics.json"]).expect("topics")
}

/// R-037, R-038, R-048.
#[test]
fn the_files_have_one_topic_and_one_schema_a_subject() {
    let tree = files::emit(&catalogue());
    let topics = topics(&tree);
    assert_eq!((topics.topics.len(), topics.local_only.len()), (101, 2));
    let files: BTreeSet<&String> = topics.topics.iter().chain(&topics.local_only).map(|it| &it.schema_file).collect();
    assert_eq!(files.len(), 103);
    for topic in topics.topics.iter().chain(&topics.local_only) {
        let document: Value =
            serde_json::from_slice(&tree[&format!("melmastoon/{}", topic.schema_file)]).expect("JSON");
        assert_eq!(hash(&document), Ok(topic.schema_uri.hash), "{}", topic.subject);
        schema::validator(&document).unwrap_or_else(|error| panic!("{}: {error}", topic.subject));
        let parts: Vec<&str> = topic.schema_file.split('/').collect();
        assert!(matches!(parts[..], ["event-schemas", _, _, _, "v1.json"]), "{}", topic.schema_file);
    }
}

/// R-065, R-066, R-022.
#[test]
fn schemas_answer_to_the_addresses_of_the_documents() {
    let catalogue = catalogue();
    let entry = catalogue.directory().resolve("melmastoon.lock.credential.issued.v1").expect("an alias");
    expect![[r#"
        event-schemas/melmastoon.lock_integration.key_credential.issued.v1/v1.json
        https://schemas.melmastoon.ghasi.io/lock/credential.issued.v1.json
        https://schemas.melmastoon.ghasi.io/lock/melmastoon.lock.credential.issued.v1.json"#]]
    .assert_eq(&files::schema_addresses(&PLATFORM.policy, entry).join("\n"));
    let tree = files::emit(&catalogue);
    let id = |path: &str| serde_json::from_slice::<Value>(&tree[path]).expect("JSON")["$id"].clone();
    assert_eq!(
        id("melmastoon/event-schemas/platform/event_envelope/v1.json"),
        "schemas://platform/event_envelope/v1.json"
    );
    assert_eq!(id("melmastoon/event-schemas/webhooks/v1.json"), "https://schemas.melmastoon.ghasi.io/webhooks/v1.json");
}

/// What a tenant's webhook never carries.
#[test]
fn a_webhook_says_nothing_about_our_models() {
    let tree = files::emit(&catalogue());
    let webhook: Value = serde_json::from_slice(&tree["melmastoon/event-schemas/webhooks/v1.json"]).expect("JSON");
    assert_eq!(webhook.pointer("/properties/metadata/properties/aiProvenance"), Some(&Value::Bool(false)));
}

#[test]
fn the_untouched_files_have_no_findings() {
    assert_eq!(check::check(&files::emit(&catalogue()), PLATFORM.profiles), []);
}

fn check_planted(plant: impl FnOnce(&mut Tree), expected: Expect) {
    let mut tree = files::emit(&catalogue());
    plant(&mut tree);
    let found: Vec<String> = check::check(&tree, PLATFORM.profiles).iter().map(ToString::to_string).collect();
    expected.assert_eq(&found.join("\n"));
}

fn row(tree: &mut Tree, subject: &str, change: impl FnOnce(&mut Value)) {
    let mut topics: Value = serde_json::from_slice(&tree["melmastoon/topics.json"]).expect("JSON");
    let rows = topics["topics"].as_array_mut().expect("a list");
    change(rows.iter_mut().find(|row| row["subject"] == subject).expect("a row"));
    tree.insert("melmastoon/topics.json".to_owned(), files::pretty(&topics));
}

#[test]
fn a_booking_that_another_service_confirms_is_found() {
    let subject = "melmastoon.reservation.booking.confirmed.v1";
    let plant = |tree: &mut Tree| {
        row(tree, subject, |row| row["producers"].as_array_mut().expect("a list").push("billing-service".into()));
    };
    check_planted(
        plant,
        expect![[r#"
        catalog-non-owner: melmastoon/topics.json melmastoon.reservation.booking.confirmed.v1: published by billing-service, and only reservation-service may
            let the owner publish it, or list the subject as shared (docs/errors/catalog-non-owner.md)"#]],
    );
}

#[test]
fn a_booking_that_is_read_across_tenants_is_found() {
    let subject = "melmastoon.reservation.booking.confirmed.v1";
    check_planted(
        |tree| row(tree, subject, |row| row["tenancy"] = "crossTenant".into()),
        expect![[r#"
        catalog-cross-tenant: melmastoon/topics.json melmastoon.reservation.booking.confirmed.v1: cross-tenant subjects live only under melmastoon.search_aggregation., melmastoon.analytics.
            make it a tenant's event, or register the read path (docs/errors/catalog-cross-tenant.md)"#]],
    );
}

#[test]
fn an_ai_event_without_provenance_is_found() {
    let subject = "melmastoon.ai_orchestrator.completion.completed.v1";
    let plant = |tree: &mut Tree| {
        row(tree, subject, |row| row["aiProvenance"] = "none".into());
        tree.remove("melmastoon/samples/envelopes/melmastoon/completion_completed.json");
    };
    check_planted(
        plant,
        expect![[r#"
            catalog-ai-provenance: melmastoon/topics.json melmastoon.ai_orchestrator.completion.completed.v1: an AI event, and its envelope need not carry aiProvenance
                an event that an AI produced says which one (docs/errors/catalog-ai-provenance.md)
            catalog-sample: melmastoon/samples/envelopes/melmastoon/completion_completed.json: the policy names this sample, and it is not there
                mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)"#]],
    );
}

/// R-415: the lock document's samples are judged.
#[test]
fn a_lock_sample_that_shows_a_vendor_reference_is_found() {
    let path = "melmastoon/samples/payloads/melmastoon.lock_integration.key_credential.issued.v1.json";
    let plant = |tree: &mut Tree| {
        let mut sample: Value = serde_json::from_slice(&tree[path]).expect("JSON");
        sample["vendorRef"] = "04A2B91C7D5E80".into();
        tree.insert(path.to_owned(), files::pretty(&sample));
    };
    check_planted(
        plant,
        expect![[r#"
        catalog-sample: melmastoon/samples/payloads/melmastoon.lock_integration.key_credential.issued.v1.json: /payload: Additional properties are not allowed ('vendorRef' was unexpected)
            mend the sample or the schema: what the documentation shows must be valid (docs/errors/catalog-sample.md)"#]],
    );
}

/// Document 000 §13: days on the broker, in the warehouse and in cold storage.
#[test]
fn the_retention_classes_are_the_document_s() {
    let classes = PLATFORM.retention.iter().map(|it| (it.label, it.broker_days, it.warehouse_days, it.cold_days));
    let classes: Vec<_> = classes.collect();
    assert_eq!(classes, [("hot", 7, 30, 0), ("warm", 7, 365, 0), ("cold", 7, 365, 2555)]);
}

/// R-402: the two rows of document 000 §12.
#[test]
fn the_cross_tenant_read_paths_are_the_document_s() {
    let reads: Vec<_> = PLATFORM.policy.cross_tenant_reads.iter().map(|it| (it.subject, it.consumers)).collect();
    let warehouse: &[&str] = &["warehouse", "platform-reporting"];
    let search: &[&str] = &["bff-consumer-service"];
    let expected = [
        ("melmastoon.analytics.snapshot.computed.v1", warehouse),
        ("melmastoon.search_aggregation.listing.indexed.v1", search),
    ];
    assert_eq!(reads, expected);
}

/// R-065, C-28: each of the twenty schemas of document 004 answers to both of its published addresses.
#[test]
fn lock_schemas_answer_to_both_published_addresses() {
    let catalogue = Catalogue::of(&PLATFORM).unwrap();
    let base = "https://schemas.melmastoon.ghasi.io/lock/";
    let mut count = 0;
    for entry in catalogue.directory().entries().iter().filter(|entry| !entry.row.local_only) {
        let Some(alias) = entry.row.aliases.iter().find(|alias| alias.starts_with("melmastoon.lock.")) else {
            continue;
        };
        let addresses = files::schema_addresses(&PLATFORM.policy, entry);
        let short = alias.trim_start_matches("melmastoon.lock.");
        assert!(addresses.contains(&format!("{base}{short}.json")), "{alias}");
        assert!(addresses.contains(&format!("{base}{alias}.json")), "{alias}");
        count += 1;
    }
    assert_eq!(count, 20);
}

/// R-029: the prefixes that documents 002 and 004 show.
#[test]
fn public_ids_have_the_documents_prefixes() {
    use karwan::envelope::ids::{Id, Kind, TenantId};
    use melmastoon::ids::{
        AccessAttemptId, BookingIntentId, DeliveryId, DeviceId, EncoderSessionId, FolioId, GuestId, HousekeepingTaskId,
        KeyCredentialId, LockDeviceId, MasterKeyId, MediaId, PaymentIntentId, PaymentMethodId, PropertyId,
        ProvisionalKeyId, RatePlanId, ReservationId, RoomId, RoomTypeId, SagaId, StaffId, TokenId, UserId,
        VendorAdapterId, VendorWebhookId,
    };
    fn text<K: Kind>(id: Id<K>) -> String {
        id.to_string().rsplit_once('_').unwrap().0.to_owned()
    }
    macro_rules! prefixes { ($($id:ty)*) => { [$(text(<$id>::from_bits(1))),*].join(" ") } }
    let printed = prefixes![TenantId DeviceId ReservationId PropertyId RoomTypeId RoomId RatePlanId BookingIntentId SagaId
        StaffId MediaId FolioId KeyCredentialId DeliveryId HousekeepingTaskId GuestId PaymentMethodId PaymentIntentId UserId
        LockDeviceId MasterKeyId AccessAttemptId VendorWebhookId VendorAdapterId EncoderSessionId TokenId ProvisionalKeyId];
    let documented = "tnt dev rsv ppt rmt rmu rate bki sga stf med fol key dlv hkt gst pmt pay usr lck mky kca whk vad \
                      enc tk prov_keycred";
    assert_eq!(printed, documented);
}
