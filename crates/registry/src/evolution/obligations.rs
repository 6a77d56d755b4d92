//! What a change owes besides being allowed: a line in the changelog, an entry for dual publishing.

use super::gate::{GateReport, SubjectChange};
use super::report::Finding;
use super::rule::Rule;

impl GateReport {
    /// A widened enum is documented in the changelog of events, under its subject.
    pub fn require_changelog(&mut self, changelog: &str) {
        for report in &mut self.subjects {
            let widened = report.findings.iter().any(|finding| finding.rule == Rule::EnumWidened);
            if widened && !changelog.lines().any(|line| names(line, &report.subject)) {
                let change =
                    format!("an enum was widened, and the changelog of events does not mention `{}`", report.subject);
                report.findings.push(Finding::new(Rule::ChangelogEntryMissing, "", change));
            }
        }
    }

    /// A new version beside a kept one is announced in the description of the change: a line that has the subject and
    /// the words "dual publish".
    pub fn require_dual_publish(&mut self, description: &str) {
        for report in self.subjects.iter_mut().filter(|report| report.change == SubjectChange::VersionAdded) {
            let announced = description.lines().any(|line| {
                let words = line.to_lowercase().replace('-', " ");
                names(line, &report.subject) && words.contains("dual publish")
            });
            if !announced {
                let change = format!("no line of the description announces dual publishing of `{}`", report.subject);
                report.findings.push(Finding::new(Rule::DualPublishEntryMissing, "", change));
            }
        }
    }
}

/// Whether a line has the subject as a word of its own: `….v1` is not named by `….v10`.
fn names(line: &str, subject: &str) -> bool {
    let inside = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '.';
    line.match_indices(subject).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + subject.len()..]);
        // A full stop that ends a sentence is not part of a name.
        let after = after.strip_prefix('.').filter(|rest| !rest.starts_with(inside)).unwrap_or(after);
        !before.ends_with(inside) && !after.starts_with(inside)
    })
}
