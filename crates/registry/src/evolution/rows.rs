//! The rows beside the schemas: names, keys and policy that consumers rely on as much as on fields.

use std::collections::BTreeMap;

use super::gate::{GateReport, SubjectChange, SubjectReport};
use super::report::Finding;
use super::rule::Rule;
use crate::files::Topic;

impl GateReport {
    /// Adds what changed in the rows of subjects that both catalogues have.
    pub fn compare_rows(&mut self, base: &BTreeMap<String, Topic>, new: &BTreeMap<String, Topic>) {
        for (subject, before) in base {
            let Some(after) = new.get(subject) else { continue };
            let findings = row_findings(before, after);
            if findings.is_empty() {
                continue;
            }
            match self.subjects.iter_mut().find(|report| report.subject == *subject) {
                Some(report) => report.findings.extend(findings),
                None => {
                    let change = SubjectChange::Changed;
                    self.subjects.push(SubjectReport { subject: subject.clone(), change, findings });
                }
            }
        }
        self.subjects.sort_by(|left, right| left.subject.cmp(&right.subject));
    }
}

fn row_findings(before: &Topic, after: &Topic) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |rule, pointer: &str, change: String| findings.push(Finding::new(rule, pointer, change));
    for alias in before.aliases.iter().filter(|alias| !after.aliases.contains(alias) && **alias != after.subject) {
        say(Rule::AliasRemoved, "/aliases", format!("the alias `{alias}` is gone"));
    }
    for alias in after.aliases.iter().filter(|alias| !before.aliases.contains(alias)) {
        say(Rule::AliasAdded, "/aliases", format!("the alias `{alias}` was added"));
    }
    let texts = [
        (Rule::OrderingKeyChanged, "/key", &before.key, &after.key),
        (Rule::IdempotencyKeyChanged, "/idempotencyKey", &before.idempotency_key, &after.idempotency_key),
        (Rule::OwnerChanged, "/owner", &before.owner, &after.owner),
    ];
    for (rule, pointer, before, after) in texts.into_iter().filter(|(_, _, before, after)| before != after) {
        say(rule, pointer, format!("`{before}` → `{after}`"));
    }
    if before.tenancy != after.tenancy {
        say(Rule::TenancyChanged, "/tenancy", format!("{:?} → {:?}", before.tenancy, after.tenancy));
    }
    let (kept, keeps) = (&before.retention, &after.retention);
    if keeps.days() < kept.days() || keeps.broker_days < kept.broker_days {
        let change = format!("`{}` ({} days) → `{}` ({} days)", kept.class, kept.days(), keeps.class, keeps.days());
        say(Rule::RetentionShortened, "/retention", change);
    }
    if before.merkle && !after.merkle {
        say(Rule::MerkleDropped, "/merkle", "no longer anchored in the Merkle tree".to_owned());
    }
    findings
}
