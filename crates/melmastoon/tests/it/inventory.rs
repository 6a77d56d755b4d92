//! What can be sold: rooms, nights, stop-sells.

use karwan::envelope::time::Date;
use melmastoon::inventory::commands::{self as inventory, Close};
use melmastoon::inventory::{OversellBlocked, StopSellActivated, StopSellCleared, StopSellReason};
use melmastoon::property::ArchiveReason;
use melmastoon::property::RoomAdded;
use melmastoon::property::commands as property;
use melmastoon::reservation::commands as reservation;
use melmastoon::values::{BookingStatus, DateRange, PaymentRail};

use crate::world::{World, day, from};

const NIGHT: &str = "2026-03-10";

async fn left(world: &World, from_day: &str, nights: i32) -> Vec<u32> {
    let first = day(from_day);
    let dates = DateRange { from: first, until: Date::from_unix_days(first.unix_days() + nights) };
    let left = inventory::availability(world.store(), &from("inventory-service"), world.room_type, dates).await;
    left.expect("it can be asked").into_iter().map(|night| night.available).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stay_takes_its_nights_and_no_others() {
    let world = World::with_rooms(2).await;
    world.book(NIGHT, 2, PaymentRail::Card).await;
    assert_eq!(left(&world, "2026-03-09", 4).await, [2, 1, 1, 2]);
}

/// One guest leaves on the day on which the other arrives: the room is sold to both.
#[tokio::test(flavor = "multi_thread")]
async fn the_night_of_departure_can_be_sold_again() {
    let world = World::with_rooms(1).await;
    let first = world.book(NIGHT, 2, PaymentRail::Card).await.reservation_id;
    let second = world.book("2026-03-12", 1, PaymentRail::Card).await.reservation_id;
    for id in [first, second] {
        assert_eq!(world.booking(id).await.status(), BookingStatus::Confirmed);
    }
}

/// A room is free on each night, and none for the whole stay.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_does_not_change_rooms_in_the_middle_of_a_stay() {
    let world = World::with_rooms(2).await;
    let gone = world.book(NIGHT, 2, PaymentRail::Card).await.reservation_id;
    world.book("2026-03-11", 1, PaymentRail::Card).await;
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), gone).await.unwrap();
    world.settle().await;
    world.book(NIGHT, 1, PaymentRail::Card).await;
    assert_eq!(left(&world, NIGHT, 2).await, [1, 1]);
    world.book(NIGHT, 2, PaymentRail::Card).await;
    let blocked = world.told::<OversellBlocked>().await.remove(0);
    assert_eq!(blocked.shortages.iter().map(|night| night.available).collect::<Vec<_>>(), [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nights_that_are_closed_are_not_sold_until_they_are_opened() {
    let world = World::with_rooms(1).await;
    let context = from("inventory-service");
    let dates = DateRange { from: day(NIGHT), until: day("2026-03-11") };
    let close = Close { room_type_id: world.room_type, dates, reason: StopSellReason::OwnerUse, by: None };
    let id = inventory::stop_sell(world.store(), &context, &close).await.unwrap();
    assert_eq!(world.told::<StopSellActivated>().await.len(), 1);
    let refused = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    let refused = reservation::status(world.store(), &context, refused).await.unwrap_err();
    assert_eq!(refused.code(), "MELMASTOON.RESERVATION.OVERBOOKING_BLOCKED");
    assert_eq!(world.told::<OversellBlocked>().await[0].shortages[0].available, 0);
    for _ in 0..2 {
        inventory::clear_stop_sell(world.store(), &context, id, None).await.unwrap();
    }
    let cleared = world.told::<StopSellCleared>().await;
    assert_eq!(cleared.iter().map(|it| it.availability[0].available).collect::<Vec<_>>(), [1], "cleared once");
    let sold = world.book(NIGHT, 1, PaymentRail::Card).await.reservation_id;
    assert_eq!(world.booking(sold).await.status(), BookingStatus::Confirmed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_is_archived_is_not_sold_from_that_night_on() {
    let world = World::with_rooms(1).await;
    let room = world.told::<RoomAdded>().await[0].room_id;
    let context = from("property-service");
    property::archive_room(world.store(), &context, room, day("2026-03-11"), ArchiveReason::Closed).await.unwrap();
    world.settle().await;
    assert_eq!(left(&world, NIGHT, 2).await, [1, 0]);
}
