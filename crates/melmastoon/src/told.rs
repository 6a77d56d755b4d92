// tidy: long because it has one function for each event that a test may tell, and nothing else.
//! Events as other services tell them, for replay contracts and tests: a hotel in Kabul, its guests, its bookings.
//!
//! Shared by the unit tests of this crate and by `tests/it`, which both know it as `melmastoon`.

use karwan::envelope::ids::{Id, Kind};
use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::{Date, Timestamp};
use karwan::{Error, Event, Store, TenantTx};
use melmastoon::ids::{PropertyId, ReservationId, RoomTypeId};
use melmastoon::inventory::{
    AllocatedRoom, AllocationCommitted, AllocationReleased, ReleaseReason, RoomAvailability, StopSellActivated,
    StopSellCleared, StopSellReason,
};
use melmastoon::lock_integration::credentials::KeyCredentialIssued;
use melmastoon::lock_integration::terms::{AccessScope, ArtifactType, HolderKind, KeyArtifact, KeyDelivery, KeyKind};
use melmastoon::lock_integration::vendor::LockVendor;
use melmastoon::payment::{IntentRefunded, RefundReason};
use melmastoon::pricing::{
    CalendarDay, CalendarSource, CalendarUpdated, CancellationTerms, MealPlan, RatePlanArchived, RatePlanPublished,
};
use melmastoon::property::{
    Address, AmenityChanged, ArchiveReason, Bed, BedKind, PropertyCreated, PropertyKind, RoomAdded, RoomArchived,
    RoomTypePublished,
};
use melmastoon::reservation::{BookingCancelled, BookingConfirmed, CancellationReason, CancelledBy, Channel};
use melmastoon::tenant::{
    KeyPolicy, Plan, PropertyDeactivated, PropertyDeactivationReason, RoleGranted, SettingsArea, SettingsChanged,
    SuspensionReason, TenantCreated, TenantSettings, TenantSuspended,
};
use melmastoon::values::{
    BookedRoom, BookingStatus, CancellationPolicy, CurrencySnapshot, DataResidency, DateRange, GeoPoint, GuestContact,
    LocalText, NightPrice, Party, PaymentChoice, PaymentRail, QuoteSnapshot, RefundDecision, RefundRule, StaffRole,
    StayWindow,
};

/// What a test calls things: a kind and a small number.
pub fn id<K: Kind>(number: u32) -> Id<K> {
    Id::from_bits(0x0190_c2f0_0000_7000_8000_0000_0000_0000 + u128::from(number))
}

/// The property of most tests.
pub fn property() -> PropertyId {
    id(1)
}

/// Its room type.
pub fn room_type() -> RoomTypeId {
    id(2)
}

/// So many afghanis.
pub fn afghanis(amount: i128) -> Money {
    Money { amount_micro: Micros::new(amount * 1_000_000), currency: "AFN".parse().expect("a currency") }
}

/// So many dollars.
pub fn dollars(amount: i128) -> Money {
    Money { currency: "USD".parse().expect("a currency"), ..afghanis(amount) }
}

/// The same booking by a guest who pays in dollars, at a rate that is frozen with the price; so many of them as there were afghanis.
pub fn in_dollars(of: BookingConfirmed, rate: &str) -> BookingConfirmed {
    let paid_in = |money: Money| Money { currency: dollars(0).currency, ..money };
    let frozen = &of.quote.currency_snapshot;
    let currency_snapshot =
        CurrencySnapshot { guest_currency: dollars(0).currency, rate: rate.to_owned(), ..frozen.clone() };
    let quote = QuoteSnapshot {
        total: paid_in(of.quote.total),
        tax: paid_in(of.quote.tax),
        currency_snapshot,
        ..of.quote.clone()
    };
    BookingConfirmed { quote, paid: paid_in(of.paid), balance_due: paid_in(of.balance_due), ..of }
}

/// A day of May 2026.
pub fn may(day: i32) -> Date {
    Date::from_unix_days("2026-05-01".parse::<Date>().expect("a day").unix_days() + day - 1)
}

