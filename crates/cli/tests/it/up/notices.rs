//! What vendors tell by themselves, over the node's socket: again, late, turned around, ahead of their own answer, and forged.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use karwan_http::signature::{AGE_SECONDS_MAX, signature};
use karwan_sandbox::gateway::{self, Charge, Gateway};
use karwan_sandbox::locks::{self, Key, Locks};
use karwan_sandbox::messages;
use melmastoon::ids::MessageId;
use melmastoon::lock_integration::decide::issue_key;
use melmastoon::notification::state::{Message, MessageState};
use serde_json::{Value, json};

use super::edge::now;
use super::{Node, begin, change, facts, until};
use crate::folder::Folder;

const AT_ONCE: (Duration, Duration) = (Duration::ZERO, Duration::ZERO);
/// Who would say more, or something else, if a notice were taken twice.
const BOOKKEEPERS: [&str; 4] =
    ["reservation-service", "inventory-service", "payment-gateway-service", "billing-service"];

/// What a request is answered that was taken: there is nothing to say.
fn taken() -> (u16, String) {
    (204, String::new())
}

fn refused(code: &str) -> (u16, String) {
    (401, json!({ "error": { "code": code } }).to_string())
}

fn gateway_says(node: &Node, body: &Value) -> (u16, String) {
    let body = body.to_string();
    let signed = signature(gateway::WEBHOOK_SECRET, now(), body.as_bytes());
    node.ask("POST", "/webhooks/v1/sandpay", &[(gateway::WEBHOOK_HEADER, &signed)], &body)
}

fn locks_say(node: &Node, body: &Value) -> (u16, String) {
    let body = body.to_string();
    let signed = signature(locks::WEBHOOK_SECRET, now(), body.as_bytes());
    node.ask("POST", "/webhooks/v1/latch", &[(locks::WEBHOOK_HEADER, &signed)], &body)
}

/// The books of one of the node's vendors, copied: the originals are the vendor's.
fn books(folder: &Folder, name: &str) -> PathBuf {
    let copy = folder.at(&format!("copy-{name}"));
    fs::copy(folder.at("data").join("sandbox").join(name), &copy).expect("a vendor keeps books");
    copy
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

fn charges(folder: &Folder) -> Vec<Charge> {
    let books = books(folder, "gateway.jsonl");
    wait(async { Gateway::open(Some(&books), AT_ONCE).await.expect("its books can be read").charges() })
}

fn keys(folder: &Folder) -> Vec<Key> {
    let books = books(folder, "locks.jsonl");
    wait(async { Locks::open(Some(&books), AT_ONCE).await.expect("its books can be read").keys() })
}

/// That the gateway took a charge, in its own words.
fn captured(charge: &Charge) -> Value {
    json!({
        "id": format!("ev_captured_{}", charge.id),
        "type": "charge.captured",
        "account": charge.account,
        "reference": charge.reference,
        "data": { "charge": charge.id, "amount": charge.amount },
    })
}

/// That it gave it back: the refund that was asked for last.
fn refunded(folder: &Folder, charge: &Charge) -> Value {
    let books = fs::read_to_string(books(folder, "gateway.jsonl")).expect("its books can be read");
    let entries = books.lines().map(|line| serde_json::from_str::<Value>(line).expect("an entry is JSON"));
    let refund = entries.filter_map(|entry| entry.get("refund").cloned()).next_back().expect("a refund was asked for");
    json!({
        "id": format!("ev_refunded_{}", charge.id),
        "type": "charge.refunded",
        "account": charge.account,
        "reference": charge.reference,
        "data": {
            "charge": charge.id,
            "refund": "re_1",
            "refund_reference": refund["reference"],
            "amount": charge.amount,
        },
    })
}

fn text(booking: &Value, name: &str) -> String {
    booking[name].as_str().expect("a text").to_owned()
}

fn status(node: &Node, booking: &Value) -> String {
    let status = node.control(&format!("booking/{}/{}", text(booking, "tenant"), text(booking, "reservation")));
    status.as_str().expect("a status").to_owned()
}

/// A confirmed booking of the house, with nothing under way any more.
fn confirmed(node: &Node, fault: Option<&str>) -> Value {
    let booking = begin(node, fault);
    until("the confirmation", || status(node, &booking) == "confirmed");
    assert_eq!(node.violations(), json!([]));
    booking
}

/// Cancels it, and waits until nothing is under way.
fn cancel(node: &Node, booking: &Value, fault: Option<&str>) {
    node.tell("try", &json!({ "tenant": null, "fault": fault, "cancel": booking["reservation"] }));
    assert_eq!(node.violations(), json!([]));
    assert_eq!(status(node, booking), "cancelled");
}

/// How often each fact was told since the booking began.
fn counts(node: &Node, booking: &Value) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for fact in facts(node, &text(booking, "position")) {
        let subject = text(&fact, "subject");
        let what = subject.split('.').skip(2).take(2).collect::<Vec<_>>().join(".");
        *counts.entry(what).or_default() += 1;
    }
    counts
}

