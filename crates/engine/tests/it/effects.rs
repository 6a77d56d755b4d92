//! Calls to vendors that are down, late, silent or broken: at most one charge, in order per key, nobody else affected.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_engine::{Answered, BreakerPolicy, Call, Engine, Performer, Policy, Refusal, Work};
use karwan_store::{Error, TenantTx};
use tokio::sync::Semaphore;

use crate::fixture::{Fixture, note};
use crate::vendor::{Asked, Mood, Vendor, charge, noted, performer, record};

on_both! {
    a_target_that_is_down_for_an_hour_is_charged_once_in_order_and_others_go_on,
    a_call_is_not_given_up_because_its_lane_passes_on_while_its_target_is_down,
    a_vendor_that_charges_and_is_silent_late_cut_off_or_twice_charges_once,
    one_slow_call_holds_its_slot_and_its_key_and_nothing_else,
    no_more_calls_of_a_kind_are_under_way_than_it_allows,
    a_call_that_can_never_be_answered_does_not_keep_its_target_closed,
    a_call_that_breaks_off_counts_its_attempts_and_is_listed,
    an_answer_that_cannot_be_acted_on_is_kept_and_the_call_not_repeated,
    an_answer_is_acted_on_while_its_target_is_held_back,
    a_stop_finishes_the_call_that_is_under_way_and_releases_its_lane,
}

pub const HOUR_MS: i64 = 3_600_000;

async fn settled(engine: &Engine) {
    engine.settle().await.expect("it settles");
}

async fn a_target_that_is_down_for_an_hour_is_charged_once_in_order_and_others_go_on(fixture: Fixture) {
    let (down, up) = (Vendor::open().await, Vendor::open().await);
    let calls = Arc::new(AtomicU32::new(0));
    let (counted, port) = (calls.clone(), down.port());
    let counting = move |call: Call<Asked>| {
        counted.fetch_add(u32::from(call.told.0 == port), Ordering::Relaxed);
        charge(call)
    };
    let performer =
        Performer::new("sales-service", "charge", counting, noted).target(|asked: &Asked| asked.0.to_string());
    down.goes_down().await;
    // More than are looked for at once, and before those of the other vendor.
    let cards: Vec<String> = (0..150).map(|number| format!("down-{number}")).collect();
    let charges: Vec<(&str, i64)> = cards.iter().flat_map(|card| [(card.as_str(), 1), (card.as_str(), 2)]).collect();
    record(&fixture, &down, &charges).await;
    record(&fixture, &up, &[("up-1", 7), ("up-2", 8), ("up-1", 9)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer));
    settled(&engine).await;
    assert_eq!((up.charged("up-1"), up.charged("up-2")), (vec![7, 9], vec![8]));
    for _ in 0..12 {
        fixture.clock.advance_ms(HOUR_MS / 12);
        settled(&engine).await;
    }
    // Eight at once find out, then one after each wait; 150 by their own policies would be a thousand.
    let asked = calls.load(Ordering::Relaxed);
    assert!((8..60).contains(&asked), "{asked}");
    assert_eq!(fixture.store.dead_effects("charge", 0, 10).await.expect("they can be asked for"), []);
    down.comes_up().await;
    while down.books().charges.len() < 300 {
        fixture.clock.advance_ms(60_000);
        settled(&engine).await;
    }
    settled(&engine).await;
    for card in &cards {
        assert_eq!(down.charged(card), [1, 2], "{card}");
        assert_eq!(fixture.notes(1, card).await, "charged 1;charged 2;");
    }
    assert_eq!(up.books().charges.len(), 3);
    engine.stop().await;
}

