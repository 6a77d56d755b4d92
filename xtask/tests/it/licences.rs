use std::collections::BTreeSet;

use serde_json::json;
use xtask::deny::{self, Policy};
use xtask::licences;

use crate::printed;

const DENY: &str = r#"
[licenses]
# allow = ["Commented-Out"]
allow = [
    "Apache-2.0", # ours
    "MIT",
]
[bans]
multiple-versions = "allow"
deny = ["ring"]
"#;

fn policy() -> Policy {
    deny::parse(DENY).expect("it is well formed")
}

#[test]
fn the_two_lists_are_read() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(policy(), Policy { allowed_licences: set(&["Apache-2.0", "MIT"]), banned_crates: set(&["ring"]) });
}

#[test]
fn a_list_of_the_same_name_in_another_section_is_not_taken() {
    let error = deny::parse("[sources]\nallow = [\"MIT\"]\n[bans]\ndeny = []").expect_err("there is no such list");
    assert_eq!(error, "deny.toml: [licenses] allow is missing or not closed");
}

#[test]
fn a_list_of_something_else_is_refused() {
    let error = deny::parse("[licenses]\nallow = [1]\n[bans]\ndeny = []").expect_err("1 is no string");
    assert_eq!(error, "deny.toml: [licenses] allow is not a list of strings");
}

fn check(name: &str, licence: Option<&str>, expected: &[&str]) {
    let package = json!({ "name": name, "version": "1.0.0", "license": licence, "source": "registry" });
    assert_eq!(printed(licences::judge(&json!({ "packages": [package] }), &policy())), expected);
}

#[test]
fn a_package_under_an_allowed_licence_passes() {
    check("serde", Some("MIT OR Apache-2.0"), &[]);
}

#[test]
fn a_package_under_another_licence_is_found() {
    check("x", Some("GPL-3.0"), &["Cargo.lock: licence: x 1.0.0: `GPL-3.0` is not allowed by deny.toml"]);
}

#[test]
fn a_package_without_a_licence_is_found() {
    check("x", None, &["Cargo.lock: licence: x 1.0.0: names no licence"]);
}

#[test]
fn a_licence_that_cannot_be_read_is_found() {
    let message = "Cargo.lock: licence: x 1.0.0: `MIT OR` is not a licence expression: the expression ends too early";
    check("x", Some("MIT OR"), &[message]);
}

#[test]
fn a_banned_package_is_found_whatever_its_licence() {
    check("ring", Some("MIT"), &["Cargo.lock: banned-crate: ring 1.0.0: is banned by deny.toml"]);
}

#[test]
fn our_own_packages_are_not_judged() {
    let ours = json!({ "name": "ours", "version": "0.1.0", "license": null, "source": null });
    assert_eq!(printed(licences::judge(&json!({ "packages": [ours] }), &policy())), [""; 0]);
}
