//! The canonical envelope: the union of what the profiles carry, and the only way to make a new one.
//!
//! Invariant: an envelope cannot be built without tenant, cause, actor and idempotency key; they are fields without a
//! default. Not here: the wire forms (`wire`), and whether the catalogue agrees (`karwan-registry`).

use std::fmt;

use serde_json::value::RawValue;

use crate::cause::{Actor, Cause, Producer, Residency, Tenant};
use crate::directory::{Entry, SchemaUri};
use crate::ids::{EventId, OutboxId};
use crate::mint::{Mint, Random};
use crate::profile::Retention;
use crate::row::AiProvenance;
use crate::subject::Subject;
use crate::time::{Clock, Timestamp};

/// The longest idempotency key; it is part of a unique index.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 300;
/// The longest aggregate id.
pub const KEY_BYTES_MAX: usize = 200;
/// Metadata in the nested form, serialised.
pub const METADATA_BYTES_MAX: usize = 4096;

/// The canonical record around a payload.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The event's identity.
    pub id: EventId,
    /// The canonical subject.
    pub subject: Subject,
    /// The schema that the payload was written by.
    pub schema: SchemaUri,
    /// Whose event it is.
    pub tenant: Tenant,
    /// The aggregate's id; with the tenant before it, the ordering key.
    pub key: String,
    /// The business intent.
    pub idempotency_key: String,
    /// What led to it.
    pub cause: Cause,
    /// Who did it.
    pub actor: Actor,
    /// The process that wrote it down.
    pub producer: Producer,
    /// When it happened, by the producer's clock.
    pub occurred_at: Timestamp,
    /// The payload, byte for byte as it was written.
    pub payload: Box<RawValue>,
    /// How long it is kept.
    pub retention: Retention,
    /// Where the tenant's data lives.
    pub residency: Option<Residency>,
    /// Whether a device wrote it offline and replayed it.
    pub offline_replay: Option<bool>,
    /// Which AI took part.
    pub ai_provenance: Option<AiProvenance>,
    /// The log row.
    pub outbox: Option<OutboxId>,
    /// What only some profiles carry.
    pub carried: Carried,
}

/// What only some profiles carry; kept so that each profile reads back what it wrote.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carried {
    /// When the log took it in.
    pub ingested_at: Option<Timestamp>,
    /// When its row was written.
    pub db_write_at: Option<Timestamp>,
    /// Not to be delivered before.
    pub available_at: Option<Timestamp>,
    /// The alias that the subject was written as.
    pub spelling: Option<Subject>,
    /// The address that the schema was written as.
    pub schema_url: Option<String>,
    /// Free-form metadata.
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl Envelope {
    /// `<tenant>:<aggregate>` in the form of a profile's tenant ids.
    pub fn ordering_key(&self, tenant: &str) -> String {
        format!("{tenant}:{}", self.key)
    }
}

impl PartialEq for Envelope {
    /// Payloads are compared byte for byte.
    fn eq(&self, other: &Self) -> bool {
        self.differences(other).is_empty()
    }
}

impl Envelope {
    /// The names of the facts in which two envelopes differ.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let (a, b) = (self, other);
        [
            ("eventId", a.id == b.id),
            ("subject", a.subject == b.subject),
            ("schemaUri", a.schema == b.schema),
            ("tenantId", a.tenant == b.tenant),
            ("orderingKey", a.key == b.key),
            ("idempotencyKey", a.idempotency_key == b.idempotency_key),
            ("correlationId", a.cause.correlation == b.cause.correlation),
            ("causationId", a.cause.causation == b.cause.causation),
            ("businessCorrelation", a.cause.business == b.cause.business),
            ("traceSpan", a.cause.span == b.cause.span),
            ("actor", a.actor == b.actor),
            ("producedBy.service", a.producer.service == b.producer.service),
            ("producedBy.instance", a.producer.instance == b.producer.instance),
            ("producedBy.commit", a.producer.commit == b.producer.commit),
            ("producedBy.region", a.producer.region == b.producer.region),
            ("occurredAt", a.occurred_at == b.occurred_at),
            ("payload", a.payload.get() == b.payload.get()),
            ("retentionClass", a.retention == b.retention),
            ("dataResidency", a.residency == b.residency),
            ("fromOfflineReplay", a.offline_replay == b.offline_replay),
            ("aiProvenance", a.ai_provenance == b.ai_provenance),
            ("outboxId", a.outbox == b.outbox),
            ("ingestedAt", a.carried.ingested_at == b.carried.ingested_at),
            ("dbWriteTs", a.carried.db_write_at == b.carried.db_write_at),
            ("availableAt", a.carried.available_at == b.carried.available_at),
            ("metadata", a.carried.extra == b.carried.extra),
        ]
        .into_iter()
        .filter_map(|(name, same)| (!same).then_some(name))
        .collect()
    }
}