/// Whoever takes over does not know that the target is down, and the call has two attempts left.
async fn a_call_is_not_given_up_because_its_lane_passes_on_while_its_target_is_down(fixture: Fixture) {
    let vendor = Vendor::open().await;
    vendor.goes_down().await;
    record(&fixture, &vendor, &[("a", 5)]).await;
    for holder in 0..6 {
        let engine = fixture.start_work(&format!("n-{holder}"), Work::new().performer(performer()));
        for _ in 0..12 {
            settled(&engine).await;
            fixture.clock.advance_ms(HOUR_MS / 12);
        }
        settled(&engine).await;
        engine.stop().await;
        assert_eq!(fixture.store.dead_effects("charge", 0, 10).await.expect("they can be asked for"), [], "{holder}");
    }
    vendor.comes_up().await;
    let engine = fixture.start_work("n-9", Work::new().performer(performer()));
    while vendor.charged("a").is_empty() {
        fixture.clock.advance_ms(60_000);
        settled(&engine).await;
    }
    settled(&engine).await;
    assert_eq!((vendor.charged("a"), fixture.notes(1, "a").await), (vec![5], "charged 5;".to_owned()));
    engine.stop().await;
}

async fn a_vendor_that_charges_and_is_silent_late_cut_off_or_twice_charges_once(fixture: Fixture) {
    let vendor = Vendor::open().await;
    let moods = [Mood::Broken, Mood::Silent, Mood::Late, Mood::Cut, Mood::Broken, Mood::Twice, Mood::Twice];
    vendor.is_in_the_mood(moods);
    record(&fixture, &vendor, &[("a", 5), ("a", 6)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer().limit(Duration::from_secs(3))));
    while fixture.notes(1, "a").await != "charged 5;charged 6;" {
        settled(&engine).await;
        fixture.clock.advance_ms(60_000);
    }
    assert_eq!(vendor.charged("a"), [5, 6]);
    let books = vendor.books().requests.clone();
    assert_eq!(books.len(), moods.len(), "{books:?}");
    assert!(books[..6].iter().all(|key| *key == books[0]) && books[6] != books[0], "{books:?}");
    engine.stop().await;
}

/// Calls of the card `slow` wait for a permit.
fn held(gate: &Arc<Semaphore>) -> Performer {
    let gate = gate.clone();
    let call = move |call: Call<Asked>| {
        let gate = gate.clone();
        async move {
            if call.key == "slow" {
                gate.acquire().await.expect("it stays open").forget();
            }
            charge(call).await
        }
    };
    Performer::new("sales-service", "charge", call, noted)
}

