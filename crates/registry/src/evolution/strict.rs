//! Subjects under the strictest rules: what would need an audit elsewhere is breaking for them.

use std::collections::BTreeSet;

use super::gate::GateReport;
use super::report::Severity;

impl GateReport {
    /// Makes every finding that asks for an audit breaking on these subjects. Their consumers are contracted across
    /// contexts, or their platform forbids narrowing outright, so no audit of past events can allow the change.
    pub fn harden(&mut self, strict: &BTreeSet<String>) {
        for report in self.subjects.iter_mut().filter(|report| strict.contains(&report.subject)) {
            for finding in report.findings.iter_mut().filter(|finding| finding.severity == Severity::Audit) {
                finding.severity = Severity::Breaking;
                finding.remedy = format!("{}: its contract admits no narrowing, audited or not", NEW_VERSION);
            }
        }
    }
}

const NEW_VERSION: &str = "ship .v<n+1> and dual-publish";
