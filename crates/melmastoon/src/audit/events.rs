//! Audit entries, chained by hash, and the roots of the trees over them.

use std::fmt;

use karwan::Event;
use karwan::envelope::ids::TenantId;
use karwan::envelope::time::{Date, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AuditEntryId, UserId};

/// An entry was appended to the audit trail.
///
/// Decided here: who did what to which resource with what result, and the entry's place in its tenant's hash chain. The
/// key is the resource, so that its trail is read in order; the chain is checked by `sequence`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.audit.entry.appended.v1",
    owner = "audit-service",
    retention = "cold",
    key = "{resource_id}",
    idempotency = "{entry_id}:appended",
    decided_here
)]
pub struct EntryAppended {
    /// The entry.
    pub entry_id: AuditEntryId,
    /// Its place in the tenant's chain, counted from one without gaps.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub sequence: u64,
    /// What was done, such as `booking.cancelled` or `dead_letter.replayed`.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*$"), length(max = 120))]
    pub action: String,
    /// Who did it.
    pub actor: AuditActor,
    /// What kind of thing it was done to, such as `reservation`.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"), length(max = 60))]
    pub resource_type: String,
    /// Which one; it may be a guest or an account.
    #[schemars(regex(pattern = "^[A-Za-z0-9_.:-]+$"), length(max = 200), extend("x-pii" = "identifier"))]
    pub resource_id: String,
    /// How it ended.
    pub outcome: AuditOutcome,
    /// Why, as a code: `non_refundable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"), length(max = 100))]
    pub reason: Option<String>,
    /// The event that the entry records; absent for what an operator did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AuditSource>,
    /// The hash of the tenant's entry before this one; absent on the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub prev_hash: Option<String>,
    /// The hash of this entry, the one before included.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub self_hash: String,
    /// When it was done.
    pub occurred_at: Timestamp,
    /// When it was recorded.
    pub recorded_at: Timestamp,
}

/// The Merkle root of a day was anchored outside the platform.
///
/// Decided here: everything that a proof of inclusion is checked against. An empty day is not anchored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.audit.merkle.anchored.v1",
    owner = "audit-service",
    retention = "cold",
    tenancy = "platform",
    key = "{date}",
    idempotency = "{date}:{tree}:{root_hash}",
    decided_here
)]
pub struct MerkleAnchored {
    /// The day whose entries are in the tree, in UTC.
    pub date: Date,
    /// Which of the day's trees.
    pub tree: MerkleTree,
    /// The tenant of a tenant's tree; absent on the platform's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The root, by the hashes of RFC 6962.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub root_hash: String,
    /// How many leaves the tree has.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64))]
    pub leaves: u64,
    /// The root of the same tree on the last day that was anchored; absent on the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub previous_root_hash: Option<String>,
    /// What kind of place keeps the anchor.
    pub anchor_kind: AnchorKind,
    /// Where to find the anchor, in the words of that place.
    #[schemars(length(min = 1, max = 500))]
    pub anchor_ref: String,
    /// When it was anchored.
    pub anchored_at: Timestamp,
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AuditActor {
    /// A person.
    User {
        /// Their account.
        #[schemars(extend("x-pii" = "identifier"))]
        user_id: UserId,
    },
    /// A service.
    Service {
        /// Its name, such as `reservation-service`.
        #[schemars(length(min = 1, max = 100))]
        name: String,
    },
    /// An API key.
    ApiKey {
        /// Its public name.
        #[schemars(length(min = 1, max = 100))]
        key_name: String,
    },
    /// The platform itself: schedules, deadlines.
    System,
}

/// The event that an entry records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditSource {
    /// Its id.
    #[schemars(regex(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"))]
    pub event_id: String,
    /// Its subject.
    #[schemars(regex(pattern = "^melmastoon([.][a-z][a-z0-9_]*){2,5}$"), length(max = 200))]
    pub subject: String,
    /// The hash of its canonical bytes.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub event_hash: String,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was done.
    Succeeded,
    /// It was not allowed.
    Refused,
    /// It was tried and failed.
    Failed,
    /// There was nothing to do, and that was checked.
    NoOp,
}

/// Which of a day's trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MerkleTree {
    /// The one over all tenants.
    Platform,
    /// One tenant's.
    Tenant,
}

impl fmt::Display for MerkleTree {
    /// As on the wire: it is part of the idempotency key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Platform => "platform",
            Self::Tenant => "tenant",
        })
    }
}

/// What kind of place keeps an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnchorKind {
    /// A file that can only be appended to.
    AppendOnlyFile,
    /// A service elsewhere.
    RemoteService,
}
