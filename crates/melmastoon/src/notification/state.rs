//! What notification keeps: every message with what became of it, how a stay's guest is reached, and the tenant's languages.

use karwan::envelope::time::Timestamp;
use karwan::{Document, Field, FieldType, FieldValue, Kind};
use serde::{Deserialize, Serialize};

use super::events::{BounceReason, Channel, MessagePurpose, Recipient};
use super::port::Notice;
use crate::ids::{KeyCredentialId, MessageId, PropertyId, ReservationId};
use crate::kept_cause::KeptCause;
use crate::values::{GuestContact, Locale, StayWindow};

/// The record of one message on one channel. Neither its address nor its text is here: they went with the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The message.
    pub message_id: MessageId,
    /// What it is for.
    pub purpose: MessagePurpose,
    /// The way it goes.
    pub channel: Channel,
    /// Whom it is for.
    pub recipient: Recipient,
    /// Its language.
    pub locale: Locale,
    /// What it is made from.
    pub template: String,
    /// The template's version.
    pub template_version: u32,
    /// The stay it is about.
    pub reservation_id: ReservationId,
    /// The property it speaks for.
    pub property_id: PropertyId,
    /// The key it delivers.
    pub key_credential_id: Option<KeyCredentialId>,
    /// The provider's own reference; none before it has answered.
    pub provider_ref: Option<String>,
    /// What the provider told before its answer was here.
    pub early: Option<Notice>,
    /// What became of it.
    pub state: MessageState,
    /// What led to it: what its provider tells later belongs to that trace.
    #[serde(default)]
    pub cause: Option<KeptCause>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "of")]
pub enum MessageState {
    /// It waits for its provider.
    Queued,
    /// The provider has it, since this instant.
    Dispatched(Timestamp),
    /// It arrived.
    Delivered,
    /// It did not.
    Bounced(BounceReason),
}

impl MessageState {
    /// Its name in a query.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Dispatched(_) => "dispatched",
            Self::Delivered => "delivered",
            Self::Bounced(_) => "bounced",
        }
    }
}

impl Document for Message {
    const KIND: Kind = Kind {
        name: "notification_message",
        shape: 1,
        carries: Some("melmastoon.notification.message"),
        fields: &[Field { name: "reservation", of: FieldType::Text }, Field { name: "state", of: FieldType::Text }],
    };
    fn id(&self) -> String {
        self.message_id.to_string()
    }
    fn fields(&self) -> Vec<FieldValue> {
        vec![self.reservation_id.to_string().into(), self.state.name().into()]
    }
}

/// How the guest of a stay is reached, for messages whose cause does not say it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contact {
    /// The stay.
    pub reservation_id: ReservationId,
    /// The property.
    pub property_id: PropertyId,
    /// Its name in the guest's language.
    pub property_name: String,
    /// The guest.
    pub guest: GuestContact,
    /// The stay's window.
    pub stay: StayWindow,
    /// What is printed of the rooms.
    pub rooms: String,
    /// Whether the stay will not happen.
    pub cancelled: bool,
}

impl Document for Contact {
    const KIND: Kind = Kind::named("notification_contact");
    fn id(&self) -> String {
        self.reservation_id.to_string()
    }
}

/// The languages of a tenant, in order of fallback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Languages {
    /// The version of the settings that they are from; 0 is the tenant's first.
    pub version: u32,
    /// The languages.
    pub locales: Vec<Locale>,
}

impl Languages {
    /// Its one id.
    pub const ID: &str = "languages";
}

impl Document for Languages {
    const KIND: Kind = Kind::named("notification_languages");
    fn id(&self) -> String {
        Self::ID.to_owned()
    }
}
