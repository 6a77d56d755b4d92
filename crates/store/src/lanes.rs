//! Where operators move consumers through the log: each call is one transaction in which no write of the consumer's lanes is
//! under way, recorded with who did it and why.
//!
//! Invariant: long work holds the lanes, as a process would that handles events: nobody handles anything of the consumer
//! meanwhile, and where the operator's process dies, the leases run out and others go on.

use karwan_envelope::ids::EventId;

use crate::address::Address;
use crate::error::Error;
use crate::log::{LogRow, Seq};
use crate::operator::{Verb, Who};
use crate::retention::What;
use crate::{postgres, sqlite};

/// How long lanes stay an operator's without being prolonged, by the store's clock.
pub(crate) const HOLD_MS: i64 = 30_000;

/// An operator's connection to a store that other processes may use.
pub(crate) enum Lanes {
    Sqlite(Box<sqlite::Lanes>),
    Postgres(Box<postgres::Lanes>),
}

/// What is known of a consumer while its lanes are stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// How far each lane is; empty where there is no such consumer.
    pub lanes: Vec<Seq>,
    /// The last row that was dropped.
    pub floor: Seq,
    /// The last row.
    pub end: Seq,
    /// Claims of rows up to here may be gone; none where retention has never run.
    pub claims_floor: Option<Seq>,
    /// What it has declared of itself.
    pub declared: Declared,
}

/// What a consumer says of itself, when it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub consumer: String,
    /// It never goes back.
    pub forward_only: bool,
    /// It may handle everything anew, also what nobody remembers that it handled.
    pub rebuildable: bool,
    /// The stream that feeds it, where it is not the log: its positions are that stream's.
    pub stream: Option<String>,
    /// What it handles; in the store, what any release of it has handled so far.
    pub subjects: Vec<String>,
    /// When it was started last, milliseconds after 1970, by the store's clock; filled in by the store.
    pub at: i64,
}

/// Where lanes are moved to, and how that is recorded.
pub(crate) struct Move {
    /// A place for every lane.
    pub to: Vec<Seq>,
    /// Under which name the lanes are held from then on; none frees them.
    pub hold: Option<String>,
    pub verb: Verb,
    /// What is needed to undo it.
    pub detail: String,
    /// The action that it undoes.
    pub undoes: Option<i64>,
}

/// Lanes that an operator holds.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub action: i64,
    pub consumer: String,
    pub name: String,
    /// By lane.
    pub epochs: Vec<i64>,
    /// Whether a stream feeds them: the log does not have their events.
    pub fed: bool,
}

