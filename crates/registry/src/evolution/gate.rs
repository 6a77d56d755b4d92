//! Whole catalogues: which subjects came, went, changed or gained a version.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::canonical::{canonical, measure};
use super::document::Arena;
use super::error::{Error, Side};
use super::report::{Finding, Report, Verdict};
use super::rule::Rule;

/// What happened to a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SubjectChange {
    /// A subject of which no version existed.
    Added,
    /// A new version beside a kept one.
    VersionAdded,
    /// Gone.
    Removed,
    /// Another schema under the same name and version.
    Changed,
}

/// The findings of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectReport {
    /// The subject, with its version.
    pub subject: String,
    /// What happened to it.
    pub change: SubjectChange,
    /// The findings; pointers are into this subject's schema.
    pub findings: Vec<Finding>,
}

impl SubjectReport {
    /// The verdict the findings add up to.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.findings)
    }
}

/// The subjects that differ between two catalogues, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateReport {
    /// Changed subjects only; a schema that says the same in other words is not among them.
    pub subjects: Vec<SubjectReport>,
}

impl GateReport {
    /// The severest verdict among the subjects.
    pub fn verdict(&self) -> Verdict {
        self.subjects.iter().map(SubjectReport::verdict).max().unwrap_or(Verdict::Identical)
    }
}

/// Judges a catalogue against the one it is to replace; both map a subject to its schema.
///
/// # Errors
/// A changed or added schema that cannot be judged; the error names its subject.
pub fn gate(base: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Result<GateReport, Error> {
    let subjects: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let mut reports = Vec::new();
    for subject in subjects {
        let report = match (base.get(subject), new.get(subject)) {
            (Some(before), Some(after)) => changed(subject, before, after)?,
            (Some(_), None) => Some(removed(subject, new)),
            (None, Some(after)) => Some(added(subject, after, base, new)?),
            (None, None) => None,
        };
        reports.extend(report);
    }
    Ok(GateReport { subjects: reports })
}

fn changed(subject: &str, before: &Value, after: &Value) -> Result<Option<SubjectReport>, Error> {
    let in_subject = |error: Error| error.in_subject(subject);
    measure(Side::Old, before).map_err(in_subject)?;
    measure(Side::New, after).map_err(in_subject)?;
    if before == after {
        return Ok(None);
    }
    let report = super::compare(before, after).map_err(in_subject)?;
    let change = SubjectChange::Changed;
    Ok((!report.findings.is_empty()).then(|| SubjectReport {
        subject: subject.to_owned(),
        change,
        findings: report.findings,
    }))
}

fn removed(subject: &str, new: &BTreeMap<String, Value>) -> SubjectReport {
    let (family, version) = family(subject);
    let successor = new.keys().find(|other| {
        let (name, number) = self::family(other);
        name == family && number > version
    });
    let mut finding = Finding::new(Rule::SubjectRemoved, "", format!("`{subject}` is gone"));
    match successor {
        Some(successor) => {
            finding.change = format!("`{subject}` is gone, `{successor}` remains");
            finding.remedy = format!(
                "keep `{subject}` until it may retire: dual publishing with `{successor}` has lasted one release and at least \
                 two weeks, no consumer registers it, and its subscriptions show zero deliveries for 7 consecutive days"
            );
        }
        None => {
            finding.remedy =
                "keep the subject; a renamed one needs a new topic and new subscriptions beside the old".to_owned()
        }
    }
    SubjectReport { subject: subject.to_owned(), change: SubjectChange::Removed, findings: vec![finding] }
}

fn added(
    subject: &str,
    after: &Value,
    base: &BTreeMap<String, Value>,
    new: &BTreeMap<String, Value>,
) -> Result<SubjectReport, Error> {
    Arena::new().and_then(|mut arena| arena.load(Side::New, after)).map_err(|error| error.in_subject(subject))?;
    let (family, version) = family(subject);
    let earlier = (base.keys())
        .filter(|other| self::family(other).0 == family && self::family(other).1 < version)
        .max_by_key(|other| self::family(other).1);
    let Some(earlier) = earlier else {
        let finding = Finding::new(Rule::SubjectAdded, "", format!("`{subject}` added"));
        return Ok(SubjectReport {
            subject: subject.to_owned(),
            change: SubjectChange::Added,
            findings: vec![finding],
        });
    };
    let change = format!("`{subject}` added beside `{earlier}`");
    let mut findings = vec![Finding::new(Rule::VersionAdded, "", change)];
    let before = new.get(earlier).unwrap_or(&base[earlier]);
    measure(Side::Old, before).map_err(|error| error.in_subject(earlier))?;
    let same = canonical(before) == canonical(after)
        || super::compare(before, after).map_err(|error| error.in_subject(subject))?.verdict() == Verdict::Identical;
    if same {
        let change = format!("`{subject}` has the same schema as `{earlier}`");
        findings.push(Finding::new(Rule::VersionUnchanged, "", change));
    }
    let findings = Report::of(findings).findings;
    Ok(SubjectReport { subject: subject.to_owned(), change: SubjectChange::VersionAdded, findings })
}

/// A subject without its version, and the version; a subject that names none is version 1.
fn family(subject: &str) -> (&str, u64) {
    let versioned = subject.rsplit_once(".v").and_then(|(name, digits)| {
        let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten().map(|version| (name, version))
    });
    versioned.unwrap_or((subject, 1))
}
