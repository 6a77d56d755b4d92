//! Folios and invoices. Money is append-only: a line is never changed, only followed by another.
//!
//! Every folio event carries the balance that results from it.

mod events;

use karwan_registry::{EventType, events};

pub use events::{
    BilledTo, ChargeKind, DueNow, FolioChargePosted, FolioClosed, FolioLine, FolioOpened, FolioRefundPosted,
    FolioRefundReason, InvoiceIssued, InvoiceVoided, VoidReason,
};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![FolioOpened, FolioChargePosted, FolioRefundPosted, FolioClosed, InvoiceIssued, InvoiceVoided].into()
}
