//! Reservations: the booking, cancellation, check-in, check-out and date-change sagas start and end here.
//!
//! Invariant: each event of a reservation carries its `version`, so a consumer tells a late fact from a new one. The
//! partial states (`check_in_partial`) are the saga's own and have no event; the board reads them from the saga.

pub mod booking;
pub mod cancellation;
pub mod commands;
mod events;
pub mod saga;
mod stay;
pub mod work;

use karwan::{EventType, events};

pub use events::{
    BookingCancelled, BookingConfirmed, BookingDatesChanged, BookingFraudFlagged, BookingHeld, BookingModified,
    CancellationReason, CancelledBy, Channel, DatesChangeCause, FraudSignal, ModifiedPart,
};
pub use stay::{
    CheckInStarted, CheckOutStarted, CheckedIn, CheckedOut, DocumentKind, EarlyCheckout, GuestDocument, NoShow,
};

/// Its name.
pub const SERVICE: &str = "reservation-service";

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
