//! What the replay contracts of the consumers start from: events, brought about in an empty store.

use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::{Date, Timestamp};
use karwan::{Error, Store, TenantTx};

use crate::billing::folio::Folio;
use crate::ids::{PaymentIntentId, PropertyId, ReservationId, RoomId, RoomTypeId, UserId};
use crate::inventory::state::{Allocation, AllocationState};
use crate::inventory::{AllocatedRoom, AllocationCommitted, BlockedOperation, OversellBlocked};
use crate::lock_integration::terms::KeyKind;
use crate::payment::state::{Case, Due, Intent};
use crate::payment::{
    CashReconciled, IntentCaptured, IntentFailed, IntentRefunded, PaymentFailure, PaymentPurpose, RefundReason,
};
use crate::property::commands::{self as property, Describe, Open};
use crate::property::state::Room;
use crate::property::{Address, ArchiveReason, Bed, BedKind, PropertyKind, RoomAdded, RoomArchived};
use crate::reservation::Channel;
use crate::reservation::booking::{Booking, Paid};
use crate::reservation::commands::{self, Hold, Placed};
use crate::tenant::commands::{self as tenant, Onboard};
use crate::tenant::{KeyPolicy, Plan, SettingsArea, SuspensionReason, TenantSettings};
use crate::values::{
    BookedRoom, CancellationPolicy, CurrencySnapshot, DataResidency, DateRange, GeoPoint, GuestContact, LocalText,
    NightPrice, Offer, Party, PaymentChoice, PaymentRail, QuoteSnapshot, StayWindow,
};

/// The property of every scenario.
pub const PROPERTY: PropertyId = PropertyId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_1001);
/// Its room type.
pub const ROOM_TYPE: RoomTypeId = RoomTypeId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_1002);
/// Its one room.
pub const ROOM: RoomId = RoomId::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_1003);

/// So many afghanis.
pub fn afghanis(amount: i128) -> Money {
    Money { amount_micro: Micros::new(amount * 1_000_000), currency: "AFN".parse().expect("a currency") }
}

/// Two nights of one room in May 2026.
pub fn offer() -> Offer {
    let (check_in, check_out) = (day("2026-05-01"), day("2026-05-03"));
    let at = |text: &str| text.parse::<Timestamp>().expect("an instant");
    let night = |date| NightPrice { date, room_type_id: ROOM_TYPE, amount_micro: Micros::new(50_000_000) };
    Offer {
        property_id: PROPERTY,
        property_name: "Kabul Serai".to_owned(),
        stay: StayWindow {
            check_in,
            check_out,
            nights: 2,
            check_in_at: at("2026-05-01T09:30:00Z"),
            check_out_at: at("2026-05-03T07:30:00Z"),
        },
        rooms: vec![BookedRoom {
            room_type_id: ROOM_TYPE,
            room_type_name: "Double".to_owned(),
            rate_plan_id: crate::ids::RatePlanId::from_bits(ROOM_TYPE.bits() + 100),
            party: Party { adults: 2, children: 0 },
            room_id: None,
            room_label: None,
        }],
        party: Party { adults: 2, children: 0 },
        quote: QuoteSnapshot {
            quote_id: crate::ids::QuoteId::from_bits(ROOM_TYPE.bits() + 200),
            total: afghanis(110),
            tax: afghanis(10),
            nights: vec![night(check_in), night(day("2026-05-02"))],
            currency_snapshot: CurrencySnapshot {
                guest_currency: "AFN".parse().expect("a currency"),
                property_currency: "AFN".parse().expect("a currency"),
                rate: "1".to_owned(),
                taken_at: at("2026-01-01T00:00:00Z"),
            },
            expires_at: at("2026-12-31T00:00:00Z"),
        },
        cancellation: CancellationPolicy {
            free_until: Some(at("2026-04-29T09:30:00Z")),
            late_refund_percent: 50,
            no_show_refund_percent: 0,
        },
        deposit: afghanis(110),
    }
}

/// A guest who wants the offer.
pub fn wish(rail: PaymentRail) -> Hold {
    Hold {
        offer: offer(),
        guest: GuestContact {
            guest_id: crate::ids::GuestId::from_bits(ROOM_TYPE.bits() + 300),
            full_name: "Zarghuna Anaa".to_owned(),
            email: Some("zarghuna@example.af".to_owned()),
            phone: Some("+93700123456".to_owned()),
            preferred_locale: "ps".parse().expect("a locale"),
        },
        special_requests: None,
        payment: PaymentChoice {
            rail,
            payment_method_id: Some(crate::ids::PaymentMethodId::from_bits(ROOM_TYPE.bits() + 400)),
        },
        channel: Channel::TenantSite,
        booking_intent_id: None,
    }
}

fn day(text: &str) -> Date {
    text.parse().expect("a day")
}

