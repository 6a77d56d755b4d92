//! Facts as people follow them: what, whose, when, and because of what. Never a payload.

use karwan_envelope::directory::Directory;
use karwan_envelope::ids::{CorrelationId, EventId};
use karwan_envelope::profile::Profile;
use karwan_envelope::wire;
use karwan_store::log::LogRow;
use serde::{Deserialize, Serialize};

use crate::output::Paint;

/// A fact of a trace; these names are stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fact {
    /// Its number in the log.
    pub seq: i64,
    /// When the store took it in, milliseconds after 1970.
    pub at: i64,
    /// The service that published it.
    pub service: String,
    /// Its subject.
    pub subject: String,
    /// The aggregate.
    pub key: String,
    /// The event.
    pub event: String,
    /// The event that led to it; none where a request did.
    pub cause: Option<String>,
    /// The trace.
    pub correlation: String,
}

impl Fact {
    /// The fact of a row; none where the envelope is of no platform of this binary.
    pub fn read(profiles: &[Profile], directory: &Directory, row: &LogRow) -> Option<Self> {
        let decoded =
            profiles.iter().find_map(|profile| wire::decode(profile, directory, row.envelope.as_bytes()).ok())?;
        let envelope = decoded.envelope;
        Some(Self {
            seq: row.seq,
            at: row.at,
            service: envelope.producer.service,
            subject: row.subject.clone(),
            key: row.key.clone(),
            event: row.event.to_string(),
            cause: envelope.cause.causation.map(|event: EventId| event.to_string()),
            correlation: envelope.cause.correlation.to_string(),
        })
    }

    /// The subject without its platform, service and version: `booking.confirmed`.
    pub fn what(&self) -> String {
        let parts: Vec<&str> = self.subject.split('.').collect();
        let last = parts.len() - usize::from(parts.last().is_some_and(|part| is_version(part)));
        let first = if last > 3 { 2 } else { 1 };
        parts.get(first..last).map_or_else(|| self.subject.clone(), |middle| middle.join("."))
    }
}

fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A moment after a beginning, such as `+1.024 s`.
pub fn elapsed(ms: i64) -> String {
    format!("+{}.{:03} s", ms / 1_000, ms.rem_euclid(1_000))
}

/// One line of a fact as it happens: when, who, what, and because of what.
pub fn line(fact: &Fact, from: i64, cause: Option<&Fact>, paint: Paint) -> String {
    let because = match (cause, &fact.cause) {
        (Some(cause), _) => format!("← {}", cause.what()),
        (None, Some(_)) => "← something before".to_owned(),
        (None, None) => "← a request".to_owned(),
    };
    let when = elapsed(fact.at - from);
    let bad = ["failed", "cancelled", "blocked", "error", "expired"].iter().any(|word| fact.what().contains(word));
    let what = format!("{:<28}", fact.what());
    let what = if bad { paint.yellow(&what) } else { paint.green(&what) };
    format!("{when:>11}  {:<27} {what} {}", fact.service, paint.dim(&because))
}

/// Whether a row can be of a trace: its text names it.
pub fn may_be_of(row: &LogRow, correlation: CorrelationId) -> bool {
    let uuid = EventId::from_bits(correlation.bits()).to_string();
    row.envelope.contains(&correlation.to_string()) || row.envelope.contains(&uuid)
}

/// The causal tree of a trace, with times, one line each. Facts whose cause is not here stand at the root.
pub fn tree(facts: &[Fact], paint: Paint) -> String {
    let from = facts.iter().map(|fact| fact.at).min().unwrap_or_default();
    let known = |event: &String| facts.iter().any(|fact| fact.event == *event);
    let mut text = Vec::new();
    let roots = facts.iter().filter(|fact| !fact.cause.as_ref().is_some_and(known));
    // Depth first, with a stack of our own: a long chain of causes is no deep recursion.
    let mut open: Vec<(&Fact, Vec<bool>)> = roots.map(|fact| (fact, Vec::new())).collect();
    open.reverse();
    while let Some((fact, more)) = open.pop() {
        text.push(branch(fact, from, &more, paint));
        let below: Vec<&Fact> = facts.iter().filter(|other| other.cause.as_ref() == Some(&fact.event)).collect();
        let last = below.len();
        let below = below.into_iter().enumerate().map(|(place, below)| {
            let mut path = more.clone();
            path.push(place + 1 < last);
            (below, path)
        });
        let mut below: Vec<_> = below.collect();
        below.reverse();
        open.extend(below);
    }
    text.join("\n")
}

fn branch(fact: &Fact, from: i64, more: &[bool], paint: Paint) -> String {
    let mut lines = String::new();
    for (depth, goes_on) in more.iter().enumerate() {
        lines.push_str(match (depth + 1 == more.len(), goes_on) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        });
    }
    let name = format!("{lines}{}", fact.what());
    format!("{:>11}  {name:<48} {:<27} {}", elapsed(fact.at - from), fact.service, paint.dim(&fact.key))
}

#[cfg(test)]
mod tests {
    use super::{Fact, elapsed, tree};
    use crate::output::Paint;

    fn fact(event: &str, cause: Option<&str>, subject: &str, at: i64) -> Fact {
        Fact {
            seq: at,
            at,
            service: "a-service".to_owned(),
            subject: subject.to_owned(),
            key: "k".to_owned(),
            event: event.to_owned(),
            cause: cause.map(str::to_owned),
            correlation: "c".to_owned(),
        }
    }

    #[test]
    fn a_trace_is_a_tree_of_causes_and_nobody_is_lost() {
        let facts = [
            fact("1", None, "m.s.booking.held.v1", 1_000),
            fact("2", Some("1"), "m.s.allocation.committed.v1", 1_010),
            fact("3", Some("2"), "m.s.intent.captured.v1", 1_200),
            fact("4", Some("1"), "m.s.entry.appended.v1", 1_300),
            fact("5", Some("9"), "m.s.booking.confirmed.v1", 2_500),
        ];
        let text = tree(&facts, Paint::stdout());
        let names: Vec<String> = text.lines().map(|line| line.chars().skip(13).take(40).collect::<String>()).collect();
        let names: Vec<&str> = names.iter().map(|name| name.trim_end()).collect();
        assert_eq!(
            names,
            [
                "booking.held",
                "├─ allocation.committed",
                "│  └─ intent.captured",
                "└─ entry.appended",
                "booking.confirmed"
            ]
        );
        assert!(text.contains("+1.500 s"), "{text}");
        assert_eq!(elapsed(61_007), "+61.007 s");
    }
}
