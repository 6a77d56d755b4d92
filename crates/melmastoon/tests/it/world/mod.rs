//! A hotel on a throw-away store: a tenant, a house, rooms and prices, and a gateway that does as it is told.

pub mod gateway;
pub mod storm;

use std::sync::Arc;
use std::time::Duration;

use karwan::engine::LEASE_MS;
use karwan::envelope::Envelope;
use karwan::envelope::mint::Random as _;
use karwan::envelope::money::{Currency, Micros};
use karwan::envelope::time::Date;
use karwan::store::Options;
use karwan::store::log::Filter;
use karwan::testing::{SeededRandom, Throwaway};
use karwan::{Catalogue, Context, Document, Engine, Event, Store};
use karwan_testkit::simulation::Undisturbed;
use melmastoon::hotel::{self, Vendors};
use melmastoon::ids::{GuestId, PaymentMethodId, PropertyId, RatePlanId, ReservationId, RoomTypeId, UserId};
use melmastoon::lock_integration::terms::KeyKind;
use melmastoon::payment::port::Rail;
use melmastoon::platform::PLATFORM;
use melmastoon::pricing::commands::{self as pricing, Publish};
use melmastoon::pricing::decide::Ask;
use melmastoon::pricing::{CalendarDay, CancellationTerms};
use melmastoon::property::commands::{self as property, Describe, Open};
use melmastoon::property::{Address, Bed, BedKind, PropertyKind};
use melmastoon::reservation::Channel;
use melmastoon::reservation::booking::{Booking, State};
use melmastoon::reservation::commands::{self as reservation, Hold, Placed};
use melmastoon::tenant::commands::{self as tenant, Onboard};
use melmastoon::tenant::{KeyPolicy, Plan, TenantSettings};
use melmastoon::values::{DataResidency, GeoPoint, GuestContact, LocalText, Offer, Party, PaymentChoice, PaymentRail};
use serde::de::DeserializeOwned;

use crate::desk::{Locks, Post, Trouble};
use gateway::Gateway;
use storm::Storm;

/// The first night that has a price.
pub const FIRST_NIGHT: &str = "2026-03-01";
/// What a night costs, without taxes, in micro-units.
pub const NIGHT_MICRO: i128 = 2_500_000_000;

/// See the module.
pub struct World {
    pub place: Throwaway,
    pub gateway: Arc<Gateway>,
    /// Another rail, in place of the gateway.
    pub card: Option<Arc<dyn Rail>>,
    pub locks: Arc<Locks>,
    pub post: Arc<Post>,
    pub engine: Option<Engine>,
    /// Where the storms of a simulation come from, and the one that is over whoever runs.
    storms: Option<SeededRandom>,
    pub storm: Option<Arc<Storm>>,
    pub property: PropertyId,
    pub room_type: RoomTypeId,
    pub plan: RatePlanId,
}

/// The context of a request to a service.
pub fn from(service: &str) -> Context {
    karwan::context(service, 1)
}

pub fn day(text: &str) -> Date {
    text.parse().expect("a day")
}

fn seeded(options: Options, seed: u64) -> Options {
    Options { random: Arc::new(SeededRandom::new(seed)), ..options }
}

/// What the platform tells.
pub fn catalogue() -> Arc<Catalogue> {
    Arc::new(Catalogue::of(&PLATFORM).expect("the catalogue is sound"))
}

fn text(text: &str) -> Vec<LocalText> {
    vec![LocalText { locale: "fa-AF".parse().expect("a locale"), text: text.to_owned() }]
}

impl World {
    /// A house with so many rooms of one type; every service runs.
    pub async fn with_rooms(rooms: usize) -> Self {
        let mut world = Self::stopped(rooms).await;
        world.run(&[]).await;
        world
    }

    /// The same, with no service running: its rooms and prices are known.
    pub async fn stopped(rooms: usize) -> Self {
        let place = Throwaway::new(catalogue(), hotel::kinds()).await.expect("a store can be made");
        Self::furnished(place, rooms).await
    }

    /// A house in a simulation: stores do their work on the task that asks for it, ids come from the seed, and a storm is over all that
    /// services ask of theirs. For a runtime of one thread under a paused clock.
    pub async fn in_a_storm(rooms: usize, seed: u64) -> Self {
        let simulated = |options| Options { simulation: Some(Arc::new(Undisturbed)), ..seeded(options, seed) };
        let place = Throwaway::opened(catalogue(), hotel::kinds(), simulated).await.expect("a store can be made");
        let mut world = Self::furnished(place, rooms).await;
        world.storms = Some(SeededRandom::new(seed));
        world.run(&[]).await;
        world
    }

