//! Two tenants to try things with, and as many more as a load wants.
//!
//! Not here: how they get what they sell (`furnishing`).

use karwan::{Context, Store, TenantId};
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::ids::CorrelationId;
use karwan_envelope::mint::{Mint, OsRandom};
use karwan_envelope::time::{Clock as _, Date, SystemClock};
use melmastoon::ids::{PropertyId, RatePlanId, RoomTypeId};
use melmastoon::pricing::commands as pricing;
use melmastoon::pricing::decide::Ask;
use melmastoon::property::commands::ROOMS_MAX;
use melmastoon::refusal::Refusal;
use melmastoon::values::{Offer, Party};

/// Before the first id of the demo: of version 7, from a time before everything else.
const IDS: u128 = 0x0190_c2f0_0000_7000_8000_0000_0000_0000;
/// The days ahead on which stays of the demo begin.
pub const AHEAD: std::ops::Range<i32> = 30..330;

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
    pub doubles: usize,
    /// A night in a double, in afghanis.
    pub price: i128,
}

/// A tenant with everything that it sells.
#[derive(Debug, Clone)]
pub struct Furnished {
    /// The tenant.
    pub house: House,
    /// Its property.
    pub property: PropertyId,
    /// Its double rooms.
    pub double: RoomTypeId,
    /// Its suite.
    pub suite: RoomTypeId,
    /// What it sells them under.
    pub plan: RatePlanId,
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
        doubles: ROOMS_MAX,
        price: 3_000,
    };
    (1..=count).map(house).collect()
}

impl House {
    /// The tenant.
    pub fn tenant(&self) -> TenantId {
        TenantId::from_bits(IDS + self.number)
    }

    /// The trace of everything that it is given.
    pub fn trace(&self) -> CorrelationId {
        CorrelationId::from_bits(IDS + self.number)
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
