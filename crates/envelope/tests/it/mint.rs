//! minted ids are UUIDv7 and strictly ascend, whatever the clock does.

use std::collections::HashSet;

use karwan_envelope::ids::{EventId, Form};
use karwan_envelope::mint::{Mint, OsRandom, Random, SeededRandom};
use karwan_envelope::time::{ManualClock, SystemClock, Timestamp};
use proptest::prelude::*;

const NOON: i64 = 1_777_636_800_000;

fn mint() -> Mint<ManualClock, SeededRandom> {
    Mint::new(ManualClock::at(Timestamp::from_unix_ms(NOON)), SeededRandom::new(7))
}

fn check_ascending(ids: &[EventId]) {
    assert!(ids.iter().all(|id| id.is_v7()));
    for form in [Form::UuidV7, Form::Ulid, Form::Prefixed("evt")] {
        let texts: Vec<String> =
            ids.iter().map(|id| form.print(id.bits()).expect("a minted id has every form")).collect();
        assert!(texts.is_sorted_by(|a, b| a < b), "not ascending in {form:?}");
    }
}

#[test]
fn ten_thousand_ids_of_one_millisecond_ascend() {
    let mint = mint();
    let ids: Vec<EventId> = (0..10_000).map(|_| mint.event()).collect();
    check_ascending(&ids);
}

#[test]
fn ids_ascend_while_the_clock_jumps_back_and_forth() {
    let mint = mint();
    let ids: Vec<EventId> = (0..10_000)
        .map(|step: i64| {
            mint.clock().advance_ms([1, -3_600_000, 0, 3_600_002, -1][step as usize % 5]);
            mint.event()
        })
        .collect();
    check_ascending(&ids);
}

#[test]
fn an_id_carries_the_time_of_its_clock() {
    let mint = mint();
    assert_eq!(mint.event().unix_ms(), NOON as u64);
    mint.clock().advance_ms(5);
    assert_eq!(mint.event().unix_ms(), NOON as u64 + 5);
}

struct AllOnes;
impl Random for AllOnes {
    fn bits(&self) -> u64 {
        u64::MAX
    }
}

#[test]
fn when_the_random_part_is_used_up_the_next_millisecond_begins() {
    let mint = Mint::new(ManualClock::at(Timestamp::from_unix_ms(NOON)), AllOnes);
    let ids = [mint.event(), mint.event(), mint.event()];
    check_ascending(&ids);
    assert_eq!(ids.map(EventId::unix_ms), [NOON as u64, NOON as u64 + 1, NOON as u64 + 1]);
}

#[test]
fn events_correlations_and_rows_never_share_an_id() {
    let mint = mint();
    let bits: HashSet<u128> =
        (0..100).flat_map(|_| [mint.event().bits(), mint.correlation().bits(), mint.outbox().bits()]).collect();
    assert_eq!(bits.len(), 300);
}

#[test]
fn the_same_seed_gives_the_same_ids() {
    let (a, b) = (mint(), mint());
    assert!((0..100).all(|_| a.event() == b.event()));
    assert_ne!(SeededRandom::new(1).bits(), SeededRandom::new(2).bits());
}

#[test]
fn the_machine_mints_version_7_too() {
    let mint = Mint::new(SystemClock, OsRandom);
    let ids: Vec<EventId> = (0..1000).map(|_| mint.event()).collect();
    check_ascending(&ids);
}

proptest! {
    #[test]
    fn ids_ascend_for_any_walk_of_the_clock(jumps in prop::collection::vec(-10_000_000_i64..10_000_000, 1..200)) {
        let mint = mint();
        let ids: Vec<EventId> = jumps
            .into_iter()
            .map(|jump| {
                mint.clock().advance_ms(jump);
                mint.event()
            })
            .collect();
        check_ascending(&ids);
    }

    #[test]
    fn a_clock_before_1970_still_mints(ms in i64::MIN / 2..0) {
        let mint = Mint::new(ManualClock::at(Timestamp::from_unix_ms(ms)), SeededRandom::new(1));
        check_ascending(&[mint.event(), mint.event()]);
    }
}
