//! Quotes in another currency than the house's: the rate is frozen with the price, and everything after it is paid in one currency.

use karwan::envelope::money::{Currency, Micros};
use karwan::envelope::time::Date;
use melmastoon::analytics::commands::kpis;
use melmastoon::billing::folio::Folio;
use melmastoon::payment::{IntentCaptured, IntentRefunded};
use melmastoon::pricing::commands::{self as pricing, Publish};
use melmastoon::pricing::decide::Ask;
use melmastoon::pricing::{CalendarDay, CancellationTerms};
use melmastoon::reservation::commands as reservation;
use melmastoon::reservation::{BookingCancelled, BookingConfirmed, BookingHeld};
use melmastoon::values::{DateRange, LocalText, PaymentRail};

use crate::world::{FIRST_NIGHT, NIGHT_MICRO, World, day, from};

const NIGHT: &str = "2026-03-10";

fn currency(code: &str) -> Currency {
    code.parse().expect("a currency")
}

async fn set_rate(world: &World, of: &str, to: &str, rate: &str) -> Result<(), String> {
    let context = from("pricing-service");
    let set = pricing::set_exchange_rate(world.store(), &context, currency(of), currency(to), rate);
    set.await.map_err(|refused| refused.to_string())
}

/// U-14: the currency snapshot of a quote. Whatever becomes of the rate, a booking is paid, and given back, as it was quoted.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_in_the_guests_currency_freezes_its_rate_for_all_that_follows() {
    let world = World::with_rooms(1).await;
    let (dollars, night) = (currency("USD"), NIGHT_MICRO * 10 / 705);
    set_rate(&world, "USD", "AFN", "70.5").await.unwrap();
    let ask = Ask { currency: Some(dollars), ..world.ask(NIGHT, 1) };
    let offer = pricing::quote(world.store(), &from("pricing-service"), &ask).await.unwrap();
    let (total, tax) = (night + night / 10, night / 10);
    assert_eq!((offer.quote.total.amount_micro.get(), offer.quote.tax.amount_micro.get()), (total, tax));
    assert_eq!((offer.quote.total.currency, offer.deposit), (dollars, offer.quote.total));
    let frozen = offer.quote.currency_snapshot.clone();
    assert_eq!((frozen.guest_currency, frozen.property_currency), (dollars, currency("AFN")));
    assert_eq!(frozen.rate, "70.5");

    set_rate(&world, "USD", "AFN", "80").await.unwrap();
    let (wish, context) = (world.wish(offer.clone(), PaymentRail::Card), from("reservation-service"));
    let id = reservation::book(world.store(), &context, &wish).await.unwrap().reservation_id;
    world.settle().await;
    assert_eq!(world.told::<BookingHeld>().await[0].quote, offer.quote);
    assert_eq!(world.told::<BookingConfirmed>().await[0].quote, offer.quote);
    assert_eq!(world.told::<IntentCaptured>().await[0].received, offer.quote.total);
    let folio: Folio = world.read(&world.booking(id).await.folio_id.to_string()).await.expect("a folio");
    assert_eq!(folio.currency, dollars);
    world.pass_ms(30_000).await;
    // The house keeps its books in its own currency, at the frozen rate.
    let days = DateRange { from: day(NIGHT), until: day("2026-03-11") };
    let figures = kpis(world.store(), &from("analytics-service"), world.property, days).await.unwrap().revenue;
    assert_eq!((figures.currency, figures.rooms_micro), (currency("AFN"), Micros::new(night * 705 / 10)));

    reservation::cancel_for_guest(world.store(), &context, id).await.unwrap();
    world.settle().await;
    assert_eq!(world.told::<BookingCancelled>().await[0].quote.currency_snapshot, frozen);
    let refunded = world.told::<IntentRefunded>().await.remove(0);
    assert_eq!(refunded.amount, offer.quote.total);
    world.pass_ms(30_000).await;
    let today = refunded.refunded_at.date();
    let days = DateRange { from: today, until: Date::from_unix_days(today.unix_days() + 1) };
    let figures = kpis(world.store(), &from("analytics-service"), world.property, days).await.unwrap().revenue;
    assert_eq!(figures.refunds_micro, Micros::new(total * 705 / 10), "not at the rate of today");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_currency_of_which_no_rate_is_known_has_no_quote() {
    let world = World::with_rooms(1).await;
    let ask = Ask { currency: Some(currency("EUR")), ..world.ask(NIGHT, 1) };
    let quote = async || pricing::quote(world.store(), &from("pricing-service"), &ask).await;
    // Not the other way round, and not of another house's currency.
    set_rate(&world, "AFN", "EUR", "0.0125").await.unwrap();
    set_rate(&world, "EUR", "USD", "1.1").await.unwrap();
    assert!(quote().await.unwrap_err().to_string().contains("how EUR stands to AFN is not known"));
    for wrong in ["0", "-1", "1e3", "much"] {
        assert!(set_rate(&world, "EUR", "AFN", wrong).await.unwrap_err().contains("a decimal above 0"), "{wrong}");
    }
    assert!(set_rate(&world, "AFN", "AFN", "2").await.is_err());
    set_rate(&world, "EUR", "AFN", "80").await.unwrap();
    assert_eq!(quote().await.unwrap().quote.nights[0].amount_micro.get(), NIGHT_MICRO / 80);
    // Who says nothing pays as the plan's prices are.
    let snapshot = world.quote(NIGHT, 1).await.quote.currency_snapshot;
    assert_eq!((snapshot.guest_currency, snapshot.rate.as_str()), (currency("AFN"), "1"));
}

