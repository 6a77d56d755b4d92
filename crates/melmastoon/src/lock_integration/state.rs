//! What lock-integration keeps: the keys of a stay, each credential, the tenant's key policy, and what waits for the front desk.

use karwan::envelope::time::Timestamp;
use karwan::{Document, Field, FieldType, FieldValue, Kind};
use serde::{Deserialize, Serialize};

use super::terms::{KeyKind, RevocationReason};
use super::vendor::VendorFailure;
use crate::ids::{GuestId, KeyCredentialId, PropertyId, ReservationId, RoomId};
use crate::kept_cause::KeptCause;
use crate::tenant::KeyPolicy;

/// The keys of one stay. Whoever asks for a key or ends one writes it: it is the guard of "at most one live key" (R-121).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRing {
    /// The stay.
    pub reservation_id: ReservationId,
    /// Where.
    pub property_id: PropertyId,
    /// The guest.
    pub guest_id: GuestId,
    /// The rooms; empty while not every room is assigned.
    pub rooms: Vec<RoomId>,
    /// From when they may be entered.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// How many credentials were asked for.
    pub asked: u32,
    /// The credential that is wanted, being made or live; none where there is none.
    pub current: Option<KeyCredentialId>,
    /// The last one that was given up, and is ended: the front desk may be seeing to it.
    #[serde(default)]
    pub given_up: Option<KeyCredentialId>,
    /// Why no key is issued any more; none while one may be.
    pub ended: Option<RevocationReason>,
    /// What led to it: a key that is asked for again belongs to the booking's trace.
    #[serde(default)]
    pub cause: Option<KeptCause>,
}

impl Document for KeyRing {
    const KIND: Kind = Kind::named("lock_key_ring");
    fn id(&self) -> String {
        self.reservation_id.to_string()
    }
}

/// One credential. The vendor's own reference of it is here, and leaves this service to nobody but its vendor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Credential {
    /// The credential.
    pub key_credential_id: KeyCredentialId,
    /// The stay.
    pub reservation_id: ReservationId,
    /// Where.
    pub property_id: PropertyId,
    /// The guest.
    pub guest_id: GuestId,
    /// The rooms it opens.
    pub rooms: Vec<RoomId>,
    /// From when.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// The kinds to try, best first.
    pub kinds: Vec<KeyKind>,
    /// The key under which the vendor is asked to make it.
    pub issue_key: String,
    /// How often the vendor is asked to make it.
    pub attempts_max: u32,
    /// How often the vendor failed to do what is wanted now.
    pub failures: u32,
    /// The vendor's own reference; none before it has answered.
    pub vendor_ref: Option<String>,
    /// Where it stands.
    pub state: KeyState,
    /// When the vendor is asked again, after it has failed; none while a call is open or nothing is to be asked.
    #[serde(default)]
    pub next_attempt_at: Option<Timestamp>,
    /// What led to it, or to its end: what a notice of the vendor's brings belongs to that trace.
    #[serde(default)]
    pub cause: Option<KeptCause>,
}

/// Where a credential stands.
///
/// ```text
///   requested ──granted──► issued ──ended──► ending ──vendor did it───────────────► revoked
///       │                                    ▲ │  ▲                                    ▲
///       ├──ended (the answer is still out)───┘ │  └─tried again─┐                      │
///       └──given up──► failed ──────┐          └──vendor does not───► stuck ──by hand──┤
///                                   └───────what there may be of it is ended───────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "why")]
pub enum KeyState {
    /// The vendor is asked to make it.
    Requested,
    /// It opens.
    Issued,
    /// It was given up: the front desk helps. What the vendor may have made all the same is being revoked.
    Failed,
    /// The vendor is asked to end it.
    Ending(RevocationReason),
    /// The vendor did not end it: it may still open. The front desk looks after the door, or has the vendor asked again.
    Stuck(RevocationReason),
    /// It opens nothing any more.
    Revoked,
}

impl KeyState {
    /// Its name in a query.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Issued => "issued",
            Self::Failed => "failed",
            Self::Ending(_) => "ending",
            Self::Stuck(_) => "stuck",
            Self::Revoked => "revoked",
        }
    }

    /// The names of those in which the vendor still has to do something.
    pub const UNDER_WAY: [&str; 3] = ["requested", "failed", "ending"];
}

impl Document for Credential {
    const KIND: Kind = Kind {
        name: "lock_credential",
        shape: 1,
        carries: Some("melmastoon.lock_integration.key_credential"),
        fields: &[Field { name: "reservation", of: FieldType::Text }, Field { name: "state", of: FieldType::Text }],
    };
    fn id(&self) -> String {
        self.key_credential_id.to_string()
    }
    fn fields(&self) -> Vec<FieldValue> {
        vec![self.reservation_id.to_string().into(), self.state.name().into()]
    }
}

/// When and how a tenant issues keys. One a tenant, replaced whole (R-371).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The version of the settings that it is from; 0 is the tenant's first.
    pub version: u32,
    /// What the tenant said.
    pub policy: KeyPolicy,
}

impl Policy {
    /// Its one id.
    pub const ID: &str = "policy";
}

impl Document for Policy {
    const KIND: Kind = Kind::named("lock_policy");
    fn id(&self) -> String {
        Self::ID.to_owned()
    }
}

/// A key that the front desk has to see to: encode a card, hand out a mechanical key, or look after a lock that may still open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManualKey {
    /// The credential.
    pub key_credential_id: KeyCredentialId,
    /// The stay.
    pub reservation_id: ReservationId,
    /// Whose desk.
    pub property_id: PropertyId,
    /// The rooms.
    pub rooms: Vec<RoomId>,
    /// From when.
    pub valid_from: Timestamp,
    /// Until when.
    pub valid_until: Timestamp,
    /// What is to be done.
    pub task: ManualTask,
    /// What went wrong at last.
    pub failure: VendorFailure,
    /// Since when it waits.
    pub since: Timestamp,
    /// When it was seen to; none while it waits.
    pub done_at: Option<Timestamp>,
}

/// What the front desk is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManualTask {
    /// Give the guest another key.
    Issue,
    /// Make sure that the door does not open any more.
    Revoke,
}

impl Document for ManualKey {
    const KIND: Kind = Kind {
        name: "lock_manual_key",
        shape: 1,
        carries: None,
        fields: &[Field { name: "property", of: FieldType::Text }, Field { name: "waits_since", of: FieldType::Time }],
    };
    fn id(&self) -> String {
        self.key_credential_id.to_string()
    }
    fn fields(&self) -> Vec<FieldValue> {
        let since = self.done_at.is_none().then_some(self.since);
        vec![self.property_id.to_string().into(), since.into()]
    }
}

/// A notice of the vendor's that came in, so that another of the same name is known to be a repetition (R-376).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// The vendor's id of the notice.
    pub notice_id: String,
}

impl Document for Heard {
    const KIND: Kind = Kind::named("lock_heard");
    fn id(&self) -> String {
        self.notice_id.clone()
    }
}
