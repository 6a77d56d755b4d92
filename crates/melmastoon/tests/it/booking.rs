//! The booking saga, from hold to confirmed or back (R-172…R-181).

use karwan::Error;
use karwan::envelope::money::{Micros, Money};
use melmastoon::billing::folio::Folio;
use melmastoon::ids::PaymentIntentId;
use melmastoon::inventory::state::{Allocation, AllocationState};
use melmastoon::inventory::{AllocationCommitted, AllocationReleased, OversellBlocked, ReleaseReason};
use melmastoon::payment::PaymentFailure;
use melmastoon::payment::commands as payment;
use melmastoon::payment::decide::Count;
use melmastoon::payment::port::{Captured, Notice, Told};
use melmastoon::payment::state::Case;
use melmastoon::payment::{IntentCaptured, IntentCreated, IntentFailed, IntentRefunded, RefundReason};
use melmastoon::pricing::QuoteExpired;
use melmastoon::pricing::state::{Quote, Terms};
use melmastoon::refusal::Refusal;
use melmastoon::reservation::booking::{Paid, State};
use melmastoon::reservation::commands as reservation;
use melmastoon::reservation::{BookingCancelled, BookingConfirmed, BookingHeld, CancellationReason};
use melmastoon::values::{BookingStatus, PaymentRail};

use crate::world::gateway::Fault;
use crate::world::{NIGHT_MICRO, World, from};

const NIGHT: &str = "2026-03-10";
const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60_000;

/// a hold of ten minutes, with the saga's own deadline of thirty seconds (C-38).
#[tokio::test(flavor = "multi_thread")]
async fn confirming_tells_of_a_hold_with_two_timers() {
    let world = World::stopped(1).await;
    let wish = world.wish(world.quote(NIGHT, 2).await, PaymentRail::Card);
    let context = from("reservation-service");
    let placed = reservation::hold(world.store(), &context, &wish).await.unwrap();
    assert_eq!(world.told::<BookingHeld>().await, [], "a draft tells nobody");
    reservation::confirm(world.store(), &context, placed.reservation_id).await.unwrap();
    let again = reservation::confirm(world.store(), &context, placed.reservation_id).await.unwrap();
    assert_eq!(again, placed);
    let held = world.told::<BookingHeld>().await;
    assert_eq!(held.len(), 1, "confirming twice is confirming once");
    let ms = |until: karwan::envelope::time::Timestamp| until.unix_ms() - held[0].held_at.unix_ms();
    assert_eq!((ms(held[0].allocation_due_at), ms(held[0].hold_expires_at)), (30 * SECOND_MS, 10 * MINUTE_MS));
}

///
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_that_is_allocated_and_paid_is_confirmed_with_its_room_and_one_draft_folio() {
    let world = World::with_rooms(1).await;
    let placed = world.book(NIGHT, 2, PaymentRail::Card).await;
    let confirmed = world.told::<BookingConfirmed>().await;
    let [confirmed] = confirmed.as_slice() else { panic!("{confirmed:?}") };
    let total = 2 * NIGHT_MICRO * 11 / 10;
    assert_eq!(confirmed.status, BookingStatus::Confirmed);
    assert_eq!(confirmed.rooms[0].room_label.as_deref(), Some("101"));
    assert!(confirmed.key_eligible);
    assert_eq!((confirmed.paid.amount_micro.get(), confirmed.balance_due.amount_micro.get()), (total, 0));
    assert_eq!(
        reservation::status(world.store(), &from("x"), placed.reservation_id).await.unwrap(),
        BookingStatus::Confirmed
    );
    let folio: Folio = world.read(&confirmed.folio_id.to_string()).await.expect("a draft folio");
    let sums = folio.sums();
    assert_eq!((sums.charges, sums.payments, sums.refunds, sums.balance()), (total, total, 0, 0));
    assert_eq!(folio.version, 0, "nobody is told of a draft");
    let quote: Quote = world.read(&confirmed.quote.quote_id.to_string()).await.expect("the quote");
    assert_eq!(quote.accepted, Some((placed.reservation_id, confirmed.quote.clone())));
}

/// with the hold alone nothing is asked for; the allocation completes it.
#[tokio::test(flavor = "multi_thread")]
async fn payment_waits_for_the_allocation_after_the_hold() {
    let mut world = World::stopped(1).await;
    world.run(&["payment"]).await;
    world.book(NIGHT, 1, PaymentRail::Card).await;
    assert_eq!(world.told::<IntentCreated>().await.len(), 0);
    world.run(&["payment", "inventory"]).await;
    assert_eq!(world.told::<IntentCreated>().await.len(), 1);
}

