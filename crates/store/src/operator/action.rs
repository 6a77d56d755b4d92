//! Actions: who did what to what, and why.

use std::path::PathBuf;

use karwan_envelope::ids::EventId;

use crate::write_set::TenantBits;

/// Who does something, and why. Neither is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The operator.
    pub actor: String,
    /// The reason, as it is read later.
    pub reason: String,
}

/// What an operator does to a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// It is tried now. A dead one is parked again: refused where later events of its key were handled since.
    Retry {
        /// Also where later ones were handled.
        out_of_order: bool,
    },
    /// Its payload is replaced, judged anew, and it is tried now. Its id and idempotency key stay, and so does the original.
    Repair {
        /// The new payload, as JSON.
        payload: String,
        /// Also where later ones were handled.
        out_of_order: bool,
    },
    /// It is claimed without being handled, and its key goes on.
    Skip,
    /// It is written to a folder and claimed, and its key goes on.
    Quarantine {
        /// The folder; it is made where it is missing.
        folder: PathBuf,
    },
    /// It is gone for good, but for the record of it.
    Delete {
        /// Who agreed; somebody else than who does it.
        sign_off: String,
    },
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// See [`Deed::Retry`].
    Retry,
    /// See [`Deed::Repair`].
    Repair,
    /// See [`Deed::Skip`].
    Skip,
    /// See [`Deed::Quarantine`].
    Quarantine,
    /// See [`Deed::Delete`].
    Delete,
    /// Another action was undone.
    Undo,
    /// Somebody wrote something down.
    Note,
    /// A key was stopped for a consumer.
    PauseKey,
    /// And goes on.
    ResumeKey,
    /// A consumer was stopped.
    PauseConsumer,
    /// And goes on.
    ResumeConsumer,
    /// A consumer was moved to another place of the log.
    Seek,
    /// Events were sent once more.
    Replay,
    /// Claims were taken back.
    ClearInbox,
    /// A consumer's lanes were taken away.
    Forget,
    /// A subject was taken from what a consumer handles.
    ForgetSubject,
    /// The beginning of the log was dropped.
    DropLog,
    /// Calls to the outside and relays of a restored store run again.
    ResumeStore,
}

/// A recorded action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Its number.
    pub id: i64,
    /// When, milliseconds after 1970, by the store's clock.
    pub at: i64,
    /// Who and why.
    pub who: Who,
    /// What.
    pub verb: Verb,
    /// Of which consumer.
    pub consumer: Option<String>,
    /// Of which tenant.
    pub tenant: Option<TenantBits>,
    /// Of which key.
    pub key: Option<String>,
    /// To which event or effect.
    pub event: Option<EventId>,
    /// What else is known of it, and what is needed to undo it, as JSON.
    pub detail: String,
    /// The action that undid it.
    pub undone_by: Option<i64>,
}

/// Which actions are wanted; nothing in it wants all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActionFilter {
    /// By one operator.
    pub actor: Option<String>,
    /// Of one kind.
    pub verb: Option<Verb>,
    /// On one consumer.
    pub consumer: Option<String>,
    /// On one tenant.
    pub tenant: Option<TenantBits>,
    /// On one key.
    pub key: Option<String>,
    /// On one event or effect.
    pub event: Option<EventId>,
}

/// Actions, latest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPage {
    /// At most as many as were asked for.
    pub actions: Vec<Action>,
    /// The number before which the next page begins; none where this is the last one.
    pub next: Option<i64>,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Retry,
        Self::Repair,
        Self::Skip,
        Self::Quarantine,
        Self::Delete,
        Self::Undo,
        Self::Note,
        Self::PauseKey,
        Self::ResumeKey,
        Self::PauseConsumer,
        Self::ResumeConsumer,
        Self::Seek,
        Self::Replay,
        Self::ClearInbox,
        Self::Forget,
        Self::ForgetSubject,
        Self::DropLog,
        Self::ResumeStore,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Repair => "repair",
            Self::Skip => "skip",
            Self::Quarantine => "quarantine",
            Self::Delete => "delete",
            Self::Undo => "undo",
            Self::Note => "note",
            Self::PauseKey => "pause-key",
            Self::ResumeKey => "resume-key",
            Self::PauseConsumer => "pause-consumer",
            Self::ResumeConsumer => "resume-consumer",
            Self::Seek => "seek",
            Self::Replay => "replay",
            Self::ClearInbox => "clear-inbox",
            Self::Forget => "forget",
            Self::ForgetSubject => "forget-subject",
            Self::DropLog => "drop-log",
            Self::ResumeStore => "resume-store",
        }
    }

    /// The one with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl Deed {
    /// What it is called.
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Retry { .. } => Verb::Retry,
            Self::Repair { .. } => Verb::Repair,
            Self::Skip => Verb::Skip,
            Self::Quarantine { .. } => Verb::Quarantine,
            Self::Delete { .. } => Verb::Delete,
        }
    }
}
