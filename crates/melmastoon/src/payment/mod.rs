//! Payments. Nothing here names a card, an account or a gateway's own reference.

mod events;

use karwan_registry::{EventType, events};

pub use events::{
    CashReconciled, IntentCaptured, IntentCreated, IntentFailed, IntentRefunded, PaymentFailure, PaymentPurpose,
    RefundReason,
};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![IntentCreated, IntentCaptured, IntentFailed, IntentRefunded, CashReconciled].into()
}
