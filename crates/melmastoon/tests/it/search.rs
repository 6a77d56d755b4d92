//! Listings: what everybody may see of a property, soon after it changed, and nothing else.

use std::collections::BTreeMap;

use karwan::Work;
use karwan::envelope::mint::Random;
use karwan::envelope::time::Date;
use karwan::testing::SeededRandom;
use melmastoon::inventory::{AllocationCommitted, AllocationReleased};
use melmastoon::search_aggregation::events::{EvictionReason, ListingEvicted, ListingIndexed};
use melmastoon::search_aggregation::{self as search, commands, work};
use melmastoon::values::DateRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::desk::{Desk, run};
use crate::told;

/// A property with two rooms, sold at fifty for all of the winter of 2026, in which the clock stands.
async fn desk() -> Desk {
    let desk = Desk::open(search::kinds(), work::work(Work::new())).await;
    desk.tell(&told::property_created()).await;
    desk.tell(&told::room_type_published()).await;
    desk.tell(&told::room_added(100)).await;
    desk.tell(&told::room_added(101)).await;
    desk.tell(&told::plan_published()).await;
    desk.tell(&told::priced(1, january(1).unix_days()..january(101).unix_days(), 50)).await;
    desk.settle().await;
    desk.pass_ms(work::INDEX_MS).await;
    desk
}

fn january(day: i32) -> Date {
    Date::from_unix_days("2026-01-01".parse::<Date>().expect("a day").unix_days() + day - 1)
}

fn booking(number: u32, from: i32, nights: u32) -> melmastoon::reservation::BookingConfirmed {
    melmastoon::reservation::BookingConfirmed { stay: told::stay(january(from), nights), ..told::confirmed(number) }
}

async fn free(desk: &Desk) -> BTreeMap<Date, u32> {
    let context = karwan::context(search::SERVICE, 1);
    let listing = commands::listing(desk.place.store(), &context, told::property()).await.expect("it can be read");
    let listing = listing.expect("it is listed");
    listing.room_types[0].nights.iter().map(|night| (night.date, night.rooms_free)).collect()
}

#[test]
fn a_property_is_listed_with_its_rooms_prices_and_nights() {
    run(async || {
        let desk = desk().await;
        let listed = desk.told::<ListingIndexed>().await;
        let listed = listed.last().expect("it is listed");
        assert_eq!(listed.city, "Kabul");
        assert_eq!(listed.min_price_micro, Some(told::afghanis(50).amount_micro));
        assert_eq!(listed.room_types[0].nights.len(), 90);
        assert!(listed.room_types[0].nights.iter().all(|night| night.rooms_free == 2));
        desk.close().await;
    });
}

/// a booking takes its nights out, a cancellation puts them back.
#[test]
fn availability_follows_bookings_and_cancellations() {
    run(async || {
        let desk = desk().await;
        let of = booking(10, 3, 2);
        desk.tell(&told::committed(&of, 2, 0)).await;
        desk.settle().await;
        desk.pass_ms(work::INDEX_MS).await;
        let sold = free(&desk).await;
        assert_eq!((sold.get(&january(2)), sold.get(&january(3)), sold.get(&january(4))), (Some(&2), None, None));
        desk.tell(&told::released(&of, 2, 1)).await;
        desk.settle().await;
        desk.pass_ms(work::INDEX_MS).await;
        assert_eq!(free(&desk).await.get(&january(3)), Some(&1));
        desk.close().await;
    });
}

