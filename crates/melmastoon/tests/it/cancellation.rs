//! Cancellation: choreography after one decision.

use std::collections::{BTreeMap, BTreeSet};

use karwan::Event as _;
use karwan::envelope::Envelope;
use melmastoon::billing::folio::Folio;
use melmastoon::billing::{ChargeKind, FolioChargePosted, FolioRefundPosted};
use melmastoon::inventory::{AllocationReleased, ReleaseReason};
use melmastoon::lock_integration::credentials::KeyCredentialRevoked;
use melmastoon::notification::events::MessageDispatched;
use melmastoon::payment::commands as payment;
use melmastoon::payment::decide::Count;
use melmastoon::payment::{IntentRefunded, RefundReason};
use melmastoon::reservation::booking::State;
use melmastoon::reservation::commands as reservation;
use melmastoon::reservation::{BookingCancelled, CancellationReason};
use melmastoon::values::{PaymentRail, RefundRule};

use crate::world::gateway::Fault;
use crate::world::{NIGHT_MICRO, World, from};

const NIGHT: &str = "2026-03-10";
const DAY_MS: i64 = 86_400_000;
const TOTAL: i128 = NIGHT_MICRO * 11 / 10;

/// From the start of the clock, the first of January, to the day before the stay: past the free window.
const TOO_LATE_MS: i64 = (31 + 28 + 8) * DAY_MS;

/// refundable.
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_cancelled_in_time_frees_its_room_and_gives_everything_back() {
    let world = World::with_rooms(1).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    let refund = reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    assert_eq!((refund.rule, refund.amount.amount_micro.get()), (RefundRule::FreeWindow, TOTAL));
    world.settle().await;
    let released = world.told::<AllocationReleased>().await;
    assert_eq!(released.iter().map(|it| it.reason).collect::<Vec<_>>(), [ReleaseReason::Cancelled]);
    let refunded = world.told::<IntentRefunded>().await;
    let [refunded] = refunded.as_slice() else { panic!("{refunded:?}") };
    assert_eq!((refunded.reason, refunded.amount.amount_micro.get()), (RefundReason::Cancellation, TOTAL));
    let posted = world.told::<FolioRefundPosted>().await;
    let [posted] = posted.as_slice() else { panic!("{posted:?}") };
    assert_eq!((posted.refund_id, posted.balance.amount_micro.get()), (Some(refunded.refund_id), 0));
    let folio: Folio = world.read(&posted.folio_id.to_string()).await.expect("a folio");
    let sums = folio.sums();
    assert_eq!((sums.charges, sums.payments, sums.refunds), (0, TOTAL, TOTAL));
    assert_eq!(world.gateway.books().into_values().map(|charge| charge.net()).collect::<Vec<_>>(), [0]);
    let again = reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap_err();
    assert_eq!(again.code(), "MELMASTOON.GENERAL.PRECONDITION_FAILED");
}

/// partly refundable. What is kept is a charge, and both add up to what was paid.
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_cancelled_too_late_keeps_its_fee() {
    let world = World::with_rooms(1).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    world.pass_ms(TOO_LATE_MS).await;
    let refund = reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    assert_eq!(refund.rule, RefundRule::LateCancellation);
    assert_eq!((refund.amount.amount_micro.get(), refund.fee.amount_micro.get()), (TOTAL / 2, TOTAL / 2));
    world.settle().await;
    let fees = world.told::<FolioChargePosted>().await;
    assert_eq!(
        fees.iter().map(|it| (it.kind, it.amount)).collect::<Vec<_>>(),
        [(ChargeKind::CancellationFee, refund.fee)]
    );
    let folio: Folio = world.read(&fees[0].folio_id.to_string()).await.expect("a folio");
    let sums = folio.sums();
    assert_eq!((sums.charges, sums.payments, sums.refunds, sums.balance()), (TOTAL / 2, TOTAL, TOTAL / 2, 0));
    assert_eq!(world.gateway.books().into_values().map(|charge| charge.net()).collect::<Vec<_>>(), [TOTAL / 2]);
}