/// An instant of a day.
pub fn at(date: Date, time: &str) -> Timestamp {
    format!("{date}T{time}Z").parse().expect("an instant")
}

/// A stay of so many nights from a day on.
pub fn stay(from: Date, nights: u32) -> StayWindow {
    let check_out = Date::from_unix_days(from.unix_days() + i32::try_from(nights).expect("few nights"));
    StayWindow {
        check_in: from,
        check_out,
        nights,
        check_in_at: at(from, "09:30:00"),
        check_out_at: at(check_out, "07:30:00"),
    }
}

/// A guest who reads Pashto.
pub fn guest(number: u32) -> GuestContact {
    GuestContact {
        guest_id: id(number),
        full_name: "Zarghuna Anaa".to_owned(),
        email: Some("zarghuna@example.af".to_owned()),
        phone: Some("+93700123456".to_owned()),
        preferred_locale: "ps".parse().expect("a locale"),
    }
}

/// What a stay costs: fifty afghanis a night and a tenth of it in tax.
pub fn quote(stay: &StayWindow) -> QuoteSnapshot {
    let night = |ahead: u32| NightPrice {
        date: Date::from_unix_days(stay.check_in.unix_days() + i32::try_from(ahead).expect("few nights")),
        room_type_id: room_type(),
        amount_micro: Micros::new(50_000_000),
    };
    let nights = i128::from(stay.nights);
    QuoteSnapshot {
        quote_id: id(5),
        total: afghanis(55 * nights),
        tax: afghanis(5 * nights),
        nights: (0..stay.nights).map(night).collect(),
        currency_snapshot: CurrencySnapshot {
            guest_currency: "AFN".parse().expect("a currency"),
            property_currency: "AFN".parse().expect("a currency"),
            rate: "1".to_owned(),
            taken_at: at(may(1), "00:00:00"),
        },
        expires_at: at(may(28), "00:00:00"),
    }
}

/// A paid booking of one room, for two nights from the first of May on.
pub fn confirmed(number: u32) -> BookingConfirmed {
    let stay = stay(may(1), 2);
    BookingConfirmed {
        reservation_id: id(number),
        version: 2,
        status: BookingStatus::Confirmed,
        saga_id: Some(id(number)),
        booking_intent_id: None,
        channel: Channel::TenantSite,
        property_id: property(),
        property_name: "Kabul Serai".to_owned(),
        stay,
        rooms: vec![BookedRoom {
            room_type_id: room_type(),
            room_type_name: "Double".to_owned(),
            rate_plan_id: id(3),
            party: Party { adults: 2, children: 0 },
            room_id: Some(id(number)),
            room_label: Some("101".to_owned()),
        }],
        party: Party { adults: 2, children: 0 },
        guest: guest(number),
        special_requests: Some("a quiet room for Zarghuna".to_owned()),
        quote: quote(&stay),
        cancellation: CancellationPolicy {
            free_until: Some(at(may(1), "00:00:00")),
            late_refund_percent: 50,
            no_show_refund_percent: 0,
        },
        payment: PaymentChoice { rail: PaymentRail::Card, payment_method_id: Some(id(6)) },
        payment_intent_id: Some(id(number)),
        paid: afghanis(110),
        balance_due: afghanis(0),
        folio_id: id(number),
        key_eligible: true,
        confirmed_at: at(may(1), "00:00:00"),
    }
}

/// The same booking, to be paid in cash on arrival.
pub fn confirmed_in_cash(number: u32) -> BookingConfirmed {
    BookingConfirmed {
        status: BookingStatus::ConfirmedCashPending,
        payment: PaymentChoice { rail: PaymentRail::CashPending, payment_method_id: None },
        paid: afghanis(0),
        balance_due: afghanis(110),
        key_eligible: false,
        ..confirmed(number)
    }
}