impl Envelope {
    /// The names of the facts that this envelope does not have; whatever stands for them elsewhere was made up.
    pub(crate) fn absent(&self) -> Vec<&'static str> {
        let carried = &self.carried;
        [
            ("causationId", self.cause.causation.is_none()),
            ("businessCorrelation", self.cause.business.is_none()),
            ("traceSpan", self.cause.span.is_none()),
            ("producedBy.region", self.producer.region.is_none()),
            ("dataResidency", self.residency.is_none()),
            ("fromOfflineReplay", self.offline_replay.is_none()),
            ("aiProvenance", self.ai_provenance.is_none()),
            ("outboxId", self.outbox.is_none()),
            ("ingestedAt", carried.ingested_at.is_none()),
            ("dbWriteTs", carried.db_write_at.is_none()),
            ("availableAt", carried.available_at.is_none()),
            ("metadata", carried.extra.is_empty()),
        ]
        .into_iter()
        .filter_map(|(name, absent)| absent.then_some(name))
        .collect()
    }
}

/// Who writes, for whom, and why: what all events of one unit of work share.
#[derive(Debug, Clone)]
pub struct Context {
    /// Whose data it is.
    pub tenant: Tenant,
    /// What led to it.
    pub cause: Cause,
    /// Who did it.
    pub actor: Actor,
    /// The process.
    pub producer: Producer,
    /// Where the tenant's data lives.
    pub residency: Residency,
}

/// An event about to be enveloped: what it says, and the business intent that makes a repetition recognisable.
///
/// There is no default for any of it:
///
/// ```compile_fail
/// # use karwan_envelope::envelope::Draft;
/// let payload = serde_json::value::to_raw_value("{}").unwrap();
/// let draft = Draft { key: "order-1".to_owned(), payload, ai_provenance: None }; // no idempotency key
/// ```
#[derive(Debug)]
pub struct Draft {
    /// The aggregate's id.
    pub key: String,
    /// The business intent.
    pub idempotency_key: String,
    /// The payload.
    pub payload: Box<RawValue>,
    /// Which AI took part.
    pub ai_provenance: Option<AiProvenance>,
}

impl Draft {
    /// Envelopes the event: identity and time come from the mint, everything else from the context and the catalogue.
    pub fn seal<C: Clock, R: Random>(self, entry: &Entry, context: &Context, mint: &Mint<C, R>) -> Envelope {
        let id = mint.event();
        Envelope {
            id,
            subject: entry.parts.subject.clone(),
            schema: entry.schema.clone(),
            tenant: context.tenant,
            key: self.key,
            idempotency_key: self.idempotency_key,
            cause: context.cause.clone(),
            actor: context.actor.clone(),
            producer: context.producer.clone(),
            occurred_at: mint.clock().now(),
            payload: self.payload,
            retention: entry.retention.clone(),
            residency: Some(context.residency),
            offline_replay: None,
            ai_provenance: self.ai_provenance,
            // The log finds a row by its event, so the row needs no second id.
            outbox: Some(OutboxId::from_bits(id.bits())),
            carried: Carried::default(),
        }
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.subject, self.id)
    }
}
