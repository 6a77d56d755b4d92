//! Keys: issued after confirmation, revoked at cancellation, and never more than one.

use std::sync::Arc;

use karwan::envelope::mint::Random;
use karwan::testing::SeededRandom;
use karwan::{TenantTx, Work};
use melmastoon::ids::KeyCredentialId;
use melmastoon::lock_integration::commands;
use melmastoon::lock_integration::credentials::{
    KeyCredentialFailed, KeyCredentialIssued, KeyCredentialRequested, KeyCredentialRevoked,
};
use melmastoon::lock_integration::port::{Issued, Notice, Told};
use melmastoon::lock_integration::state::ManualTask;
use melmastoon::lock_integration::terms::{KeyKind, RevocationReason};
use melmastoon::lock_integration::vendor::{VendorErrorRecorded, VendorOperation, WebhookOutcome};
use melmastoon::lock_integration::{self as lock, work};
use melmastoon::reservation::BookingConfirmed;

use crate::desk::{Desk, Locks, Trouble, run};
use crate::told;

async fn desk(locks: &Arc<Locks>) -> Desk {
    Desk::open(lock::kinds(), work::work(Work::new(), locks.clone())).await
}

/// A desk that has heard of a confirmed booking.
async fn confirmed(trouble: Trouble) -> (Arc<Locks>, Desk, BookingConfirmed) {
    let (locks, booking) = (Locks::with(trouble), told::confirmed(10));
    let desk = desk(&locks).await;
    desk.tell(&booking).await;
    desk.settle().await;
    (locks, desk, booking)
}

fn context() -> karwan::Context {
    karwan::context(lock::SERVICE, 1)
}

/// requested, then issued, under the hash of the stay.
#[test]
fn a_paid_booking_gets_a_key_for_its_rooms_and_its_stay() {
    run(async || {
        let (locks, desk, booking) = confirmed(Trouble::None).await;
        let requested = desk.told::<KeyCredentialRequested>().await;
        let issued = desk.told::<KeyCredentialIssued>().await;
        let ([requested], [issued]) = (&requested[..], &issued[..]) else { panic!("one of each: {issued:?}") };
        assert_eq!(issued.key_credential_id, requested.key_credential_id);
        assert_eq!(issued.rooms, vec![booking.rooms[0].room_id.expect("it has one")]);
        assert_eq!((issued.valid_from, issued.valid_until), (booking.stay.check_in_at, booking.stay.check_out_at));
        assert_eq!(locks.open(), vec![issued.key_credential_id]);
        desk.close().await;
    });
}

/// U-15, R-180: cash on arrival, a room that is not assigned, a tenant that wants no automatic keys.
#[test]
fn a_booking_that_is_not_eligible_gets_no_key_by_itself() {
    run(async || {
        let locks = Locks::with(Trouble::None);
        let desk = desk(&locks).await;
        desk.tell(&told::confirmed_in_cash(10)).await;
        let mut unassigned = told::confirmed(11);
        unassigned.rooms[0].room_id = None;
        desk.tell(&unassigned).await;
        let mut settings = told::settings();
        settings.key_policy.auto_issue = false;
        desk.tell(&told::settings_changed(2, settings)).await;
        desk.settle().await;
        desk.tell(&told::confirmed(12)).await;
        desk.settle().await;
        assert!(desk.told::<KeyCredentialRequested>().await.is_empty());
        assert_eq!(locks.calls(), 0);
        // The desk may ask for one all the same, when the guest has paid.
        commands::issue(desk.place.store(), &context(), told::reservation(10)).await.expect("the desk asks for a key");
        desk.settle().await;
        assert_eq!(locks.open().len(), 1);
        let unassigned = commands::issue(desk.place.store(), &context(), told::reservation(11)).await;
        assert!(unassigned.is_err(), "a key opens rooms");
        desk.close().await;
    });
}

