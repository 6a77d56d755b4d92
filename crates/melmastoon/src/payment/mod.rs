//! Payments. Nothing here names a card, an account or a gateway's own reference.

pub mod card;
pub mod commands;
pub mod decide;
mod events;
pub mod port;
pub mod state;
pub mod work;

use karwan::{EventType, events};

pub use events::{
    CashReconciled, IntentCaptured, IntentCreated, IntentFailed, IntentRefunded, PaymentFailure, PaymentPurpose,
    RefundReason,
};

/// Its name.
pub const SERVICE: &str = "payment-gateway-service";

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![IntentCreated, IntentCaptured, IntentFailed, IntentRefunded, CashReconciled].into()
}
