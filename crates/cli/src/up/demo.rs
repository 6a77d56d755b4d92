//! Two tenants to try things with: their settings, staff, properties, rooms and prices. And as many more as a load wants.
//!
//! What is missing is added, by the commands that anybody uses; what a killed start has left is found in the log and not made
//! again.

use std::collections::{BTreeMap, BTreeSet};

use karwan::{Context, Store, TenantId};
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::ids::CorrelationId;
use karwan_envelope::mint::{Mint, OsRandom};
use karwan_envelope::money::Micros;
use karwan_envelope::time::{Clock as _, Date, SystemClock};
use karwan_store::log::{Filter, LogRow, PAGE_MAX};
use melmastoon::ids::{PropertyId, RatePlanId, RoomTypeId, UserId};
use melmastoon::pricing::commands::{self as pricing, Publish};
use melmastoon::pricing::decide::Ask;
use melmastoon::pricing::{CalendarDay, CalendarUpdated, CancellationTerms, RatePlanPublished};
use melmastoon::property::commands::{self as property, Describe, Open};
use melmastoon::property::{Address, Bed, BedKind, PropertyCreated, PropertyKind, RoomAdded, RoomTypePublished};
use melmastoon::refusal::Refusal;
use melmastoon::tenant::commands::{self as tenant, Grant, Onboard};
use melmastoon::tenant::{KeyPolicy, Plan, RoleGranted, TenantSettings};
use melmastoon::values::{DataResidency, GeoPoint, LocalText, Offer, Party, StaffRole};

use super::invariants::event;

/// Before the first id of the demo: of version 7, from a time before everything else.
const IDS: u128 = 0x0190_c2f0_0000_7000_8000_0000_0000_0000;
/// How much of a tenant's log is looked at for what is there; it stands at the beginning.
const PAGES_MAX: usize = 4;
/// How many days have prices, at least and when they are set.
const DAYS_MIN: i32 = 340;
const DAYS: i32 = 365;
/// The days ahead on which stays of the demo begin.
pub const AHEAD: std::ops::Range<i32> = 30..330;
const DOUBLE: &str = "Double";
const SUITE: &str = "Suite";

/// A tenant of the demo.
#[derive(Debug, Clone)]
pub struct House {
    /// Its short name.
    pub name: String,
    /// Its name.
    pub title: String,
    /// Its property's name.
    pub property: String,
    number: u128,
    /// How many double rooms it has.
    doubles: usize,
    /// A night in a double, in afghanis.
    price: i128,
}

/// A tenant with everything that it sells.
#[derive(Debug, Clone)]
pub struct Furnished {
    /// The tenant.
    pub house: House,
    /// Its property.
    pub property: PropertyId,
    double: RoomTypeId,
    suite: RoomTypeId,
    plan: RatePlanId,
}

/// The kinds of room of every house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// There are many.
    Double,
    /// There is one.
    Suite,
}

/// The tenants of the demo.
pub fn houses() -> [House; 2] {
    let house = |name: &str, title: &str, property: &str, number, doubles, price| House {
        name: name.to_owned(),
        title: title.to_owned(),
        property: property.to_owned(),
        number,
        doubles,
        price,
    };
    [
        house("serai", "Hindu Kush Hotels", "Kabul Serai", 1, 24, 4_200),
        house("lodge", "Pamir Stays", "Ishkashim Lodge", 2, 12, 2_800),
    ]
}

/// The tenants of a load, which are not those of the demo: they have more rooms.
pub fn houses_of_load(count: usize) -> Vec<House> {
    let house = |place: usize| House {
        name: format!("load{place}"),
        title: format!("Load Hotels {place}"),
        property: format!("Load House {place}"),
        number: place as u128 + 0x100,
        doubles: property::ROOMS_MAX,
        price: 3_000,
    };
    (1..=count).map(house).collect()
}

impl House {
    /// The tenant.
    pub fn tenant(&self) -> TenantId {
        TenantId::from_bits(IDS + self.number)
    }

    /// As whom a service of the platform acts for this tenant.
    pub fn context(&self, service: &str, correlation: CorrelationId) -> Context {
        context(self.tenant(), service, correlation)
    }
}

