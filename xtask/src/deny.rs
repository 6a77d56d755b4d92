//! Reads the two lists of `deny.toml` that we need: `[licenses] allow` and `[bans] deny`. Pure.
//!
//! The page is also read by the real cargo-deny, so it is ordinary TOML; this reads the small part of TOML that those
//! two lists use (strings in brackets, over any number of lines, with comments) and refuses what it does not know.

use std::collections::BTreeSet;

/// What may be used, and what may not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Licences, each as it is written in an expression.
    pub allowed_licences: BTreeSet<String>,
    /// Names of crates that nothing may depend on.
    pub banned_crates: BTreeSet<String>,
}

/// Reads the policy; the error says which list is missing or what could not be read.
pub fn parse(text: &str) -> Result<Policy, String> {
    let policy =
        Policy { allowed_licences: list(text, "[licenses]", "allow")?, banned_crates: list(text, "[bans]", "deny")? };
    Ok(policy)
}

fn list(text: &str, section: &str, key: &str) -> Result<BTreeSet<String>, String> {
    let place = format!("{section} {key}");
    let mut inside_section = false;
    let mut body: Option<String> = None;
    for line in text.lines() {
        let line = without_comment(line).trim();
        if let Some(body) = &mut body {
            body.push_str(line);
        } else if line.starts_with('[') {
            inside_section = line == section;
        } else if let Some((name, value)) = line.split_once('=')
            && inside_section
            && name.trim() == key
        {
            body = Some(value.trim().to_owned());
        }
        if let Some(body) = &body
            && body.ends_with(']')
        {
            return strings(body).ok_or_else(|| format!("deny.toml: {place} is not a list of strings"));
        }
    }
    Err(format!("deny.toml: {place} is missing or not closed"))
}

/// No string of ours holds a `#`.
fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line)
}

fn strings(list: &str) -> Option<BTreeSet<String>> {
    let inner = list.strip_prefix('[')?.strip_suffix(']')?;
    let items = inner.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| Some(item.strip_prefix('"')?.strip_suffix('"')?.to_owned())).collect()
}