/// nothing was paid, so nothing is given back.
#[tokio::test(flavor = "multi_thread")]
async fn a_booking_in_cash_that_was_not_paid_is_cancelled_without_a_refund() {
    let world = World::with_rooms(1).await;
    let id = world.book(NIGHT, 1, PaymentRail::Cash).await.reservation_id;
    let refund = reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    assert_eq!((refund.rule, refund.refundable), (RefundRule::NothingPaid, false));
    world.settle().await;
    assert_eq!(world.told::<IntentRefunded>().await, []);
    assert_eq!(world.told::<FolioRefundPosted>().await, []);
    let cancelled = world.told::<BookingCancelled>().await.remove(0);
    let folio: Folio = world.read(&cancelled.folio_id.to_string()).await.expect("a folio");
    assert_eq!((folio.sums().charges, folio.sums().balance()), (0, 0));
}

/// Reservation decides that nothing was paid, and payment knows better: what was counted goes back. After that, nothing is counted.
#[tokio::test(flavor = "multi_thread")]
async fn cash_that_was_counted_while_its_booking_was_cancelled_goes_back() {
    let mut world = World::with_rooms(1).await;
    let id = world.book(NIGHT, 1, PaymentRail::Cash).await.reservation_id;
    world.stop().await;
    let received = world.booking(id).await.offer.quote.total;
    let by = melmastoon::ids::StaffId::from_bits(1 << 80);
    let count = Count { received, by, shift_id: None, device_id: None };
    let context = from("payment-gateway-service");
    payment::reconcile_cash(world.store(), &context, id, &count).await.unwrap();
    let refund = reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    assert_eq!(refund.rule, RefundRule::NothingPaid);
    world.run(&[]).await;
    // Where billing heard of the money before it had the folio, it waits a little.
    world.pass_ms(60_000).await;
    let refunded = world.told::<IntentRefunded>().await;
    assert_eq!(refunded.iter().map(|it| it.amount).collect::<Vec<_>>(), [received]);
    let folio: Folio = world.read(&refunded[0].folio_id.to_string()).await.expect("a folio");
    let sums = folio.sums();
    assert_eq!((sums.charges, sums.payments, sums.refunds), (0, TOTAL, TOTAL));
    assert!(payment::reconcile_cash(world.store(), &context, id, &count).await.is_err());
}

/// and it can be repaired.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_fails_leaves_the_booking_cancelled_and_alerts_finance_who_can_repair_it() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::RefundDeclined(1));
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    world.settle().await;
    let over = State::Cancelled { reason: CancellationReason::GuestRequest };
    assert_eq!(world.state(id).await, over);
    assert_eq!(world.told::<AllocationReleased>().await.len(), 1, "the room is free whatever becomes of the money");
    let context = from("payment-gateway-service");
    let alerts = payment::finance_alerts(world.store(), &context).await.unwrap();
    let [alert] = alerts.as_slice() else { panic!("{alerts:?}") };
    assert_eq!((alert.reservation_id, alert.amount.amount_micro.get()), (id, TOTAL));
    assert_eq!(world.told::<IntentRefunded>().await, []);
    // Asked under the key that was declined, a gateway would decline for ever.
    payment::retry_refund(world.store(), &context, alert.refund_id).await.unwrap();
    world.settle().await;
    assert_eq!(world.state(id).await, over);
    assert_eq!(world.told::<IntentRefunded>().await.len(), 1);
    assert_eq!(payment::finance_alerts(world.store(), &context).await.unwrap(), []);
    assert_eq!(world.gateway.books().into_values().map(|charge| charge.net()).collect::<Vec<_>>(), [0]);
}

/// The gateway gave the money back and did not say so.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_timed_out_after_it_was_made_is_made_once() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::RefundSilentAfter(3));
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    for _ in 0..10 {
        world.pass_ms(20_000).await;
    }
    assert_eq!(world.told::<IntentRefunded>().await.len(), 1);
    assert_eq!(world.gateway.books().into_values().map(|charge| charge.net()).collect::<Vec<_>>(), [0]);
}

/// what the gateway calls wrong is told to finance, too, and not only to whoever reads dead letters.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_the_gateway_calls_wrong_alerts_finance() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::RefundWrong);
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    world.settle().await;
    let alerts = payment::finance_alerts(world.store(), &from("payment-gateway-service")).await.unwrap();
    assert_eq!(alerts.iter().map(|alert| alert.reservation_id).collect::<Vec<_>>(), [id]);
    assert_eq!(world.place.store().dead_effects("payment.refund", 0, 10).await.unwrap(), []);
}

