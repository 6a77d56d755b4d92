//! The policy gates: a catalogue's files judged by themselves, whoever wrote them.
//!
//! Every finding is reported, not only the first. Nothing compiled into this program is consulted but the wire forms,
//! so that a violation planted in a copy is found there.

mod place;
mod platform;
mod samples;
mod topics;

use karwan_envelope::profile::Profile;
use karwan_envelope::time::Date;

pub use place::{Finding, Gate};

use crate::files::{POLICY, PolicyFile, TOPICS, Tree};

/// All findings about a catalogue; empty when it is in order. Envelope samples are read by these profiles.
pub fn check(tree: &Tree, profiles: &[Profile]) -> Vec<Finding> {
    let mut platforms: Vec<&str> = tree
        .keys()
        .filter_map(|path| path.split_once('/'))
        .filter(|(_, file)| [TOPICS, POLICY].contains(file) || file.starts_with(crate::files::SCHEMAS))
        .map(|(platform, _)| platform)
        .collect();
    platforms.dedup();
    if platforms.is_empty() {
        let message = format!("no <platform>/{TOPICS} here: this is not a catalogue");
        return vec![Finding::new(Gate::Unreadable, "", message, "name the folder that `catalog emit` wrote")];
    }
    platforms.into_iter().flat_map(|platform| platform::check(tree, platform, profiles)).collect()
}

/// How long a review of the events of no tenant is good for.
pub const REVIEW_DAYS_MAX: i32 = 92;

/// Platforms whose list of events of no tenant was last looked at more than a quarter ago. A reminder, not a finding:
/// no catalogue becomes wrong by waiting.
pub fn overdue_reviews(tree: &Tree, today: Date) -> Vec<String> {
    let policies = tree.iter().filter(|(path, _)| path.split_once('/').is_some_and(|(_, file)| file == POLICY));
    policies
        .filter_map(|(path, bytes)| {
            let policy: PolicyFile = serde_json::from_slice(bytes).ok()?;
            let list = policy.platform_events;
            let reviewed: Date = list.reviewed_on.parse().ok()?;
            let overdue = today.unix_days() - reviewed.unix_days() > REVIEW_DAYS_MAX && !list.subjects.is_empty();
            overdue.then(|| {
                format!("{path}: the list of platform events was last reviewed on {reviewed}; look at it again")
            })
        })
        .collect()
}