/// The guest cancels a booking, and gets everything back.
pub fn cancelled(of: &BookingConfirmed) -> BookingCancelled {
    BookingCancelled {
        reservation_id: of.reservation_id,
        version: of.version + 1,
        status: BookingStatus::Cancelled,
        previous_status: of.status,
        reason: CancellationReason::GuestRequest,
        detail: None,
        cancelled_by: CancelledBy::Guest,
        property_id: of.property_id,
        property_name: of.property_name.clone(),
        stay: of.stay,
        rooms: of.rooms.clone(),
        guest: of.guest.clone(),
        quote: of.quote.clone(),
        refund: RefundDecision { refundable: true, amount: of.paid, fee: afghanis(0), rule: RefundRule::FreeWindow },
        payment_intent_id: of.payment_intent_id,
        rail: Some(of.payment.rail),
        folio_id: of.folio_id,
        cancelled_at: at(may(1), "00:00:01"),
    }
}

/// Settings of a tenant that writes Pashto first.
pub fn settings() -> TenantSettings {
    TenantSettings {
        default_currency: "AFN".parse().expect("a currency"),
        locales: ["ps", "fa-AF", "en"].map(|text| text.parse().expect("a locale")).to_vec(),
        time_zone: "Asia/Kabul".to_owned(),
        data_residency: DataResidency::MeCentral1,
        tax_basis_points: 1000,
        tax_included: false,
        no_show_after_hours: 24,
        key_policy: KeyPolicy {
            preferred_kinds: vec![KeyKind::MobileApp],
            issue_attempts_max: 3,
            ..KeyPolicy::usual()
        },
    }
}

/// A tenant comes.
pub fn tenant_created() -> TenantCreated {
    TenantCreated {
        tenant_id: id(1),
        slug: "serai".to_owned(),
        name: "Serai Hotels".to_owned(),
        country: "AF".to_owned(),
        plan: Plan::Pro,
        settings: settings(),
        owner_user_id: id(9),
        created_at: at(may(1), "00:00:00"),
    }
}

/// Its settings change.
pub fn settings_changed(version: u32, settings: TenantSettings) -> SettingsChanged {
    SettingsChanged {
        tenant_id: id(1),
        version,
        changed: vec![SettingsArea::KeyPolicy],
        settings,
        changed_by: None,
        changed_at: at(may(1), "00:00:00"),
    }
}

/// What is left of the room type on the nights of a stay.
pub fn left(stay: &StayWindow, total: u32, available: u32) -> Vec<RoomAvailability> {
    let days = stay.check_in.unix_days()..stay.check_out.unix_days();
    let night = |day| RoomAvailability { room_type_id: room_type(), date: Date::from_unix_days(day), total, available };
    days.map(night).collect()
}

fn allocated(of: &BookingConfirmed) -> Vec<AllocatedRoom> {
    let dates = DateRange { from: of.stay.check_in, until: of.stay.check_out };
    vec![AllocatedRoom { room_type_id: room_type(), room_id: of.rooms[0].room_id, dates }]
}

/// A booking has its room, and so many are left.
pub fn committed(of: &BookingConfirmed, total: u32, available: u32) -> AllocationCommitted {
    AllocationCommitted {
        allocation_id: Id::from_bits(of.reservation_id.bits()),
        version: 1,
        reservation_id: of.reservation_id,
        reservation_version: 1,
        saga_id: of.saga_id,
        property_id: of.property_id,
        rooms: allocated(of),
        availability: left(&of.stay, total, available),
        committed_at: at(may(1), "00:00:00"),
    }
}

/// A booking gives its room back, and so many are left.
pub fn released(of: &BookingConfirmed, total: u32, available: u32) -> AllocationReleased {
    AllocationReleased {
        allocation_id: Id::from_bits(of.reservation_id.bits()),
        version: 2,
        reservation_id: of.reservation_id,
        property_id: of.property_id,
        reason: ReleaseReason::Cancelled,
        rooms: allocated(of),
        availability: left(&of.stay, total, available),
        released_at: at(may(1), "00:00:01"),
    }
}

/// Commits one event as its owner, for a tenant with a number.
pub async fn tell<E: Event + Clone + Send>(store: &Store, tenant: u64, event: &E) -> Result<(), Error> {
    let unit = async |tx: TenantTx| {
        tx.emit(event.clone());
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context(&E::row().owner, tenant), unit).await.map(drop)
}