/// and the other way round.
#[tokio::test(flavor = "multi_thread")]
async fn payment_waits_for_the_hold_after_the_allocation() {
    let mut world = World::stopped(1).await;
    world.run(&["payment"]).await;
    let wish = world.wish(world.quote(NIGHT, 1).await, PaymentRail::Card);
    let context = from("reservation-service");
    let placed = reservation::hold(world.store(), &context, &wish).await.unwrap();
    let id = placed.reservation_id;
    let early = async |tx: karwan::TenantTx| {
        let (allocation_id, property_id) = (Allocation::of(id), world.property);
        let dates = melmastoon::values::DateRange { from: wish.offer.stay.check_in, until: wish.offer.stay.check_out };
        let room = melmastoon::inventory::AllocatedRoom { room_type_id: world.room_type, room_id: None, dates };
        let (state, rooms) = (AllocationState::Committed, vec![room]);
        tx.put(Allocation { allocation_id, version: 1, reservation_id: id, property_id, rooms: rooms.clone(), state });
        tx.emit(AllocationCommitted {
            allocation_id,
            version: 1,
            reservation_id: id,
            reservation_version: 1,
            saga_id: Some(placed.saga_id),
            property_id,
            rooms,
            availability: Vec::new(),
            committed_at: tx.now(),
        });
        Ok::<_, Error>(())
    };
    world.store().unit(&from("inventory-service"), early).await.unwrap();
    world.settle().await;
    assert_eq!(world.told::<IntentCreated>().await.len(), 0);
    reservation::confirm(world.store(), &context, id).await.unwrap();
    world.settle().await;
    assert_eq!(world.told::<IntentCreated>().await.len(), 1);
}

/// at 29 seconds it waits, at 30 it is over; rooms that come too late go back.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_without_rooms_ends_after_thirty_seconds_and_late_rooms_are_released() {
    let mut world = World::stopped(1).await;
    world.run(&["reservation", "payment"]).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    world.pass_ms(29 * SECOND_MS).await;
    assert_eq!(world.state(id).await, State::Held { allocated: false, paid: None });
    world.pass_ms(SECOND_MS).await;
    assert_eq!(world.state(id).await, State::Cancelled { reason: CancellationReason::HoldExpired });
    let refused = reservation::status(world.store(), &from("x"), id).await.unwrap_err();
    assert_eq!(refused.code(), "MELMASTOON.RESERVATION.HOLD_EXPIRED");
    world.run(&[]).await;
    assert_eq!(world.told::<AllocationCommitted>().await.len(), 1, "inventory was late");
    let released = world.told::<AllocationReleased>().await;
    assert_eq!(released.iter().map(|it| it.reason).collect::<Vec<_>>(), [ReleaseReason::HoldExpired]);
    assert_eq!(released[0].availability.iter().map(|it| it.available).collect::<Vec<_>>(), [1]);
    assert!(world.told::<BookingConfirmed>().await.is_empty());
    assert_eq!(
        world.gateway.books().values().map(|charge| charge.net()).sum::<i128>(),
        0,
        "whatever was taken went back"
    );
    // And the room can be sold.
    let other = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    assert_eq!(world.booking(other).await.status(), BookingStatus::Confirmed);
}

/// A cancellation that inventory hears of before the hold leaves nothing that the hold could take.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_is_delivered_after_its_cancellation_takes_no_room() {
    let mut world = World::stopped(1).await;
    world.run(&["reservation"]).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    let over = Allocation {
        allocation_id: Allocation::of(id),
        version: 1,
        reservation_id: id,
        property_id: world.property,
        rooms: Vec::new(),
        state: AllocationState::Released,
    };
    let put = async |tx: karwan::TenantTx| {
        tx.put(over.clone());
        Ok::<_, Error>(())
    };
    world.store().unit(&from("inventory-service"), put).await.unwrap();
    world.run(&["inventory"]).await;
    assert_eq!(world.told::<AllocationCommitted>().await, []);
}

///
#[tokio::test(flavor = "multi_thread")]
async fn a_declined_payment_cancels_the_booking_and_releases_its_room() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::Declined(PaymentFailure::InsufficientFunds));
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    assert_eq!(world.state(id).await, State::Cancelled { reason: CancellationReason::PaymentFailed });
    let failed = world.told::<IntentFailed>().await;
    assert_eq!(failed.iter().map(|it| it.reason).collect::<Vec<_>>(), [PaymentFailure::InsufficientFunds]);
    let released = world.told::<AllocationReleased>().await;
    assert_eq!(released.iter().map(|it| it.reason).collect::<Vec<_>>(), [ReleaseReason::PaymentFailed]);
    let refused = reservation::status(world.store(), &from("x"), id).await.unwrap_err();
    assert_eq!(refused.code(), "MELMASTOON.PAYMENT.DECLINED");
}

