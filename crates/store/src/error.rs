//! What a store refuses, and what it cannot do. Every variant has a code with a page under `docs/errors/`.

// tidy: long because every refusal is a sentence with its facts and a code, and they are read in one place.

use karwan_envelope::Violations;
use karwan_envelope::ids::EventId;
use karwan_envelope::wire::EncodeError;

use crate::address::BadAddress;
use crate::kind::{BadKind, UnknownShape};
use crate::log::{Position, Seq};

/// Why a store did not do what was asked. `Display` omits the source; print the chain.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an address.
    #[error("a store's address is wrong")]
    Address(#[from] BadAddress),
    /// Kinds that cannot be stored.
    #[error("a document kind is wrong")]
    Kind(#[from] BadKind),
    /// A kind that the store was not opened with.
    #[error("the store was opened without the kind `{kind}`: name it where the store is opened and migrated")]
    KindUnknown {
        /// The kind.
        kind: String,
    },
    /// A query that cannot be asked.
    #[error("a query over `{kind}` is wrong: {reason}")]
    Query {
        /// The kind.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// No such document.
    #[error("there is no {kind} `{id}`")]
    NotFound {
        /// The kind.
        kind: &'static str,
        /// The id.
        id: String,
    },
    /// A stored body that cannot be read, or a new one that cannot be written.
    #[error("the body of {kind} `{id}` cannot be read or written")]
    Body {
        /// The kind.
        kind: &'static str,
        /// The id.
        id: String,
        /// Why.
        #[source]
        cause: BadBody,
    },
    /// An event that the catalogue does not allow.
    #[error("{subject} was refused")]
    Refused {
        /// The event.
        subject: String,
        /// Every rule that it breaks.
        #[source]
        cause: Violations,
    },
    /// An event that cannot be printed.
    #[error("{subject} cannot be written down")]
    Unprintable {
        /// The event.
        subject: String,
        /// Why.
        #[source]
        cause: EncodeError,
    },
    /// A fact whose key nobody orders.
    #[error(
        "{subject} with key `{key}` is ordered by its {kind}, which this unit neither read nor wrote: get or put it first"
    )]
    KeyNotHeld {
        /// The event.
        subject: String,
        /// Its key.
        key: String,
        /// The kind that carries it.
        kind: &'static str,
    },
    /// More, or larger, than the bound.
    #[error("{what}: {actual}, and at most {max} are allowed")]
    TooLarge {
        /// What.
        what: &'static str,
        /// How much.
        actual: usize,
        /// The bound.
        max: usize,
    },
    /// Another unit was faster, every time.
    #[error("{what} was changed by others while this unit decided, {attempts} times in a row")]
    Conflict {
        /// What was changed.
        what: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// A document was put as new, and is there.
    #[error("{kind} `{id}` exists already: get it before you put it")]
    Exists {
        /// The kind.
        kind: String,
        /// The id.
        id: String,
    },
    /// An intent that was used for something else.
    #[error("the intent `{intent}` of {subject} was already recorded with another payload, as event {event}")]
    IntentDiffers {
        /// The event.
        subject: String,
        /// The idempotency key.
        intent: String,
        /// The event that has it.
        event: EventId,
    },
    /// Some intents of a unit are recorded, some are new.
    #[error(
        "a unit repeats the intent `{intent}` of {subject} beside new ones: a unit is repeated whole or not at all"
    )]
    IntentMixed {
        /// The event.
        subject: String,
        /// The idempotency key.
        intent: String,
    },
    /// A command that was committed before, and whose decision is refused now.
    #[error("this command was committed before: its answer is not kept, read what it wrote")]
    Repeated,
    /// Something that was there when it was read, and was taken by somebody else.
    #[error("{what} is not there any more: it was taken, moved or cancelled meanwhile")]
    Gone {
        /// What.
        what: String,
    },
    /// A text that no store can hold.
    #[error("{what} holds a NUL character, which no store can keep: {text:?}")]
    Nul {
        /// What it is.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// A platform's context at a tenant's door.
    #[error("a unit of the platform itself is opened with `Store::platform`, not as a tenant's")]
    PlatformDoor,
    /// One tenant's event, deadline or effect in another tenant's name.
    #[error("{what} of one tenant cannot be handled in another tenant's name")]
    TenantDiffers {
        /// What.
        what: &'static str,
    },
    /// An answer that was lost, and cannot be looked up.
    #[error(
        "the answer of a commit was lost, and whether it happened cannot be asked now: repeat it under the same id"
    )]
    OutcomeUnknown {
        /// What broke.
        #[source]
        cause: Box<Error>,
    },
    /// An event that a consumer has handled.
    #[error("{consumer} has already handled event {event}")]
    Claimed {
        /// The consumer.
        consumer: String,
        /// The event.
        event: EventId,
    },
    /// A letter that an operator deleted; the consumer never handles the event.
    #[error("the letter of event {event} at {consumer} was deleted by action {action}")]
    Deleted {
        /// The consumer.
        consumer: String,
        /// The event.
        event: EventId,
        /// The deletion.
        action: i64,
    },
    /// Nothing of the sort waits, is dead or was set aside.
    #[error("{consumer} has no letter of event {event}: it is neither parked, dead, skipped nor quarantined there")]
    NoLetter {
        /// The consumer.
        consumer: String,
        /// The event.
        event: EventId,
    },
    /// An action that does not fit what the letter is.
    #[error("event {event} of {consumer} is {state}: {remedy}")]
    LetterState {
        /// The consumer.
        consumer: String,
        /// The event.
        event: EventId,
        /// What it is.
        state: &'static str,
        /// What helps.
        remedy: &'static str,
    },
    /// Later events of a key ran already.
    #[error("event {event} of {consumer} would run out of order: {reason}; --out-of-order runs it all the same")]
    OutOfOrder {
        /// The consumer.
        consumer: String,
        /// The event.
        event: EventId,
        /// Which later one ran, or why that is not known.
        reason: String,
    },
    /// An event that breaks its contract, which no attempt will mend.
    #[error("event {event} breaks its contract and would fail again: repair it, or mend the schema and try again")]
    Drift {
        /// The event.
        event: EventId,
        /// Every rule that it breaks.
        #[source]
        cause: Violations,
    },
    /// A new payload that is none.
    #[error("the new payload of event {event} is not right: {reason}")]
    BadRepair {
        /// The event.
        event: EventId,
        /// What is wrong.
        reason: String,
    },
    /// An action without a name or without a reason.
    #[error("an operator's action needs who does it and why: {missing} is missing")]
    Unsigned {
        /// What is missing.
        missing: &'static str,
    },
    /// A deletion that nobody else agreed to.
    #[error("a deletion needs the sign-off of somebody else than {actor}")]
    SignOff {
        /// Who wants it.
        actor: String,
    },
    /// No action or selection has this number.
    #[error("there is no {what} {id}")]
    NoSuch {
        /// What was asked for.
        what: &'static str,
        /// Its number.
        id: i64,
    },
    /// An action that cannot be undone, or not any more.
    #[error("action {action} cannot be undone: {reason}")]
    CannotUndo {
        /// The action.
        action: i64,
        /// Why.
        reason: String,
    },
    /// The last seek of a consumer that has none, or none that was not undone.
    #[error("{consumer} has no seek left to undo")]
    NoSeek {
        /// The consumer.
        consumer: String,
    },
    /// A selection of everything that was not meant.
    #[error("this would choose every letter of the store: name what is meant, or say --all")]
    SelectsAll,
    /// A letter that could not be written where it is locked away.
    #[error("{folder}: the letter was not quarantined, and is where it was")]
    Quarantine {
        /// The folder.
        folder: String,
        /// What the file system says.
        #[source]
        cause: std::io::Error,
    },
    /// A lane that somebody else holds now.
    #[error("{consumer} lost lane {lane}: another process took it over")]
    LaneLost {
        /// The consumer.
        consumer: String,
        /// The lane.
        lane: u16,
    },
    /// A consumer that handles nothing until somebody resumes it.
    #[error("{consumer} is suspended: {reason}; mend it, then `karwan consumer resume {consumer} --reason …`")]
    ConsumerSuspended {
        /// The consumer.
        consumer: String,
        /// Why.
        reason: String,
    },
    /// Others work on the consumer in another number of lanes.
    #[error(
        "{consumer} is at work in {stored} lanes and cannot be parted into {wanted} yet: stop every process that runs it with {stored}"
    )]
    LanesDiffer {
        /// The consumer.
        consumer: String,
        /// How many there are.
        stored: u16,
        /// How many were asked for.
        wanted: u16,
    },
    /// A position of another life of the store.
    #[error(
        "position {asked} is of another life of this store, or beyond its end; it is now at {now}: start again from a snapshot"
    )]
    Reset {
        /// What was asked for.
        asked: Position,
        /// Where the store is.
        now: Position,
    },
    /// A position whose rows were dropped.
    #[error("rows up to {floor} were dropped, and {asked} lies below: read them from the archive")]
    BelowFloor {
        /// What was asked for.
        asked: Seq,
        /// The last dropped row.
        floor: Seq,
    },
    /// Rows that could not be written where they are kept.
    #[error("{folder}: rows were not exported, and are where they were")]
    Export {
        /// The folder.
        folder: String,
        /// What the file system says.
        #[source]
        cause: std::io::Error,
    },
    /// An instant before the first row that is left.
    #[error("what was logged at {} is gone: the log begins behind {floor}, at {}", at(.asked), at(.from))]
    BeforeFloor {
        /// The instant, milliseconds after 1970.
        asked: i64,
        /// The last dropped row.
        floor: Seq,
        /// When the first row that is left was logged.
        from: i64,
    },
    /// A number that the log has not reached.
    #[error("there is no {asked} yet: the log ends at {end}")]
    BeyondEnd {
        /// The number.
        asked: Seq,
        /// The last row.
        end: Seq,
    },
    /// A consumer that has no lanes.
    #[error("no consumer `{consumer}` has run on this store; {}", listed(.known))]
    ConsumerUnknown {
        /// Its name.
        consumer: String,
        /// Those that have.
        known: Vec<String>,
    },
    /// A consumer that does not read this store's log.
    #[error(
        "{consumer} is fed by the stream {stream} and not by this store's log: places are the stream's, and its broker has to be asked"
    )]
    StreamFed {
        /// The consumer.
        consumer: String,
        /// What feeds it.
        stream: String,
    },
    /// A consumer that somebody runs.
    #[error("{consumer} is run by {node}: stop it first")]
    ConsumerRuns {
        /// The consumer.
        consumer: String,
        /// Who holds one of its lanes.
        node: String,
    },
    /// A consumer that never goes back.
    #[error("{consumer} only goes forward: it is at {position}, and {asked} lies behind it")]
    ForwardOnly {
        /// The consumer.
        consumer: String,
        /// How far it is.
        position: Seq,
        /// Where it was to go.
        asked: Seq,
    },
    /// Nobody remembers any more what was handled.
    #[error("claims up to {floor} are gone: behind {asked}, {consumer} would handle again what it has handled")]
    ClaimsGone {
        /// The consumer.
        consumer: String,
        /// Where it was to go.
        asked: Seq,
        /// Up to here claims were pruned.
        floor: Seq,
    },
    /// The store was never migrated.
    #[error("{store} has never been migrated: run `karwan migrate --store …`")]
    NotMigrated {
        /// The store.
        store: String,
    },
    /// The store is behind.
    #[error("{store} is at schema {found}, and this program needs {needed}: run `karwan migrate --store …`")]
    Older {
        /// The store.
        store: String,
        /// Its schema.
        found: i64,
        /// What is needed.
        needed: i64,
    },
    /// The store is ahead.
    #[error("{store} is at schema {found}, and this program knows {known}: use a newer program")]
    Newer {
        /// The store.
        store: String,
        /// Its schema.
        found: i64,
        /// What is known.
        known: i64,
    },
    /// A kind was stored by a newer program.
    #[error("{kind} is stored in shape {found}, and this program knows {known}: use a newer program")]
    ShapeNewer {
        /// The kind.
        kind: String,
        /// The stored shape.
        found: u32,
        /// What is known.
        known: u32,
    },
    /// A subject that the store does not know.
    #[error("{subject} is in the program's catalogue and not in the store's: run `karwan migrate --store …`")]
    SubjectUnknown {
        /// The subject.
        subject: String,
    },
    /// A server that is too old.
    #[error("{store} runs Postgres {found}, and {needed} or newer is needed")]
    OldServer {
        /// The store.
        store: String,
        /// Its version.
        found: String,
        /// What is needed.
        needed: u32,
    },
    /// A copy that follows another server.
    #[error("{store} is a standby, whose readers would miss rows that commit late: use the primary")]
    Standby {
        /// The store.
        store: String,
    },
    /// Row-level security that does not bite, or roles that are wrong.
    #[error("{store} does not keep tenants apart for this login: {}", .findings.join("; "))]
    Unsafe {
        /// The store.
        store: String,
        /// Each with its remedy.
        findings: Vec<String>,
    },
    /// A permission that the login lacks.
    #[error("{store}: this login may not do that; {remedy}")]
    Permission {
        /// The store.
        store: String,
        /// What helps.
        remedy: String,
        /// What the database says.
        #[source]
        cause: DatabaseError,
    },
    /// A login that cannot be prepared.
    #[error("{store}: nothing can be granted to `{login}`; {remedy}")]
    Login {
        /// The store.
        store: String,
        /// The login.
        login: String,
        /// What helps.
        remedy: String,
    },
    /// No connection, or one that broke. What was under way may have been committed only where this says so.
    #[error("{store} cannot be reached")]
    Unreachable {
        /// The store.
        store: String,
        /// What the driver says.
        #[source]
        cause: DatabaseError,
    },
    /// No space is left.
    #[error("{store} is full: nothing was written; free some space and try again")]
    Full {
        /// The store.
        store: String,
        /// What the database says.
        #[source]
        cause: DatabaseError,
    },
    /// It cannot be written.
    #[error("{store} is read-only: nothing was written")]
    ReadOnly {
        /// The store.
        store: String,
        /// What the database says.
        #[source]
        cause: DatabaseError,
    },
    /// Another process has the file.
    #[error("{store} is used by another process: one process a file")]
    InUse {
        /// The store.
        store: String,
    },
    /// A file that is no store, or a broken one.
    #[error("{store}: {reason}")]
    Damaged {
        /// The store.
        store: String,
        /// What is wrong, and what helps.
        reason: String,
    },
    /// A copy would overwrite something.
    #[error("{target} exists already: name a path where nothing is yet")]
    TargetExists {
        /// The path.
        target: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A file has no transactions for tables of one's own.
    #[error("{store} is no Postgres database: only there can a unit write tables of its own")]
    PostgresOnly {
        /// The store.
        store: String,
    },
    /// A unit that shares its commit with others asked for a transaction of its own.
    #[error("a unit that takes the Postgres transaction runs alone, and this one shares its commit with others")]
    RunsAlone,
    /// The transaction of a unit was not left as it was given.
    #[error("the Postgres transaction of a unit cannot be committed: {reason}")]
    OwnTransaction {
        /// What happened to it, and what helps.
        reason: &'static str,
    },
    /// A statement over a table of one's own was refused.
    #[error("a statement of one's own failed")]
    Statement {
        /// What the database says.
        #[source]
        cause: DatabaseError,
    },
    /// Whatever else the database says.
    #[error("{store} answered with an error")]
    Database {
        /// The store.
        store: String,
        /// What it says.
        #[source]
        cause: DatabaseError,
    },
}

