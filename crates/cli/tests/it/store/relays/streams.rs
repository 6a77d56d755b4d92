//! A relay whose streams are there already, and are not what they should be.

use karwan_testkit::nats;
use serde_json::json;

use super::{Running, STREAM, filled};
use crate::jetstream;
use crate::karwan::karwan;
use crate::store::place::{SERVICE, SUBJECT, emit, file};

/// What `docs/errors/broker-topology.md` says, and that what it names helps.
#[test]
fn a_relay_whose_stream_cannot_become_what_it_should_be_says_what_is_wrong_and_publishes_nothing() {
    let Some(server) = nats().or_skip() else { return };
    let (_folder, store) = file();
    emit(&store, 1..4);
    let url = server.url();
    let of = ["--platform", "melmastoon", "--services", SERVICE, "--broker", &url];
    let wrongs = [
        (json!({ "storage": "memory" }), "PAYMENT_GATEWAY: storage is memory, and should be file"),
        (json!({ "retention": "workqueue" }), "PAYMENT_GATEWAY: retention is workqueue, and should be limits"),
    ];
    for (settings, wrong) in wrongs {
        jetstream::make(&server, STREAM, &[SUBJECT], &settings);
        let relay = karwan(&[&["relay", "--store", &store], &of[..]].concat()).exits(1);
        let relay = relay.says(wrong).says("cannot be changed in place").says("docs/errors/broker-topology.md");
        let relay = relay.says("help: ").says("delete it");
        assert!(!relay.stderr.contains("relaying to"), "{}", relay.stderr);
        assert_eq!(jetstream::last(&server, STREAM), 0, "something was published");
        karwan(&["outbox", "--store", &store]).exits(0).says("no relay has run on this store");
        karwan(&[&["topology", "check"], &of[..]].concat()).exits(1).prints(wrong);
        jetstream::delete(&server, STREAM);
    }
    karwan(&[&["topology", "apply"], &of[..]].concat()).exits(0).prints("made    PAYMENT_GATEWAY");
    let relay = Running::of(&store, &url);
    filled(&url, STREAM, 3);
    assert_eq!(relay.stop(), Some(0));
}

/// Two streams cannot take one subject, and ours cannot be made beside it.
#[test]
fn a_relay_whose_subject_another_stream_takes_says_so_and_publishes_nothing() {
    let Some(server) = nats().or_skip() else { return };
    let (_folder, store) = file();
    emit(&store, 1..4);
    let url = server.url();
    jetstream::make(&server, "LEGACY", &["melmastoon.payment.>"], &json!({}));
    let relay = ["relay", "--platform", "melmastoon", "--services", SERVICE, "--store", &store, "--broker", &url];
    let relay = karwan(&relay).exits(1).says("PAYMENT_GATEWAY cannot get its subjects: the stream LEGACY takes ");
    let relay = relay.says(SUBJECT).says("docs/errors/broker-overlap.md").says("help: take the subjects out");
    assert!(!relay.stderr.contains("relaying to"), "{}", relay.stderr);
    assert_eq!(jetstream::last(&server, "LEGACY"), 0, "something was published");
    jetstream::delete(&server, "LEGACY");
    let relay = Running::of(&store, &url);
    filled(&url, STREAM, 3);
    assert_eq!(relay.stop(), Some(0));
}

/// What JetStream can change in place is no reason to stop.
#[test]
fn a_relay_mends_the_settings_that_can_be_mended_says_which_and_publishes() {
    const DAY_NS: u64 = 86_400_000_000_000;
    let Some(server) = nats().or_skip() else { return };
    let (_folder, store) = file();
    emit(&store, 1..4);
    let url = server.url();
    jetstream::make(&server, STREAM, &["melmastoon.payment.legacy.v1"], &json!({ "max_age": DAY_NS }));
    let relay = Running::of(&store, &url);
    let said = relay.says("does not take");
    assert!(said.contains("mended  PAYMENT_GATEWAY") && said.contains(SUBJECT), "{said}");
    let said = relay.says("also takes melmastoon.payment.legacy.v1");
    assert!(said.contains("kept    PAYMENT_GATEWAY"), "{said}");
    let said = relay.says("max_age is 86400 s, and should be");
    assert!(said.contains("mended  PAYMENT_GATEWAY"), "{said}");
    relay.says("relaying to 1 streams");
    filled(&url, STREAM, 3);
    assert_eq!(relay.stop(), Some(0));
    let check = ["topology", "check", "--platform", "melmastoon", "--services", SERVICE, "--broker", &url];
    let check = karwan(&check);
    assert!(!check.stdout.contains("max_age") && !check.stdout.contains("does not take"), "{}", check.stdout);
}

/// Two stores publish to one stream: which, nobody can say; what helps is said.
#[test]
fn a_relay_whose_stream_somebody_else_publishes_to_says_what_helps() {
    let Some(server) = nats().or_skip() else { return };
    let ((_one, first), (_other, second), url) = (file(), file(), server.url());
    emit(&first, 1..4);
    let relay = Running::of(&first, &url);
    filled(&url, STREAM, 3);
    assert_eq!(relay.stop(), Some(0));
    emit(&second, 4..6);
    let relay = Running::of(&second, &url);
    let said = relay.says("somebody else has published to a stream that is ours alone");
    assert!(said.contains("stop whoever does") && said.contains("karwan topology emit-nats"), "{said}");
    assert_eq!(relay.stop(), Some(0));
}
