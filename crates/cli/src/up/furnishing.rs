//! Gives a tenant of the demo what it lacks: settings, staff, a property, rooms and prices.
//!
//! By the commands that anybody uses, each of which commits for itself. What a killed start has left is found in the documents
//! of those services, which are kept as long as what they stand for, and not in the log, which forgets; so nothing is made twice.

use karwan::{Document, Error, Query, Store};
use karwan_envelope::money::Micros;
use karwan_envelope::time::{Clock as _, Date, SystemClock};
use karwan_store::OpenUnit;
use melmastoon::iam::commands as accounts;
use melmastoon::iam::decide::NewUser;
use melmastoon::iam::state::Address as SignsIn;
use melmastoon::iam::{self, AccountKind, SignInMethod};
use melmastoon::ids::{PropertyId, RatePlanId, RoomTypeId, UserId};
use melmastoon::pricing::commands::{self as prices, Publish};
use melmastoon::pricing::state::{Plan as RatePlan, Prices};
use melmastoon::pricing::{self, CalendarDay, CancellationTerms};
use melmastoon::property::commands::{self as rooms, Describe, Open};
use melmastoon::property::state::{Property, Room, RoomType};
use melmastoon::property::{self, Address, Bed, BedKind, PropertyKind};
use melmastoon::refusal::Refusal;
use melmastoon::tenant::commands::{self as tenants, Grant, Onboard};
use melmastoon::tenant::state::Membership;
use melmastoon::tenant::{self, KeyPolicy, Plan, TenantSettings};
use melmastoon::values::{DataResidency, GeoPoint, LocalText, Party, StaffRole};

use super::demo::{Furnished, House};
use super::documents;

/// How many days have prices, at least and when they are set.
const DAYS_MIN: i32 = 340;
const DAYS: i32 = 365;
/// Who works in a house, by what stands before the `@` of their address.
const STAFF: [(&str, StaffRole); 3] =
    [("manager", StaffRole::GeneralManager), ("desk", StaffRole::FrontDesk), ("finance", StaffRole::Finance)];

/// Gives a tenant everything that it lacks. Accounts come first: an owner and roles are somebody's.
pub async fn furnish(store: &Store, house: &House) -> Result<Furnished, Refusal> {
    let furnishing = Furnishing { store, house };
    let owner = furnishing.account("owner").await?;
    let mut staff = Vec::new();
    for (name, role) in STAFF {
        staff.push((furnishing.account(name).await?, role));
    }
    tenants::onboard(store, &furnishing.context(tenant::SERVICE), &onboard(house, owner)).await?;
    let property = furnishing.property().await?;
    for (user, role) in staff {
        furnishing.member(user, role, (property, owner)).await?;
    }
    let double = furnishing.rooms(property, "Double", (101, house.doubles)).await?;
    let suite = furnishing.rooms(property, "Suite", (901, 1)).await?;
    let plan = furnishing.plan(property, &[double, suite]).await?;
    furnishing.prices(plan, double, house.price).await?;
    furnishing.prices(plan, suite, house.price * 3).await?;
    Ok(Furnished { house: house.clone(), property, double, suite, plan })
}

/// A house that is being furnished.
struct Furnishing<'a> {
    store: &'a Store,
    house: &'a House,
}