async fn one_slow_call_holds_its_slot_and_its_key_and_nothing_else(fixture: Fixture) {
    let (vendor, gate) = (Vendor::open().await, Arc::new(Semaphore::new(0)));
    record(&fixture, &vendor, &[("slow", 1), ("slow", 2)]).await;
    let cards: Vec<String> = (0..30).map(|number| format!("c-{number}")).collect();
    record(&fixture, &vendor, &cards.iter().map(|card| (card.as_str(), 3)).collect::<Vec<_>>()).await;
    let engine = fixture.start_work("n-1", Work::new().performer(held(&gate).at_once(2)));
    // Thirty others pass through the other slot while it is under way.
    for card in &cards {
        while fixture.notes(1, card).await != "charged 3;" {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(vendor.charged("slow"), Vec::<i64>::new());
    gate.add_permits(2);
    settled(&engine).await;
    assert_eq!(fixture.notes(1, "slow").await, "charged 1;charged 2;");
    assert_eq!(vendor.books().requests.len(), 32);
    engine.stop().await;
}

async fn no_more_calls_of_a_kind_are_under_way_than_it_allows(fixture: Fixture) {
    const AT_ONCE: u32 = 3;
    let (vendor, gate) = (Vendor::open().await, Arc::new(Semaphore::new(0)));
    let (under_way, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let call = {
        let (gate, under_way, most) = (gate.clone(), under_way.clone(), most.clone());
        move |call: Call<Asked>| {
            let (gate, under_way, most) = (gate.clone(), under_way.clone(), most.clone());
            async move {
                most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                gate.acquire().await.expect("it stays open").forget();
                under_way.fetch_sub(1, Ordering::SeqCst);
                charge(call).await
            }
        }
    };
    let performer = Performer::new("sales-service", "charge", call, noted).at_once(AT_ONCE as usize);
    let cards: Vec<String> = (0..12).map(|number| format!("c-{number}")).collect();
    record(&fixture, &vendor, &cards.iter().map(|card| (card.as_str(), 1)).collect::<Vec<_>>()).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer));
    // One after the other, each when as many wait as may: one more that was let in would be counted.
    for left in (1..=12).rev() {
        while under_way.load(Ordering::SeqCst) < AT_ONCE.min(left) {
            tokio::task::yield_now().await;
        }
        gate.add_permits(1);
    }
    settled(&engine).await;
    assert_eq!((vendor.books().charges.len(), most.load(Ordering::SeqCst)), (12, AT_ONCE));
    engine.stop().await;
}

async fn a_call_that_can_never_be_answered_does_not_keep_its_target_closed(fixture: Fixture) {
    let vendor = Vendor::open().await;
    let call = async |call: Call<Asked>| match call.key.as_str() {
        "poison" => Err(Refusal::Later("no answer".to_owned())),
        _ => charge(call).await,
    };
    let breaker = BreakerPolicy { opens_after: 1, cool_down_ms: 30_000 };
    let performer = Performer::new("sales-service", "charge", call, noted).breaker(breaker).at_once(1);
    record(&fixture, &vendor, &[("poison", 1), ("good", 2)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer));
    settled(&engine).await;
    assert_eq!(vendor.charged("good"), Vec::<i64>::new(), "the target is held back");
    // The first to find out is the one that never will; the second time it is the other's turn.
    for _ in 0..2 {
        fixture.clock.advance_ms(30_000);
        settled(&engine).await;
    }
    assert_eq!(fixture.notes(1, "good").await, "charged 2;");
    engine.stop().await;
}

async fn a_call_that_breaks_off_counts_its_attempts_and_is_listed(fixture: Fixture) {
    let vendor = Vendor::open().await;
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let call = move |call: Call<Asked>| {
        let counted = counted.clone();
        if call.key == "at once" {
            panic!("it panics before there is a future");
        }
        async move {
            match call.key.as_str() {
                "bad" => {
                    counted.fetch_add(1, Ordering::Relaxed);
                    panic!("it panics with {}", call.told.1)
                }
                "hangs" => std::future::pending().await,
                _ => charge(call).await,
            }
        }
    };
    let policy = Policy { attempts_max: 3, ..Policy::default() };
    let performer = Performer::new("sales-service", "charge", call, noted).policy(policy);
    let performer = performer.limit(Duration::from_secs(4)).target(|asked: &Asked| asked.1.to_string());
    record(&fixture, &vendor, &[("bad", 1), ("bad", 2), ("at once", 3), ("good", 4), ("hangs", 5), ("good", -6)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer));
    for _ in 0..8 {
        settled(&engine).await;
        fixture.clock.advance_ms(60_000);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 6, "three attempts of each");
    assert_eq!(vendor.charged("good"), [4]);
    let dead = fixture.store.dead_effects("charge", 0, 10).await.expect("they can be asked for");
    let mut told: Vec<String> = dead
        .into_iter()
        .map(|dead| format!("{} {}: {}", dead.effect.key, dead.effect.attempts, dead.effect.error.unwrap_or_default()))
        .collect();
    told.sort();
    let expected = [
        "at once 3: it broke off: it panics before there is a future",
        "bad 3: it broke off: it panics with 1",
        "bad 3: it broke off: it panics with 2",
        "good 1: the vendor takes no such amount",
        "hangs 3: it took longer than 4s",
    ];
    assert_eq!(told, expected);
    engine.stop().await;
}

async fn an_answer_that_cannot_be_acted_on_is_kept_and_the_call_not_repeated(fixture: Fixture) {
    let vendor = Vendor::open().await;
    let tries = Arc::new(Mutex::new(0));
    let outcome = move |tx: TenantTx, answered: Answered<Asked, String>| {
        let mut tries = tries.lock().expect("nobody panics while holding it");
        *tries += u32::from(answered.key == "slowly");
        let (try_now, fails) = (*tries, answered.key == "never");
        drop(tries);
        async move {
            match try_now {
                _ if fails => return Err(Error::Repeated),
                1 if answered.key == "slowly" => panic!("it panics"),
                2 if answered.key == "slowly" => return Err(Error::Repeated),
                _ => {}
            }
            note(&tx, &answered.key, &answered.answer).await
        }
    };
    let policy = Policy { attempts_max: 4, ..Policy::default() };
    let performer = Performer::new("sales-service", "charge", charge, outcome).policy(policy);
    record(&fixture, &vendor, &[("slowly", 1), ("slowly", 2), ("never", 3), ("never", 4)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer));
    for _ in 0..9 {
        settled(&engine).await;
        fixture.clock.advance_ms(60_000);
    }
    assert_eq!(fixture.notes(1, "slowly").await, "charged 1;charged 2;");
    assert_eq!(vendor.books().requests.len(), 4, "each is called once");
    let dead = fixture.store.dead_effects("charge", 0, 10).await.expect("they can be asked for");
    let answers: Vec<_> = dead.iter().map(|dead| (dead.effect.attempts, dead.effect.answer.as_deref())).collect();
    assert_eq!(answers, [(4, Some("\"charged 3;\"")), (4, Some("\"charged 4;\""))]);
    fixture.store.count_letters().await.expect("they can be counted");
    let text = fixture.store.metrics().text();
    let depth = "\nshop_dlq_depth{service=\"effect\",topic=\"charge\",subscription=\"effect.charge\"} 2\n";
    assert!(text.contains(depth), "{text}");
    engine.stop().await;
}

async fn an_answer_is_acted_on_while_its_target_is_held_back(fixture: Fixture) {
    let vendor = Vendor::open().await;
    let first = Arc::new(AtomicU32::new(0));
    let outcome = move |tx: TenantTx, answered: Answered<Asked, String>| {
        let fails = first.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if fails { Err(Error::Repeated) } else { noted(tx, answered).await } }
    };
    let breaker = BreakerPolicy { opens_after: 1, cool_down_ms: HOUR_MS };
    let performer = Performer::new("sales-service", "charge", charge, outcome).breaker(breaker);
    record(&fixture, &vendor, &[("a", 1)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer));
    settled(&engine).await;
    vendor.goes_down().await;
    record(&fixture, &vendor, &[("b", 2)]).await;
    settled(&engine).await;
    fixture.clock.advance_ms(60_000);
    settled(&engine).await;
    assert_eq!((fixture.notes(1, "a").await.as_str(), fixture.notes(1, "b").await.as_str()), ("charged 1;", ""));
    engine.stop().await;
}

async fn a_stop_finishes_the_call_that_is_under_way_and_releases_its_lane(fixture: Fixture) {
    let (vendor, gate) = (Vendor::open().await, Arc::new(Semaphore::new(0)));
    record(&fixture, &vendor, &[("first", 1)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(held(&gate)));
    settled(&engine).await;
    record(&fixture, &vendor, &[("slow", 2), ("last", 3)]).await;
    while fixture.notes(1, "last").await.is_empty() {
        tokio::task::yield_now().await;
    }
    let stopping = tokio::spawn(engine.stop());
    // Nothing new is taken while it waits for what is under way.
    tokio::time::sleep(Duration::from_millis(200)).await;
    record(&fixture, &vendor, &[("late", 4)]).await;
    gate.add_permits(1);
    stopping.await.expect("it stops");
    assert_eq!(fixture.notes(1, "slow").await, "charged 2;");
    assert_eq!(vendor.charged("late"), Vec::<i64>::new());
    // No lease has to run out: the lane was released.
    let heir = fixture.start_work("n-2", Work::new().performer(performer()));
    settled(&heir).await;
    assert_eq!(vendor.charged("late"), [4]);
    heir.stop().await;
}
