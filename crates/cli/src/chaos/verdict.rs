//! What must not be, found by comparing what was committed with what was seen. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::ledger::{Ledger, Walked};

/// A step that was seen, and the event that told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// Which step.
    pub step: u64,
    /// The event.
    pub event: u128,
}

/// What was seen of every walker at one place, in the order of that place.
#[derive(Debug, Clone, Default)]
pub struct Trails(pub BTreeMap<String, Vec<Sighting>>);

/// What is wrong with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It was committed and is not there.
    Lost,
    /// It is there more than once.
    Twice,
    /// It comes behind a later one of its key.
    OutOfOrder,
    /// Nobody ever committed it.
    Invented,
}

impl Wrong {
    /// Everything that can be wrong.
    pub const ALL: [Self; 4] = [Self::Lost, Self::Twice, Self::OutOfOrder, Self::Invented];

    /// In a word or a few.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Twice => "twice",
            Self::OutOfOrder => "out of order",
            Self::Invented => "never committed",
        }
    }
}

/// A step with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where.
    pub place: &'static str,
    /// Whose.
    pub walker: String,
    /// Which.
    pub step: u64,
    /// What.
    pub wrong: Wrong,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, walker, step, wrong } = self;
        write!(f, "{}: step {step} of {walker} in {place}", wrong.word())
    }
}

impl Trails {
    /// Notes a step.
    pub fn note(&mut self, walker: String, sighting: Sighting) {
        self.0.entry(walker).or_default().push(sighting);
    }

    /// How many steps were seen.
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Whether everything that was committed is there.
    pub fn has_all(&self, ledger: &Ledger) -> bool {
        ledger.0.iter().all(|(walker, walked)| {
            let seen = self.0.get(walker).map_or(&[][..], Vec::as_slice);
            let steps: BTreeSet<u64> = seen.iter().map(|sighting| sighting.step).collect();
            (1..=walked.done).all(|step| steps.contains(&step))
        })
    }
}

/// Compares what was seen at a place with what was committed.
pub fn judge(place: &'static str, trails: &Trails, ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    let walkers: BTreeSet<&String> = ledger.0.keys().chain(trails.0.keys()).collect();
    for walker in walkers {
        let walked = ledger.0.get(walker).copied().unwrap_or_default();
        let seen = trails.0.get(walker).map_or(&[][..], Vec::as_slice);
        let wrong = wrongs(walked, seen).into_iter();
        violations.extend(wrong.map(|(step, wrong)| Violation { place, walker: walker.clone(), step, wrong }));
    }
    violations
}

fn wrongs(walked: Walked, seen: &[Sighting]) -> Vec<(u64, Wrong)> {
    let (mut wrongs, mut steps, mut events, mut highest) = (Vec::new(), BTreeSet::new(), BTreeSet::new(), 0);
    for Sighting { step, event } in seen.iter().copied() {
        let (again, same) = (!steps.insert(step), !events.insert(event));
        if again || same {
            wrongs.push((step, Wrong::Twice));
        } else if step > walked.tried {
            wrongs.push((step, Wrong::Invented));
        } else if step < highest {
            wrongs.push((step, Wrong::OutOfOrder));
        }
        highest = highest.max(step);
    }
    wrongs.extend((1..=walked.done).filter(|step| !steps.contains(step)).map(|step| (step, Wrong::Lost)));
    wrongs
}

#[cfg(test)]
mod tests {
    use super::{Ledger, Sighting, Trails, Walked, Wrong, judge};

    fn check(walked: Walked, steps: &[u64], expected: &[(u64, Wrong)]) {
        let mut trails = Trails::default();
        for (event, step) in steps.iter().enumerate() {
            trails.note("w".to_owned(), Sighting { step: *step, event: event as u128 });
        }
        let ledger = Ledger([("w".to_owned(), walked)].into());
        let found: Vec<_> = judge("the log", &trails, &ledger).into_iter().map(|it| (it.step, it.wrong)).collect();
        assert_eq!(found, expected);
        assert_eq!(trails.has_all(&ledger), !expected.iter().any(|(_, wrong)| *wrong == Wrong::Lost));
    }

    const THREE: Walked = Walked { tried: 4, done: 3 };

    #[test]
    fn what_was_only_tried_may_be_there_or_not() {
        check(THREE, &[1, 2, 3], &[]);
        check(THREE, &[1, 2, 3, 4], &[]);
    }

    #[test]
    fn everything_that_must_not_be_is_found() {
        check(THREE, &[1, 3], &[(2, Wrong::Lost)]);
        check(THREE, &[1, 2, 2, 3], &[(2, Wrong::Twice)]);
        check(THREE, &[1, 3, 2], &[(2, Wrong::OutOfOrder)]);
        check(THREE, &[1, 2, 3, 5], &[(5, Wrong::Invented)]);
        check(Walked::default(), &[1], &[(1, Wrong::Invented)]);
    }

    #[test]
    fn an_event_that_stands_there_twice_is_found_whatever_it_says() {
        let mut trails = Trails::default();
        trails.note("w".to_owned(), Sighting { step: 1, event: 7 });
        trails.note("w".to_owned(), Sighting { step: 2, event: 7 });
        let ledger = Ledger([("w".to_owned(), Walked { tried: 2, done: 2 })].into());
        assert_eq!(judge("the log", &trails, &ledger)[0].wrong, Wrong::Twice);
    }
}