/// The gateway took the money and did not say so: asked again under the same key, it takes nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_timed_out_after_it_was_made_is_made_once() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::SilentAfter(3));
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    assert_eq!(world.state(id).await, State::Held { allocated: true, paid: None });
    for _ in 0..10 {
        world.pass_ms(10 * SECOND_MS).await;
    }
    assert_eq!(world.booking(id).await.status(), BookingStatus::Confirmed);
    let taken: Vec<Vec<i128>> = world.gateway.books().into_values().map(|charge| charge.taken).collect();
    assert_eq!(taken, [[NIGHT_MICRO * 11 / 10]]);
}

/// Nobody knows whether it was taken: the booking goes, and the gateway is made to give back what it may have taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_nobody_ever_answers_is_given_up_and_undone() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::SilentAfter(1_000));
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    for _ in 0..20 {
        world.pass_ms(30 * SECOND_MS).await;
    }
    assert!(matches!(world.state(id).await, State::Cancelled { .. }));
    let books = world.gateway.books();
    let charge = books.values().next().expect("it was asked for");
    assert_eq!((charge.taken.len(), charge.net(), charge.voided), (1, 0, true));
    assert_eq!(world.told::<BookingConfirmed>().await, []);
}

/// What is reserved and never taken would keep the guest from that money for days.
#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_is_reserved_and_whose_capture_is_declined_is_undone() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::CaptureDeclined);
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    assert_eq!(world.state(id).await, State::Cancelled { reason: CancellationReason::PaymentFailed });
    let failed = world.told::<IntentFailed>().await;
    assert_eq!(failed.iter().map(|it| it.reason).collect::<Vec<_>>(), [PaymentFailure::Declined]);
    let books = world.gateway.books();
    let charge = books.values().next().expect("it was reserved");
    assert_eq!((charge.taken.len(), charge.voided), (0, true));
}

/// C-38: the second timer.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_is_not_paid_in_ten_minutes_ends() {
    let mut world = World::stopped(1).await;
    world.run(&["reservation", "inventory"]).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    world.pass_ms(10 * MINUTE_MS - 1).await;
    assert_eq!(world.state(id).await, State::Held { allocated: true, paid: None });
    world.pass_ms(1).await;
    assert_eq!(world.state(id).await, State::Cancelled { reason: CancellationReason::HoldExpired });
    let released = world.told::<AllocationReleased>().await;
    assert_eq!(released.iter().map(|it| it.reason).collect::<Vec<_>>(), [ReleaseReason::HoldExpired]);
}

/// Reservation did not know that payment had captured when it was over: payment does, and gives everything back.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_captured_for_a_booking_that_was_never_confirmed_goes_back_whole() {
    let mut world = World::stopped(1).await;
    world.run(&["inventory", "payment"]).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    assert_eq!(world.told::<IntentCaptured>().await.len(), 1);
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    world.run(&[]).await;
    let refunded = world.told::<IntentRefunded>().await;
    assert_eq!(refunded.iter().map(|it| it.reason).collect::<Vec<_>>(), [RefundReason::LateCapture]);
    assert_eq!(world.gateway.books().values().map(|charge| charge.net()).sum::<i128>(), 0);
    assert_eq!(world.told::<BookingConfirmed>().await, []);
}

///
#[tokio::test(flavor = "multi_thread")]
async fn cash_on_arrival_is_confirmed_without_a_key_and_paid_when_it_is_counted() {
    let world = World::with_rooms(1).await;
    let id = world.book(NIGHT, 1, PaymentRail::Cash).await.reservation_id;
    let confirmed = world.told::<BookingConfirmed>().await.remove(0);
    let total = NIGHT_MICRO * 11 / 10;
    assert_eq!((confirmed.status, confirmed.key_eligible), (BookingStatus::ConfirmedCashPending, false));
    assert_eq!((confirmed.paid.amount_micro.get(), confirmed.balance_due.amount_micro.get()), (0, total));
    let captured = world.told::<IntentCaptured>().await.remove(0);
    assert_eq!((captured.rail, captured.received.amount_micro.get()), (PaymentRail::CashPending, 0));
    assert!(world.gateway.books().is_empty(), "cash asks no gateway");
    let by = melmastoon::ids::StaffId::from_bits(1 << 80);
    let count = Count { received: confirmed.quote.total, by, shift_id: None, device_id: None };
    payment::reconcile_cash(world.store(), &from("payment-gateway-service"), id, &count).await.unwrap();
    world.settle().await;
    assert_eq!(world.booking(id).await.status(), BookingStatus::Confirmed);
    let folio: Folio = world.read(&confirmed.folio_id.to_string()).await.expect("a folio");
    assert_eq!((folio.sums().payments, folio.sums().balance()), (total, 0));
    let again = payment::reconcile_cash(world.store(), &from("payment-gateway-service"), id, &count).await;
    assert!(matches!(again, Err(Refusal::Invalid { .. })), "it is counted once");
}

