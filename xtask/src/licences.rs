//! The licences and the names of everything we depend on, against `deny.toml`.

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use crate::deny::{self, Policy};
use crate::finding::{Finding, settle};
use crate::project::{Project, Scope};
use crate::spdx;

/// Judges every package that is not ours.
pub fn run(project: &Project) -> Result<()> {
    let text = std::fs::read_to_string(project.root.join("deny.toml")).context("reading deny.toml")?;
    let policy = deny::parse(&text).map_err(|reason| anyhow!(reason))?;
    settle(judge(&project.metadata(Scope::AllPackages)?, &policy))
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
