//! Listings, orders and licences; owner of the purchase saga.

use karwan_envelope::money::Currency;
use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CourseId, LicenseId, ListingId, OrderId, TenantId, UserId};
use crate::text::literals;
use crate::types::{INTEGER_MAX, LABEL_MAX, LIST_MAX, Money, TEXT_MAX};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![ListingApproved, OrderPlaced, LicenseGranted, LicenseAssigned, LicenseRevoked, OrderFailed].into()
}

/// A listing was approved for sale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "marketplace.listing.approved.v1",
    owner = "marketplace-service",
    retention = "operational",
    key = "{listing_id}",
    idempotency = "{listing_id}:approved:{at}"
)]
pub struct ListingApproved {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The listing.
    pub listing_id: ListingId,
    /// The course.
    pub course_id: CourseId,
    /// Who approved it.
    pub approved_by: UserId,
    /// When it happened.
    pub at: Timestamp,
}

/// A buyer placed an order; the purchase saga starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "marketplace.order.placed.v1",
    owner = "marketplace-service",
    retention = "operational",
    key = "{order_id}",
    idempotency = "{order_id}:placed"
)]
pub struct OrderPlaced {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The order.
    pub order_id: OrderId,
    /// Who buys.
    pub buyer_user_id: UserId,
    /// What is bought.
    #[schemars(length(min = 1, max = LIST_MAX))]
    pub lines: Vec<OrderLine>,
    /// What it costs together.
    pub total: Money,
    /// When it happened.
    pub at: Timestamp,
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderLine {
    /// The listing.
    pub listing_id: ListingId,
    /// The plan.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub plan_id: String,
    /// How many.
    #[schemars(range(max = INTEGER_MAX))]
    pub qty: u64,
    /// What the line costs, in millionths of the currency.
    #[schemars(range(max = INTEGER_MAX))]
    pub amount_micro: u64,
    /// Its currency.
    pub currency: Currency,
}

/// A licence with a number of seats was granted for a course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "marketplace.license.granted.v1",
    owner = "marketplace-service",
    retention = "operational",
    scope = "integration",
    key = "{license_id}",
    idempotency = "{license_id}:granted"
)]
pub struct LicenseGranted {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The licence.
    pub license_id: LicenseId,
    /// The listing.
    pub listing_id: ListingId,
    /// The course.
    pub course_id: CourseId,
    /// How many learners may use it.
    #[schemars(range(max = INTEGER_MAX))]
    pub seats: u64,
    /// From when it holds.
    pub valid_from: Timestamp,
    /// Until when it holds; without end if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// Where it comes from.
    pub source: LicenseSource,
    /// The order, gift or decision it comes from.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub source_ref: String,
}

/// A seat of a licence was given to a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "marketplace.license.assigned.v1",
    owner = "marketplace-service",
    retention = "operational",
    key = "{license_id}",
    idempotency = "{license_id}:assigned:{assignee_user_id}:{at}"
)]
pub struct LicenseAssigned {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The licence.
    pub license_id: LicenseId,
    /// Who got the seat.
    pub assignee_user_id: UserId,
    /// Who gave it.
    pub assigned_by: UserId,
    /// When it happened.
    pub at: Timestamp,
}

/// A licence was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "marketplace.license.revoked.v1",
    owner = "marketplace-service",
    retention = "operational",
    key = "{license_id}",
    idempotency = "{license_id}:revoked"
)]
pub struct LicenseRevoked {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The licence.
    pub license_id: LicenseId,
    /// Why.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
    /// When it happened.
    pub at: Timestamp,
}

/// An order ended without being fulfilled, after payment failed or timed out or a compensation completed.
///
/// Decided here: the document names this event in its purchase saga and gives no payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "marketplace.order.failed.v1",
    owner = "marketplace-service",
    retention = "operational",
    key = "{order_id}",
    idempotency = "{order_id}:failed",
    decided_here
)]
pub struct OrderFailed {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The order.
    pub order_id: OrderId,
    /// What went wrong.
    #[schemars(length(min = 1, max = TEXT_MAX), extend("x-pii" = "free_text"))]
    pub reason: String,
    /// When it happened.
    pub at: Timestamp,
}

literals! {
    /// Where a licence comes from.
    LicenseSource {
        /// It was bought.
        Purchase = "purchase",
        /// It was given.
        Gift = "gift",
        /// An operator granted it.
        Manual = "manual",
    }
}
