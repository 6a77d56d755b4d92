use std::path::Path;
use std::sync::Arc;

use melmastoon::lock_integration::state::{Credential, KeyState, ManualKey, ManualTask};
use melmastoon::lock_integration::terms::RevocationReason;
use melmastoon::lock_integration::vendor::VendorFailure;
use serde_json::Value;

use super::place::{On, Place};
use super::{LONG, Node, begin, change, pause, until};
use crate::folder::Folder;
use crate::karwan::karwan;

/// What `karwan try` shows without its times, ids and causes: the facts in order.
fn facts(stdout: &str) -> Vec<String> {
    let lines = stdout.lines().filter(|line| line.trim_start().starts_with('+'));
    lines.filter_map(|line| line.split_whitespace().nth(3).map(str::to_owned)).collect()
}

fn has(stdout: &str, all: &[&str]) {
    let facts = facts(stdout);
    for what in all {
        assert!(facts.iter().any(|fact| fact == what), "{what}: {stdout}");
    }
}

/// What `karwan try` prints.
fn tried(data: &str, words: &[&str]) -> String {
    karwan(&[&["try"], words, &["--data", data]].concat()).exits(0).stdout
}

#[test]
fn every_use_case_and_every_fault_ends_as_it_should_and_everything_holds() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    quick_ones(&node);
    assert_eq!(node.stop(), Some(0));
}

/// At once, and all of one kind at one house, since each waits for vendors: what goes wrong with one is no other's.
fn quick_ones(node: &Node) {
    let data = node.data.to_str().expect("a path").to_owned();
    let (shown, failed) = std::thread::scope(|scope| {
        let shown = scope.spawn(|| tried(&data, &["booking"]));
        let failed = scope.spawn(|| tried(&data, &["cancellation", "--fault", "refund-failed"]));
        scope.spawn(|| {
            has(&tried(&data, &["booking", "--fault", "oversold"]), &["oversell.blocked", "booking.cancelled"]);
            let declined = tried(&data, &["booking", "--fault", "payment-declined", "--tenant", "lodge"]);
            has(&declined, &["intent.failed", "booking.cancelled", "allocation.released"]);
            assert!(declined.contains("MELMASTOON.PAYMENT.DECLINED"), "{declined}");
            let cash = tried(&data, &["booking", "--fault", "cash-pending"]);
            assert!(cash.contains("cash pending") && !cash.contains("key_credential.issued"), "{cash}");
        });
        scope.spawn(|| {
            let shown = tried(&data, &["booking", "--fault", "payment-timeout"]);
            has(&shown, &["intent.captured", "booking.confirmed"]);
        });
        scope.spawn(|| {
            let shown = tried(&data, &["booking", "--fault", "vendor-error"]);
            has(&shown, &["booking.confirmed", "key_credential.failed"]);
        });
        scope.spawn(|| {
            has(
                &tried(&data, &["cancellation"]),
                &["booking.cancelled", "allocation.released", "intent.refunded", "key_credential.revoked"],
            );
        });
        (shown.join().expect("it ends"), failed.join().expect("it ends"))
    });
    has(
        &shown,
        &["booking.held", "allocation.committed", "intent.captured", "booking.confirmed", "key_credential.issued"],
    );
    assert!(shown.contains("\nconfirmed: "), "{shown}");
    let trace = shown.split("trace ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a trace");
    node.karwan(&["trace", trace]).exits(0).prints("└─").prints("booking.confirmed").prints("reservation-service");
    node.karwan(&["saga", "list", "--stuck"]).exits(0).prints("partial").prints("the front desk");
    has(&failed, &["booking.cancelled", "allocation.released"]);
    assert!(failed.trim_end().lines().last().is_some_and(|line| line.starts_with("cancelled")), "{failed}");
    node.karwan(&["saga", "list", "--stuck"]).exits(0).prints("finance: refund");
    let (_, metrics) = node.ask("GET", "/metrics", &[], "");
    for partial in [
        "{service=\"lock-integration-service\",saga_name=\"booking\",outcome=\"partial\"} 1",
        "{service=\"payment-gateway-service\",saga_name=\"cancellation\",outcome=\"partial\"} 1",
    ] {
        assert!(metrics.contains(partial), "{partial}: {metrics}");
    }
    // A gateway that said no says it again under the same key: the repair has another.
    let id = reservation(&failed);
    node.karwan(&["saga", "retry-step", &id]).exits(0).prints("a refund is asked for again");
    assert_eq!(node.violations(), serde_json::json!([]));
    let rows = node.karwan(&["saga", "list", "--stuck", "--format", "json"]).exits(0).json();
    assert!(!rows.to_string().contains(&id), "{rows}");
}