/// As whom a service of the platform acts for a tenant.
pub fn context(tenant: TenantId, service: &str, correlation: CorrelationId) -> Context {
    Context {
        tenant: Tenant::One(tenant),
        cause: Cause::root(correlation),
        actor: Actor { kind: ActorKind::System, id: service.to_owned() },
        producer: Producer {
            service: service.to_owned(),
            instance: "node".to_owned(),
            commit: env!("CARGO_PKG_VERSION").to_owned(),
            region: None,
        },
        residency: Residency::Me,
    }
}

impl Furnished {
    /// An offer of so many rooms of a kind for two nights, so many days ahead.
    pub async fn offer(
        &self,
        store: &Store,
        context: &Context,
        (room, rooms): (Room, usize),
        ahead: i32,
    ) -> Result<Offer, Refusal> {
        let today = SystemClock.now().date().unix_days();
        let ask = Ask {
            property_id: self.property,
            rate_plan_id: self.plan,
            room_type_id: if room == Room::Double { self.double } else { self.suite },
            check_in: Date::from_unix_days(today + ahead),
            check_out: Date::from_unix_days(today + ahead + 2),
            rooms: vec![Party { adults: 2, children: 0 }; rooms],
            locale: "ps".parse().expect("a locale"),
            currency: None,
            booking_intent_id: None,
        };
        let mut asks = context.clone();
        "pricing-service".clone_into(&mut asks.producer.service);
        pricing::quote(store, &asks, &ask).await
    }
}

/// A fresh id's bits.
pub fn fresh() -> u128 {
    Mint::new(SystemClock, OsRandom).event().bits()
}

/// What a tenant has already.
#[derive(Default)]
struct Found {
    property: Option<PropertyId>,
    types: BTreeMap<String, RoomTypeId>,
    rooms: BTreeMap<RoomTypeId, BTreeSet<String>>,
    plan: Option<RatePlanId>,
    priced: BTreeMap<RoomTypeId, i32>,
    staff: usize,
}

impl Found {
    async fn read(store: &Store, house: &House) -> Result<Self, Refusal> {
        let (relay, mut found) = (store.relay(), Self::default());
        let filter = Filter { tenant: Some(house.tenant().bits()), ..Filter::default() };
        let mut position = relay.start().await?;
        for _ in 0..PAGES_MAX {
            let page = relay.page(position, &filter, PAGE_MAX).await?;
            page.rows.iter().for_each(|row| found.take(row));
            if !page.more {
                break;
            }
            position = page.position;
        }
        Ok(found)
    }

    fn take(&mut self, row: &LogRow) {
        if let Some(created) = event::<PropertyCreated>(row) {
            self.property = Some(created.property_id);
        } else if let Some(published) = event::<RoomTypePublished>(row) {
            let name = published.name.first().map(|name| name.text.clone()).unwrap_or_default();
            self.types.insert(name, published.room_type_id);
        } else if let Some(added) = event::<RoomAdded>(row) {
            self.rooms.entry(added.room_type_id).or_default().insert(added.label);
        } else if let Some(published) = event::<RatePlanPublished>(row) {
            self.plan = Some(published.rate_plan_id);
        } else if let Some(updated) = event::<CalendarUpdated>(row) {
            let last = updated.days.iter().map(|day| day.date.unix_days()).max().unwrap_or_default();
            self.priced.insert(updated.room_type_id, last);
        } else if event::<RoleGranted>(row).is_some() {
            self.staff += 1;
        }
    }
}

