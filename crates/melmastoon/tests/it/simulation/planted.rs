//! Violations that are planted in a hotel where everything holds: each is seen, and named with the seed of the hotel. What the log
//! alone says wrong has its cases beside the rules (`melmastoon::rules`).

use karwan::envelope::money::{Micros, Money};
use karwan::store::operator::{Chosen, Operator, Place, Who};
use karwan::{Document, Error, Event, TenantTx};
use melmastoon::analytics::events::SnapshotComputed;
use melmastoon::analytics::state::{Day, Snapshot};
use melmastoon::billing::folio::Folio;
use melmastoon::ids::{AllocationId, FolioId, FolioLineId, PaymentIntentId, RefundId, ReservationId};
use melmastoon::inventory::state::{Allocation, Night};
use melmastoon::inventory::{AllocationCommitted, AllocationReleased};
use melmastoon::lock_integration::port::{Revoke, Vendor as _};
use melmastoon::lock_integration::state::{Credential, ManualKey, ManualTask};
use melmastoon::lock_integration::vendor::VendorFailure;
use melmastoon::payment::PaymentFailure;
use melmastoon::payment::state::{Case, FinanceAlert};
use melmastoon::reservation::booking::{Booking, State};
use melmastoon::reservation::commands as reservation;
use melmastoon::reservation::{BookingCancelled, BookingConfirmed, BookingHeld, CancellationReason};
use melmastoon::search_aggregation::state::{Listing, Month};
use melmastoon::values::PaymentRail;
use serde::de::DeserializeOwned;

use super::rules::{all, broken, broken_now, is_drained};
use super::{DRAIN_MS, DRAIN_STEPS, named, on_one_thread};
use crate::world::{World, catalogue, from};

const SEED: u64 = 11;

/// A hotel where one booking stands and another was cancelled, and where everything holds. Nobody works in it any more.
struct Planted {
    world: World,
    stands: Booking,
    cancelled: Booking,
}

impl Planted {
    async fn new() -> Self {
        let mut world = World::in_a_storm(2, SEED).await;
        world.calm_down();
        world.run(&[]).await;
        let stands = world.book("2026-03-10", 2, PaymentRail::Card).await.reservation_id;
        let cancelled = world.book("2026-03-11", 1, PaymentRail::Card).await.reservation_id;
        world.pass_ms(DRAIN_MS).await;
        let asked = reservation::cancel_for_guest(world.store(), &from("reservation-service"), cancelled).await;
        asked.expect("it can be cancelled");
        world.pass_ms(DRAIN_MS).await;
        for _ in 0..DRAIN_STEPS {
            if is_drained(&world).await {
                break;
            }
            world.pass_ms(DRAIN_MS).await;
        }
        world.stop().await;
        assert_eq!(broken_now(&world).await, Vec::<String>::new());
        let (stands, cancelled) = (world.booking(stands).await, world.booking(cancelled).await);
        Self { world, stands, cancelled }
    }

    /// Tells what nobody has done; the aggregate that it is told of is written, as the store asks.
    async fn tell<E: Event + Clone + Send>(&self, of: impl Document, event: &E) {
        let unit = async |tx: TenantTx| {
            keep(&tx, of.clone()).await?;
            tx.emit(event.clone());
            Ok::<_, Error>(())
        };
        self.world.store().unit(&from(&E::row().owner), unit).await.expect("it can be told");
    }

    /// Changes what a service keeps behind its back.
    async fn forge<D: Document>(&self, id: &str, change: impl Fn(&mut D)) {
        let unit = async |tx: TenantTx| {
            let mut document: D = tx.get(id).await?;
            change(&mut document);
            tx.put(document);
            Ok::<_, Error>(())
        };
        self.world.store().unit(&from("platform"), unit).await.expect("it is changed");
    }

    /// Keeps what no service has kept.
    async fn keep<D: Document>(&self, document: D) {
        let unit = async |tx: TenantTx| keep(&tx, document.clone()).await;
        self.world.store().unit(&from("platform"), unit).await.expect("it is kept");
    }

    async fn allocation(&self, of: AllocationId) -> Allocation {
        self.world.read(&of.to_string()).await.expect("it is kept")
    }

    /// The first of a kind that is so.
    async fn first<D: Document>(&self, is_so: impl Fn(&D) -> bool) -> D {
        all::<D>(&self.world).await.into_iter().find(is_so).expect("there is one")
    }

    async fn told<E: Event + DeserializeOwned>(&self, is_so: impl Fn(&E) -> bool) -> E {
        self.world.told::<E>().await.into_iter().find(is_so).expect("it was told")
    }
}

