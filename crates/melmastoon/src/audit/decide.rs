//! What is entered for an event, and how entries hang together. No clock, no I/O.
//!
//! An entry says who did what to which thing, and how it ended; it repeats nothing of the payload but a reason that is a code, so
//! no personal data comes into it that the event's key does not have. The event is named by its id and its hash.

use karwan::envelope::Envelope;
use karwan::envelope::cause::{Actor, ActorKind};
use karwan::envelope::time::Timestamp;
use serde::Deserialize;

use super::events::{AuditActor, AuditOutcome, AuditSource, EntryAppended};
use super::state::Chain;
use crate::digest::sha256_of;
use crate::ids::AuditEntryId;
use crate::reservation::BookingCancelled;

/// An entry that has no place in a chain yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What was done.
    pub action: String,
    /// Who did it.
    pub actor: AuditActor,
    /// What kind of thing it was done to.
    pub resource_type: String,
    /// Which one.
    pub resource_id: String,
    /// How it ended.
    pub outcome: AuditOutcome,
    /// Why, as a code.
    pub reason: Option<String>,
    /// The event.
    pub source: AuditSource,
    /// When it was done.
    pub occurred_at: Timestamp,
}

/// What most payloads that have a reason call it.
#[derive(Deserialize)]
struct WithReason {
    #[serde(default)]
    reason: Option<serde_json::Value>,
}

/// The entries of an event: one, and another where a cancellation gives nothing back, which the documents want to see.
pub fn entries(envelope: &Envelope) -> Vec<Entry> {
    let subject = &envelope.subject;
    // The last two names of every subject; a file's has no other aggregate than its service.
    let mut names = subject.event_type().rsplit('.');
    let (verb, aggregate) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let entry = Entry {
        action: format!("{aggregate}.{verb}"),
        actor: actor(&envelope.actor, &envelope.producer.service),
        resource_type: aggregate.to_owned(),
        resource_id: envelope.key.clone(),
        outcome: outcome(verb),
        reason: reason(envelope),
        source: AuditSource {
            event_id: envelope.id.to_string(),
            subject: subject.as_str().to_owned(),
            event_hash: event_hash(envelope),
        },
        occurred_at: envelope.occurred_at,
    };
    let kept = refund_kept(envelope, &entry);
    [entry].into_iter().chain(kept).collect()
}

/// The hash of an event: of its id, its subject, its key and its payload, byte for byte as they are stored.
pub fn event_hash(envelope: &Envelope) -> String {
    let id = envelope.id.bits().to_be_bytes();
    sha256_of(&[&id, envelope.subject.as_str().as_bytes(), envelope.key.as_bytes(), envelope.payload.get().as_bytes()])
}

fn refund_kept(envelope: &Envelope, entry: &Entry) -> Option<Entry> {
    if envelope.subject.as_str() != <BookingCancelled as karwan::Event>::SUBJECT {
        return None;
    }
    let cancelled: BookingCancelled = serde_json::from_str(envelope.payload.get()).ok()?;
    let kept = !cancelled.refund.refundable && cancelled.payment_intent_id.is_some();
    kept.then(|| Entry {
        action: "refund.skipped".to_owned(),
        resource_type: "intent".to_owned(),
        resource_id: cancelled.payment_intent_id.map(|id| id.to_string()).unwrap_or_default(),
        outcome: AuditOutcome::NoOp,
        reason: Some("non_refundable".to_owned()),
        ..entry.clone()
    })
}

/// A person is named by their account; whoever is not one of ours by the service that acted for them.
fn actor(actor: &Actor, service: &str) -> AuditActor {
    match actor.kind {
        ActorKind::User => match actor.id.parse() {
            Ok(user_id) => AuditActor::User { user_id },
            Err(_) => AuditActor::Service { name: service.to_owned() },
        },
        ActorKind::System => AuditActor::System,
        ActorKind::Service => AuditActor::Service { name: bounded(&actor.id) },
        ActorKind::ApiKey => AuditActor::ApiKey { key_name: bounded(&actor.id) },
    }
}

fn bounded(name: &str) -> String {
    name.chars().take(100).collect()
}

/// How it ended, by what it is called: a fact that something was not done is no success.
fn outcome(verb: &str) -> AuditOutcome {
    match verb {
        "failed" | "error" | "bounced" => AuditOutcome::Failed,
        "blocked" | "refused" => AuditOutcome::Refused,
        _ => AuditOutcome::Succeeded,
    }
}

/// The payload's reason, where it is a code.
fn reason(envelope: &Envelope) -> Option<String> {
    let WithReason { reason } = serde_json::from_str(envelope.payload.get()).ok()?;
    let code = |text: &str| {
        text.len() <= 100
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    reason.as_ref().and_then(|it| it.as_str()).filter(|text| code(text)).map(str::to_owned)
}

/// Appends an entry to a chain.
pub fn append(chain: &mut Chain, entry_id: AuditEntryId, entry: Entry, now: Timestamp) -> EntryAppended {
    chain.sequence += 1;
    let mut appended = EntryAppended {
        entry_id,
        sequence: chain.sequence,
        action: entry.action,
        actor: entry.actor,
        resource_type: entry.resource_type,
        resource_id: entry.resource_id,
        outcome: entry.outcome,
        reason: entry.reason,
        source: Some(entry.source),
        prev_hash: chain.hash.take(),
        self_hash: String::new(),
        occurred_at: entry.occurred_at,
        recorded_at: now,
    };
    appended.self_hash = entry_hash(&appended);
    chain.hash = Some(appended.self_hash.clone());
    appended
}

/// The hash of an entry: of all that it says, the hash of the one before included, and its own left out.
pub fn entry_hash(entry: &EntryAppended) -> String {
    let bare = EntryAppended { self_hash: String::new(), ..entry.clone() };
    // The struct prints its fields in one order, so the same entry has the same bytes.
    let bytes = serde_json::to_vec(&bare).expect("an entry can be printed");
    sha256_of(&[&bytes])
}

/// Where a chain is broken: the first sequence number whose entry does not follow from the one before; none where it is whole.
pub fn broken_at<'a>(entries: impl IntoIterator<Item = &'a EntryAppended>) -> Option<u64> {
    let mut chain = Chain::default();
    for entry in entries {
        chain.sequence += 1;
        if entry.sequence != chain.sequence || entry.prev_hash != chain.hash || entry.self_hash != entry_hash(entry) {
            return Some(chain.sequence);
        }
        chain.hash = Some(entry.self_hash.clone());
    }
    None
}
