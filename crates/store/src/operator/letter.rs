//! Letters: events that a consumer has not handled, and effects that were given up.

use karwan_envelope::ids::EventId;

use super::action::Action;
use super::classify::Class;
use crate::log::{Seq, SubjectPattern};
use crate::write_set::TenantBits;

/// The most letters of one page.
pub const LETTERS_MAX: usize = 500;

/// A letter's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The consumer; `effect.<kind>` where it is an effect.
    pub consumer: String,
    /// The event; the effect's id where it is one.
    pub event: EventId,
}

/// What a letter waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// For its next attempt, an operator, or one before it in its key.
    Parked,
    /// It was given up; its key has gone on.
    Dead,
    /// An operator passed it over.
    Skipped,
    /// An operator locked it away.
    Quarantined,
}

/// A letter without its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Its name.
    pub target: Target,
    /// What it waits for.
    pub state: State,
    /// Its place in the log, or in its stream; an effect's place among the effects.
    pub seq: Seq,
    /// When it entered the log, or was recorded, milliseconds after 1970.
    pub logged: i64,
    /// Whose.
    pub tenant: TenantBits,
    /// The canonical subject; the kind of an effect.
    pub subject: String,
    /// Its key.
    pub key: String,
    /// When it is tried again, milliseconds after 1970; none where it is not by itself.
    pub due: Option<i64>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed last.
    pub error: String,
}

/// A letter with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterStory {
    /// What it is.
    pub letter: Letter,
    /// The stored envelope, byte for byte; an effect's body.
    pub envelope: String,
    /// Its envelope before it was first repaired.
    pub original: Option<String>,
    /// Its failed attempts, oldest first, as far as they are kept.
    pub history: Vec<Attempt>,
    /// What operators did to it, oldest first.
    pub actions: Vec<Action>,
    /// What kind of failure it is, and so what helps.
    pub class: Class,
    /// Which rules of its contract it breaks; empty where it keeps them, or where no catalogue knows it.
    pub violations: Vec<String>,
    /// Where it was quarantined.
    pub folder: Option<String>,
}

/// One failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Which one.
    pub number: u32,
    /// When, milliseconds after 1970, by the store's clock.
    pub at: i64,
    /// Why it failed.
    pub error: String,
}

/// Which letters are wanted; nothing in it wants all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// Of one consumer, or of one kind of effect (`effect.<kind>`).
    pub consumer: Option<String>,
    /// Of one tenant.
    pub tenant: Option<TenantBits>,
    /// Of some subjects; effects have none.
    pub subject: Option<SubjectPattern>,
    /// Of one key.
    pub key: Option<String>,
    /// Of one event, or one effect.
    pub event: Option<EventId>,
    /// In one state. Without one: parked and dead, which are the ones that need somebody.
    pub state: Option<State>,
    /// Whose last error has this text in it.
    pub error: Option<String>,
    /// That entered the log at this instant or later, milliseconds after 1970.
    pub since: Option<i64>,
    /// That entered the log before this instant.
    pub until: Option<i64>,
}

/// Where a page ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub(super) consumer: String,
    pub(super) seq: Seq,
    pub(super) event: EventId,
}

/// Letters by consumer and place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterPage {
    /// At most as many as were asked for.
    pub letters: Vec<Letter>,
    /// Where the next page begins; none where this is the last one.
    pub next: Option<Cursor>,
}

impl Target {
    /// Whether it is an effect.
    pub fn is_effect(&self) -> bool {
        self.consumer.starts_with(crate::effect::LANES)
    }
}

impl State {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parked => "parked",
            Self::Dead => "dead",
            Self::Skipped => "skipped",
            Self::Quarantined => "quarantined",
        }
    }

    /// The one with a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Parked, Self::Dead, Self::Skipped, Self::Quarantined].into_iter().find(|it| it.name() == name)
    }
}