/// Writes a document, whether there is one or not.
async fn keep<D: Document>(tx: &TenantTx, document: D) -> Result<(), Error> {
    tx.find::<D>(&document.id()).await?;
    tx.put(document);
    Ok(())
}

/// Each of these is named, with the seed.
#[track_caller]
fn sees(broken: Vec<String>, names: &[&str]) {
    let broken = named(SEED, broken);
    for name in names {
        let is_it = |it: &String| it.starts_with(&format!("seed={SEED}: ")) && it.contains(name);
        assert!(broken.iter().any(is_it), "nothing says `{name}`: {broken:#?}");
    }
}

/// Plants something, and looks what is named.
#[track_caller]
fn planted(names: &[&str], plant: impl AsyncFnOnce(&mut Planted)) {
    let broken = on_one_thread(async {
        let mut hotel = Planted::new().await;
        plant(&mut hotel).await;
        broken_now(&hotel.world).await
    });
    sees(broken, names);
}

#[test]
fn what_is_told_of_rooms_and_money_against_the_rules_is_named_with_its_seed() {
    planted(&["a room-night is sold twice", "an allocation outlives its booking"], async |hotel| {
        let taken: AllocationCommitted =
            hotel.told(|it: &AllocationCommitted| hotel.stands.reservation_id == it.reservation_id).await;
        let reservation_id = hotel.cancelled.reservation_id;
        let allocation_id = AllocationId::from_bits(reservation_id.bits());
        let of = hotel.allocation(allocation_id).await;
        hotel.tell(of, &AllocationCommitted { allocation_id, reservation_id, version: 9, ..taken }).await;
    });
    planted(&["a confirmed booking lacks a room", "has no cause", "is not in the trail"], async |hotel| {
        let free: AllocationReleased = hotel.told(|_| true).await;
        let reservation_id = hotel.stands.reservation_id;
        let allocation_id = AllocationId::from_bits(reservation_id.bits());
        let of = hotel.allocation(allocation_id).await;
        hotel.tell(of, &AllocationReleased { allocation_id, reservation_id, version: 9, ..free }).await;
    });
    let names = [
        "a refund was never asked for",
        "has other sums than the log",
        "a key outlives its booking",
        "a booking never ended",
    ];
    planted(&names, async |hotel| {
        let gone: BookingCancelled = hotel.told(|_| true).await;
        let Booking { reservation_id, folio_id, .. } = hotel.stands;
        hotel.tell(hotel.stands.clone(), &BookingCancelled { reservation_id, folio_id, ..gone }).await;
        let held: BookingHeld = hotel.told(|_| true).await;
        let reservation_id = ReservationId::from_bits(held.reservation_id.bits() + 1);
        let of = Booking { reservation_id, folio_id: FolioId::from_bits(1), ..hotel.stands.clone() };
        hotel.tell(of, &BookingHeld { reservation_id, ..held }).await;
    });
    planted(&["shown are the figures"], async |hotel| {
        let mut shown: SnapshotComputed = hotel.told(|it: &SnapshotComputed| it.rooms.sold > 0).await;
        (shown.version, shown.rooms.sold) = (99, shown.rooms.sold + 1);
        let of = hotel.first(|it: &Snapshot| it.snapshot_id == shown.snapshot_id).await;
        hotel.tell(of, &shown).await;
    });
}

#[test]
fn what_services_keep_otherwise_than_the_log_says_is_named_with_its_seed() {
    planted(&["has other sums than the log", "is not balanced", "is gone or changed"], async |hotel| {
        let afghani = Money { amount_micro: Micros::new(1), currency: hotel.stands.offer.quote.total.currency };
        let now = hotel.stands.hold_expires_at;
        let line = FolioLineId::from_bits(1);
        hotel
            .forge(&hotel.stands.folio_id.to_string(), |folio: &mut Folio| folio.payment(afghani, None, now, line))
            .await;
        // As it was drawn up, without its refund.
        let confirmed = hotel.told(|it: &BookingConfirmed| it.folio_id == hotel.cancelled.folio_id).await;
        let id = hotel.cancelled.folio_id.to_string();
        hotel.forge(&id, |folio: &mut Folio| *folio = Folio::draft(&confirmed, now, || line)).await;
    });
    planted(&["inventory keeps another night", "are listed as taken", "rooms are listed for"], async |hotel| {
        let night = hotel.first(|night: &Night| !night.taken.is_empty()).await;
        hotel.forge(&night.id(), |night: &mut Night| night.taken.clear()).await;
        let month = hotel.first(|_: &Month| true).await;
        hotel
            .forge(&month.id(), |month: &mut Month| month.nights.values_mut().for_each(|night| night.taken.1 += 1))
            .await;
        let listing = hotel.first(|_: &Listing| true).await;
        hotel
            .forge(&listing.id(), |listing: &mut Listing| {
                let nights = listing.listed.iter_mut().flat_map(|it| &mut it.room_types).flat_map(|it| &mut it.nights);
                nights.filter(|it| it.date == night.date).for_each(|it| it.rooms_free += 1);
            })
            .await;
    });
    planted(&["counted are"], async |hotel| {
        let day = hotel.first(|day: &Day| day.sums.sold > 0).await;
        hotel.forge(&day.id(), |day: &mut Day| day.sums.sold += 1).await;
    });
    planted(&["and its rooms are taken"], async |hotel| {
        let reason = CancellationReason::GuestRequest;
        let id = hotel.stands.reservation_id.to_string();
        hotel.forge(&id, |booking: &mut Booking| booking.state = State::Cancelled { reason }).await;
    });
}