/// A room is added and archived again.
pub async fn a_room_comes_and_goes(store: Store) -> Result<(), Error> {
    let unit = async |tx: TenantTx| {
        let label = "101".to_owned();
        tx.put(Room { room_id: ROOM, property_id: PROPERTY, room_type_id: ROOM_TYPE, label, archived: true });
        tx.emit(RoomAdded {
            room_id: ROOM,
            property_id: PROPERTY,
            room_type_id: ROOM_TYPE,
            label: "101".to_owned(),
            floor: None,
            building: None,
            accessible: false,
            electronic_lock: true,
            added_at: tx.now(),
        });
        tx.emit(RoomArchived {
            room_id: ROOM,
            property_id: PROPERTY,
            room_type_id: ROOM_TYPE,
            label: "101".to_owned(),
            reason: ArchiveReason::Closed,
            from_date: day("2027-01-01"),
            archived_at: tx.now(),
        });
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("property-service", 1), unit).await.map(drop)
}

async fn booked(store: &Store, rail: PaymentRail) -> Placed {
    let booked = commands::book(store, &karwan::context("reservation-service", 1), &wish(rail)).await;
    booked.expect("an offer can be booked")
}

/// A booking is held, and cancelled by its guest.
pub async fn a_booking_is_held_and_cancelled(store: Store) -> Result<(), Error> {
    let id = booked(&store, PaymentRail::Card).await.reservation_id;
    let cancelled = commands::cancel_for_guest(&store, &karwan::context("reservation-service", 1), id).await;
    cancelled.expect("a held booking can be cancelled");
    Ok(())
}

/// A booking is held, its rooms are allocated, and its guest cancels it.
pub async fn a_booking_is_allocated_and_cancelled(store: Store) -> Result<(), Error> {
    let placed = booked(&store, PaymentRail::Card).await;
    let inventory = async |tx: TenantTx| {
        tx.emit(committed(&tx, placed));
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("inventory-service", 1), inventory).await?;
    let reservation = karwan::context("reservation-service", 1);
    commands::cancel_for_guest(&store, &reservation, placed.reservation_id).await.expect("it can be cancelled");
    Ok(())
}

/// Inventory and payment answer bookings in every way that they can.
pub async fn inventory_and_payment_answer(store: Store) -> Result<(), Error> {
    let good = booked(&store, PaymentRail::Card).await;
    let full = booked(&store, PaymentRail::Card).await;
    let poor = booked(&store, PaymentRail::Card).await;
    let inventory = async |tx: TenantTx| {
        tx.emit(committed(&tx, good));
        tx.emit(OversellBlocked {
            reservation_id: full.reservation_id,
            reservation_version: 1,
            saga_id: full.saga_id,
            operation: BlockedOperation::Confirm,
            property_id: PROPERTY,
            shortages: vec![crate::inventory::Shortage {
                room_type_id: ROOM_TYPE,
                date: day("2026-05-01"),
                requested: 1,
                available: 0,
            }],
            blocked_at: tx.now(),
        });
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("inventory-service", 1), inventory).await?;
    let payment = async |tx: TenantTx| {
        paid(&tx, good.reservation_id);
        unpaid(&tx, poor.reservation_id);
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("payment-gateway-service", 1), payment).await.map(drop)
}

fn committed(tx: &TenantTx, placed: Placed) -> AllocationCommitted {
    let allocation_id = Allocation::of(placed.reservation_id);
    let dates = DateRange { from: day("2026-05-01"), until: day("2026-05-03") };
    let rooms = vec![AllocatedRoom { room_type_id: ROOM_TYPE, room_id: Some(ROOM), dates }];
    tx.put(Allocation {
        allocation_id,
        version: 1,
        reservation_id: placed.reservation_id,
        property_id: PROPERTY,
        rooms: rooms.clone(),
        state: AllocationState::Committed,
    });
    AllocationCommitted {
        allocation_id,
        version: 1,
        reservation_id: placed.reservation_id,
        reservation_version: 1,
        saga_id: Some(placed.saga_id),
        property_id: PROPERTY,
        rooms,
        availability: Vec::new(),
        committed_at: tx.now(),
    }
}

fn paid(tx: &TenantTx, reservation_id: ReservationId) {
    let (payment_intent_id, folio_id) = (intent(tx, reservation_id), tx.fresh());
    tx.emit(IntentCaptured {
        payment_intent_id,
        folio_id,
        reservation_id,
        saga_id: None,
        property_id: PROPERTY,
        purpose: PaymentPurpose::Booking,
        rail: PaymentRail::CashPending,
        amount: afghanis(110),
        received: afghanis(0),
        captured_at: tx.now(),
    });
    tx.emit(CashReconciled {
        payment_intent_id,
        folio_id,
        reservation_id,
        property_id: PROPERTY,
        expected: afghanis(110),
        received: afghanis(110),
        difference: afghanis(0),
        received_by: tx.fresh(),
        shift_id: None,
        device_id: None,
        reconciled_at: tx.now(),
    });
}

/// The document of an intent, which carries its facts.
fn intent(tx: &TenantTx, reservation_id: ReservationId) -> PaymentIntentId {
    let id: PaymentIntentId = tx.fresh();
    let due = Due {
        saga_id: tx.fresh(),
        property_id: PROPERTY,
        folio_id: tx.fresh(),
        payment: wish(PaymentRail::Card).payment,
        now: afghanis(110),
        total: afghanis(110),
    };
    tx.put(Intent::of_booking(id, &Case::new(reservation_id), &due, &tx.context().cause));
    id
}

