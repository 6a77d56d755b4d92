//! The licences and the names of everything we depend on, against `deny.toml`.
//!
//! `cargo metadata` also lists what an unused feature of a dependency would bring; `cargo tree` knows what is built.

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use crate::command;
use crate::deny::{self, Policy};
use crate::finding::{Finding, settle};
use crate::project::{Project, Scope};
use crate::spdx;

/// Judges every package that is not ours.
pub fn run(project: &Project) -> Result<()> {
    let text = std::fs::read_to_string(project.root.join("deny.toml")).context("reading deny.toml")?;
    let policy = deny::parse(&text).map_err(|reason| anyhow!(reason))?;
    let mut metadata = project.metadata(Scope::AllPackages)?;
    let built = built(project)?;
    if let Some(packages) = metadata["packages"].as_array_mut() {
        packages.retain(|package| built.contains(&spelled(package)));
    }
    settle(judge(&metadata, &policy))
}

/// Every package that some target builds, for the product or its tests, as `name v1.2.3`.
fn built(project: &Project) -> Result<BTreeSet<String>> {
    let tree = project.cargo(&["tree", "--workspace", "--target", "all", "--prefix", "none", "--format", "{p}"]);
    let text = command::text(tree).context("asking cargo for the tree of dependencies")?;
    Ok(text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}

fn spelled(package: &Value) -> String {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    format!("{} v{}", text("name"), text("version"))
}

/// One finding for every package whose licence is not allowed, and for every banned one.
pub fn judge(metadata: &Value, policy: &Policy) -> Vec<Finding> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    packages.iter().filter(|package| !package["source"].is_null()).flat_map(|package| of_one(package, policy)).collect()
}

fn of_one(package: &Value, policy: &Policy) -> Vec<Finding> {
    let name = package["name"].as_str().unwrap_or("(unnamed)");
    let version = package["version"].as_str().unwrap_or("?");
    let finding = |rule, message: String| Finding::on("Cargo.lock", rule, format!("{name} {version}: {message}"));
    let mut findings = Vec::new();
    if policy.banned_crates.contains(name) {
        findings.push(finding("banned-crate", "is banned by deny.toml".to_owned()));
    }
    match package["license"].as_str() {
        None => findings.push(finding("licence", "names no licence".to_owned())),
        Some(expression) => match spdx::satisfied(expression, &policy.allowed_licences) {
            Ok(true) => {}
            Ok(false) => findings.push(finding("licence", format!("`{expression}` is not allowed by deny.toml"))),
            Err(reason) => {
                findings.push(finding("licence", format!("`{expression}` is not a licence expression: {reason}")));
            }
        },
    }
    findings
}