/// U-12: after a minute finance hears of a refund that is still asked for; the alert goes when the money does.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_takes_more_than_a_minute_alerts_finance_and_goes_on() {
    let world = World::with_rooms(1).await;
    world.gateway.next(Fault::RefundSilentAfter(8));
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    world.settle().await;
    let context = from("payment-gateway-service");
    let alerts = async || payment::finance_alerts(world.store(), &context).await.unwrap();
    world.pass_ms(60_000 - 1).await;
    assert_eq!(alerts().await, []);
    world.pass_ms(1).await;
    assert_eq!(alerts().await.iter().map(|alert| alert.reservation_id).collect::<Vec<_>>(), [id]);
    assert_eq!(world.told::<IntentRefunded>().await, []);
    for _ in 0..40 {
        world.pass_ms(60_000).await;
    }
    assert_eq!(world.told::<IntentRefunded>().await.len(), 1);
    assert_eq!(alerts().await, []);
}

/// How many rows each table has.
async fn rows(world: &World) -> BTreeMap<String, i64> {
    let sizes = world.store().sizes().await.expect("the store answers");
    sizes.into_iter().map(|size| (size.table, size.rows)).collect()
}

/// choreography. Reservation decides, tells, and waits for nobody: no document, deadline or call of the whole is left
/// behind, and whatever others do follows from an event that they heard.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_has_no_row_of_its_own_and_every_reaction_follows_from_an_event() {
    let world = World::with_rooms(1).await;
    let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    let (booked, told) = (rows(&world).await, world.log().await.len());
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
    world.settle().await;
    let cancelled = rows(&world).await;
    let grown = cancelled.iter().filter(|(table, rows)| booked.get(*table) < Some(*rows));
    let grown: BTreeSet<&str> = grown.map(|(table, _)| table.as_str()).collect();
    // What is told to the guest, and the figures of a day, which is made with whatever comes first in it.
    let of_steps = ["doc_notification_message", "doc_analytics_day"];
    let of_the_whole = grown.iter().find(|table| table.starts_with("doc_") && !of_steps.contains(table));
    assert_eq!(of_the_whole, None, "of all that grew: {grown:?}");
    assert_eq!(cancelled["deadline"], booked["deadline"], "nobody waits for the whole");
    reactions(&world.log().await[told..]);
}

/// Each of them was caused by one that came before, up to the only decision.
fn reactions(log: &[Envelope]) {
    let [decision, reactions @ ..] = log else { panic!("nothing was told") };
    assert_eq!(decision.subject.as_str(), BookingCancelled::SUBJECT);
    assert_eq!(decision.cause.causation, None);
    let mut heard = BTreeSet::from([decision.id]);
    let mut services = BTreeSet::new();
    for it in reactions {
        let cause = it.cause.causation.expect("a reaction has a cause");
        assert!(heard.contains(&cause), "{} follows from nothing that was told before", it.subject.as_str());
        assert_eq!(it.cause.correlation, decision.cause.correlation);
        heard.insert(it.id);
        services.insert(it.producer.service.as_str());
    }
    assert!(!services.contains("reservation-service"), "whoever decided does nothing more: {services:?}");
    for service in ["inventory-service", "payment-gateway-service", "billing-service", "lock-integration-service"] {
        assert!(services.contains(service), "{service} did nothing: {services:?}");
    }
}

/// whoever takes part needs the fact, and nobody who would tell it to; alone it does its own and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn each_who_takes_part_in_a_cancellation_follows_from_the_fact_while_nobody_else_is_there() {
    for (part, service, reaction) in [
        ("inventory", "inventory-service", AllocationReleased::SUBJECT),
        ("payment", "payment-gateway-service", IntentRefunded::SUBJECT),
        ("billing", "billing-service", FolioChargePosted::SUBJECT),
        ("lock_integration", "lock-integration-service", KeyCredentialRevoked::SUBJECT),
        ("notification", "notification-service", MessageDispatched::SUBJECT),
    ] {
        let mut world = World::with_rooms(1).await;
        let id = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
        // Late enough for a fee, so that billing has something to say by itself.
        world.pass_ms(TOO_LATE_MS).await;
        world.stop().await;
        let told = world.log().await.len();
        reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.unwrap();
        world.run(&[part]).await;
        let log = world.log().await;
        let [decision, reactions @ ..] = &log[told..] else { panic!("nothing was told") };
        let said = reactions.iter().find(|it| it.subject.as_str() == reaction);
        assert_eq!(said.and_then(|it| it.cause.causation), Some(decision.id), "{reaction}");
        assert!(reactions.iter().all(|it| it.producer.service.as_str() == service), "{part} is not alone");
    }
}
