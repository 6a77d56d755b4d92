//! What past events say of a narrowed schema: the result of an audit, and what it settles in the gate's report.
//!
//! Invariant: an audit only ever answers the question that events can answer, whether what was written before would still
//! be admitted. A promise to consumers that was lifted, a construct that the gate does not decide and a contract that
//! admits no narrowing stay as they were found.
//!
//! Not here: reading events. Whoever reads them counts, and this decides.

use std::collections::BTreeMap;

use karwan_envelope::directory::Hash;
use karwan_envelope::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gate::{GateReport, SubjectReport};
use super::report::{Direction, Finding, Severity};
use crate::hash::hash;

/// An audit of fewer days settles nothing.
pub const AUDIT_DAYS_MIN: u32 = 30;
/// An older audit has not seen what was written since.
pub const AUDIT_AGE_DAYS_MAX: i64 = 7;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was found when the events of a store were held against new schemas. These names are stable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Audit {
    /// The format's version.
    pub audit: u32,
    /// When the events were looked at.
    pub audited_at: Timestamp,
    /// How many days back.
    pub days: u32,
    /// Whether the store still had every event of those days, and all of them could be read.
    pub covered: bool,
    /// What was looked at, subject by subject.
    pub subjects: Vec<SubjectAudit>,
}

/// What the events of one subject said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubjectAudit {
    /// The subject, with its version.
    pub subject: String,
    /// The content hash of the schema as it was.
    pub old: Hash,
    /// And as it will be; an audit answers for this very pair.
    pub new: Hash,
    /// Events that were looked at.
    pub events: u64,
    /// Events that the new schema would refuse.
    pub refused: u64,
    /// The releases that wrote them, by the content hash of the schema that their envelopes name.
    pub releases: Vec<ReleaseAudit>,
    /// The first events that would be refused.
    pub examples: Vec<Example>,
}

/// Events of one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseAudit {
    /// The content hash of the schema that they were written by; none where their envelopes name none.
    pub schema: Option<Hash>,
    /// How many.
    pub events: u64,
    /// How many of them would be refused.
    pub refused: u64,
}

/// An event that would be refused. What is in it is not repeated: it may be personal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Example {
    /// The event's id.
    pub event: String,
    /// Its place in the log.
    pub seq: i64,
    /// Where it breaks the new schema, and how.
    pub violations: Vec<String>,
}

/// Why an audit settles nothing of a subject, or nothing at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsettled {
    /// Another format.
    #[error("it is an audit of version {0}; this program reads version 1")]
    Version(u32),
    /// Too few days.
    #[error("it looked {0} days back, and {AUDIT_DAYS_MIN} are needed")]
    Days(u32),
    /// Too old.
    #[error("it is from {0}, more than {AUDIT_AGE_DAYS_MAX} days ago")]
    Old(Timestamp),
    /// From a clock that is ahead.
    #[error("it is from {0}, which has not come yet")]
    Early(Timestamp),
    /// The store did not have all events.
    #[error("the store did not have every event of its {0} days")]
    Uncovered(u32),
    /// Other schemas.
    #[error("of `{0}` it looked at other schemas than these")]
    Schemas(String),
}

impl Finding {
    /// Whether past events can answer it: they may all be admitted by what was narrowed.
    pub fn events_answer(&self) -> bool {
        // A finding that was softened is breaking by its rule; no event makes that right.
        self.severity == Severity::Audit
            && self.rule.severity() == Severity::Audit
            && self.direction == Direction::Replay
            // What the gate does not decide may also harm consumers, of whom events say nothing.
            && self.rule.direction() == Direction::Replay
    }
}

impl Audit {
    /// Whether it counts at all.
    fn counts(&self, now: Timestamp) -> Result<(), Unsettled> {
        let age = now.unix_ms() - self.audited_at.unix_ms();
        match self {
            Self { audit, .. } if *audit != 1 => Err(Unsettled::Version(*audit)),
            Self { days, .. } if *days < AUDIT_DAYS_MIN => Err(Unsettled::Days(*days)),
            _ if age > AUDIT_AGE_DAYS_MAX * DAY_MS => Err(Unsettled::Old(self.audited_at)),
            // Clocks of two machines differ by minutes, not by days.
            _ if age < -DAY_MS => Err(Unsettled::Early(self.audited_at)),
            Self { covered: false, days, .. } => Err(Unsettled::Uncovered(*days)),
            _ => Ok(()),
        }
    }
}

impl GateReport {
    /// Lets an audit answer what events can answer: where none would be refused a narrowing is a note, where one would it
    /// is breaking. Answers why parts of the audit settle nothing. Comes after [`Self::harden`].
    pub fn settle(
        &mut self,
        audit: &Audit,
        (base, new): (&BTreeMap<String, Value>, &BTreeMap<String, Value>),
        now: Timestamp,
    ) -> Vec<Unsettled> {
        let counts = audit.counts(now);
        let mut unsettled = Vec::new();
        for report in &mut self.subjects {
            let Some(found) = audit.subjects.iter().find(|found| found.subject == report.subject) else { continue };
            let hash_of = |schemas: &BTreeMap<String, Value>| schemas.get(&found.subject).and_then(|it| hash(it).ok());
            if (hash_of(base), hash_of(new)) != (Some(found.old), Some(found.new)) {
                unsettled.push(Unsettled::Schemas(found.subject.clone()));
                continue;
            }
            // That an event would be refused is true however few were looked at.
            if found.refused > 0 || counts.is_ok() {
                settle_subject(report, found, audit.days);
            }
        }
        unsettled.extend(counts.err());
        unsettled
    }
}

fn settle_subject(report: &mut SubjectReport, found: &SubjectAudit, days: u32) {
    let SubjectAudit { events, refused, .. } = found;
    for finding in report.findings.iter_mut().filter(|finding| finding.events_answer()) {
        if *refused == 0 {
            finding.severity = Severity::Note;
            finding.remedy = format!("audited: none of {events} events of the last {days} days would be refused");
        } else {
            finding.severity = Severity::Breaking;
            finding.remedy = format!(
                "keep the old form, or ship the next version: {refused} of {events} events of the last {days} days would be refused"
            );
        }
    }
}