/// What is done to some events while their lanes are held.
pub(crate) enum Chunk<'a> {
    /// Their claims are taken back; they are parked only where something of their key is.
    Clear(&'a [LogRow]),
    /// Their claims are taken back, and they are parked, due at once.
    Park(&'a [LogRow]),
    /// What an action has parked, and nobody has tried, is claimed again.
    Unpark { action: i64 },
}

/// An action as undoing needs it.
pub(crate) struct Done {
    pub id: i64,
    pub verb: String,
    pub consumer: Option<String>,
    pub detail: String,
    pub undone_by: Option<i64>,
}

/// Why an event waits that an operator sends once more.
pub(crate) fn replayed(action: i64) -> String {
    format!("sent once more by action {action}")
}

/// What is recorded of a subject that was forgotten.
pub(crate) fn without(subject: &str) -> String {
    serde_json::json!({ "subject": subject }).to_string()
}

/// What the name of an operator begins with among those who hold lanes.
pub(crate) const OPERATOR: &str = "operator ";

/// An operator's name among those who hold lanes.
pub(crate) fn holder(who: &Who) -> String {
    format!("{OPERATOR}{}", who.actor)
}

/// Calls the same method on whichever store it is.
macro_rules! on_both {
    ($self:ident, $lanes:ident => $sqlite:expr, $postgres:expr) => {
        match $self {
            Lanes::Sqlite($lanes) => $sqlite,
            Lanes::Postgres($lanes) => $postgres,
        }
    };
}

impl Lanes {
    pub async fn open(address: &Address) -> Result<Self, Error> {
        match address {
            Address::Sqlite(path) => Ok(Self::Sqlite(Box::new(sqlite::Lanes::open(path)?))),
            Address::Postgres(url) => Ok(Self::Postgres(Box::new(postgres::Lanes::open(url).await?))),
        }
    }

    /// What is known of a consumer, without stopping it.
    pub async fn find(&mut self, consumer: &str) -> Result<Found, Error> {
        on_both!(self, lanes => lanes.find(consumer), lanes.find(consumer).await)
    }

    /// Consumers that have lanes, by name.
    pub async fn consumers(&mut self) -> Result<Vec<String>, Error> {
        on_both!(self, lanes => lanes.consumers(), lanes.consumers().await)
    }

    /// What consumers have declared of themselves, by name.
    pub async fn declared(&mut self) -> Result<Vec<Declared>, Error> {
        on_both!(self, lanes => lanes.declared(), lanes.declared().await)
    }

    /// Stops the lanes of a consumer, and moves them to where `decide` says.
    pub async fn move_lanes(
        &mut self,
        (consumer, who, now): (&str, &Who, i64),
        decide: impl FnOnce(&Found) -> Result<Move, Error> + Send,
    ) -> Result<(Found, Held), Error> {
        on_both!(self, lanes => lanes.move_lanes((consumer, who, now), decide), lanes.move_lanes((consumer, who), decide).await)
    }

    /// Does something while lanes are held, and prolongs that; answers to which events.
    pub async fn chunk(&mut self, held: &Held, chunk: Chunk<'_>, now: i64) -> Result<Vec<EventId>, Error> {
        on_both!(self, lanes => lanes.chunk(held, &chunk, now), lanes.chunk(held, &chunk).await)
    }

    /// Frees the lanes, and completes what is recorded of the action.
    pub async fn release(&mut self, held: &Held, detail: &str) -> Result<(), Error> {
        on_both!(self, lanes => lanes.release(held, detail), lanes.release(held, detail).await)
    }

    /// An action by its number, or the last of a consumer with one of these verbs that was not undone.
    pub async fn action(&mut self, which: Which<'_>) -> Result<Option<Done>, Error> {
        on_both!(self, lanes => lanes.action(&which), lanes.action(&which).await)
    }

    /// Takes a consumer's lanes away, where nobody holds one; answers the action.
    pub async fn forget(&mut self, (consumer, who, now): (&str, &Who, i64)) -> Result<(Found, i64), Error> {
        on_both!(self, lanes => lanes.forget((consumer, who, now)), lanes.forget((consumer, who)).await)
    }

    /// Takes a subject from what a consumer handles, where nobody who lives handles it; answers the action, or none where it
    /// was not there.
    pub async fn forget_subject(
        &mut self,
        (consumer, who, now): (&str, &Who, i64),
        subject: &str,
    ) -> Result<Option<i64>, Error> {
        on_both!(self, lanes => lanes.forget_subject((consumer, who, now), subject), lanes.forget_subject((consumer, who), subject).await)
    }

    /// How far the next stretch of the log goes that can be dropped behind a number, where one can.
    pub async fn stretch(&mut self, after: Seq, old: Seq) -> Result<Option<Seq>, Error> {
        on_both!(self, lanes => lanes.stretch(after, old), lanes.stretch(after, old).await)
    }

    /// Drops a stretch, where nobody needs it; answers the new floor.
    pub async fn drop_stretch(&mut self, up_to: Seq) -> Result<Option<Seq>, Error> {
        on_both!(self, lanes => lanes.drop_stretch(up_to), lanes.drop_stretch(up_to).await)
    }

    /// How much is older than an instant.
    pub async fn count(&mut self, what: What, before: i64) -> Result<u64, Error> {
        on_both!(self, lanes => lanes.count(what, before), lanes.count(what, before).await)
    }

    /// Forgets what is older than an instant; answers how much.
    pub async fn forget_old(&mut self, what: What, before: i64) -> Result<u64, Error> {
        on_both!(self, lanes => lanes.forget_old(what, before), lanes.forget_old(what, before).await)
    }

    /// Notes that claims of rows up to a number may be gone.
    pub async fn note_pruned(&mut self, up_to: Seq) -> Result<(), Error> {
        on_both!(self, lanes => lanes.note_pruned(up_to), lanes.note_pruned(up_to).await)
    }

    /// Writes an action down that concerns no consumer.
    pub async fn record(&mut self, who: &Who, what: (Verb, &str), now: i64) -> Result<i64, Error> {
        on_both!(self, lanes => lanes.record(who, what, now), lanes.record(who, what).await)
    }
}

/// Which action is meant.
pub(crate) enum Which<'a> {
    Number(i64),
    LastOf(&'a str, &'a [Verb]),
}