    async fn furnished(place: Throwaway, rooms: usize) -> Self {
        let (property, room_type, plan) = furnish(place.store(), rooms).await;
        let mut world = Self {
            place,
            gateway: Arc::default(),
            card: None,
            locks: Locks::with(Trouble::None),
            post: Arc::default(),
            engine: None,
            storms: None,
            storm: None,
            property,
            room_type,
            plan,
        };
        world.run(&[]).await;
        world.stop().await;
        world
    }

    /// Runs these services, or all, in place of whatever ran, until nothing is left to do.
    pub async fn run(&mut self, services: &[&str]) {
        self.stop().await;
        let card = self.card.clone().unwrap_or_else(|| self.gateway.clone());
        let (locks, messages) = (self.locks.clone(), self.post.clone());
        let vendors = Vendors { card, locks, messages };
        let work = hotel::work(services, &vendors).expect("the services exist");
        let store = self.open_beside().await;
        self.engine = Some(Engine::start(&store, work, self.place.engine()));
        self.settle().await;
    }

    /// The store as services have it: in a simulation as a process of its own, with a storm over its calls.
    async fn open_beside(&mut self) -> Store {
        let Some(storms) = &self.storms else { return self.place.store().clone() };
        let (seed, storm) = (storms.bits(), Arc::new(Storm::new(storms.bits())));
        self.storm = Some(storm.clone());
        let options = seeded(Options::new(catalogue(), hotel::kinds()), seed);
        let options = Options { clock: self.place.engine().clock, simulation: Some(storm), ..options };
        Store::open(&self.place.address(), options).await.expect("a file that is there can be opened")
    }

    /// Nothing goes wrong any more, in whatever runs and comes.
    pub fn calm_down(&mut self) {
        self.storms = None;
        if let Some(storm) = self.storm.take() {
            storm.calm_down();
        }
    }

    /// Stops what runs.
    pub async fn stop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.stop().await;
        }
        if self.storm.is_some() {
            // Where it could not say that it gives up its lanes, its leases run out.
            self.place.clock().advance_ms(LEASE_MS + 1_000);
        }
    }

    pub fn store(&self) -> &Store {
        self.place.store()
    }

    /// Until nothing is left to do at this instant.
    pub async fn settle(&self) {
        let Some(engine) = &self.engine else { return };
        if self.storm.is_none() {
            return engine.settle().await.expect("it settles");
        }
        loop {
            match tokio::time::timeout(Duration::from_secs(1), engine.settle()).await {
                Ok(Ok(())) => return,
                // What it asks of the store is lost at times; then it is asked again.
                Ok(Err(error)) => assert!(matches!(error, karwan::Error::Unreachable { .. }), "{error}"),
                // A lease that nobody knows of has to run out first.
                Err(_) => self.place.clock().advance_ms(1_000),
            }
        }
    }

    /// Lets time pass, and everything that becomes due with it.
    pub async fn pass_ms(&self, ms: i64) {
        self.place.clock().advance_ms(ms);
        self.settle().await;
    }

    /// A quote for one room for two.
    pub async fn quote(&self, check_in: &str, nights: i32) -> Offer {
        let ask = self.ask(check_in, nights);
        pricing::quote(self.store(), &from("pricing-service"), &ask).await.expect("it has a price")
    }

    /// What a guest asks the price of: one room for two.
    pub fn ask(&self, check_in: &str, nights: i32) -> Ask {
        let check_in = day(check_in);
        Ask {
            property_id: self.property,
            rate_plan_id: self.plan,
            room_type_id: self.room_type,
            check_in,
            check_out: Date::from_unix_days(check_in.unix_days() + nights),
            rooms: vec![Party { adults: 2, children: 0 }],
            locale: "fa-AF".parse().expect("a locale"),
            currency: None,
            booking_intent_id: None,
        }
    }

    /// What a guest wants: an offer, paid in a way.
    pub fn wish(&self, offer: Offer, rail: PaymentRail) -> Hold {
        let method = PaymentMethodId::from_bits(self.plan.bits() + 1);
        Hold {
            offer,
            guest: GuestContact {
                guest_id: GuestId::from_bits(self.plan.bits() + 2),
                full_name: "Mirwais Hotak".to_owned(),
                email: Some("mirwais@example.af".to_owned()),
                phone: Some("+93700123456".to_owned()),
                preferred_locale: "fa-AF".parse().expect("a locale"),
            },
            special_requests: None,
            payment: PaymentChoice { rail, payment_method_id: (rail == PaymentRail::Card).then_some(method) },
            channel: Channel::TenantSite,
            booking_intent_id: None,
        }
    }

    /// Quotes and books one room, and lets everything happen.
    pub async fn book(&self, check_in: &str, nights: i32, rail: PaymentRail) -> Placed {
        let wish = self.wish(self.quote(check_in, nights).await, rail);
        let placed = reservation::book(self.store(), &from("reservation-service"), &wish).await;
        let placed = placed.expect("the offer is fresh");
        self.settle().await;
        placed
    }

    /// A booking as reservation keeps it.
    pub async fn booking(&self, id: ReservationId) -> Booking {
        self.read(&id.to_string()).await.expect("the booking is there")
    }

    pub async fn state(&self, id: ReservationId) -> State {
        self.booking(id).await.state
    }

    /// Any document.
    pub async fn read<D: Document>(&self, id: &str) -> Option<D> {
        self.store().tenant(&from("reservation-service")).find::<D>(id).await.expect("the store answers")
    }

    /// Everything that happened, in order.
    pub async fn log(&self) -> Vec<Envelope> {
        let relay = self.store().relay();
        let mut after = relay.start().await.expect("the log begins somewhere");
        let mut log = Vec::new();
        loop {
            let page = relay.page(after, &Filter::default(), 1000).await.expect("the log can be read");
            for row in &page.rows {
                log.push(self.store().received(row).await.expect("what is in the log is sound"));
            }
            if !page.more {
                return log;
            }
            after = page.position;
        }
    }

    /// The events of one type, in order.
    pub async fn told<E: Event + DeserializeOwned>(&self) -> Vec<E> {
        let log = self.log().await;
        let own = log.iter().filter(|envelope| envelope.subject.as_str() == E::SUBJECT);
        own.map(|envelope| serde_json::from_str(envelope.payload.get()).expect("it is of its type")).collect()
    }
}

