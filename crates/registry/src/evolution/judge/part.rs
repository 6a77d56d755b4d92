//! Findings of one pair, what they amount to, and how far they can be trusted.

use super::Judged;
use crate::evolution::report::{Direction, Finding, Severity};
use crate::evolution::rule::Rule;

/// What a judgement amounts to, without its findings.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::evolution) struct Summary {
    pub(super) replay: Option<Severity>,
    pub(super) consume: Option<Severity>,
    /// Grows with the number and weight of findings; orders candidate pairings.
    pub(super) weight: u32,
}

impl Summary {
    fn add(&mut self, other: Self) {
        self.replay = self.replay.max(other.replay);
        self.consume = self.consume.max(other.consume);
        self.weight = self.weight.saturating_add(other.weight);
    }

    fn of(finding: &Finding) -> Self {
        let severity = Some(finding.severity);
        let touched = |direction| severity.filter(|_| finding.direction.touches(direction));
        let weight = match finding.severity {
            Severity::Note => 1,
            Severity::Audit => 100,
            Severity::Breaking => 1_000,
        };
        Self { replay: touched(Direction::Replay), consume: touched(Direction::Consume), weight }
    }

    /// Every old instance is a new one.
    pub(super) fn replays(self) -> bool {
        self.replay <= Some(Severity::Note)
    }

    pub(super) fn is_clean(self) -> bool {
        self.replays() && self.consume <= Some(Severity::Note)
    }

    fn doubted(mut self, doubt: Doubt) -> Self {
        let capped = |severity: Option<Severity>| severity.min(Some(Severity::Audit));
        if doubt.replay {
            self.replay = capped(self.replay);
        }
        if doubt.consume {
            self.consume = capped(self.consume);
        }
        self
    }
}

/// In which directions a breaking finding may be an artefact, because something undecided beside it may make up for it.
/// An undecided constraint of the old schema alone can only make fewer old events, so it casts doubt on replay; one of
/// the new schema alone casts doubt on consuming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubt {
    pub(super) replay: bool,
    pub(super) consume: bool,
}

impl Doubt {
    pub(super) fn or(self, other: Self) -> Self {
        Self { replay: self.replay || other.replay, consume: self.consume || other.consume }
    }

    /// Whether whatever `other` doubts is doubted here too.
    fn covers(self, other: Self) -> bool {
        (self.replay || !other.replay) && (self.consume || !other.consume)
    }

    /// A breaking finding that no direction supports any more needs an audit.
    pub(super) fn applied(self, mut finding: Finding) -> Finding {
        if finding.severity != Severity::Breaking {
            return finding;
        }
        let (replay, consume) = (
            finding.direction.touches(Direction::Replay) && !self.replay,
            finding.direction.touches(Direction::Consume) && !self.consume,
        );
        match (replay, consume) {
            (true, true) => {}
            (true, false) => finding.direction = Direction::Replay,
            (false, true) => finding.direction = Direction::Consume,
            (false, false) => finding.soften(),
        }
        finding
    }
}

/// Findings of one pair, and the pairs below it.
#[derive(Clone, Debug, Default)]
pub(in crate::evolution) struct Part {
    own: Vec<Finding>,
    children: Vec<(usize, Doubt)>,
    pub(super) summary: Summary,
}

impl Part {
    pub(super) fn find(&mut self, rule: Rule, pointer: impl Into<String>, change: impl Into<String>) {
        self.add(Finding::new(rule, pointer, change));
    }

    /// A finding that may be an artefact.
    pub(super) fn find_doubted(&mut self, doubt: Doubt, finding: Finding) {
        self.add(doubt.applied(finding));
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.summary.add(Summary::of(&finding));
        self.own.push(finding);
    }

    /// Whether nothing was found, here or below.
    pub(super) fn is_empty(&self) -> bool {
        self.summary.weight == 0
    }

    /// Whether something was found here, and not only below.
    pub(super) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    pub(super) fn child(&mut self, judged: Judged) {
        self.summary.add(judged.summary);
        self.children.push((judged.outcome, Doubt::default()));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.summary.add(other.summary);
        self.own.extend(other.own);
        self.children.extend(other.children);
    }

    /// The part with everything in it, and below it, in doubt.
    pub(super) fn doubted(self, doubt: Doubt) -> Self {
        if doubt == Doubt::default() {
            return self;
        }
        Self {
            own: self.own.into_iter().map(|finding| doubt.applied(finding)).collect(),
            children: self.children.into_iter().map(|(outcome, own)| (outcome, own.or(doubt))).collect(),
            summary: self.summary.doubted(doubt),
        }
    }

    /// The findings of a part and of all below it, each with the least doubt under which it is reached.
    pub(super) fn gathered(&self, outcomes: &[Self]) -> Vec<Finding> {
        let mut findings = self.own.clone();
        let mut seen: std::collections::HashMap<usize, Vec<Doubt>> = std::collections::HashMap::new();
        let mut pending = self.children.clone();
        while let Some((outcome, doubt)) = pending.pop() {
            let known = seen.entry(outcome).or_default();
            if known.iter().any(|other| doubt.covers(*other)) {
                continue;
            }
            known.push(doubt);
            findings.extend(outcomes[outcome].own.iter().cloned().map(|finding| doubt.applied(finding)));
            pending.extend(outcomes[outcome].children.iter().map(|(child, own)| (*child, own.or(doubt))));
        }
        findings
    }
}
