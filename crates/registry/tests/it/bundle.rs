//! The release bundle.

use expect_test::{Expect, expect};
use karwan_registry::bundle::{BundleError, build, load};
use karwan_registry::files::{self, Tree};
use serde_json::Value;

use crate::shop::catalogue;

fn bundle() -> Value {
    serde_json::from_slice(&build(&files::emit(&catalogue())).expect("a catalogue makes a bundle")).expect("JSON")
}

/// What loading says, with its causes.
fn refusal(bytes: &[u8]) -> String {
    let error = load(bytes).expect_err("no bundle");
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

fn check(change: impl FnOnce(&mut Value), expected: Expect) {
    let mut bundle = bundle();
    change(&mut bundle);
    expected.assert_eq(&refusal(bundle.to_string().as_bytes()));
}

#[test]
fn a_bundle_gives_back_every_file_but_the_samples() {
    let tree = files::emit(&catalogue());
    let bytes = build(&tree).expect("a catalogue makes a bundle");
    let without_samples: Tree = tree.into_iter().filter(|(path, _)| !path.starts_with("shop/samples/")).collect();
    assert_eq!(load(&bytes).expect("we built it"), without_samples);
    assert_eq!(build(&without_samples).expect("a bundle"), bytes, "the same files make the same bundle");
}

/// A word in a path means nothing but at its place.
#[test]
fn a_schema_below_a_folder_named_samples_is_bundled() {
    let path = "lab/event-schemas/blood/samples/taken/v1.json".to_owned();
    let tree = Tree::from([(path.clone(), files::pretty(&serde_json::json!({})))]);
    let loaded = load(&build(&tree).expect("a bundle")).expect("we built it");
    assert_eq!(loaded.keys().collect::<Vec<_>>(), [&path]);
}

#[test]
fn a_bundle_keeps_the_contract() {
    let tree = files::emit(&catalogue());
    let loaded = load(&build(&tree).expect("a bundle")).expect("we built it");
    let (before, after) = (
        karwan_registry::contract::contract(&tree).expect("topics"),
        karwan_registry::contract::contract(&loaded).expect("topics"),
    );
    assert_eq!(before.schemas, after.schemas);
    assert_eq!(before.schemas.len(), 9, "eight events and an envelope");
    let strict: Vec<&String> = after.strict.iter().collect();
    assert_eq!(strict, ["shop.payment.invoice.paid.v1"]);
}

#[test]
fn a_bundle_that_was_changed_is_refused() {
    let mut changed = bundle();
    changed["files"]["shop/topics.json"]["topics"][0]["owner"] = "mallory".into();
    let error = load(changed.to_string().as_bytes()).expect_err("changed");
    assert!(matches!(error, BundleError::Digest { .. }), "{error}");
    assert!(error.to_string().ends_with("the file was changed after it was built"), "{error}");
    let mut shorter = bundle();
    shorter["files"].as_object_mut().expect("files").remove("shop/policy.json");
    assert!(matches!(load(shorter.to_string().as_bytes()), Err(BundleError::Digest { .. })));
}

#[test]
fn a_bundle_of_another_version_is_refused() {
    check(|it| it["bundle"] = 2.into(), expect!["a bundle of version 2; this program reads version 1"]);
}

#[test]
fn what_is_no_bundle_is_refused() {
    check(
        |it| it["digest"] = "short".into(),
        expect![
            "not a schema bundle of version 1: `short` is not a schema URI: schemas://<service>/<aggregate>/<verb>/v<n>#sha256-<64 hex digits> at line 1 column 28"
        ],
    );
    check(
        |it| it["comment"] = "mine".into(),
        expect![
            "not a schema bundle of version 1: unknown field `comment`, expected one of `bundle`, `digest`, `files` at line 1 column 21"
        ],
    );
    expect!["not a schema bundle of version 1: missing field `bundle` at line 1 column 2"].assert_eq(&refusal(b"{}"));
    expect!["the bundle is not strict JSON: line 1, column 1: not UTF-8 (json-not-utf8)"]
        .assert_eq(&refusal(b"\xff\xfe"));
    expect!["the bundle is not strict JSON: line 1, column 15: the key `bundle` stands twice in one object (json-duplicate-key)"].assert_eq(&refusal(b"{\"bundle\": 1, \"bundle\": 1}"));
    expect!["the bundle is not strict JSON: line 1, column 13: the document ends too early; expected `,` or `}` (json-truncated)"].assert_eq(&refusal(b"{\"bundle\": 1"));
    expect!["the bundle is not strict JSON: line 1, column 128, at /0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0…/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: nested deeper than 127 levels (json-too-deep)"].assert_eq(&refusal("[".repeat(10_000).as_bytes()));
}

#[test]
fn a_file_that_is_no_json_makes_no_bundle() {
    let tree = Tree::from([("shop/topics.json".to_owned(), b"{".to_vec())]);
    let error = build(&tree).expect_err("cut off");
    expect!["shop/topics.json is not strict JSON"].assert_eq(&error.to_string());
}
