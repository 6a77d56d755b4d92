//! Effects: calls to the outside that units recorded ([`crate::TenantTx::effect`]), on their way to being done.
//!
//! `waiting` → `answered` → `done`, or `dead`. The answer of the outside is kept in a commit of its own before the unit
//! that acts on it runs; that unit moves the effect to `done`. Calls of one kind and key are made in the order in which they
//! were recorded: [`Store::due_effects`] answers none but the first open one of a key. Whoever records what became of a call
//! holds the lane from which it was read.
//!
//! Not here: the calls themselves, retry policies, breakers (`engine`).

use karwan_envelope::cause::Cause;
use karwan_envelope::envelope::Context;
use karwan_envelope::time::Timestamp;

use crate::bell::Listening;
use crate::consumer::{Lane, Share};
use crate::error::Error;
use crate::facts::Origin;
use crate::store::{Done, Reason, Store};
use crate::tx::TenantTx;
use crate::write_set::{LaneHold, TenantBits};

/// An effect's name in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EffectRef {
    /// Whose.
    pub tenant: TenantBits,
    /// Its id, and the idempotency key of the call.
    pub id: u128,
}

/// A call that is to be made, or whose answer is to be acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// Its name.
    pub of: EffectRef,
    /// What is called.
    pub kind: String,
    /// The key within which calls keep their order.
    pub key: String,
    /// What the performer is told, as JSON.
    pub body: String,
    /// What led to it: what the context of its outcome is made of.
    pub cause: Cause,
    /// How often it was called without an answer; with one, how often acting on it has failed.
    pub attempts: u32,
    /// What the outside answered, where it did.
    pub answer: Option<String>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// An effect that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadEffect {
    /// Its place among the effects of the store, in the order of recording.
    pub number: i64,
    /// What it was.
    pub effect: Effect,
    /// When it was recorded, milliseconds after 1970, by the store's clock.
    pub at: i64,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The outside answered; the answer is kept, and not acted on yet.
    Answered(String),
    /// It is not tried before an instant, and no attempt is counted.
    Held {
        /// When, milliseconds after 1970.
        due: i64,
        /// Why.
        error: String,
    },
    /// It failed, and is tried again at an instant.
    Later {
        /// When, milliseconds after 1970.
        due: i64,
        /// Why it failed.
        error: String,
    },
    /// It is given up; the calls behind it go on.
    Dead {
        /// Why.
        error: String,
    },
}

/// The lane that is held by whoever makes the calls of a kind. It reads no log, so it holds back no retention.
pub fn lane(kind: &str) -> Lane {
    Lane { consumer: format!("{LANES}{kind}"), number: 0, of: 1 }
}

/// How the lanes of effects are called.
pub(crate) const LANES: &str = "effect.";

impl EffectRef {
    pub(crate) fn origin(self) -> Origin {
        Origin::of(&[b"effect", &self.tenant.to_be_bytes(), &self.id.to_be_bytes()])
    }
}

impl Store {
    /// The first open effects of keys of a kind, in a share, that may be tried at an instant: an equal part of each tenant
    /// that has any open, oldest first, and the first of every tenant before the second of any.
    ///
    /// Nothing while the store is [`Self::suspended`]: a copy must not call the outside.
    pub async fn due_effects(
        &self,
        kind: &str,
        share: Share,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Effect>, Error> {
        self.shared.backend.due_effects(kind, share, now.unix_ms(), limit).await
    }

    /// Whether a deadline or an effect of any of these kinds may be tried at an instant. All of them are asked for at once: one kind
    /// after another, a unit in between could do the last thing of one and leave more of a kind that was asked for before.
    ///
    /// No effect may while the store is [`Self::suspended`].
    pub async fn any_due(&self, deadlines: &[&str], effects: &[&str], now: Timestamp) -> Result<bool, Error> {
        self.shared.backend.any_due(deadlines, effects, now.unix_ms()).await
    }

    /// Hears when this process commits effects; what other processes record is not told.
    pub fn listen_for_effects(&self) -> Listening {
        self.shared.backend.bell().listen_for_effects()
    }

    /// Records what became of a call that was waiting. [`Error::Gone`] where somebody else has recorded it.
    pub async fn record_effect(&self, hold: &LaneHold, effect: EffectRef, outcome: &Outcome) -> Result<(), Error> {
        self.shared.backend.record_effect(hold, effect, outcome).await
    }

    /// Holds waiting effects back until an instant (milliseconds after 1970) without counting an attempt. Each is the first of
    /// its key, so that what is recorded behind it waits too. What was done or given up meanwhile stays as it is.
    pub async fn hold_back(&self, hold: &LaneHold, effects: &[EffectRef], due: i64) -> Result<(), Error> {
        self.shared.backend.hold_back(hold, effects, due).await
    }

    /// Effects of a kind that were given up, in the order of their recording, after a number.
    pub async fn dead_effects(&self, kind: &str, after: i64, limit: usize) -> Result<Vec<DeadEffect>, Error> {
        self.shared.backend.dead_effects(kind, after, limit).await
    }

    /// The unit of work that acts on an answer; re-run on conflict. [`Error::Gone`] where it was acted on meanwhile.
    pub async fn act_on<T, E, F>(
        &self,
        effect: EffectRef,
        context: &Context,
        decide: impl Fn(TenantTx) -> F,
    ) -> Result<Done<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        self.run(Reason::Answer(effect), context, decide).await
    }

    /// Whether effects and relay wait for an operator, as they do in a restored store.
    pub async fn suspended(&self) -> Result<bool, Error> {
        self.shared.backend.suspended().await
    }
}