/// What those say who keep the books of a booking.
fn told_by_bookkeepers(node: &Node, booking: &Value) -> Vec<Value> {
    let facts = facts(node, &text(booking, "position"));
    facts.into_iter().filter(|fact| BOOKKEEPERS.iter().any(|name| fact["service"] == *name)).collect()
}

/// The answer to the capture never comes, so that the first word of it is a notice: ours or the gateway's own, and whichever is
/// second is a repetition, and so is the answer to the call that is made again.
#[test]
fn a_capture_whose_notices_are_ahead_of_its_answer_is_taken_once() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let booking = begin(&node, Some("payment-timeout"));
    until("the capture", || charges(&folder).iter().any(|charge| charge.captured_micros > 0));
    let charge = charges(&folder).remove(0);
    for _ in 0..3 {
        assert_eq!(gateway_says(&node, &captured(&charge)), taken());
    }
    assert_eq!(counts(&node, &booking).get("intent.captured"), Some(&1), "it was taken when it was answered");
    until("the confirmation", || status(&node, &booking) == "confirmed");
    assert_eq!(node.violations(), json!([]));
    assert_eq!(gateway_says(&node, &captured(&charge)), taken());
    assert_eq!(node.violations(), json!([]));
    assert_eq!(status(&node, &booking), "confirmed");
    let counts = counts(&node, &booking);
    for what in ["intent.captured", "booking.confirmed", "key_credential.issued"] {
        assert_eq!(counts.get(what), Some(&1), "{what}: {counts:?}");
    }
    assert_eq!(charges(&folder), [charge], "charged once");
    assert_eq!(node.stop(), Some(0));
}

/// The refund's notice comes before the capture's, both long after everything, and each again.
#[test]
fn notices_of_a_gateway_that_come_late_again_and_turned_around_change_nothing() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let booking = confirmed(&node, None);
    cancel(&node, &booking, None);
    let [charge] = &charges(&folder)[..] else { panic!("one charge: {:?}", charges(&folder)) };
    assert_eq!((charge.captured_micros, charge.refunded_micros), (charge.amount.micros, charge.amount.micros));
    let before = told_by_bookkeepers(&node, &booking);
    let (captured, refunded) = (captured(charge), refunded(&folder, charge));
    for notice in [&refunded, &captured, &refunded, &captured, &captured] {
        assert_eq!(gateway_says(&node, notice), taken());
    }
    assert_eq!(node.violations(), json!([]));
    assert_eq!(told_by_bookkeepers(&node, &booking), before);
    assert_eq!(status(&node, &booking), "cancelled");
    assert_eq!(charges(&folder), std::slice::from_ref(charge));
    assert_eq!(node.karwan(&["saga", "list", "--format", "json"]).exits(0).json(), json!([]));
    // About nothing that the tenant has, it is no success, and nothing to be said again.
    let mut unknown = captured;
    unknown["reference"] = json!("pay_01J3K4M5N6P7Q8R9S0T1V2W3X4");
    let (status, said) = gateway_says(&node, &unknown);
    assert_eq!(status, 404, "{said}");
    assert_eq!(node.stop(), Some(0));
}

