//! What operators do with letters (parked, dead, skipped and quarantined events, and dead effects), keys and consumers.
//!
//! Invariants: an operator never runs a handler; an action, what it changes and the consumer's revision are one
//! transaction; a refused action leaves everything as it was; every action says who and why. Works beside processes that
//! use the store: whatever an operator changes of a lane is changed while no write of that lane is under way.
//!
//! Not here: handlers and holders of lanes (`engine`), which look again when a revision has gone up; words for people (`cli`).

mod action;
mod classify;
mod deeds;
pub(crate) mod desk;
mod find;
mod in_hand;
mod letter;
mod list;
mod order;
mod pause;
pub mod quarantine;
mod replay;
mod seek;
mod selection;
mod story;
mod targets;
mod undo;

use std::sync::Arc;

use karwan_envelope::time::{Clock, SystemClock};
use karwan_registry::Catalogue;

pub use action::{Action, ActionFilter, ActionPage, Deed, Verb, Who};
pub use classify::{Class, classify};
pub use in_hand::{Again, InHand};
pub use letter::{Attempt, Cursor, LETTERS_MAX, Letter, LetterFilter, LetterPage, LetterStory, State, Target};
pub use replay::{REPLAY_EVENTS_MAX, REPLAY_KEYS_MAX, Replayed, Tally};
pub(crate) use seek::was_text;
pub use seek::{Chosen, Moved, Place, Steps};
pub use selection::{Bulk, Judged, SELECTION_MAX, Selection, Told};
pub use story::{Entry, Fate, Happened, KeyStory, Pause, STORY_MAX};

use crate::address::Address;
use crate::error::Error;
use desk::Desk;

/// An operator's handle on a store.
#[derive(Clone)]
pub struct Operator {
    address: Address,
    /// By which letters are judged; what none of them knows is not.
    catalogues: Vec<Arc<Catalogue>>,
    clock: Arc<dyn Clock>,
}

impl Operator {
    /// A handle on a migrated store, which may be in use by other processes. On Postgres the login needs
    /// `karwan_maintenance`; a node's is enough to stop keys and consumers and to let them go on.
    pub fn new(address: &Address, catalogues: Vec<Arc<Catalogue>>) -> Self {
        Self { address: address.clone(), catalogues, clock: Arc::new(SystemClock) }
    }

    /// The same by another clock, where the store has none of its own (SQLite).
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Where the store is.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The time by this handle's clock.
    pub fn now(&self) -> i64 {
        self.clock.now().unix_ms()
    }

    async fn desk(&self) -> Result<Desk, Error> {
        Desk::open(&self.address, &self.clock).await
    }

    async fn look(&self) -> Result<Desk, Error> {
        Desk::look(&self.address, &self.clock).await
    }
}

impl Who {
    /// Refuses an action without somebody or without a reason.
    pub(crate) fn signed(&self) -> Result<(), Error> {
        for (text, missing) in [(&self.actor, "the actor"), (&self.reason, "the reason")] {
            if text.trim().is_empty() {
                return Err(Error::Unsigned { missing });
            }
        }
        Ok(())
    }
}
