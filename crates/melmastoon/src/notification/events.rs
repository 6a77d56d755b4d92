//! Outbound messages. Neither the address nor the text is here: the recipient is an id, the text is a template.

use karwan::Event;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{GuestId, KeyCredentialId, MessageId, PropertyId, ReservationId, UserId};
use crate::values::Locale;

/// An outbound message was handed to its provider.
///
/// Decided here: the check-in saga counts a dispatched `welcome` of its reservation as the message sent, and does not
/// wait for a receipt that some providers never give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.notification.message.dispatched.v1",
    owner = "notification-service",
    retention = "hot",
    key = "{message_id}",
    idempotency = "{message_id}:dispatched:{attempt}",
    decided_here
)]
pub struct MessageDispatched {
    /// The message.
    pub message_id: MessageId,
    /// What it is for.
    pub purpose: MessagePurpose,
    /// The way it goes.
    pub channel: Channel,
    /// Whom it is for.
    pub recipient: Recipient,
    /// The language it is written in.
    pub locale: Locale,
    /// The template it is made from.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"), length(max = 100))]
    pub template: String,
    /// The template's version.
    pub template_version: u32,
    /// The stay it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The property it speaks for; absent when the tenant itself speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// The key it delivers, if it delivers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_credential_id: Option<KeyCredentialId>,
    /// The provider that took it, such as `twilio`.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]*$"), length(max = 60))]
    pub provider: String,
    /// Which attempt this is, counted from one.
    #[schemars(range(min = 1, max = 100))]
    pub attempt: u32,
    /// When it was handed over.
    pub dispatched_at: Timestamp,
}

/// The provider confirmed the delivery of a message.
///
/// Decided here: repeats what the message is for, so that a reader needs no earlier event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.notification.message.delivered.v1",
    owner = "notification-service",
    retention = "hot",
    key = "{message_id}",
    idempotency = "{message_id}:delivered:{attempt}",
    decided_here
)]
pub struct MessageDelivered {
    /// The message.
    pub message_id: MessageId,
    /// What it is for.
    pub purpose: MessagePurpose,
    /// The way it went.
    pub channel: Channel,
    /// Whom it was for.
    pub recipient: Recipient,
    /// The stay it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The attempt that succeeded.
    #[schemars(range(min = 1, max = 100))]
    pub attempt: u32,
    /// When it was handed over.
    pub dispatched_at: Timestamp,
    /// When it arrived, by the provider's clock.
    pub delivered_at: Timestamp,
}

/// The provider reported that a message bounced or failed.
///
/// Decided here: says what follows, so that the front desk knows whether to call the guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.notification.message.bounced.v1",
    owner = "notification-service",
    retention = "hot",
    key = "{message_id}",
    idempotency = "{message_id}:bounced:{attempt}",
    decided_here
)]
pub struct MessageBounced {
    /// The message.
    pub message_id: MessageId,
    /// What it is for.
    pub purpose: MessagePurpose,
    /// The way it went.
    pub channel: Channel,
    /// Whom it was for.
    pub recipient: Recipient,
    /// The stay it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<ReservationId>,
    /// The property whose front desk has to help; absent when the tenant itself speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property_id: Option<PropertyId>,
    /// The attempt that failed.
    #[schemars(range(min = 1, max = 100))]
    pub attempt: u32,
    /// Why it failed.
    pub reason: BounceReason,
    /// Whether the address is unusable, so that nothing more is sent to it.
    pub permanent: bool,
    /// When it is tried again on the same channel; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// The channel that is tried instead; absent when none is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_channel: Option<Channel>,
    /// When it failed, by the provider's clock.
    pub bounced_at: Timestamp,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessagePurpose {
    /// The booking is confirmed.
    BookingConfirmation,
    /// The booking is cancelled.
    BookingCancellation,
    /// The booking is modified.
    BookingModification,
    /// The new dates are not available; the old ones are kept.
    DatesUnavailable,
    /// Welcome at check-in.
    Welcome,
    /// Here is your key.
    KeyDelivery,
    /// The receipt at check-out.
    CheckoutReceipt,
    /// How was your stay?
    PostStaySurvey,
    /// A refund is on its way.
    RefundNotice,
    /// The payment failed.
    PaymentFailure,
    /// For the staff: something needs a person.
    StaffAlert,
    /// For an account: sign-in and security.
    AccountSecurity,
}

/// The way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// E-mail.
    Email,
    /// SMS.
    Sms,
    /// WhatsApp.
    Whatsapp,
    /// A push to an application.
    Push,
    /// The inbox of the desk.
    InApp,
}

/// Whom a message is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Recipient {
    /// A guest.
    Guest {
        /// The guest.
        #[schemars(extend("x-pii" = "identifier"))]
        guest_id: GuestId,
    },
    /// A staff member.
    User {
        /// Their account.
        #[schemars(extend("x-pii" = "identifier"))]
        user_id: UserId,
    },
}

/// Why a message failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BounceReason {
    /// There is no such address.
    UnknownAddress,
    /// The mailbox is full.
    MailboxFull,
    /// The recipient does not want messages.
    OptedOut,
    /// The provider or the carrier blocks it.
    Blocked,
    /// The provider refused what was sent.
    Rejected,
    /// It could not be delivered in time.
    Expired,
}
