//! What the gate answers: findings, and the verdict they add up to.

use serde::Serialize;

use super::limits::FINDINGS_MAX;
use super::rule::Rule;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Additive: worth knowing, nothing to do before merging.
    Note,
    /// Allowed only once past events have been looked at.
    Audit,
    /// Not allowed within a version.
    Breaking,
}

/// Who is affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// Old events under the new schema.
    Replay,
    /// New events at a consumer that knows only the old schema, and ignores unknown fields and enum values.
    Consume,
    /// Both of them.
    Both,
}

impl Direction {
    pub(super) fn touches(self, other: Self) -> bool {
        self == other || self == Self::Both
    }
}

/// The answer for one pair of schemas, or for a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Nothing that a producer or a consumer could notice.
    Identical,
    /// Safe in both directions.
    Additive,
    /// Safe only if past events, or the construct that the gate does not decide, are looked at.
    NeedsAudit,
    /// Needs a new version of the subject.
    Breaking,
}

impl Verdict {
    /// The process exit code that stands for this verdict.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Identical | Self::Additive => 0,
            Self::Breaking => 1,
            Self::NeedsAudit => 2,
        }
    }

    pub(super) fn of(findings: &[Finding]) -> Self {
        match findings.iter().map(|finding| finding.severity).max() {
            None => Self::Identical,
            Some(Severity::Note) => Self::Additive,
            Some(Severity::Audit) => Self::NeedsAudit,
            Some(Severity::Breaking) => Self::Breaking,
        }
    }
}

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule that judged it; its page is `docs/rules/<id>.md`.
    pub rule: Rule,
    /// How much it weighs.
    pub severity: Severity,
    /// Who is affected.
    pub direction: Direction,
    /// JSON pointer into the new schema, or into the old one when the thing is gone.
    pub pointer: String,
    /// What changed.
    pub change: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    pub(super) fn new(rule: Rule, pointer: impl Into<String>, change: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity(),
            direction: rule.direction(),
            pointer: pointer.into(),
            change: change.into(),
            remedy: rule.remedy().to_owned(),
        }
    }

    /// Makes a breaking finding one that needs an audit: something that the gate does not decide may make up for it.
    pub(super) fn soften(&mut self) {
        self.severity = Severity::Audit;
        self.remedy = super::rule::REVIEW_BESIDE.to_owned();
    }
}

/// Everything found between two schemas, the severest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The findings; empty when nothing changed.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Sorts, removes repeats and cuts at the bound. The severest stay, so a cut never softens the verdict.
    pub(super) fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|left, right| {
            (right.severity.cmp(&left.severity))
                .then_with(|| left.pointer.cmp(&right.pointer))
                .then_with(|| left.rule.id().cmp(right.rule.id()))
                .then_with(|| left.change.cmp(&right.change))
        });
        let mut seen = std::collections::HashSet::new();
        findings.retain(|finding| seen.insert((finding.rule, finding.pointer.clone())));
        if findings.len() > FINDINGS_MAX {
            let dropped = findings.len() - FINDINGS_MAX;
            findings.truncate(FINDINGS_MAX);
            findings.push(Finding::new(Rule::FindingsTruncated, "", format!("{dropped} more findings are not listed")));
        }
        Self { findings }
    }

    /// The verdict the findings add up to.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.findings)
    }
}