#[test]
fn closed_nights_archived_plans_and_closed_houses_are_not_listed() {
    run(async || {
        let desk = desk().await;
        let stop = told::stop_sell(DateRange { from: january(5), until: january(7) });
        desk.tell(&stop).await;
        desk.tell(&told::room_archived(101, january(10))).await;
        desk.settle().await;
        desk.pass_ms(work::INDEX_MS).await;
        let nights = free(&desk).await;
        let seen = [4, 5, 6, 7, 9, 10].map(|day| nights.get(&january(day)).copied());
        assert_eq!(seen, [Some(2), None, None, Some(2), Some(2), Some(1)]);
        desk.tell(&told::stop_sell_cleared(&stop)).await;
        desk.tell(&told::plan_archived()).await;
        desk.settle().await;
        desk.pass_ms(work::INDEX_MS).await;
        assert!(free(&desk).await.is_empty(), "nobody sells it");
        desk.tell(&told::property_deactivated()).await;
        desk.settle().await;
        desk.pass_ms(work::INDEX_MS).await;
        let evicted = desk.told::<ListingEvicted>().await;
        assert_eq!(evicted.iter().map(|it| it.reason).collect::<Vec<_>>(), [EvictionReason::PropertyDeactivated]);
        let versions: Vec<u64> = desk.told::<ListingIndexed>().await.iter().map(|it| it.version).collect();
        assert!(versions.windows(2).all(|pair| pair[0] < pair[1]) && versions.last() < Some(&evicted[0].version));
        desk.close().await;
    });
}

#[test]
fn the_window_moves_on_by_itself_from_day_to_day() {
    run(async || {
        let desk = desk().await;
        desk.pass_ms(86_400_000).await;
        let nights = free(&desk).await;
        assert_eq!(nights.keys().next(), Some(&january(2)));
        desk.close().await;
    });
}

/// by what the schemas say of their fields.
#[test]
fn neither_listings_nor_figures_have_a_field_for_personal_or_payment_data() {
    let public = [ListingIndexed::schema_of(), melmastoon::analytics::events::SnapshotComputed::schema_of()];
    for schema in public {
        assert!(!annotated(&schema), "{schema}");
    }
    let owners: Vec<String> = work::consumers()
        .iter()
        .flat_map(|consumer| consumer.subjects())
        .map(|subject| {
            let event = melmastoon::events().into_iter().find(|event| event.subject == subject);
            (event.expect("a subject of the platform").row)().owner
        })
        .collect();
    assert!(owners.iter().all(|owner| owner != "payment-gateway-service" && owner != "billing-service"));
}

trait SchemaOf: karwan::Event {
    fn schema_of() -> Value {
        (karwan::registry::EventType::of::<Self>().schema)()
    }
}
impl<E: karwan::Event> SchemaOf for E {}

fn annotated(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            search::public::KEPT_OUT.iter().any(|annotation| fields.contains_key(*annotation))
                || fields.values().any(annotated)
        }
        Value::Array(items) => items.iter().any(annotated),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// the index is scanned for what events said of persons.
#[test]
fn what_events_say_of_persons_is_not_in_the_index() {
    run(async || {
        let desk = desk().await;
        desk.tell(&told::stop_sell(DateRange { from: january(5), until: january(7) })).await;
        desk.tell(&told::property_deactivated()).await;
        desk.settle().await;
        desk.pass_ms(work::INDEX_MS).await;
        let staff: melmastoon::ids::StaffId = told::id(424_242);
        let log = desk.log().await;
        let (own, told): (Vec<_>, Vec<_>) = log.iter().partition(|it| it.producer.service == search::SERVICE);
        let said = |of: &[&karwan::envelope::Envelope], what: &str| of.iter().any(|it| it.payload.get().contains(what));
        for personal in [staff.ulid().as_str(), "Zarghuna"] {
            assert!(said(&told, personal), "{personal} was told");
            assert!(!said(&own, personal), "{personal} is in the index");
        }
        desk.close().await;
    });
}

/// Prices were paid for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, karwan::Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.pricing.calendar.paid.v1",
    owner = "pricing-service",
    retention = "warm",
    key = "{property}",
    idempotency = "{property}"
)]
struct CalendarPaid {
    /// The property.
    property: String,
    /// The last digits of the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "method"))]
    card_last_four: Option<String>,
    /// How it was paid.
    #[serde(default)]
    steps: Vec<Step>,
}

/// One of several payments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Step {
    /// Its number.
    number: u32,
    /// What the gateway calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-payment" = "reference"))]
    gateway_reference: Option<String>,
}