/// Gives a tenant everything that it lacks; whether there was anything to give, too.
pub async fn furnish(store: &Store, house: &House) -> Result<(Furnished, bool), Refusal> {
    let found = Found::read(store, house).await?;
    let correlation = CorrelationId::from_bits(IDS + house.number);
    let context = |service: &str| house.context(service, correlation);
    tenant::onboard(store, &context("tenant-service"), &onboard(house)).await?;
    let before = store.relay().end().await?;
    let property = match found.property {
        Some(property) => property,
        None => property::open(store, &context("property-service"), &open(house)).await?,
    };
    for role in [StaffRole::GeneralManager, StaffRole::FrontDesk, StaffRole::Finance].into_iter().skip(found.staff) {
        let by = UserId::from_bits(IDS + house.number);
        let grant = Grant { user_id: UserId::from_bits(fresh()), role, property_ids: vec![property], by };
        tenant::grant_role(store, &context("tenant-service"), &grant).await?;
    }
    let mut types = Vec::new();
    for (name, count) in [(DOUBLE, house.doubles), (SUITE, 1)] {
        let id = match found.types.get(name) {
            Some(id) => *id,
            None => property::publish_room_type(store, &context("property-service"), &describe(property, name)).await?,
        };
        let first = if name == DOUBLE { 101 } else { 901 };
        let known = found.rooms.get(&id);
        let labels = (first..first + count).map(|number| number.to_string());
        let missing: Vec<String> = labels.filter(|label| known.is_none_or(|known| !known.contains(label))).collect();
        for part in missing.chunks(property::ROOMS_MAX) {
            property::add_rooms(store, &context("property-service"), id, part).await?;
        }
        types.push(id);
    }
    let plan = match found.plan {
        Some(plan) => plan,
        None => pricing::publish_rate_plan(store, &context("pricing-service"), &publish(property, &types)).await?,
    };
    let today = SystemClock.now().date().unix_days();
    for (id, price) in types.iter().zip([house.price, house.price * 3]) {
        if found.priced.get(id).is_none_or(|last| *last < today + DAYS_MIN) {
            let days: Vec<CalendarDay> = (today..today + DAYS).map(|day| night(day, price)).collect();
            pricing::set_prices(store, &context("pricing-service"), plan, *id, &days).await?;
        }
    }
    let furnished = Furnished { house: house.clone(), property, double: types[0], suite: types[1], plan };
    let changed = store.relay().end().await? != before;
    Ok((furnished, changed))
}

fn text(text: &str) -> Vec<LocalText> {
    vec![LocalText { locale: "fa-AF".parse().expect("a locale"), text: text.to_owned() }]
}

fn onboard(house: &House) -> Onboard {
    let settings = TenantSettings {
        default_currency: "AFN".parse().expect("a currency"),
        locales: ["fa-AF", "ps", "en"].iter().map(|locale| locale.parse().expect("a locale")).collect(),
        time_zone: "Asia/Kabul".to_owned(),
        data_residency: DataResidency::MeCentral1,
        tax_basis_points: 1_000,
        tax_included: false,
        no_show_after_hours: 24,
        key_policy: KeyPolicy::usual(),
    };
    Onboard {
        slug: house.name.clone(),
        name: house.title.clone(),
        country: "AF".to_owned(),
        plan: Plan::Pro,
        settings,
        owner: UserId::from_bits(IDS + house.number),
    }
}

fn open(house: &House) -> Open {
    Open {
        slug: house.name.clone(),
        name: text(&house.property),
        kind: PropertyKind::Hotel,
        address: Address {
            line: "Chicken Street 7".to_owned(),
            district: None,
            city: "Kabul".to_owned(),
            province: None,
            postal_code: None,
            country: "AF".to_owned(),
        },
        geo: GeoPoint { lat: 34.53, lng: 69.17 },
        time_zone: "Asia/Kabul".to_owned(),
        currency: "AFN".parse().expect("a currency"),
        check_in_from: "14:00".to_owned(),
        check_out_by: "12:00".to_owned(),
    }
}

fn describe(property_id: PropertyId, name: &str) -> Describe {
    Describe {
        property_id,
        name: text(name),
        capacity: Party { adults: 2, children: 1 },
        beds: vec![Bed { kind: BedKind::Double, count: 1 }],
        amenities: Vec::new(),
    }
}

fn publish(property_id: PropertyId, types: &[RoomTypeId]) -> Publish {
    Publish {
        property_id,
        code: "BAR".to_owned(),
        name: text("Best rate"),
        room_type_ids: types.to_vec(),
        currency: "AFN".parse().expect("a currency"),
        cancellation: CancellationTerms {
            free_until_hours_before: Some(48),
            late_refund_percent: 50,
            no_show_refund_percent: 0,
        },
        deposit_percent: 100,
    }
}

fn night(day: i32, afghanis: i128) -> CalendarDay {
    CalendarDay {
        date: Date::from_unix_days(day),
        price_micro: Micros::new(afghanis * 1_000_000),
        closed: false,
        closed_to_arrival: false,
        closed_to_departure: false,
        stay_nights_min: None,
    }
}