/// The reservation that was tried.
fn reservation(stdout: &str) -> String {
    let id = stdout.split("reservation ").nth(1).and_then(|rest| rest.split_whitespace().next());
    id.expect("an id").to_owned()
}

#[test]
fn a_hold_that_expires_and_cancellations_with_every_fault_that_fits_end_as_they_should() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    slow_ones(&node);
    assert_eq!(node.stop(), Some(0));
}

/// At once: a saga's deadline, and calls that are waited for.
fn slow_ones(node: &Node) {
    let data = node.data.to_str().expect("a path").to_owned();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let expired = tried(&data, &["booking", "--fault", "hold-expired"]);
            has(&expired, &["booking.held", "booking.cancelled", "allocation.committed", "allocation.released"]);
            assert!(expired.contains("MELMASTOON.RESERVATION.HOLD_EXPIRED"), "{expired}");
        });
        scope.spawn(|| {
            let shown = tried(&data, &["cancellation", "--fault", "payment-timeout"]);
            has(&shown, &["booking.cancelled", "intent.refunded", "key_credential.revoked"]);
        });
        scope.spawn(|| {
            let shown = tried(&data, &["cancellation", "--fault", "vendor-error"]);
            has(&shown, &["key_credential.failed", "booking.cancelled", "intent.refunded", "allocation.released"]);
        });
        scope.spawn(|| {
            let shown = tried(&data, &["cancellation", "--fault", "cash-pending"]);
            has(&shown, &["booking.cancelled", "allocation.released"]);
            assert!(!shown.contains("intent.refunded"), "{shown}");
        });
    });
    assert_eq!(node.violations(), serde_json::json!([]));
}

#[test]
fn on_postgres_everything_that_can_be_tried_ends_as_it_does_on_a_file() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(On::Postgres, Some(server));
    let (_, url) = place.store.as_ref().expect("it is on Postgres");
    let empty = Node::up(&place.folder.at("data"), &["--store", url]);
    empty.karwan(&["try", "booking"]).exits(1).says("karwan up --demo");
    assert_eq!(empty.stop(), Some(0));
    let node = place.up(&[]);
    quick_ones(&node);
    slow_ones(&node);
    let report = node.karwan(&["load", "--bookings", "20", "--rate", "40", "--json"]).exits(0).json();
    assert_eq!((&report["bookings"], &report["violations"]), (&serde_json::json!(20), &serde_json::json!([])));
    assert_eq!(node.stop(), Some(0));
}

