//! Logs that are made up, to see that each violation is named.

use karwan::Event;
use karwan::envelope::money::Money;
use serde::Serialize;

use super::{Fact, Kept, Rules};
use crate::ids::KeyCredentialId;
use crate::inventory::{BlockedOperation, OversellBlocked, RoomAvailability, Shortage};
use crate::lock_integration::credentials::{KeyCredentialFailed, KeyCredentialRequested, KeyCredentialRevoked};
use crate::lock_integration::state::{ManualKey, ManualTask};
use crate::lock_integration::terms::{IssuanceFailure, KeyKind, RevocationMetadata, RevocationReason};
use crate::lock_integration::vendor::VendorFailure;
use crate::lock_integration::work::VENDOR;
use crate::payment::state::FinanceAlert;
use crate::payment::{IntentCaptured, IntentCreated, PaymentFailure, PaymentPurpose};
use crate::reservation::{BookingCancelled, BookingConfirmed, BookingHeld, CancellationReason, CancelledBy};
use crate::told::{self, afghanis, at, id, may};
use crate::values::{BookingStatus, RefundDecision, RefundRule};

/// A log of one trace, which a tenant that comes begins.
pub struct Made {
    rules: Rules,
    events: u128,
}

impl Default for Made {
    fn default() -> Self {
        let mut made = Self { rules: Rules::default(), events: 0 };
        made.tell_in(&told::tenant_created(), 1, None);
        made
    }
}

impl Made {
    /// The log of a booking that is held, has its room, is paid and confirmed.
    pub fn with(booking: &BookingConfirmed) -> Self {
        let mut made = Self::default();
        made.tell(&held(booking));
        made.tell(&told::committed(booking, 1, 0));
        made.tell(&captured(booking));
        made.tell(booking);
        made
    }

    /// The next event, led to by the first.
    pub fn tell<E: Event + Serialize>(&mut self, event: &E) {
        self.tell_in(event, 1, Some(1));
    }

    /// The next event, of a trace, led to by another.
    pub fn tell_in<E: Event + Serialize>(&mut self, event: &E, correlation: u128, causation: Option<u128>) {
        self.events += 1;
        let payload = serde_json::to_string(event).expect("it can be written");
        let fact = Fact { event: self.events, subject: E::SUBJECT, correlation, causation, payload: &payload };
        self.rules.take(&fact);
    }

    pub fn broken(&self, kept: &Kept) -> Vec<String> {
        self.rules.broken(kept)
    }

    /// A violation is named so.
    #[track_caller]
    pub fn is_named(&self, name: &str, kept: &Kept) {
        let broken = self.broken(kept);
        assert!(broken.iter().any(|it| it.contains(name)), "nothing says `{name}`: {broken:#?}");
    }

    /// None is.
    #[track_caller]
    pub fn holds(&self, name: &str, kept: &Kept) {
        let broken = self.broken(kept);
        assert!(!broken.iter().any(|it| it.contains(name)), "something says `{name}`: {broken:#?}");
    }
}

/// The hold that a booking began as.
pub fn held(of: &BookingConfirmed) -> BookingHeld {
    let now = at(may(1), "00:00:00");
    BookingHeld {
        reservation_id: of.reservation_id,
        version: 1,
        status: BookingStatus::Held,
        saga_id: id(10),
        booking_intent_id: None,
        channel: of.channel,
        property_id: of.property_id,
        property_name: of.property_name.clone(),
        stay: of.stay,
        rooms: of.rooms.clone(),
        party: of.party,
        guest: of.guest.clone(),
        special_requests: None,
        quote: of.quote.clone(),
        cancellation: of.cancellation,
        payment: of.payment,
        due_now: of.paid,
        folio_id: of.folio_id,
        held_at: now,
        allocation_due_at: now,
        hold_expires_at: now,
    }
}

/// There is no room for it.
pub fn blocked(of: &BookingConfirmed) -> OversellBlocked {
    let short = |left: &RoomAvailability| Shortage {
        room_type_id: left.room_type_id,
        date: left.date,
        requested: 1,
        available: 0,
    };
    OversellBlocked {
        reservation_id: of.reservation_id,
        reservation_version: 1,
        saga_id: id(10),
        operation: BlockedOperation::Confirm,
        property_id: of.property_id,
        shortages: told::left(&of.stay, 1, 0).iter().map(short).collect(),
        blocked_at: at(may(1), "00:00:00"),
    }
}