/// of many who want the last room one gets it.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_room_is_sold_once_however_many_want_it() {
    let world = World::with_rooms(1).await;
    let wish = world.wish(world.quote(NIGHT, 2).await, PaymentRail::Card);
    let mut ids = Vec::new();
    let (store, context) = (world.store(), from("reservation-service"));
    for placed in futures(12, || reservation::book(store, &context, &wish)).await {
        ids.push(placed.unwrap().reservation_id);
    }
    world.settle().await;
    let mut confirmed = 0;
    for id in ids {
        match reservation::status(world.store(), &from("x"), id).await {
            Ok(BookingStatus::Confirmed) => confirmed += 1,
            Err(refused) => assert_eq!(refused.code(), "MELMASTOON.RESERVATION.OVERBOOKING_BLOCKED"),
            Ok(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(confirmed, 1);
    assert_eq!(world.told::<OversellBlocked>().await.len(), 11);
    assert_eq!(world.told::<BookingCancelled>().await.len(), 11);
    assert_eq!(world.gateway.books().len(), 1, "nobody pays for a room that is not there");
}

async fn futures<F: Future>(count: usize, make: impl Fn() -> F) -> Vec<F::Output> {
    let mut made: Vec<_> = (0..count).map(|_| Box::pin(make())).collect();
    let mut outputs = Vec::new();
    // All are under way before the first is waited for.
    std::future::poll_fn(|context| {
        made.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => {
                outputs.push(output);
                false
            }
            std::task::Poll::Pending => true,
        });
        if made.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    outputs
}

/// C-38: in the funnel the guest is told that it is too late.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_is_confirmed_after_ten_minutes_is_refused_and_forgotten() {
    let world = World::with_rooms(1).await;
    let wish = world.wish(world.quote(NIGHT, 1).await, PaymentRail::Card);
    let context = from("reservation-service");
    let id = reservation::hold(world.store(), &context, &wish).await.unwrap().reservation_id;
    world.place.clock().advance_ms(10 * MINUTE_MS);
    let refused = reservation::confirm(world.store(), &context, id).await.unwrap_err();
    // It may have been forgotten by now.
    assert!(matches!(refused, Refusal::HoldExpired { .. } | Refusal::NotFound { .. }), "{refused:?}");
    world.settle().await;
    let refused = reservation::confirm(world.store(), &context, id).await.unwrap_err();
    assert_eq!(refused.code(), "MELMASTOON.GENERAL.RESOURCE_NOT_FOUND");
    assert_eq!(world.told::<BookingHeld>().await, []);
}

/// U-14: a quarter of an hour. It is told when no hold can rest on it any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_nobody_accepts_expires_after_a_quarter_of_an_hour() {
    let world = World::with_rooms(1).await;
    let offer = world.quote(NIGHT, 1).await;
    let expires_at = offer.quote.expires_at;
    world.pass_ms(15 * MINUTE_MS).await;
    let wish = world.wish(offer, PaymentRail::Card);
    let refused = reservation::book(world.store(), &from("reservation-service"), &wish).await.unwrap_err();
    assert_eq!(refused.code(), "MELMASTOON.RESERVATION.HOLD_EXPIRED");
    world.pass_ms(11 * MINUTE_MS - 1).await;
    assert_eq!(world.told::<QuoteExpired>().await, []);
    world.pass_ms(1).await;
    let told = world.told::<QuoteExpired>().await;
    assert_eq!(told.iter().map(|it| it.expired_at).collect::<Vec<_>>(), [expires_at]);
}

