//! Folios and invoices. Money is append-only: a line is never changed, only followed by another.
//!
//! Every folio event carries the balance that results from it.

pub mod entries;
mod events;
pub mod folio;
pub mod work;

use karwan::{EventType, events};

pub use events::{
    BilledTo, ChargeKind, DueNow, FolioChargePosted, FolioClosed, FolioLine, FolioOpened, FolioRefundPosted,
    FolioRefundReason, InvoiceIssued, InvoiceVoided, VoidReason,
};

/// Its name.
pub const SERVICE: &str = "billing-service";

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![FolioOpened, FolioChargePosted, FolioRefundPosted, FolioClosed, InvoiceIssued, InvoiceVoided].into()
}
