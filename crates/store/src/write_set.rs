//! What a unit of work wants written: plain data, handed to a backend in one piece.
//!
//! Invariant: a backend writes all of it or nothing. Bounds: [`UNIT_KEYS_MAX`] documents and facts.

use karwan_envelope::ids::EventId;
use sha2::{Digest, Sha256};

use crate::deadline::Deadline;
use crate::effect::EffectRef;
use crate::kind::{FieldValue, Kind};
use crate::log::Seq;
use crate::trace::SpanRecord;

/// The most documents, facts, deadlines or effects of one unit; larger work pages through deadlines.
pub const UNIT_KEYS_MAX: usize = 1000;
/// How many slots keys are spread over.
pub const SLOTS: u16 = 1024;

/// A tenant's 128 bits; the platform itself is 0.
pub type TenantBits = u128;

/// The writes of one or several units that commit together.
#[derive(Debug, Clone, Default)]
pub struct WriteSet {
    /// Commands from outside: each id commits once.
    pub units: Vec<UnitClaim>,
    /// The lane that the writer holds, where it is a consumer.
    pub lane: Option<LaneHold>,
    /// Events that are handled by this write; they need a lane.
    pub claims: Vec<Claim>,
    /// Deadlines that are fired by this write.
    pub fired: Vec<Deadline>,
    /// Effects whose answers are acted on by this write.
    pub settled: Vec<EffectRef>,
    /// Documents, sorted by kind, tenant and id.
    pub documents: Vec<DocumentWrite>,
    /// Deadlines, sorted by tenant, kind and id.
    pub deadlines: Vec<DeadlineWrite>,
    /// Calls to the outside, in the order in which they were recorded.
    pub effects: Vec<EffectWrite>,
    /// Facts, in the order of their emission.
    pub facts: Vec<Fact>,
    /// The spans of publishing them, where somebody wants to hear of those.
    pub spans: Vec<SpanRecord>,
    /// Whether tables of the user's own are written with it, in the same transaction.
    pub own_tables: bool,
    /// The life of the store in which this process saw documents that the decision rests on, where it did not ask for them anew: in
    /// another life their versions mean other bodies.
    pub recent: Option<i64>,
}

impl WriteSet {
    /// Whether anything but checks is in it.
    pub fn writes(&self) -> bool {
        let checks = |document: &DocumentWrite| matches!(document.action, Action::Check);
        self.own_tables
            || !(self.claims.is_empty()
                && self.fired.is_empty()
                && self.settled.is_empty()
                && self.documents.iter().all(checks)
                && self.deadlines.is_empty()
                && self.effects.is_empty()
                && self.facts.is_empty())
    }
}

/// The id of a command from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitClaim {
    /// Whose.
    pub tenant: TenantBits,
    /// The id.
    pub id: u128,
}

/// Proof that a lane is held: its epoch is checked before anything is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneHold {
    /// The consumer.
    pub consumer: String,
    /// The lane.
    pub lane: u16,
    /// The epoch under which it was taken.
    pub epoch: i64,
}

/// An event that a consumer handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Whose.
    pub tenant: TenantBits,
    /// The event.
    pub event: EventId,
    /// Its place in the log.
    pub seq: Seq,
    /// When it entered the log, milliseconds after 1970: what is remembered of it is kept by this time.
    pub logged: i64,
    /// Whether it was parked: then its parked row must exist, and goes.
    pub parked: bool,
}

/// One document of a unit.
#[derive(Debug, Clone)]
pub struct DocumentWrite {
    /// Its kind.
    pub kind: Kind,
    /// Whose.
    pub tenant: TenantBits,
    /// Its id.
    pub id: String,
    /// The version that was read: 0 where nothing was there.
    pub expected: i64,
    /// Whether nothing was read, and the document is expected to be new.
    pub blind: bool,
    /// What becomes of it.
    pub action: Action,
}

/// What becomes of a document, weakest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It must still have its version. In a set that writes nothing it is only looked at, else it stays until the commit.
    Check,
    /// The same, and nobody else writes it meanwhile: it carries the key of a fact.
    Hold,
    /// A new body.
    Put {
        /// The body's shape.
        shape: u32,
        /// The body.
        body: String,
        /// The declared fields.
        fields: Vec<FieldValue>,
    },
    /// A tombstone whose version goes on counting.
    Delete,
}

/// A deadline: something that becomes due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlineWrite {
    /// Whose.
    pub tenant: TenantBits,
    /// What is to be done.
    pub kind: String,
    /// Which of them; with the kind, one a tenant.
    pub id: String,
    /// When, milliseconds after 1970; none cancels it.
    pub due: Option<i64>,
    /// What the handler is told.
    pub body: String,
    /// Which setting of it this is.
    pub token: u128,
    /// What led to it, as it is stored.
    pub cause: String,
}

/// A call to the outside, recorded now and performed after the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectWrite {
    /// Whose.
    pub tenant: TenantBits,
    /// Its id, and the idempotency key of the call. One that exists already is left alone.
    pub id: u128,
    /// What is to be called.
    pub kind: String,
    /// The key within which calls keep their order.
    pub key: String,
    /// What the performer is told.
    pub body: String,
    /// What led to it, as it is stored.
    pub cause: String,
}

/// An event on its way into the log.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Whose.
    pub tenant: TenantBits,
    /// Its canonical subject.
    pub subject: String,
    /// The aggregate's id.
    pub key: String,
    /// Its identity.
    pub event: EventId,
    /// The business intent.
    pub intent: String,
    /// Whether its key is ordered by a document of the same unit; else an advisory lock orders it.
    pub carried: bool,
    /// [`payload_hash`] of its payload.
    pub payload_hash: u128,
    /// The stored text.
    pub envelope: String,
}

/// What a commit answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flushed {
    /// The last number drawn, or where the log stood when nothing was emitted.
    pub seq: Seq,
}

/// The key's number: what an advisory lock on it is called, and where its slot comes from.
///
/// The same in every language: the first eight bytes of SHA-256 over `<tenant as a lower-case UUID>:<key>`.
pub fn key_number(tenant: TenantBits, key: &str) -> i64 {
    let mut digest = Sha256::new();
    digest.update(uuid::Uuid::from_u128(tenant).hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()));
    digest.update(b":");
    digest.update(key);
    let digest = digest.finalize();
    i64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}

/// The slot of a key: its number's first sixteen bits, modulo [`SLOTS`].
pub fn slot(tenant: TenantBits, key: &str) -> u16 {
    slot_of(key_number(tenant, key))
}

/// The same, where the number is known.
pub const fn slot_of(key_number: i64) -> u16 {
    (key_number.cast_unsigned() >> 48) as u16 % SLOTS
}

/// The first half of a payload's SHA-256: enough to tell two payloads of one intent apart.
pub fn payload_hash(payload: &str) -> u128 {
    let digest = Sha256::digest(payload);
    u128::from_be_bytes(digest[..16].try_into().expect("a digest has 32 bytes"))
}
