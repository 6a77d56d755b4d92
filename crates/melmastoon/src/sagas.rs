//! Which transitions begin and end a saga, for whoever counts them. Pure: the name of a span in, what it counts as out.
//!
//! Each service that takes part counts its own part, so a sum over one service counts every saga once. Reservation's part of a
//! booking ends with its confirmation; the key is lock-integration's part of the same saga, and is what can be left for a person.
//! A cancellation is choreography: no part of it waits for another.

use karwan::store::metrics::Outcome;

/// From a hold to a confirmed booking with its key, or back.
pub const BOOKING: &str = "booking";
/// From a confirmed booking to money and key given back.
pub const CANCELLATION: &str = "cancellation";

/// What a transition means for a saga.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// It began.
    Began(&'static str),
    /// It ended.
    Ended(&'static str, Outcome),
}

/// What the span of this name counts as; nothing where it is no transition, or one that neither begins nor ends a saga.
pub fn counted(span: &str) -> &'static [Counted] {
    use Counted::{Began, Ended};
    use Outcome::{Compensated, Partial, Success};
    let Some((of, (from, to))) = span.split_once(": ").and_then(|(of, steps)| Some((of, steps.split_once(" → ")?)))
    else {
        return &[];
    };
    match (of, from, to) {
        ("booking", "draft", "held") | ("key_credential", "none", "requested") => &[Began(BOOKING)],
        ("booking", "held", "confirmed" | "confirmed_cash_pending") | ("key_credential", "requested", "issued") => {
            &[Ended(BOOKING, Success)]
        }
        ("booking", "held", "cancelled") => &[Ended(BOOKING, Compensated)],
        ("key_credential", "requested", "failed") => &[Ended(BOOKING, Partial)],
        ("key_credential", "requested", "ending") => &[Ended(BOOKING, Compensated), Began(CANCELLATION)],
        // Reservation's part is its decision; cash that was not taken through a gateway goes back over the desk.
        ("booking", "confirmed" | "confirmed_cash_pending", "cancelled") | ("refund", "none", "done") => {
            &[Began(CANCELLATION), Ended(CANCELLATION, Success)]
        }
        ("refund", "none" | "failed", "asked") | ("key_credential", "issued" | "stuck", "ending") => {
            &[Began(CANCELLATION)]
        }
        ("refund", "asked", "done") | ("key_credential", "ending", "revoked") => &[Ended(CANCELLATION, Success)],
        ("refund", "asked", "failed") | ("key_credential", "ending", "stuck") => &[Ended(CANCELLATION, Partial)],
        _ => &[],
    }
}