/// A booking is confirmed, and cancelled by its guest.
pub async fn a_booking_is_confirmed_and_cancelled(store: Store) -> Result<(), Error> {
    let booking = confirmed(10);
    tell(&store, 1, &booking).await?;
    tell(&store, 1, &cancelled(&booking)).await
}

/// A tenant comes, and changes its settings.
pub async fn a_tenant_comes_and_changes_its_settings(store: Store) -> Result<(), Error> {
    tell(&store, 1, &tenant_created()).await?;
    tell(&store, 1, &settings_changed(2, settings())).await
}

/// The key of a booking, as lock-integration tells it.
pub fn key_issued(of: &BookingConfirmed) -> KeyCredentialIssued {
    KeyCredentialIssued {
        key_credential_id: Id::from_bits(of.reservation_id.bits()),
        property_id: of.property_id,
        holder_kind: HolderKind::Guest,
        reservation_id: Some(of.reservation_id),
        guest_id: Some(of.guest.guest_id),
        kind: KeyKind::MobileApp,
        rooms: of.rooms.iter().filter_map(|room| room.room_id).collect(),
        scope: AccessScope { areas: Vec::new() },
        valid_from: of.stay.check_in_at,
        valid_until: of.stay.check_out_at,
        vendor: LockVendor::TtLock,
        provisional: false,
        delivery: Some(KeyDelivery {
            artifact: KeyArtifact { artifact_type: ArtifactType::MobileToken, opaque_ref: id(8) },
            deep_link: Some("melmastoon://keys/8".to_owned()),
        }),
        issued_at: at(may(1), "00:00:05"),
        warnings: Vec::new(),
    }
}

/// A key is issued for a stay whose guest is known.
pub async fn a_key_is_issued(store: Store) -> Result<(), Error> {
    let booking = confirmed(10);
    let unit = async |tx: TenantTx| {
        tx.put(melmastoon::notification::decide::contact(&booking));
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("notification-service", 1), unit).await?;
    tell(&store, 1, &key_issued(&booking)).await
}

/// The property opens.
pub fn property_created() -> PropertyCreated {
    PropertyCreated {
        property_id: property(),
        slug: "kabul-serai".to_owned(),
        name: name("Kabul Serai"),
        kind: PropertyKind::Hotel,
        address: Address {
            line: "Shahr-e Naw".to_owned(),
            district: None,
            city: "Kabul".to_owned(),
            province: None,
            postal_code: None,
            country: "AF".to_owned(),
        },
        geo: GeoPoint { lat: 34.53, lng: 69.17 },
        time_zone: "Asia/Kabul".to_owned(),
        currency: "AFN".parse().expect("a currency"),
        locale_override: None,
        check_in_from: "14:00".to_owned(),
        check_out_by: "12:00".to_owned(),
        phone: None,
        email: None,
        photos: Vec::new(),
        created_at: at(may(1), "00:00:00"),
    }
}

fn name(text: &str) -> Vec<LocalText> {
    vec![LocalText { locale: "en".parse().expect("a locale"), text: text.to_owned() }]
}

/// Its room type is published.
pub fn room_type_published() -> RoomTypePublished {
    RoomTypePublished {
        room_type_id: room_type(),
        version: 1,
        property_id: property(),
        name: name("Double"),
        description: Vec::new(),
        capacity: Party { adults: 2, children: 1 },
        beds: vec![Bed { kind: BedKind::Toshak, count: 2 }],
        amenities: Vec::new(),
        photos: Vec::new(),
        published_at: at(may(1), "00:00:00"),
    }
}

/// A room is added, long before May.
pub fn room_added(number: u32) -> RoomAdded {
    RoomAdded {
        room_id: id(number),
        property_id: property(),
        room_type_id: room_type(),
        label: number.to_string(),
        floor: None,
        building: None,
        accessible: false,
        electronic_lock: true,
        added_at: "2026-01-01T00:00:00Z".parse().expect("an instant"),
    }
}

