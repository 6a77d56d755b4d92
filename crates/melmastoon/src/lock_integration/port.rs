//! The port of a lock vendor: what it is asked, what it answers, and what it tells by itself.
//!
//! Every call about one operation carries the same operation key, however often it is made. A vendor MUST do what was asked under
//! a key once, and answer a repetition as it answered first. [`Vendor::revoke`] names the key of the issuance: what was issued
//! under it MUST cease to open, and an issuance that comes later under it MUST be refused. With these two an issuance that timed
//! out is repeated, or given up and revoked, and no door opens to a key that nobody knows of.
//!
//! A client MUST answer, or say why it has no answer, within [`CALL_MS_MAX`]. The vendor's own reference of a key stays behind
//! this port: a document of this service keeps it, no event carries it.
//!
//! Not here: how a vendor is reached, authenticates and misbehaves (its client), when a call is repeated (`decide`).

use std::pin::Pin;

use karwan::TenantId;
use karwan::envelope::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::terms::{IssuanceWarning, KeyKind};
use super::vendor::VendorFailure;
use crate::ids::{KeyCredentialId, PropertyId, RoomId};

/// The name of the calls to a vendor, issuances and revocations alike, so that those of one credential keep their order.
pub const CALL: &str = "lock_integration.call";
/// The longest that a call may take, in milliseconds; a vendor takes 3 to 8 seconds where all is well.
pub const CALL_MS_MAX: u64 = 20_000;

/// An answer on its way, or why there is none.
pub type Asked<'a, A> = Pin<Box<dyn Future<Output = Result<A, Failed>> + Send + 'a>>;

/// Somebody whose locks open to keys.
pub trait Vendor: Send + Sync + 'static {
    /// Makes a key.
    fn issue(&self, ask: Issue) -> Asked<'_, Issued>;

    /// Ends a key, whatever became of its issuance. A key that the vendor never heard of counts as ended.
    fn revoke(&self, ask: Revoke) -> Asked<'_, Revoked>;
}

/// Make a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// The same for every attempt, `sha256:` and 64 digits.
    pub operation_key: String,
    /// Whose credential: webhooks about it say so.
    pub tenant: TenantId,
    /// The credential, for the vendor's books and for its webhooks.
    pub credential: KeyCredentialId,
    /// Where.
    pub property: PropertyId,
    /// The rooms it shall open.
    pub rooms: Vec<RoomId>,
    /// The kinds to try, best first.
    pub kinds: Vec<KeyKind>,
    /// From when it opens them.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
}

/// A key was made, and opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Issued {
    /// The vendor's own reference of the key.
    pub vendor_ref: String,
    /// What it is: one of the kinds that were asked for.
    pub kind: KeyKind,
    /// What the front desk should know.
    pub warnings: Vec<IssuanceWarning>,
}

/// End a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revoke {
    /// The same for every attempt, and another than the issuance's.
    pub operation_key: String,
    /// The key of the issuance that is undone.
    pub issue_key: String,
    /// The credential.
    pub credential: KeyCredentialId,
    /// The vendor's own reference of the key; absent where no answer to the issuance has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor_ref: Option<String>,
}

/// A key opens nothing any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revoked {
    /// Whether there was a key to end.
    pub existed: bool,
}

/// Why a call has no good answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    /// What went wrong.
    pub failure: VendorFailure,
    /// Whether asking again cannot help: the vendor understood, and refused.
    pub final_word: bool,
    /// What the vendor said, as it said it; it is scrubbed before anybody reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a vendor tells by itself, through a webhook: any number of times, in any order, before or after the answer to the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The vendor's id of the notice, the same when it is told again.
    pub notice_id: String,
    /// The credential it is about.
    pub credential: KeyCredentialId,
    /// What happened.
    pub told: Told,
}

/// What a notice says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Told {
    /// The key was made.
    Issued(Issued),
    /// The key was ended.
    Revoked,
}