/// the booking is not touched; every failed call is told, and after the last one the front desk takes over.
#[test]
fn a_vendor_that_fails_puts_the_key_on_the_manual_queue() {
    run(async || {
        let locks = Locks::with(Trouble::Down);
        let desk = desk(&locks).await;
        desk.tell(&told::tenant_created()).await;
        desk.settle().await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        assert_eq!(locks.calls(), 1, "the next attempt is not due");
        for _ in 0..3 {
            desk.pass_ms(600_000).await;
        }
        let errors = desk.told::<VendorErrorRecorded>().await;
        let issuing = |error: &&VendorErrorRecorded| error.operation == VendorOperation::Issue;
        let issuing: Vec<_> = errors.iter().filter(issuing).collect();
        assert_eq!(issuing.iter().map(|error| error.attempt).collect::<Vec<_>>(), [1, 2, 3], "the tenant's policy");
        assert_eq!(
            issuing.iter().map(|error| error.next_attempt_at.is_none()).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert!(issuing.iter().all(|error| error.operation_key == issuing[0].operation_key));
        assert_eq!(issuing[0].vendor_message.as_deref(), Some("gate 7 says … to …"));
        assert_eq!(desk.told::<KeyCredentialFailed>().await.len(), 1);
        let queue = commands::queue(desk.place.store(), &context(), told::property()).await.expect("the queue");
        assert_eq!(
            queue.iter().map(|key| (key.reservation_id, key.task)).collect::<Vec<_>>(),
            [(told::reservation(10), ManualTask::Issue)]
        );
        // The vendor is back: what may be left of the first key is ended, and the desk asks for another.
        locks.mend();
        desk.pass_ms(600_000).await;
        commands::issue(desk.place.store(), &context(), told::reservation(10)).await.expect("the desk asks again");
        desk.settle().await;
        assert_eq!(locks.open().len(), 1);
        let queue = commands::queue(desk.place.store(), &context(), told::property()).await.expect("the queue");
        assert!(queue.is_empty(), "{queue:?}");
        desk.close().await;
    });
}

/// The key was given up and everything of it ended before the guest cancels: nobody makes another for a stay that is over.
#[test]
fn a_cancelled_stay_leaves_the_front_desk_no_key_to_issue() {
    run(async || {
        let (locks, desk, booking) = confirmed(Trouble::Refuses).await;
        locks.mend();
        desk.pass_ms(600_000).await;
        let queue =
            async || commands::queue(desk.place.store(), &context(), told::property()).await.expect("the queue");
        assert_eq!(queue().await.len(), 1);
        desk.tell(&told::cancelled(&booking)).await;
        desk.settle().await;
        assert_eq!(queue().await, []);
        desk.close().await;
    });
}

#[test]
fn a_refusal_that_is_final_is_not_repeated() {
    run(async || {
        let locks = Locks::with(Trouble::Refuses);
        let desk = desk(&locks).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        let errors = desk.told::<VendorErrorRecorded>().await;
        assert_eq!(errors.iter().filter(|error| error.operation == VendorOperation::Issue).count(), 1);
        assert_eq!(desk.told::<KeyCredentialFailed>().await.len(), 1);
        desk.close().await;
    });
}

///
#[test]
fn a_cancelled_booking_keeps_no_key() {
    run(async || {
        let (locks, desk, booking) = confirmed(Trouble::None).await;
        assert_eq!(locks.open().len(), 1);
        desk.tell(&told::cancelled(&booking)).await;
        desk.settle().await;
        assert_eq!(locks.open(), Vec::<KeyCredentialId>::new());
        let revoked = desk.told::<KeyCredentialRevoked>().await;
        assert_eq!(revoked.len(), 1);
        assert_eq!(revoked[0].reason, RevocationReason::Cancellation);
        assert!(revoked[0].metadata.vendor_revoke_ok);
        let refused = commands::issue(desk.place.store(), &context(), booking.reservation_id).await;
        assert!(refused.is_err(), "a stay that has ended gets no key");
        desk.close().await;
    });
}

/// The issue was recorded and not yet made when the cancellation came: both in one unit's commit order, in both moods of the
/// vendor.
#[test]
fn a_cancellation_that_overtakes_the_issue_leaves_no_live_key() {
    for trouble in [Trouble::None, Trouble::Down] {
        run(async || {
            let locks = Locks::with(trouble);
            let desk = desk(&locks).await;
            let booking = told::confirmed(10);
            let cancelled = told::cancelled(&booking);
            let both = async |tx: TenantTx| {
                tx.emit(booking.clone());
                tx.emit(cancelled.clone());
                Ok::<_, karwan::Error>(())
            };
            let context = karwan::context("reservation-service", 1);
            desk.place.store().unit(&context, both).await.expect("both are told");
            desk.settle().await;
            locks.mend();
            for _ in 0..3 {
                desk.pass_ms(600_000).await;
            }
            assert_eq!(locks.open(), Vec::<KeyCredentialId>::new());
            assert_eq!(desk.told::<KeyCredentialRequested>().await.len(), 1);
            assert_eq!(desk.told::<KeyCredentialRevoked>().await.len(), 1);
            desk.close().await;
        });
    }
}

///
#[test]
fn the_vendors_own_reference_is_in_no_event() {
    run(async || {
        let (_, desk, booking) = confirmed(Trouble::None).await;
        desk.tell(&told::cancelled(&booking)).await;
        desk.settle().await;
        let log = desk.log().await;
        assert!(log.len() >= 5, "there is something to look at");
        for envelope in log {
            assert!(!envelope.payload.get().contains("vendor-secret"), "{}", envelope.subject);
        }
        desk.close().await;
    });
}

/// a notice may come before the answer, after it, and twice.
#[test]
fn a_notice_that_is_told_again_changes_nothing() {
    run(async || {
        let locks = Locks::with(Trouble::Down);
        let desk = desk(&locks).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        let credential = desk.told::<KeyCredentialRequested>().await[0].key_credential_id;
        let issued = Issued { vendor_ref: "vendor-secret".to_owned(), kind: KeyKind::MobileApp, warnings: Vec::new() };
        let notice = Notice { notice_id: "n-1".to_owned(), credential, told: Told::Issued(issued) };
        let mut outcomes = Vec::new();
        for _ in 0..2 {
            outcomes.push(commands::hear(desk.place.store(), &context(), &notice).await.expect("it is heard"));
        }
        locks.mend();
        desk.pass_ms(600_000).await;
        assert_eq!(outcomes, [WebhookOutcome::Applied, WebhookOutcome::Duplicate]);
        assert_eq!(desk.told::<KeyCredentialIssued>().await.len(), 1);
        let stray = Notice { notice_id: "n-2".to_owned(), credential: told::id(77), ..notice };
        let outcome = commands::hear(desk.place.store(), &context(), &stray).await.expect("it is heard");
        assert_eq!(outcome, WebhookOutcome::Ignored);
        desk.close().await;
    });
}

/// A key that is learnt of by a notice belongs to the trace of what asked for it, or ended it.
#[test]
fn a_notice_stays_in_the_trace_of_its_key() {
    run(async || {
        let (_, desk, booking) = confirmed(Trouble::Down).await;
        let credential = desk.told::<KeyCredentialRequested>().await[0].key_credential_id;
        let issued = Issued { vendor_ref: "vendor-secret".to_owned(), kind: KeyKind::MobileApp, warnings: Vec::new() };
        for (id, told) in [("n-1", Told::Issued(issued)), ("n-2", Told::Revoked)] {
            let notice = Notice { notice_id: id.to_owned(), credential, told };
            let outcome = commands::hear(desk.place.store(), &context(), &notice).await.expect("it is heard");
            assert_eq!(outcome, WebhookOutcome::Applied);
            desk.tell(&told::cancelled(&booking)).await;
            desk.settle().await;
        }
        let log = desk.log().await;
        let of = |end: &str| log.iter().find(|it| it.subject.as_str().ends_with(end)).expect("it was told");
        for (cause, fact) in [
            ("booking.confirmed.v1", "key_credential.issued.v1"),
            ("booking.cancelled.v1", "key_credential.revoked.v1"),
        ] {
            assert_eq!(of(fact).cause.correlation, of(cause).cause.correlation, "{fact}");
            assert_eq!(of(fact).cause.causation, Some(of(cause).id), "{fact}");
        }
        desk.close().await;
    });
}

/// The vendor's key may still open: nobody is told that it does not, and it waits for the desk until it is ended.
#[test]
fn a_key_that_the_vendor_does_not_end_is_not_told_as_revoked_and_waits_for_the_desk() {
    for by_hand in [false, true] {
        run(async || {
            let locks = Locks::with(Trouble::None);
            let desk = desk(&locks).await;
            let booking = told::confirmed(10);
            desk.tell(&booking).await;
            desk.settle().await;
            locks.spoil(Trouble::Down);
            desk.tell(&told::cancelled(&booking)).await;
            desk.settle().await;
            let store = desk.place.store();
            let waiting = async || commands::waiting(store, &context(), booking.reservation_id).await.expect("a queue");
            desk.pass_ms(60_000 - 1).await;
            assert_eq!(waiting().await, []);
            desk.pass_ms(1).await;
            assert_eq!(waiting().await.len(), 1, "U-12: after a minute the desk hears of it");
            for _ in 0..25 {
                desk.pass_ms(600_000).await;
            }
            assert_eq!(locks.open().len(), 1, "it opens");
            assert_eq!(desk.told::<KeyCredentialRevoked>().await, []);
            let waits = waiting().await;
            let [key] = &waits[..] else { panic!("{waits:?}") };
            assert_eq!(key.task, ManualTask::Revoke);
            if by_hand {
                commands::done_by_hand(store, &context(), key.key_credential_id).await.expect("it is done");
            } else {
                locks.mend();
                commands::revoke_again(store, &context(), key.key_credential_id).await.expect("it is asked again");
                desk.settle().await;
                assert!(locks.open().is_empty());
            }
            let revoked = desk.told::<KeyCredentialRevoked>().await;
            assert_eq!(revoked.iter().map(|key| key.metadata.vendor_revoke_ok).collect::<Vec<_>>(), [!by_hand]);
            assert_eq!(waiting().await, []);
            let again = commands::revoke_again(store, &context(), key.key_credential_id).await;
            assert!(again.is_err(), "there is nothing to end any more");
            desk.close().await;
        });
    }
}

/// Whatever the vendor does, wherever the cancellation falls, whatever is delivered twice.
#[test]
fn no_key_outlives_its_booking_and_no_room_has_two() {
    crate::desk::each_seed(one_life_of_some_keys);
}

async fn one_life_of_some_keys(seed: u64) {
    let random = SeededRandom::new(seed);
    let locks = Locks::with(Trouble::Chance(SeededRandom::new(seed + 1000)));
    let mut desk = desk(&locks).await;
    let bookings: Vec<BookingConfirmed> = (10..16).map(told::confirmed).collect();
    let mut over = Vec::new();
    for booking in &bookings {
        desk.tell(booking).await;
        if random.bits().is_multiple_of(2) {
            desk.settle().await;
        }
        if random.bits().is_multiple_of(2) {
            desk.tell(&told::cancelled(booking)).await;
            over.push(booking.reservation_id);
        }
        if random.bits().is_multiple_of(3) {
            // The desk asks, too: refused or not, there is one key.
            let asked = commands::issue(desk.place.store(), &context(), booking.reservation_id).await;
            drop(asked);
        }
        desk.pass_ms(random.bits().cast_signed().rem_euclid(60_000)).await;
    }
    for _ in 0..40 {
        desk.pass_ms(600_000).await;
    }
    let end = desk.log().await.len();
    desk.replay(&["lock-integration-service.keys"], work::work(Work::new(), locks.clone())).await;
    assert_eq!(desk.log().await.len(), end, "seed={seed}: replaying changes nothing");
    let issued = desk.told::<KeyCredentialIssued>().await;
    let revoked: Vec<KeyCredentialId> =
        desk.told::<KeyCredentialRevoked>().await.iter().map(|revoked| revoked.key_credential_id).collect();
    for key in issued.iter().filter(|key| !revoked.contains(&key.key_credential_id)) {
        let of = key.reservation_id.expect("a guest's");
        assert!(!over.contains(&of), "seed={seed}: {} outlives {of}", key.key_credential_id);
        assert!(locks.open().contains(&key.key_credential_id), "seed={seed}: told and not there");
    }
    let live = issued.iter().filter(|key| !revoked.contains(&key.key_credential_id)).count();
    assert_eq!(locks.open().len(), live, "seed={seed}: the vendor's books agree");
    assert!(locks.crowd() <= 1, "seed={seed}: {} keys opened one room", locks.crowd());
    desk.close().await;
}
