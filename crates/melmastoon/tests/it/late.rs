//! A platform that is back after a saga's deadline: the answers of others, which it finds or gets now, come too late, whoever is
//! quicker, they or the timer.

use karwan::{Engine, Work};
use melmastoon::inventory::AllocationReleased;
use melmastoon::reservation::booking::{ALLOCATION_MS, HOLD_MS, State};
use melmastoon::reservation::commands as reservation;
use melmastoon::reservation::{BookingConfirmed, CancellationReason, work};
use melmastoon::values::PaymentRail;

use crate::simulation::on_one_thread;
use crate::world::{World, from};

/// Orders in which services begin to work; the seed has their calls come late or fail.
const SEEDS: u64 = 4;

/// What ran before, for how long nobody ran, and what becomes of a booking that was begun before.
async fn back_after(seed: u64, before: &[&str], away_ms: i64) -> Vec<String> {
    let mut world = World::in_a_storm(1, seed).await;
    world.run(before).await;
    let wish = world.wish(world.quote("2026-03-10", 1).await, PaymentRail::Card);
    let placed = reservation::book(world.store(), &from("reservation-service"), &wish).await.expect("it is fresh");
    world.settle().await;
    world.stop().await;
    world.place.clock().advance_ms(away_ms);
    world.run(&[]).await;
    world.calm_down();
    // What a gateway has taken goes back, after some tries.
    world.pass_ms(600_000).await;
    let mut wrong = Vec::new();
    let state = world.state(placed.reservation_id).await;
    if state != (State::Cancelled { reason: CancellationReason::HoldExpired }) {
        wrong.push(format!("seed={seed}: it is {state:?}"));
    }
    if !world.told::<BookingConfirmed>().await.is_empty() || world.told::<AllocationReleased>().await.len() != 1 {
        wrong.push(format!("seed={seed}: it was confirmed, or its room is not free"));
    }
    if world.gateway.books().into_values().any(|charge| charge.net() != 0) {
        wrong.push(format!("seed={seed}: the guest has paid"));
    }
    wrong
}

fn nothing_is_wrong(before: &'static [&'static str], away_ms: i64) {
    let wrong: Vec<String> = (1..=SEEDS).flat_map(|seed| on_one_thread(back_after(seed, before, away_ms))).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// C-38: half a minute for the rooms.
#[test]
fn rooms_that_are_given_after_the_deadline_are_too_late() {
    nothing_is_wrong(&["reservation", "pricing"], ALLOCATION_MS);
}

/// C-38: ten minutes for everything.
#[test]
fn money_that_comes_after_the_hold_is_too_late_and_goes_back() {
    nothing_is_wrong(&["reservation", "pricing", "inventory"], HOLD_MS);
}

/// Back with so many milliseconds gone, reservation finds what others have told in time, and hears it before any of its timers,
/// which never run: how the booking stands.
async fn heard_after(before: &[&[&str]], away_ms: i64) -> &'static str {
    let mut world = World::stopped(1).await;
    let id = world.book("2026-03-10", 1, PaymentRail::Card).await.reservation_id;
    for services in before {
        world.run(services).await;
    }
    world.stop().await;
    world.place.clock().advance_ms(away_ms);
    let consumers = work::consumers().into_iter().fold(Work::new(), Work::consumer);
    let engine = Engine::start(world.store(), consumers, world.place.engine());
    engine.settle().await.expect("it settles");
    engine.stop().await;
    world.state(id).await.name()
}

/// C-38: no answer is quick enough to be in time after the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_in_time_is_too_late_when_it_is_heard_after_the_deadline() {
    let rooms: &[&[&str]] = &[&["inventory"]];
    assert_eq!(heard_after(rooms, ALLOCATION_MS - 1).await, "held");
    assert_eq!(heard_after(rooms, ALLOCATION_MS).await, "cancelled");
    let money: &[&[&str]] = &[&["reservation", "inventory"], &["payment"]];
    assert_eq!(heard_after(money, HOLD_MS - 1).await, "confirmed");
    assert_eq!(heard_after(money, HOLD_MS).await, "cancelled");
}