/// Partial is what waits for a person, and nothing else does.
#[test]
fn what_waits_for_a_person_without_need_is_named_with_its_seed() {
    let alert = |of: &Booking| FinanceAlert {
        refund_id: RefundId::from_bits(1),
        payment_intent_id: PaymentIntentId::from_bits(1),
        reservation_id: of.reservation_id,
        amount: of.offer.quote.total,
        reason: PaymentFailure::Declined,
        open: true,
        raised_at: of.hold_expires_at,
    };
    planted(&["money goes back for a booking that stands", "the front desk waits for nothing"], async |hotel| {
        hotel.keep(alert(&hotel.stands)).await;
        let key = hotel.first(|key: &Credential| key.reservation_id == hotel.stands.reservation_id).await;
        hotel
            .keep(ManualKey {
                key_credential_id: key.key_credential_id,
                reservation_id: key.reservation_id,
                property_id: key.property_id,
                rooms: key.rooms,
                valid_from: key.valid_from,
                valid_until: key.valid_until,
                task: ManualTask::Issue,
                failure: VendorFailure::Rejected,
                since: key.valid_from,
                done_at: None,
            })
            .await;
    });
    // And what nobody can repair: no such refund has failed.
    let broken = on_one_thread(async {
        let mut hotel = Planted::new().await;
        let case: Case = hotel.world.read(&hotel.cancelled.reservation_id.to_string()).await.expect("a case");
        let payment_intent_id = case.intent.expect("an intent");
        hotel.keep(FinanceAlert { payment_intent_id, ..alert(&hotel.cancelled) }).await;
        hotel.world.run(&[]).await;
        broken(&mut hotel.world).await
    });
    sees(broken, &["more goes back than is owed", "after everything was repaired: a saga is still partial"]);
}

#[test]
fn what_vendors_know_otherwise_is_named_with_its_seed() {
    planted(&["is charged twice"], async |hotel| {
        let books = hotel.world.gateway.books();
        let (key, charge) = books.iter().find(|(_, charge)| charge.net() > 0).expect("a charge");
        let taken = charge.taken[0];
        hotel.world.gateway.forge(key, |charge| charge.taken.push(taken));
    });
    planted(&["the gateway has", "told are the keys"], async |hotel| {
        let books = hotel.world.gateway.books();
        let key = books.iter().find(|(_, charge)| charge.net() > 0).expect("a charge").0;
        hotel.world.gateway.forge(key, |charge| charge.taken[0] += 1);
        let key = hotel.first(|key: &Credential| key.reservation_id == hotel.stands.reservation_id).await;
        let Credential { key_credential_id: credential, issue_key, .. } = key;
        let ask = Revoke { operation_key: "behind our back".to_owned(), issue_key, credential, vendor_ref: None };
        assert!(hotel.world.locks.revoke(ask).await.expect("it answers").existed);
    });
}

/// A consumer that has forgotten what it handled handles it again.
#[test]
fn what_a_replay_changes_is_named_with_its_seed() {
    let broken = on_one_thread(async {
        let mut hotel = Planted::new().await;
        let operator = Operator::new(&hotel.world.place.address(), vec![catalogue()]);
        let operator = operator.with_clock(hotel.world.place.engine().clock);
        let who = Who { actor: "a test".to_owned(), reason: "it forgets".to_owned() };
        let consumer = crate::analytics::BOOKINGS;
        let moved = operator.clear_inbox(&who, consumer, (Place::Start, &Chosen::default()), &|_, _| {}).await;
        assert!(moved.expect("nobody runs it").cleared > 0);
        hotel.world.run(&[]).await;
        broken(&mut hotel.world).await
    });
    sees(broken, &["after everything was delivered again: analytics_day"]);
}
