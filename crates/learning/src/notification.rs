//! Messages to people. Its subjects have no aggregate segment: the service is the aggregate.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{TenantId, UserId};
use crate::text::literals;
use crate::types::{LABEL_MAX, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![NotificationSent, NotificationFailed].into()
}

/// A notification left through one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "notification.sent.v1",
    owner = "notification-service",
    retention = "operational",
    key = "{notification_id}",
    idempotency = "{notification_id}:sent:{channel}"
)]
pub struct NotificationSent {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The notification.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub notification_id: String,
    /// The recipient.
    pub user_id: UserId,
    /// How it went.
    pub channel: Channel,
    /// The template it was written from.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub template_key: String,
    /// When it happened.
    pub at: Timestamp,
}

/// A notification could not be sent; it is tried again unless the failure is terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "notification.failed.v1",
    owner = "notification-service",
    retention = "operational",
    key = "{notification_id}",
    idempotency = "{notification_id}:failed:{at}"
)]
pub struct NotificationFailed {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The notification.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub notification_id: String,
    /// What went wrong.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
    /// Whether it is given up.
    pub terminal: bool,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// How a notification reaches a person.
    Channel {
        /// Mail.
        Email = "email",
        /// Text message.
        Sms = "sms",
        /// Push message to a device.
        Push = "push",
        /// Inside the product.
        InApp = "inapp",
        /// A call to a URL of the tenant.
        Webhook = "webhook",
    }
}