/// A tenant, a house, rooms and prices for a year.
async fn furnish(store: &Store, rooms: usize) -> (PropertyId, RoomTypeId, RatePlanId) {
    take_on(store).await;
    let (property_id, room_type) = open_house(store, rooms).await;
    let plan = set_prices(store, property_id, room_type).await;
    (property_id, room_type, plan)
}

fn afghani() -> Currency {
    "AFN".parse().expect("a currency")
}

async fn take_on(store: &Store) {
    let settings = TenantSettings {
        default_currency: afghani(),
        locales: vec!["fa-AF".parse().expect("a locale")],
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
        settings,
        owner: UserId::from_bits(7),
    };
    tenant::onboard(store, &from("tenant-service"), &onboard).await.expect("a tenant is taken on");
}

async fn open_house(store: &Store, rooms: usize) -> (PropertyId, RoomTypeId) {
    let context = from("property-service");
    let address = Address {
        line: "Chicken Street 7".to_owned(),
        district: None,
        city: "Kabul".to_owned(),
        province: None,
        postal_code: None,
        country: "AF".to_owned(),
    };
    let open = Open {
        slug: "kabul-serai".to_owned(),
        name: text("Kabul Serai"),
        kind: PropertyKind::Hotel,
        address,
        geo: GeoPoint { lat: 34.53, lng: 69.17 },
        time_zone: "Asia/Kabul".to_owned(),
        currency: afghani(),
        check_in_from: "14:00".to_owned(),
        check_out_by: "12:00".to_owned(),
    };
    let property_id = property::open(store, &context, &open).await.expect("a house opens");
    let describe = Describe {
        property_id,
        name: text("Double"),
        capacity: Party { adults: 2, children: 1 },
        beds: vec![Bed { kind: BedKind::Double, count: 1 }],
        amenities: Vec::new(),
    };
    let room_type = property::publish_room_type(store, &context, &describe).await.expect("a type is published");
    let labels: Vec<String> = (0..rooms).map(|room| (101 + room).to_string()).collect();
    property::add_rooms(store, &context, room_type, &labels).await.expect("rooms are added");
    (property_id, room_type)
}

async fn set_prices(store: &Store, property_id: PropertyId, room_type: RoomTypeId) -> RatePlanId {
    let publish = Publish {
        property_id,
        code: "BAR".to_owned(),
        name: text("Best rate"),
        room_type_ids: vec![room_type],
        currency: afghani(),
        cancellation: CancellationTerms {
            free_until_hours_before: Some(48),
            late_refund_percent: 50,
            no_show_refund_percent: 0,
        },
        deposit_percent: 100,
    };
    let context = from("pricing-service");
    let plan = pricing::publish_rate_plan(store, &context, &publish).await.expect("a plan is published");
    let first = day(FIRST_NIGHT).unix_days();
    let price = |date| CalendarDay {
        date: Date::from_unix_days(date),
        price_micro: Micros::new(NIGHT_MICRO),
        closed: false,
        closed_to_arrival: false,
        closed_to_departure: false,
        stay_nights_min: None,
    };
    let days: Vec<CalendarDay> = (first..first + 60).map(price).collect();
    pricing::set_prices(store, &context, plan, room_type, &days).await.expect("prices are set");
    plan
}