/// One node is not all: what it does not run, and nobody beside it, is not waited for.
#[test]
fn a_node_without_a_service_says_so_where_it_is_needed_and_does_the_rest() {
    const NO_LOCKS: &str = "tenant,property,pricing,reservation,inventory,payment,billing";
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--services", NO_LOCKS]);
    let booked = node.karwan(&["try", "booking"]).exits(0).says("nobody runs lock_integration").stdout;
    has(&booked, &["booking.confirmed"]);
    let refused = node.karwan(&["try", "booking", "--fault", "vendor-error"]);
    refused.exits(1).says("nobody runs lock_integration").says("docs/errors/node-refused.md");
    assert_eq!(node.stop(), Some(0));
    let node = Node::up(&folder.at("data"), &["--services", "tenant,property,pricing,reservation,inventory"]);
    node.karwan(&["try", "cancellation"]).exits(1).says("nobody runs payment,");
    has(&node.karwan(&["try", "booking", "--fault", "oversold"]).exits(0).stdout, &["oversell.blocked"]);
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn a_fault_that_cannot_happen_is_refused_with_those_that_can() {
    for fault in ["hold-expired", "oversold", "payment-declined"] {
        karwan(&["try", "cancellation", "--fault", fault])
            .exits(64)
            .says(fault)
            .says("payment-timeout, vendor-error, key-timeout, cash-pending, refund-failed");
    }
    karwan(&["try", "booking", "--fault", "refund-failed"]).exits(64).says("hold-expired, oversold, payment-declined");
}

/// A call that nobody can read is given up at once, and is no use to anybody among dead letters alone.
#[test]
fn a_call_that_was_given_up_is_listed_with_what_waits_for_a_person() {
    const STAY: &str = "rsv_01J3K4M5N6P7Q8R9S0T1V2W3X4";
    let folder = Folder::new();
    assert_eq!(Node::up(&folder.at("data"), &["--empty"]).stop(), Some(0));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let catalogue = Arc::new(karwan::Catalogue::of(&melmastoon::platform::PLATFORM).expect("it is sound"));
        let options = karwan_store::Options::new(catalogue, melmastoon::hotel::kinds());
        let address = karwan_store::Address::Sqlite(folder.at("data").join("karwan.db"));
        let store = karwan_store::Store::open(&address, options).await.expect("it opens");
        let unit = async |tx: karwan::TenantTx| {
            tx.effect(melmastoon::payment::port::VOID, STAY, &"no intent");
            Ok::<_, karwan::Error>(())
        };
        store.unit(&karwan::context("payment-gateway-service", 1), unit).await.expect("it is recorded");
    });
    let node = Node::up(&folder.at("data"), &["--empty"]);
    let rows = || node.karwan(&["saga", "list", "--stuck", "--format", "json"]).exits(0).json();
    let since = std::time::Instant::now();
    while rows() == serde_json::json!([]) {
        assert!(since.elapsed() < LONG, "nothing is listed");
        pause();
    }
    let row = rows()[0].clone();
    assert_eq!((row["reservation"].as_str(), row["state"].as_str()), (Some(STAY), Some("partial")), "{row}");
    assert!(row["waitsFor"].as_str().is_some_and(|what| what.contains("payment.void")), "{row}");
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn a_load_that_cannot_go_on_says_why_and_ends() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty", "--services", "reservation,inventory"]);
    // Nobody knows what a night costs.
    node.karwan(&["load", "--bookings", "20", "--tenants", "1"]).exits(1).says("the load could not go on");
    node.karwan(&["load", "--bookings", "1", "--tenants", "1"]).exits(1).says("the load could not go on");
}

#[test]
fn a_key_that_was_refused_is_asked_for_again_and_opens() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let shown = node.karwan(&["try", "booking", "--fault", "vendor-error"]).exits(0).stdout;
    let id = &reservation(&shown);
    node.karwan(&["saga", "show", id]).exits(0).prints("confirmed").prints("partial").prints("the front desk");
    // What the vendor may have made after all is revoked first.
    assert_eq!(node.violations(), serde_json::json!([]));
    node.karwan(&["saga", "retry-step", id]).exits(0).prints("a key is asked for again");
    assert_eq!(node.violations(), serde_json::json!([]));
    let rows = node.karwan(&["saga", "list", "--stuck", "--format", "json"]).exits(0).json();
    assert_eq!(rows, serde_json::json!([]));
    node.karwan(&["saga", "retry-step", id]).exits(1).says("nothing of").says("docs/errors/node-refused.md");
}

/// The vendor did not end a key, and it may still open: no vendor of a node's own does that.
fn leave_stuck(data: &Path, tenant: &str, key: &str) {
    change::<Credential>(data, tenant, key, |key, tx| {
        tx.put(ManualKey {
            key_credential_id: key.key_credential_id,
            reservation_id: key.reservation_id,
            property_id: key.property_id,
            rooms: key.rooms.clone(),
            valid_from: key.valid_from,
            valid_until: key.valid_until,
            task: ManualTask::Revoke,
            failure: VendorFailure::Unreachable,
            since: tx.now(),
            done_at: None,
        });
        Credential { state: KeyState::Stuck(RevocationReason::Cancellation), ..key }
    });
}