/// A refund has failed and waits for finance: whoever could forge its notice would have it counted as paid.
#[test]
fn a_notice_that_is_not_the_gateways_is_refused_and_changes_nothing() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let booking = confirmed(&node, Some("refund-failed"));
    cancel(&node, &booking, Some("refund-failed"));
    let stuck = || node.karwan(&["saga", "list", "--stuck", "--format", "json"]).exits(0).json();
    let (before, waits) = (told_by_bookkeepers(&node, &booking), stuck());
    assert!(waits.to_string().contains("finance: refund"), "{waits}");
    let notice = refunded(&folder, &charges(&folder)[0]);
    let body = notice.to_string();
    let forged = [
        signature(locks::WEBHOOK_SECRET, now(), body.as_bytes()),
        signature(gateway::WEBHOOK_SECRET, now(), body.replace("re_1", "re_2").as_bytes()),
        // One that somebody has kept.
        signature(gateway::WEBHOOK_SECRET, now() - AGE_SECONDS_MAX - 60, body.as_bytes()),
        signature(gateway::WEBHOOK_SECRET, now(), body.as_bytes()).replace("v1=", "v0="),
    ];
    let unsigned = refused("MELMASTOON.PAYMENT.WEBHOOK_SIGNATURE_INVALID");
    for signed in forged {
        let headers = [(gateway::WEBHOOK_HEADER, signed.as_str())];
        assert_eq!(node.ask("POST", "/webhooks/v1/sandpay", &headers, &body), unsigned, "{signed}");
    }
    assert_eq!(node.violations(), json!([]));
    assert_eq!((told_by_bookkeepers(&node, &booking), stuck()), (before, waits));
    // Signed it is believed, though the gateway never gave anything back: so the signature was all that was in the way, and what
    // must hold is looked at.
    assert_eq!(gateway_says(&node, &notice), taken());
    assert_eq!(stuck(), json!([]));
    assert!(node.violations().to_string().contains("money of pay_"), "{}", node.violations());
    assert_eq!(node.stop(), Some(0));
}