/// A body that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BadBody {
    /// Not what the type expects.
    #[error("it is not what its type expects")]
    Json(#[from] serde_json::Error),
    /// A shape that nobody upcasts.
    #[error("its shape is not known")]
    Shape(#[from] UnknownShape),
}

/// What a driver says.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Postgres.
    #[error("Postgres")]
    Postgres(#[from] tokio_postgres::Error),
    /// SQLite.
    #[error("SQLite")]
    Sqlite(#[from] rusqlite::Error),
    /// The file system.
    #[error("the file system")]
    File(#[from] std::io::Error),
    /// Anything that a driver says in words.
    #[error("{0}")]
    Words(String),
}

impl Error {
    /// Whether the store cannot be reached or takes nothing for now: the same may succeed another time.
    pub const fn is_away(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::OutcomeUnknown { .. }
                | Self::Full { .. }
                | Self::ReadOnly { .. }
                | Self::Closed
                | Self::Standby { .. }
        )
    }

    /// The stable code; each has a page.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "store-address",
            Self::Kind(_) | Self::KindUnknown { .. } => "store-kind",
            Self::Query { .. } => "store-query",
            Self::NotFound { .. } => "store-not-found",
            Self::Body { .. } => "store-body",
            Self::Refused { .. } | Self::Unprintable { .. } => "store-refused",
            Self::KeyNotHeld { .. } => "store-key-not-held",
            Self::TooLarge { .. } => "store-too-large",
            Self::Conflict { .. } => "store-conflict",
            Self::Exists { .. } => "store-exists",
            Self::IntentDiffers { .. } => "store-intent-differs",
            Self::IntentMixed { .. } => "store-intent-mixed",
            Self::Repeated => "store-repeated",
            Self::Gone { .. } => "store-gone",
            Self::Nul { .. } => "store-nul",
            Self::PlatformDoor => "store-platform-door",
            Self::TenantDiffers { .. } => "store-tenant",
            Self::OutcomeUnknown { .. } => "store-outcome-unknown",
            Self::Claimed { .. } => "store-claimed",
            Self::Deleted { .. } => "store-deleted",
            Self::NoLetter { .. } => "store-no-letter",
            Self::LetterState { .. } => "store-letter-state",
            Self::OutOfOrder { .. } => "store-out-of-order",
            Self::Drift { .. } => "store-drift",
            Self::BadRepair { .. } => "store-bad-repair",
            Self::Unsigned { .. } => "store-unsigned",
            Self::SignOff { .. } => "store-sign-off",
            Self::NoSuch { .. } => "store-no-such",
            Self::CannotUndo { .. } | Self::NoSeek { .. } => "store-cannot-undo",
            Self::SelectsAll => "store-selects-all",
            Self::Quarantine { .. } => "store-quarantine",
            Self::LaneLost { .. } => "store-lane-lost",
            Self::ConsumerSuspended { .. } => "store-consumer-suspended",
            Self::LanesDiffer { .. } => "store-lanes-differ",
            Self::Reset { .. } => "store-reset",
            Self::BelowFloor { .. } | Self::BeforeFloor { .. } | Self::BeyondEnd { .. } => "store-below-floor",
            Self::Export { .. } => "store-export",
            Self::ConsumerUnknown { .. } => "store-consumer-unknown",
            Self::ConsumerRuns { .. } => "store-consumer-runs",
            Self::StreamFed { .. } => "store-stream-fed",
            Self::ForwardOnly { .. } => "store-forward-only",
            Self::ClaimsGone { .. } => "store-claims-gone",
            Self::NotMigrated { .. } | Self::SubjectUnknown { .. } => "store-not-migrated",
            Self::Older { .. } => "store-older",
            Self::Newer { .. } | Self::ShapeNewer { .. } => "store-newer",
            Self::OldServer { .. } => "store-old-server",
            Self::Standby { .. } => "store-standby",
            Self::Unsafe { .. } => "store-unsafe",
            Self::Login { .. } => "store-login",
            Self::Permission { .. } => "store-permission",
            Self::Unreachable { .. } => "store-unreachable",
            Self::Full { .. } => "store-full",
            Self::ReadOnly { .. } => "store-read-only",
            Self::InUse { .. } => "store-in-use",
            Self::Damaged { .. } => "store-damaged",
            Self::TargetExists { .. } => "store-target-exists",
            Self::Closed => "store-closed",
            Self::PostgresOnly { .. } => "store-postgres-only",
            Self::RunsAlone => "store-runs-alone",
            Self::OwnTransaction { .. } => "store-own-transaction",
            Self::Statement { .. } => "store-statement",
            Self::Database { .. } => "store-database",
        }
    }

    /// Whether an error, or anything behind it, says that others were faster: the same decision may succeed at once. The
    /// driver's errors count, too.
    pub fn is_conflict(error: &(dyn std::error::Error + 'static)) -> bool {
        let lost = |error: &(dyn std::error::Error + 'static)| {
            matches!(error.downcast_ref(), Some(Self::Conflict { .. }))
                || error.downcast_ref().is_some_and(|cause| crate::postgres::lost_lock(cause).is_some())
        };
        std::iter::successors(Some(error), |error| error.source()).any(lost)
    }
}

fn at(ms: &i64) -> String {
    karwan_envelope::time::Timestamp::from_unix_ms(*ms).to_string()
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none has run yet".to_owned() } else { format!("known: {}", names.join(", ")) }
}