fn unpaid(tx: &TenantTx, reservation_id: ReservationId) {
    tx.emit(IntentFailed {
        payment_intent_id: intent(tx, reservation_id),
        attempts: 1,
        folio_id: tx.fresh(),
        reservation_id,
        saga_id: None,
        property_id: PROPERTY,
        purpose: PaymentPurpose::Booking,
        rail: PaymentRail::Card,
        amount: afghanis(110),
        reason: PaymentFailure::Declined,
        failed_at: tx.now(),
    });
}

/// A booking is paid in cash on arrival and confirmed, its cash is counted, it is cancelled and refunded.
pub async fn a_stay_is_confirmed_cancelled_and_refunded(store: Store) -> Result<(), Error> {
    let id = booked(&store, PaymentRail::CashPending).await.reservation_id;
    let reservation = karwan::context("reservation-service", 1);
    let confirm = async |tx: TenantTx| {
        let mut booking: Booking = tx.get(&id.to_string()).await?;
        let (payment_intent_id, received) = (tx.fresh(), afghanis(0));
        let paid = Paid { payment_intent_id, rail: PaymentRail::CashPending, received };
        let confirmed = booking.confirm(paid, tx.now());
        // There already, so that what comes under other keys need not wait for it.
        tx.put(Folio::draft(&confirmed, tx.now(), || tx.fresh()));
        tx.emit(confirmed);
        let folio_id = booking.folio_id;
        tx.put(booking);
        Ok::<_, Error>((folio_id, payment_intent_id))
    };
    let (folio_id, payment_intent_id) = store.unit(&reservation, confirm).await?.answer;
    commands::cancel_for_guest(&store, &reservation, id).await.expect("it can be cancelled");
    let pay = async |tx: TenantTx| {
        let own = intent(&tx, id);
        tx.emit(CashReconciled {
            payment_intent_id,
            folio_id,
            reservation_id: id,
            property_id: PROPERTY,
            expected: afghanis(110),
            received: afghanis(110),
            difference: afghanis(0),
            received_by: tx.fresh(),
            shift_id: None,
            device_id: None,
            reconciled_at: tx.now(),
        });
        tx.emit(IntentRefunded {
            refund_id: tx.fresh(),
            payment_intent_id: own,
            folio_id,
            reservation_id: id,
            property_id: PROPERTY,
            reason: RefundReason::Cancellation,
            rail: PaymentRail::Cash,
            amount: afghanis(110),
            captured_left: afghanis(0),
            refunded_at: tx.now(),
        });
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("payment-gateway-service", 1), pay).await.map(drop)
}

/// A tenant is taken on, changes its settings, is suspended, and opens a house with a room type.
pub async fn a_tenant_opens_a_house(store: Store) -> Result<(), Error> {
    let context = karwan::context("tenant-service", 1);
    let settings = TenantSettings {
        default_currency: "AFN".parse().expect("a currency"),
        locales: vec!["ps".parse().expect("a locale")],
        time_zone: "Asia/Kabul".to_owned(),
        data_residency: DataResidency::MeCentral1,
        tax_basis_points: 1_000,
        tax_included: false,
        no_show_after_hours: 24,
        key_policy: KeyPolicy { preferred_kinds: vec![KeyKind::MobileApp], ..KeyPolicy::usual() },
    };
    let onboard = Onboard {
        slug: "serai".to_owned(),
        name: "Serai".to_owned(),
        country: "AF".to_owned(),
        plan: Plan::Pro,
        settings: settings.clone(),
        owner: UserId::from_bits(ROOM_TYPE.bits() + 500),
    };
    tenant::onboard(&store, &context, &onboard).await.expect("it is taken on");
    tenant::change_settings(&store, &context, &settings, &[SettingsArea::Tax], None).await.expect("they change");
    tenant::suspend(&store, &context, SuspensionReason::PlanLimit).await.expect("it is suspended");
    let context = karwan::context("property-service", 1);
    let text = |text: &str| vec![LocalText { locale: "ps".parse().expect("a locale"), text: text.to_owned() }];
    let open = Open {
        slug: "kabul".to_owned(),
        name: text("Kabul Serai"),
        kind: PropertyKind::Hotel,
        address: Address {
            line: "Street 1".to_owned(),
            district: None,
            city: "Kabul".to_owned(),
            province: None,
            postal_code: None,
            country: "AF".to_owned(),
        },
        geo: GeoPoint { lat: 34.5, lng: 69.2 },
        time_zone: "Asia/Kabul".to_owned(),
        currency: "AFN".parse().expect("a currency"),
        check_in_from: "14:00".to_owned(),
        check_out_by: "12:00".to_owned(),
    };
    let property_id = property::open(&store, &context, &open).await.expect("it opens");
    let describe = Describe {
        property_id,
        name: text("Double"),
        capacity: Party { adults: 2, children: 1 },
        beds: vec![Bed { kind: BedKind::Double, count: 1 }],
        amenities: Vec::new(),
    };
    property::publish_room_type(&store, &context, &describe).await.expect("it is published");
    Ok(())
}