/// Its payment is asked for.
pub fn created(of: &BookingConfirmed) -> IntentCreated {
    IntentCreated {
        payment_intent_id: of.payment_intent_id.expect("it is paid"),
        folio_id: of.folio_id,
        reservation_id: of.reservation_id,
        saga_id: of.saga_id,
        property_id: of.property_id,
        purpose: PaymentPurpose::Booking,
        rail: of.payment.rail,
        payment_method_id: of.payment.payment_method_id,
        amount: of.paid,
        created_at: at(may(1), "00:00:00"),
    }
}

/// It is paid.
pub fn captured(of: &BookingConfirmed) -> IntentCaptured {
    IntentCaptured {
        payment_intent_id: of.payment_intent_id.expect("it is paid"),
        folio_id: of.folio_id,
        reservation_id: of.reservation_id,
        saga_id: of.saga_id,
        property_id: of.property_id,
        purpose: PaymentPurpose::Booking,
        rail: of.payment.rail,
        amount: of.paid,
        received: of.paid,
        captured_at: at(may(1), "00:00:00"),
    }
}

/// It is given up before it was confirmed, and before reservation has heard of its payment.
pub fn given_up(of: &BookingConfirmed) -> BookingCancelled {
    let none = Money { currency: of.paid.currency, ..afghanis(0) };
    BookingCancelled {
        previous_status: BookingStatus::Held,
        reason: CancellationReason::HoldExpired,
        cancelled_by: CancelledBy::Saga,
        refund: RefundDecision { refundable: false, amount: none, fee: none, rule: RefundRule::NothingPaid },
        payment_intent_id: None,
        rail: None,
        ..told::cancelled(of)
    }
}

/// What finance is told of the refund that `told::refunded` tells of.
pub fn alert(of: &BookingConfirmed, amount: Money, open: bool) -> FinanceAlert {
    FinanceAlert {
        refund_id: karwan::envelope::ids::Id::from_bits(of.reservation_id.bits()),
        payment_intent_id: of.payment_intent_id.expect("it is paid"),
        reservation_id: of.reservation_id,
        amount,
        reason: PaymentFailure::Declined,
        open,
        raised_at: at(may(1), "00:00:02"),
    }
}

/// A key of a number is asked for.
pub fn key_requested(of: &BookingConfirmed, number: u32) -> KeyCredentialRequested {
    KeyCredentialRequested {
        key_credential_id: id(number),
        property_id: of.property_id,
        reservation_id: Some(of.reservation_id),
        guest_id: Some(of.guest.guest_id),
        rooms: of.rooms.iter().filter_map(|room| room.room_id).collect(),
        valid_from: of.stay.check_in_at,
        valid_until: of.stay.check_out_at,
        preferred_kinds: vec![KeyKind::MobileApp],
        vendor: VENDOR,
        idempotency_key: number.to_string(),
    }
}

/// The vendor does not make it.
pub fn key_failed(of: &BookingConfirmed, key: KeyCredentialId) -> KeyCredentialFailed {
    KeyCredentialFailed {
        key_credential_id: key,
        reservation_id: Some(of.reservation_id),
        vendor: VENDOR,
        failure_reason: IssuanceFailure::VendorRejected,
        vendor_message: None,
        attempts: 3,
        last_attempt_at: at(may(1), "00:00:05"),
    }
}

/// The vendor has ended it.
pub fn key_revoked(of: &BookingConfirmed, key: KeyCredentialId) -> KeyCredentialRevoked {
    KeyCredentialRevoked {
        key_credential_id: key,
        reservation_id: Some(of.reservation_id),
        vendor: VENDOR,
        reason: RevocationReason::Cancellation,
        revoked_at: at(may(1), "00:00:06"),
        metadata: RevocationMetadata { was_provisional: false, vendor_revoke_ok: true },
    }
}

/// What the front desk is told of a key.
pub fn manual_key(of: &BookingConfirmed, key: KeyCredentialId, task: ManualTask, done: bool) -> ManualKey {
    let since = at(may(1), "00:00:05");
    ManualKey {
        key_credential_id: key,
        reservation_id: of.reservation_id,
        property_id: of.property_id,
        rooms: of.rooms.iter().filter_map(|room| room.room_id).collect(),
        valid_from: of.stay.check_in_at,
        valid_until: of.stay.check_out_at,
        task,
        failure: VendorFailure::Rejected,
        since,
        done_at: done.then_some(since),
    }
}