fn rows(node: &Node, subject: &str) -> Vec<Value> {
    let shown = node.karwan(&["log", "tail", "--format", "json", "--subject", subject]).exits(0).stdout;
    shown.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

/// Has the maker of locks say everything three times that it says about the first key of a stay.
fn told_three_times(folder: &Folder, stay: &str) {
    let books = folder.at("data").join("sandbox").join("locks.jsonl");
    let mut books = OpenOptions::new().append(true).create(true).open(books).expect("its books can be written");
    let fault = json!({ "fault": { "operation": issue_key(&stay, 1), "fault": "duplicate_notices" } });
    writeln!(books, "{fault}").expect("its books can be written");
}

/// What became of the notices of the maker of locks, by what they say.
fn outcomes(node: &Node) -> BTreeMap<String, Vec<String>> {
    let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows(node, "melmastoon.lock_integration.vendor_webhook.processed.v1") {
        let payload = &row["envelope"]["payload"];
        outcomes.entry(text(payload, "type")).or_default().push(text(payload, "outcome"));
    }
    outcomes
}

///
#[test]
fn a_maker_of_locks_that_says_everything_three_times_makes_one_key_and_ends_it() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let booking = begin(&node, None);
    // The maker of locks takes seconds for the key, and has not begun.
    node.kill();
    told_three_times(&folder, &text(&booking, "reservation"));
    let node = Node::up(&folder.at("data"), &[]);
    until("the confirmation", || status(&node, &booking) == "confirmed");
    assert_eq!(node.violations(), json!([]));
    cancel(&node, &booking, None);
    until("all notices", || outcomes(&node).values().map(Vec::len).sum::<usize>() == 6);
    for (said, became) in outcomes(&node) {
        // The answer to the call comes first, or the notice does: that much is not the same every time.
        assert!(["ignored", "applied"].contains(&became[0].as_str()), "{said}: {became:?}");
        assert_eq!(became[1..], ["duplicate", "duplicate"], "{said}");
    }
    let [key] = &keys(&folder)[..] else { panic!("one key: {:?}", keys(&folder)) };
    assert!(!key.live);
    // Turned around: that it was made is said after it was ended, under the id it had, and under one that nobody has heard.
    let heard = text(
        &rows(&node, "melmastoon.lock_integration.vendor_webhook.received.v1")[0]["envelope"]["payload"],
        "externalEventId",
    );
    for (id, becomes) in [(heard.as_str(), "duplicate"), ("nt-unheard", "ignored")] {
        let made = json!({
            "notice": id,
            "kind": "key.made",
            "account": key.account,
            "credential": key.credential,
            "keyRef": key.reference,
            "keyKind": key.kind,
        });
        assert_eq!(locks_say(&node, &made), taken());
        assert_eq!(outcomes(&node)["key.issued"].last().map(String::as_str), Some(becomes));
        let body = made.to_string();
        let forged = signature(gateway::WEBHOOK_SECRET, now(), body.as_bytes());
        let answer = node.ask("POST", "/webhooks/v1/latch", &[(locks::WEBHOOK_HEADER, &forged)], &body);
        assert_eq!(answer, refused("MELMASTOON.LOCK.WEBHOOK_SIGNATURE_INVALID"));
    }
    assert_eq!(outcomes(&node).values().map(Vec::len).sum::<usize>(), 8, "nothing of what was forged is written down");
    assert_eq!(node.violations(), json!([]));
    assert_eq!(status(&node, &booking), "cancelled");
    let counts = counts(&node, &booking);
    for what in ["key_credential.requested", "key_credential.issued", "key_credential.revoked", "intent.refunded"] {
        assert_eq!(counts.get(what), Some(&1), "{what}: {counts:?}");
    }
    assert_eq!(keys(&folder), std::slice::from_ref(key));
    assert_eq!(node.stop(), Some(0));
}

/// Of a message that the carrier of the node knows nothing of, so that no notice of its own comes first.
#[test]
fn a_carriers_notice_that_comes_late_and_again_is_taken_once() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let booking = begin(&node, Some("cash-pending"));
    until("the confirmation", || status(&node, &booking).starts_with("confirmed"));
    assert_eq!(node.violations(), json!([]));
    let dispatched = rows(&node, "melmastoon.notification.message.dispatched.v1");
    let told: MessageId = text(&dispatched[0]["envelope"]["payload"], "messageId").parse().expect("an id");
    assert_eq!(node.stop(), Some(0));
    // Not the next one: that may be a message of the same millisecond.
    let (tenant, id) = (text(&booking, "tenant"), MessageId::from_bits(told.bits() ^ 1 << 40));
    change::<Message>(&folder.at("data"), &tenant, &told.to_string(), |told, tx| Message {
        message_id: id,
        state: MessageState::Dispatched(tx.now()),
        ..told
    });
    let node = Node::up(&folder.at("data"), &[]);
    let before = node.control("status")["position"].as_str().expect("a position").to_owned();
    let delivered = || {
        let told = facts(&node, &before).into_iter();
        told.filter(|fact| fact["subject"].to_string().contains(".message.delivered.")).count()
    };
    let notice = json!({ "id": "cn-late", "account": tenant, "reference": id.to_string(), "event": "delivered" });
    let body = notice.to_string();
    let say = |secret: &str| {
        let signed = signature(secret, now(), body.as_bytes());
        node.ask("POST", "/webhooks/v1/sandbox", &[(messages::WEBHOOK_HEADER, &signed)], &body)
    };
    assert_eq!(say(gateway::WEBHOOK_SECRET), refused("MELMASTOON.NOTIFICATION.WEBHOOK_SIGNATURE_INVALID"));
    assert_eq!(delivered(), 0);
    for _ in 0..2 {
        assert_eq!(say(messages::WEBHOOK_SECRET), taken());
        assert_eq!(delivered(), 1, "it was told when it was answered, and once");
    }
    assert_eq!(node.stop(), Some(0));
}