/// A plan may be priced in another currency than the house's: its own prices need no rate, what the house earns does.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_in_a_foreign_currency_is_quoted_at_its_rate_to_the_houses() {
    let world = World::with_rooms(1).await;
    let context = from("pricing-service");
    let publish = Publish {
        property_id: world.property,
        code: "USD".to_owned(),
        name: vec![LocalText { locale: "fa-AF".parse().expect("a locale"), text: "In dollars".to_owned() }],
        room_type_ids: vec![world.room_type],
        currency: currency("USD"),
        cancellation: CancellationTerms {
            free_until_hours_before: None,
            late_refund_percent: 0,
            no_show_refund_percent: 0,
        },
        deposit_percent: 100,
    };
    let plan = pricing::publish_rate_plan(world.store(), &context, &publish).await.unwrap();
    let price = CalendarDay {
        date: day(FIRST_NIGHT),
        price_micro: Micros::new(30_000_000),
        closed: false,
        closed_to_arrival: false,
        closed_to_departure: false,
        stay_nights_min: None,
    };
    pricing::set_prices(world.store(), &context, plan, world.room_type, &[price]).await.unwrap();
    let ask = Ask { rate_plan_id: plan, ..world.ask(FIRST_NIGHT, 1) };
    let quote = async |of: Option<&str>| {
        let ask = Ask { currency: of.map(currency), ..ask.clone() };
        let offer = pricing::quote(world.store(), &context, &ask).await;
        offer.map(|offer| (offer.quote.nights[0].amount_micro.get(), offer.quote.currency_snapshot.rate))
    };
    assert!(quote(None).await.is_err(), "a rate of 1 would be wrong");
    set_rate(&world, "USD", "AFN", "70").await.unwrap();
    set_rate(&world, "EUR", "AFN", "75").await.unwrap();
    assert_eq!(quote(None).await.unwrap(), (30_000_000, "70".to_owned()));
    assert_eq!(quote(Some("AFN")).await.unwrap(), (2_100_000_000, "1".to_owned()));
    assert_eq!(quote(Some("EUR")).await.unwrap(), (28_000_000, "75".to_owned()));
}
