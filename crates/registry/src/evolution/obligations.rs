//! What a change owes besides being allowed: a line in the changelog, an entry for dual publishing.

use super::gate::{GateReport, SubjectChange};
use super::report::Finding;
use super::rule::Rule;

impl GateReport {
    /// A widened enum is documented in the changelog of events, under its subject.
    pub fn require_changelog(&mut self, changelog: &str) {
        for report in &mut self.subjects {
            let widened = report.findings.iter().any(|finding| finding.rule == Rule::EnumWidened);
            if widened && !changelog.contains(&report.subject) {
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
                line.contains(&report.subject) && words.contains("dual publish")
            });
            if !announced {
                let change = format!("no line of the description announces dual publishing of `{}`", report.subject);
                report.findings.push(Finding::new(Rule::DualPublishEntryMissing, "", change));
            }
        }
    }
}