/// A room is not let any more from a day on.
pub fn room_archived(number: u32, from_date: Date) -> RoomArchived {
    RoomArchived {
        room_id: id(number),
        property_id: property(),
        room_type_id: room_type(),
        label: number.to_string(),
        reason: ArchiveReason::Closed,
        from_date,
        archived_at: at(may(1), "00:00:00"),
    }
}

/// The amenities change.
pub fn amenity_changed(version: u32, amenities: &[&str]) -> AmenityChanged {
    let amenities: Vec<String> = amenities.iter().map(|text| (*text).to_owned()).collect();
    AmenityChanged {
        property_id: property(),
        version,
        added: amenities.clone(),
        amenities,
        removed: Vec::new(),
        changed_at: at(may(1), "00:00:00"),
    }
}

/// A rate plan is sold.
pub fn plan_published() -> RatePlanPublished {
    RatePlanPublished {
        rate_plan_id: id(3),
        version: 1,
        property_id: property(),
        code: "BAR".to_owned(),
        name: name("Best rate"),
        room_type_ids: vec![room_type()],
        currency: "AFN".parse().expect("a currency"),
        meals: MealPlan::Breakfast,
        cancellation: CancellationTerms {
            free_until_hours_before: Some(48),
            late_refund_percent: 50,
            no_show_refund_percent: 0,
        },
        deposit_percent: 100,
        stay_nights_min: 1,
        stay_nights_max: 30,
        sold_on: None,
        published_at: at(may(1), "00:00:00"),
    }
}

/// A rate plan is not sold any more.
pub fn plan_archived() -> RatePlanArchived {
    RatePlanArchived {
        rate_plan_id: id(3),
        version: 2,
        property_id: property(),
        code: "BAR".to_owned(),
        room_type_ids: vec![room_type()],
        archived_at: at(may(1), "00:00:00"),
    }
}

/// Nights have a price, by somebody of the staff.
pub fn priced(version: u32, days: std::ops::Range<i32>, price: i128) -> CalendarUpdated {
    let day = |day| CalendarDay {
        date: Date::from_unix_days(day),
        price_micro: Micros::new(price * 1_000_000),
        closed: false,
        closed_to_arrival: false,
        closed_to_departure: false,
        stay_nights_min: None,
    };
    CalendarUpdated {
        rate_plan_id: id(3),
        version,
        property_id: property(),
        room_type_id: room_type(),
        currency: "AFN".parse().expect("a currency"),
        days: days.map(day).collect(),
        source: CalendarSource::Staff,
        decision_id: None,
        updated_by: Some(id(424_242)),
        updated_at: at(may(1), "00:00:00"),
    }
}

/// Nights are closed for sale, by somebody of the staff.
pub fn stop_sell(dates: DateRange) -> StopSellActivated {
    StopSellActivated {
        stop_sell_id: id(7),
        version: 1,
        property_id: property(),
        room_type_id: room_type(),
        dates,
        reason: StopSellReason::OwnerUse,
        maintenance_ticket_id: None,
        activated_by: Some(id(424_242)),
        activated_at: at(may(1), "00:00:00"),
    }
}

/// And opened again.
pub fn stop_sell_cleared(of: &StopSellActivated) -> StopSellCleared {
    StopSellCleared {
        stop_sell_id: of.stop_sell_id,
        version: of.version + 1,
        property_id: of.property_id,
        room_type_id: of.room_type_id,
        dates: of.dates,
        availability: Vec::new(),
        cleared_by: Some(id(424_242)),
        cleared_at: at(may(1), "00:00:00"),
    }
}

/// The property closes.
pub fn property_deactivated() -> PropertyDeactivated {
    PropertyDeactivated {
        property_id: property(),
        version: 2,
        reason: PropertyDeactivationReason::Season,
        detail: Some("Zarghuna said so".to_owned()),
        deactivated_by: Some(id(424_242)),
        deactivated_at: at(may(1), "00:00:00"),
    }
}

