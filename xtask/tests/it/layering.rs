use serde_json::{Value, json};
use xtask::tidy::layering;

use crate::printed;

/// Judges packages given as (folder, what it depends on); `dev:` before a name makes it a dev-dependency.
fn check(packages: &[(&str, &[&str])], expected: &[&str]) {
    let mut named: Vec<&str> =
        packages.iter().flat_map(|(folder, used)| [*folder].into_iter().chain(used.iter().copied())).collect();
    named.iter_mut().for_each(|name| *name = name.trim_start_matches("dev:"));
    named.sort_unstable();
    named.dedup();
    let described: Vec<Value> = named.iter().map(|folder| package(folder, packages)).collect();
    assert_eq!(printed(layering::judge(&json!({ "packages": described }))), expected);
}

fn package(folder: &str, packages: &[(&str, &[&str])]) -> Value {
    let used = packages.iter().filter(|(name, _)| *name == folder).flat_map(|(_, used)| used.iter());
    let dependencies: Vec<Value> = used
        .map(|name| match name.strip_prefix("dev:") {
            Some(name) => json!({ "name": format!("karwan-{name}"), "path": "somewhere", "kind": "dev" }),
            None => json!({ "name": format!("karwan-{name}"), "path": "somewhere", "kind": null }),
        })
        .collect();
    let manifest = format!("clone/crates/{folder}/Cargo.toml");
    json!({ "name": format!("karwan-{folder}"), "manifest_path": manifest, "dependencies": dependencies })
}

#[test]
fn a_crate_may_use_those_before_it() {
    check(&[("registry", &["envelope", "derive"]), ("cli", &["melmastoon", "learning", "panorama", "registry"])], &[]);
}

#[test]
fn a_crate_may_not_use_those_behind_it() {
    check(
        &[("envelope", &["registry"])],
        &["crates/envelope/Cargo.toml: layering: `envelope` depends on `registry`: \
           a crate uses only those before it in the order of layers"],
    );
}

#[test]
fn not_even_its_tests_may_use_those_behind_it() {
    check(
        &[("envelope", &["dev:registry"])],
        &["crates/envelope/Cargo.toml: layering: `envelope` depends on `registry`: \
           a crate uses only those before it in the order of layers"],
    );
}

#[test]
fn a_platform_that_does_something_knows_the_facade_and_nothing_below_it() {
    check(
        &[("melmastoon", &["karwan", "http", "dev:sandbox", "dev:testkit", "envelope", "dev:store"])],
        &[
            "crates/melmastoon/Cargo.toml: layering: `melmastoon` depends on `envelope`: \
             a platform is written against `karwan` alone, as any user's code is",
            "crates/melmastoon/Cargo.toml: layering: `melmastoon` depends on `store`: \
             a platform is written against `karwan` alone, as any user's code is",
        ],
    );
}

#[test]
fn platforms_do_not_know_each_other() {
    check(
        &[("learning", &["melmastoon"])],
        &["crates/learning/Cargo.toml: layering: `learning` depends on `melmastoon`: platforms do not know each other"],
    );
}

#[test]
fn the_testkit_is_for_tests_alone() {
    check(&[("envelope", &["dev:testkit"]), ("testkit", &["panorama"])], &[]);
    check(
        &[("envelope", &["testkit"])],
        &["crates/envelope/Cargo.toml: layering: `envelope` depends on `testkit`: \
           only tests use the testkit: make it a dev-dependency"],
    );
}

#[test]
fn the_testkit_does_not_use_the_binary() {
    check(
        &[("testkit", &["cli"])],
        &["crates/testkit/Cargo.toml: layering: `testkit` depends on `cli`: the testkit stays below the binary"],
    );
}

#[test]
fn the_chores_use_no_crate_of_ours() {
    check(
        &[("xtask", &["dev:envelope"])],
        &["xtask/Cargo.toml: layering: `xtask` depends on `envelope`: the chores stand apart from the product"],
    );
}

#[test]
fn a_crate_without_a_place_in_the_order_is_found() {
    check(
        &[("gadgets", &[])],
        &["crates/gadgets/Cargo.toml: layering: `gadgets` has no place in the order of layers: give it one"],
    );
}
