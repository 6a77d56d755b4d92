//! The policy gates: a catalogue's files judged by themselves, whoever wrote them.
//!
//! Every finding is reported, not only the first. Nothing compiled into this program is consulted but the wire forms,
//! so that a violation planted in a copy is found there.

mod place;
mod platform;
mod samples;
mod topics;

use karwan_envelope::profile::Profile;

pub use place::{Finding, Gate};

use crate::files::{POLICY, TOPICS, Tree};

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