/// The tenant may not sell any more.
pub fn tenant_suspended() -> TenantSuspended {
    TenantSuspended {
        tenant_id: id(1),
        version: 2,
        reason: SuspensionReason::BillingFailure,
        detail: None,
        sales_stopped: true,
        sign_in_blocked: false,
        suspended_at: at(may(1), "00:00:00"),
    }
}

/// Money of a booking is given back.
pub fn refunded(of: &BookingConfirmed, reason: RefundReason, amount: Money) -> IntentRefunded {
    IntentRefunded {
        refund_id: Id::from_bits(of.reservation_id.bits()),
        payment_intent_id: Id::from_bits(of.reservation_id.bits()),
        folio_id: of.folio_id,
        reservation_id: of.reservation_id,
        property_id: of.property_id,
        reason,
        rail: PaymentRail::Card,
        amount,
        captured_left: afghanis(0),
        refunded_at: at(may(1), "00:00:02"),
    }
}

/// Somebody of the staff works at the front desk.
pub fn role_granted(version: u32, role: StaffRole) -> RoleGranted {
    RoleGranted {
        membership_id: id(20),
        version,
        user_id: id(21),
        role,
        property_ids: vec![property()],
        ai_decisions: false,
        granted_by: id(9),
        granted_at: at(may(1), "00:00:00"),
    }
}

/// A role is granted.
pub async fn a_role_is_granted(store: Store) -> Result<(), Error> {
    tell(&store, 1, &role_granted(1, StaffRole::FrontDesk)).await
}

/// A property opens, and a room of it comes and goes.
pub async fn a_property_opens_and_a_room_goes(store: Store) -> Result<(), Error> {
    tell(&store, 1, &property_created()).await?;
    tell(&store, 1, &room_added(30)).await?;
    tell(&store, 1, &room_archived(30, may(9))).await
}

/// Analytics knows the property, as if it had heard of it.
async fn a_house_is_known(store: &Store) -> Result<(), Error> {
    let unit = async |tx: TenantTx| {
        let books = Some(("AFN".parse().expect("a currency"), "Asia/Kabul".to_owned()));
        tx.put(melmastoon::analytics::state::House { property_id: property(), books, rooms: Vec::new() });
        Ok::<_, Error>(())
    };
    store.unit(&karwan::context("analytics-service", 1), unit).await.map(drop)
}

/// A booking comes and goes at a property that analytics knows.
pub async fn a_booking_at_a_known_property_is_confirmed_and_cancelled(store: Store) -> Result<(), Error> {
    a_house_is_known(&store).await?;
    a_booking_is_confirmed_and_cancelled(store).await
}

/// Money is given back at a property that analytics knows.
pub async fn a_refund_at_a_known_property(store: Store) -> Result<(), Error> {
    a_house_is_known(&store).await?;
    tell(&store, 1, &refunded(&confirmed(10), RefundReason::Cancellation, afghanis(110))).await
}

/// A property opens with all that it shows, and closes.
pub async fn a_property_opens_and_closes(store: Store) -> Result<(), Error> {
    a_property_opens_and_a_room_goes(store.clone()).await?;
    tell(&store, 1, &room_type_published()).await?;
    tell(&store, 1, &amenity_changed(1, &["wifi"])).await?;
    tell(&store, 1, &plan_published()).await?;
    tell(&store, 1, &plan_archived()).await?;
    tell(&store, 1, &property_deactivated()).await?;
    tell(&store, 1, &tenant_suspended()).await
}

/// Nights have a price, are sold, given back, closed and opened.
pub async fn nights_are_priced_sold_and_closed(store: Store) -> Result<(), Error> {
    let booking = confirmed(10);
    tell(&store, 1, &priced(1, may(1).unix_days()..may(9).unix_days(), 50)).await?;
    tell(&store, 1, &committed(&booking, 2, 1)).await?;
    tell(&store, 1, &released(&booking, 2, 2)).await?;
    let stop = stop_sell(DateRange { from: may(1), until: may(3) });
    tell(&store, 1, &stop).await?;
    tell(&store, 1, &stop_sell_cleared(&stop)).await
}

/// The reservation of a number.
pub fn reservation(number: u32) -> ReservationId {
    id(number)
}