/// taken at its last moment, a quote is there until its hold ends, and its price is recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_a_hold_rests_on_does_not_expire_before_the_hold() {
    let world = World::with_rooms(1).await;
    let offer = world.quote(NIGHT, 1).await;
    let quote_id = offer.quote.quote_id;
    world.pass_ms(15 * MINUTE_MS - 1).await;
    let (wish, context) = (world.wish(offer, PaymentRail::Card), from("reservation-service"));
    let id = reservation::hold(world.store(), &context, &wish).await.unwrap().reservation_id;
    world.pass_ms(10 * MINUTE_MS - 1).await;
    reservation::confirm(world.store(), &context, id).await.unwrap();
    world.settle().await;
    world.pass_ms(5 * MINUTE_MS).await;
    assert_eq!(world.told::<QuoteExpired>().await, []);
    let quote: Quote = world.read(&quote_id.to_string()).await.expect("it is kept");
    assert_eq!(quote.accepted.map(|(by, _)| by), Some(id));
    const { assert!(melmastoon::pricing::decide::RESTS_MS > melmastoon::reservation::booking::HOLD_MS) };
}

/// U-14: a tenant whose prices have the tax in them takes no more than it shows.
#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_has_its_tax_in_it_is_what_the_guest_pays() {
    let world = World::with_rooms(1).await;
    let put = async |tx: karwan::TenantTx| {
        let terms: Terms = tx.get(Terms::ID).await?;
        tx.put(Terms { tax_included: true, ..terms });
        Ok::<_, Error>(())
    };
    world.store().unit(&from("pricing-service"), put).await.unwrap();
    let quote = world.quote(NIGHT, 1).await.quote;
    let net = NIGHT_MICRO * 10 / 11;
    assert_eq!(quote.total.amount_micro.get(), NIGHT_MICRO);
    assert_eq!((quote.nights[0].amount_micro.get(), quote.tax.amount_micro.get()), (net, NIGHT_MICRO - net));
}

/// U-15: paid, all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_that_is_paid_in_part_gets_no_key_by_itself() {
    let world = World::stopped(1).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    let mut booking = world.booking(id).await;
    booking.assign(&[(melmastoon::ids::RoomId::from_bits(1), None)]);
    let total = booking.offer.quote.total;
    for (part, eligible) in [(0, false), (total.amount_micro.get() - 1, false), (total.amount_micro.get(), true)] {
        let received = Money { amount_micro: Micros::new(part), ..total };
        let paid = Paid { payment_intent_id: PaymentIntentId::from_bits(1), rail: PaymentRail::Card, received };
        assert_eq!(booking.clone().confirm(paid, booking.hold_expires_at).key_eligible, eligible, "{part}");
    }
}

/// What the gateway calls wrong, it calls wrong again: the payment has failed, and what may have been reserved is let go.
#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_the_gateway_calls_wrong_fails_and_is_undone() {
    for reserved in [false, true] {
        let world = World::with_rooms(1).await;
        world.gateway.next(Fault::Wrong { reserved });
        let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
        assert_eq!(world.state(id).await, State::Cancelled { reason: CancellationReason::PaymentFailed });
        let failed = world.told::<IntentFailed>().await;
        assert_eq!(failed.iter().map(|it| it.reason).collect::<Vec<_>>(), [PaymentFailure::GatewayUnavailable]);
        assert!(world.gateway.books().values().all(|charge| charge.voided), "reserved: {reserved}");
        assert_eq!(world.store().dead_effects("payment.charge", 0, 10).await.unwrap(), []);
    }
}

/// Webhooks come twice, before their answer and out of order; what they change belongs to the booking's trace.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_comes_before_its_answer_and_again_counts_once_and_in_the_same_trace() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::SilentAfter(2));
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    let case: Case = world.read(&id.to_string()).await.expect("a case");
    let intent = case.intent.expect("an intent");
    let amount = world.booking(id).await.offer.quote.total;
    let told = Told::Captured(Captured { gateway_ref: format!("ch_{intent}"), amount });
    let notice = Notice { notice_id: "evt_1".to_owned(), intent, told };
    let late = Notice { told: Told::Declined(PaymentFailure::Declined), ..notice.clone() };
    for notice in [&notice, &notice, &late] {
        payment::notice(world.store(), &from("payment-gateway-service"), notice).await.unwrap();
    }
    for _ in 0..10 {
        world.pass_ms(10 * SECOND_MS).await;
    }
    assert_eq!(world.booking(id).await.status(), BookingStatus::Confirmed);
    assert_eq!(world.told::<IntentCaptured>().await.len(), 1);
    assert_eq!(world.told::<IntentFailed>().await, []);
    let log = world.log().await;
    let held = log.iter().find(|it| it.subject.as_str().ends_with("booking.held.v1")).expect("a hold");
    let confirmed = log.iter().find(|it| it.subject.as_str().ends_with("booking.confirmed.v1")).expect("the end");
    assert_eq!(held.cause.correlation, confirmed.cause.correlation);
}