impl Furnishing<'_> {
    fn context(&self, service: &str) -> karwan::Context {
        self.house.context(service, self.house.trace())
    }

    /// What a service keeps for this tenant.
    fn kept_by(&self, service: &str) -> OpenUnit {
        self.store.tenant(&self.context(service))
    }

    /// All documents of a kind.
    async fn all<D: Document>(&self, service: &str) -> Result<Vec<D>, Error> {
        documents::all(&self.kept_by(service), Query::new).await
    }

    /// The account of somebody who works there.
    async fn account(&self, who: &str) -> Result<UserId, Refusal> {
        let email = format!("{who}@{}.example", self.house.name);
        if let Some(known) = self.kept_by(iam::SERVICE).find::<SignsIn>(&SignsIn::key(&email)).await? {
            return Ok(known.user_id);
        }
        let wanted = NewUser {
            kind: AccountKind::Staff,
            full_name: format!("{} ({who})", self.house.title),
            email,
            phone: None,
            preferred_locale: "fa-AF".parse().expect("a locale"),
            sign_in: SignInMethod::Password,
        };
        accounts::create(self.store, &self.context(iam::SERVICE), &wanted).await
    }

    async fn property(&self) -> Result<PropertyId, Refusal> {
        let known = self.all::<Property>(property::SERVICE).await?;
        match known.iter().find(|property| property.slug == self.house.name) {
            Some(property) => Ok(property.property_id),
            None => rooms::open(self.store, &self.context(property::SERVICE), &open(self.house)).await,
        }
    }

    /// Gives somebody a role in a property, by somebody else.
    async fn member(&self, user: UserId, role: StaffRole, of: (PropertyId, UserId)) -> Result<(), Refusal> {
        let known = self.all::<Membership>(tenant::SERVICE).await?;
        if known.iter().any(|membership| membership.user_id == user) {
            return Ok(());
        }
        let grant = Grant { user_id: user, role, property_ids: vec![of.0], by: of.1 };
        tenants::grant_role(self.store, &self.context(tenant::SERVICE), &grant).await.map(drop)
    }

    /// The type of some rooms, with all of them. A type is known by its rooms; of those before it none is without, so a type
    /// without rooms is one that a killed start was about to give some.
    async fn rooms(&self, of: PropertyId, name: &str, doors: (usize, usize)) -> Result<RoomTypeId, Refusal> {
        let context = self.context(property::SERVICE);
        let (types, known) =
            (self.all::<RoomType>(property::SERVICE).await?, self.all::<Room>(property::SERVICE).await?);
        let labels: Vec<String> = (doors.0..doors.0 + doors.1).map(|number| number.to_string()).collect();
        let of_label = known.iter().find(|room| labels.contains(&room.label)).map(|room| room.room_type_id);
        let is_bare = |id: &RoomTypeId| known.iter().all(|room| room.room_type_id != *id);
        let bare = || types.iter().map(|it| it.room_type_id).find(is_bare);
        let id = match of_label.or_else(bare) {
            Some(id) => id,
            None => rooms::publish_room_type(self.store, &context, &describe(of, name)).await?,
        };
        let missing: Vec<String> =
            labels.into_iter().filter(|label| known.iter().all(|room| room.label != *label)).collect();
        for part in missing.chunks(rooms::ROOMS_MAX) {
            rooms::add_rooms(self.store, &context, id, part).await?;
        }
        Ok(id)
    }

    async fn plan(&self, of: PropertyId, types: &[RoomTypeId]) -> Result<RatePlanId, Refusal> {
        let known = self.all::<RatePlan>(pricing::SERVICE).await?;
        match known.iter().find(|plan| plan.published.property_id == of) {
            Some(plan) => Ok(plan.published.rate_plan_id),
            None => prices::publish_rate_plan(self.store, &self.context(pricing::SERVICE), &publish(of, types)).await,
        }
    }

    /// Sets the prices of a year, unless most of it has some.
    async fn prices(&self, plan: RatePlanId, of: RoomTypeId, price: i128) -> Result<(), Refusal> {
        let today = SystemClock.now().date().unix_days();
        let far = Date::from_unix_days(today + DAYS_MIN);
        let block = Prices::key(plan, of, Prices::block(far));
        let known = self.kept_by(pricing::SERVICE).find::<Prices>(&block).await?;
        if known.is_some_and(|known| known.days.contains_key(&far)) {
            return Ok(());
        }
        let days: Vec<CalendarDay> = (today..today + DAYS).map(|day| night(day, price)).collect();
        prices::set_prices(self.store, &self.context(pricing::SERVICE), plan, of, &days).await
    }
}

fn text(text: &str) -> Vec<LocalText> {
    vec![LocalText { locale: "fa-AF".parse().expect("a locale"), text: text.to_owned() }]
}

fn onboard(house: &House, owner: UserId) -> Onboard {
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
        owner,
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
