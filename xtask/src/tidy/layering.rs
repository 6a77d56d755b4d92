//! Dependencies point one way: a crate knows those before it in the list, and none behind it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::finding::Finding;

/// The crates by their folders, in the order of the architecture; each may use those before it.
pub const LAYERS: &[&str] = &[
    "derive",
    "envelope",
    "registry",
    "store",
    "broker",
    "engine",
    "karwan",
    "archive",
    "audit",
    "notify",
    "sync",
    "http",
    "api",
    "sandbox",
    "melmastoon",
    "learning",
    "panorama",
    "servers",
    "cli",
];

/// Written as any user would write theirs, so none knows another.
const PLATFORMS: &[&str] = &["melmastoon", "learning", "panorama"];

/// Those of them that do something, and the layers below the façade: a platform takes them from `karwan`, as any user does.
const FACADE_USERS: &[&str] = &["melmastoon"];
const BELOW_FACADE: &[&str] = &["derive", "envelope", "registry", "store", "broker", "engine"];

/// What tests share: anything below the binary may be used in it, and only tests use it.
const TESTKIT: &str = "testkit";

/// The chores: of no crate of ours, and in none.
const CHORES: &str = "xtask";

/// Judges what `cargo metadata --no-deps` says of our packages.
pub fn judge(metadata: &Value) -> Vec<Finding> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let folders: BTreeMap<&str, &str> =
        packages.iter().filter_map(|p| Some((p["name"].as_str()?, folder(p)?))).collect();
    let mut findings = Vec::new();
    for package in packages {
        let Some(user) = folder(package) else { continue };
        let manifest = manifest(user);
        if rank(user).is_none() && user != TESTKIT && user != CHORES {
            let message = format!("`{user}` has no place in the order of layers: give it one");
            findings.push(Finding::on(&manifest, "layering", message));
            continue;
        }
        for dependency in package["dependencies"].as_array().map_or(&[][..], Vec::as_slice) {
            // Others may publish a package of the same name; ours have a path.
            let ours = !dependency["path"].is_null();
            let Some(used) = dependency["name"].as_str().and_then(|name| folders.get(name)) else { continue };
            let only_tests = dependency["kind"] == "dev";
            if ours && let Some(reason) = refusal(user, used, only_tests) {
                findings.push(Finding::on(&manifest, "layering", format!("`{user}` depends on `{used}`: {reason}")));
            }
        }
    }
    findings
}

fn refusal(user: &str, used: &str, only_tests: bool) -> Option<&'static str> {
    if user == CHORES || used == CHORES {
        return Some("the chores stand apart from the product");
    }
    if used == TESTKIT {
        return (!only_tests).then_some("only tests use the testkit: make it a dev-dependency");
    }
    if user == TESTKIT {
        return (used == "cli").then_some("the testkit stays below the binary");
    }
    if PLATFORMS.contains(&user) && PLATFORMS.contains(&used) {
        return Some("platforms do not know each other");
    }
    if FACADE_USERS.contains(&user) && BELOW_FACADE.contains(&used) {
        return Some("a platform is written against `karwan` alone, as any user's code is");
    }
    (rank(used) >= rank(user)).then_some("a crate uses only those before it in the order of layers")
}

fn rank(folder: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == folder)
}

/// The folder that holds the manifest.
fn folder(package: &Value) -> Option<&str> {
    package["manifest_path"].as_str()?.rsplit('/').nth(1)
}

fn manifest(folder: &str) -> String {
    match folder {
        CHORES => format!("{folder}/Cargo.toml"),
        _ => format!("crates/{folder}/Cargo.toml"),
    }
}
