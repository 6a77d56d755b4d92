//! Reservations: the booking, cancellation, check-in, check-out and date-change sagas start and end here.
//!
//! Invariant: each event of a reservation carries its `version`, so a consumer tells a late fact from a new one. The
//! partial states (`check_in_partial`) are the saga's own and have no event; the board reads them from the saga.

mod events;
mod stay;

use karwan_registry::{EventType, events};

pub use events::{
    BookingCancelled, BookingConfirmed, BookingDatesChanged, BookingFraudFlagged, BookingHeld, BookingModified,
    CancellationReason, CancelledBy, Channel, DatesChangeCause, FraudSignal, ModifiedPart,
};
pub use stay::{
    CheckInStarted, CheckOutStarted, CheckedIn, CheckedOut, DocumentKind, EarlyCheckout, GuestDocument, NoShow,
};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![
        BookingHeld,
        BookingConfirmed,
        BookingCancelled,
        BookingModified,
        BookingDatesChanged,
        BookingFraudFlagged,
        CheckInStarted,
        CheckedIn,
        CheckOutStarted,
        CheckedOut,
        EarlyCheckout,
        NoShow
    ]
    .into()
}