/// whoever adds a payment's field to an event that is projected annotates it, and no handler of the index sees it.
#[test]
fn a_field_of_a_payment_that_is_added_to_an_event_does_not_reach_the_index() {
    let step = Step { number: 1, gateway_reference: Some("ch_7".to_owned()) };
    let paid =
        CalendarPaid { property: "serai".to_owned(), card_last_four: Some("4242".to_owned()), steps: vec![step] };
    let payload = serde_json::to_string(&paid).expect("it can be printed");
    let seen: CalendarPaid = search::public::stripped(&payload).expect("it can be read without");
    let step = Step { number: 1, gateway_reference: None };
    assert_eq!(seen, CalendarPaid { card_last_four: None, steps: vec![step], ..paid });
}

/// of the event that says most of a payment, what the schemas annotate is gone.
#[test]
fn nothing_that_a_booking_says_of_its_payment_passes_to_the_index() {
    let mut payload = serde_json::to_value(told::confirmed(10)).expect("it can be printed");
    let schema = melmastoon::reservation::BookingConfirmed::schema_of();
    for field in ["payment", "paymentIntentId", "balanceDue"] {
        assert!(payload.get(field).is_some(), "{field} was told");
    }
    search::public::strip(&schema, &schema, &mut payload);
    for field in ["payment", "paymentIntentId", "balanceDue"] {
        assert_eq!(payload.get(field), None, "{field}");
    }
    assert!(payload["quote"]["total"].is_object(), "a price is no payment");
}

/// Whatever comes in whatever order, and comes again.
#[test]
fn listings_equal_a_recomputation_from_the_log() {
    crate::desk::each_seed(one_season);
}

async fn one_season(seed: u64) {
    let random = SeededRandom::new(seed);
    let below = |bound: u64| random.bits() % bound;
    let mut desk = desk().await;
    let mut taken: BTreeMap<Date, u32> = BTreeMap::new();
    let mut standing = Vec::new();
    for number in 0..40_u32 {
        let cancel = below(3) == 0 && !standing.is_empty();
        let of = if cancel {
            standing.swap_remove(usize::try_from(below(standing.len() as u64)).expect("a place"))
        } else {
            booking(
                300 + number,
                i32::try_from(below(8)).expect("a day") + 2,
                u32::try_from(below(2)).expect("nights") + 1,
            )
        };
        let nights = || (of.stay.check_in.unix_days()..of.stay.check_out.unix_days()).map(Date::from_unix_days);
        if !cancel && nights().any(|night| taken.get(&night).copied().unwrap_or_default() >= 2) {
            continue;
        }
        for night in nights() {
            let rooms = taken.entry(night).or_default();
            *rooms = if cancel { *rooms - 1 } else { *rooms + 1 };
        }
        let left = nights()
            .map(|night| melmastoon::inventory::RoomAvailability {
                room_type_id: told::room_type(),
                date: night,
                total: 2,
                available: 2 - taken[&night],
            })
            .collect();
        if cancel {
            desk.tell(&AllocationReleased { availability: left, ..told::released(&of, 2, 0) }).await;
        } else {
            desk.tell(&AllocationCommitted { availability: left, ..told::committed(&of, 2, 0) }).await;
            standing.push(of);
        }
        if below(4) == 0 {
            desk.pass_ms(i64::try_from(below(4_000)).expect("a while")).await;
        }
    }
    desk.settle().await;
    desk.pass_ms(work::INDEX_MS).await;
    let expected: BTreeMap<Date, u32> = (1..=90)
        .map(january)
        .filter_map(|night| {
            Some((night, 2 - taken.get(&night).copied().unwrap_or_default())).filter(|(_, free)| *free > 0)
        })
        .collect();
    assert_eq!(free(&desk).await, expected, "seed={seed}");
    let end = desk.log().await.len();
    let again = ["search-aggregation-service.places", "search-aggregation-service.nights"];
    desk.replay(&again, work::work(Work::new())).await;
    desk.pass_ms(work::INDEX_MS).await;
    assert_eq!(desk.log().await.len(), end, "seed={seed}: replaying changes nothing");
    desk.close().await;
}