#[test]
fn a_key_that_was_not_ended_is_asked_to_be_ended_again_and_nobody_waits_any_more() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let booking = begin(&node, None);
    let text = |value: &Value, name: &str| value[name].as_str().expect("a text").to_owned();
    let (position, id) = (text(&booking, "position"), text(&booking, "reservation"));
    let of = |node: &Node, what: &str| {
        let told = super::facts(node, &position).into_iter();
        told.filter(|fact| fact["subject"].to_string().contains(what)).collect::<Vec<_>>()
    };
    until("the key", || !of(&node, ".key_credential.issued.").is_empty());
    let rows = node.karwan(&["log", "tail", "--format", "json", "--subject", "melmastoon.lock_integration.>"]).exits(0);
    let issued = rows.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row is JSON"));
    let issued = issued.map(|row| row["envelope"]["payload"].clone()).find(|it| it["reservationId"] == id.as_str());
    let key = text(&issued.expect("it was issued"), "keyCredentialId");
    assert_eq!(node.violations(), serde_json::json!([]));
    assert_eq!(node.stop(), Some(0));
    leave_stuck(&folder.at("data"), &text(&booking, "tenant"), &key);
    let node = Node::up(&folder.at("data"), &[]);
    node.karwan(&["saga", "list", "--stuck"])
        .exits(0)
        .prints("cancellation")
        .prints(&format!("the front desk: key {key}"));
    let asked = format!("the vendor is asked again to end a key: {key}");
    node.karwan(&["saga", "retry-step", &id]).exits(0).prints(&asked);
    until("the key's end", || of(&node, ".key_credential.revoked.").len() == 1);
    let rows = node.karwan(&["saga", "list", "--format", "json"]).exits(0).json();
    assert_eq!(rows, serde_json::json!([]));
    node.karwan(&["saga", "retry-step", &id]).exits(1).says("nothing of");
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn a_load_ends_with_everything_holding() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let report =
        node.karwan(&["load", "--bookings", "60", "--tenants", "3", "--lock-ms", "200", "--json"]).exits(0).json();
    assert_eq!(report["bookings"], 60);
    assert_eq!(report["violations"], serde_json::json!([]));
    assert_eq!(report["confirmed"].as_u64().zip(report["cancelled"].as_u64()), Some((57, 3)), "{report}");
    let figure = |name: &str| report[name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"));
    assert!((figure("sagasPerSecond") - 57.0 / figure("seconds")).abs() < 0.001, "{report}");
    assert!(figure("base") > 0.0, "{report}");
    assert!((figure("ratio") - figure("eventsPerSecond") / figure("base")).abs() < 0.001, "{report}");
    // The lock's own delay holds back nothing but the key.
    assert!(figure("keyMsP50") >= 200.0 && figure("confirmMsP50") > 0.0, "{report}");
}

#[test]
fn a_node_without_a_demo_says_how_to_get_one() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty"]);
    node.karwan(&["try", "booking"]).exits(1).says("karwan up --demo").says("docs/errors/node-refused.md");
    let demo = Folder::new();
    let node = Node::up(&demo.at("data"), &[]);
    node.karwan(&["try", "booking", "--tenant", "ritz"]).exits(1).says("serai, lodge");
}

#[test]
fn a_database_that_nobody_has_migrated_is_refused() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let (database, folder) = (server.database(), Folder::new());
    let data = folder.at("data").to_str().expect("a path").to_owned();
    let words = ["up", "--data", &data, "--port", "0", "--store", &database.url()];
    karwan(&words).exits(1).says("docs/errors/store-not-migrated.md");
}

#[test]
fn the_same_runs_on_postgres_and_goes_on_after_it_was_killed() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(On::Postgres, Some(server));
    let node = place.up(&[]);
    let shown = node.karwan(&["try", "booking", "--fault", "payment-timeout"]).exits(0).stdout;
    has(&shown, &["booking.held", "allocation.committed", "intent.captured", "booking.confirmed"]);
    node.kill();
    let node = place.up(&[]);
    node.karwan(&["try", "cancellation"]).exits(0).prints("key_credential.revoked");
    assert_eq!(node.violations(), serde_json::json!([]));
    assert_eq!(node.stop(), Some(0));
}
