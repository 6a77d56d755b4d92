use std::sync::Arc;

use karwan_envelope::ids::EventId;
use karwan_registry::Event;
use karwan_store::log::LogRow;
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, TenantTx};
use tokio::sync::Notify;

use super::{Admitted, Behind, Held, Page, Plan, State};
use crate::consumer::{Consumer, Received, Verdict};
use crate::lane::Lane;
use crate::node::ReadAhead;
use crate::node::ahead::Amount;

/// Something happened.
#[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema, Event)]
#[event(subject = "a.b.c.happened.v1", owner = "b-service", retention = "year", key = "{id}", idempotency = "{id}")]
struct Happened {
    /// What.
    id: String,
}

fn consumer(what: &str) -> Arc<Consumer> {
    let on = async |_: TenantTx, _: Received<Happened>| Ok::<_, Error>(Verdict::Done);
    Arc::new(Consumer::new("b-service", what).lanes(1).on(on))
}

fn hold(what: &str) -> LaneHold {
    LaneHold { consumer: format!("b-service.{what}"), lane: 0, epoch: 1 }
}

/// Consumers of one lane each, at their positions.
fn state(consumers: &[(&str, i64)]) -> State {
    let mut state = State::default();
    for (what, position) in consumers {
        state.admit(vec![admitted(what, *position)]);
    }
    state
}

fn admitted(what: &str, position: i64) -> Admitted {
    let held = Held::new((1, 0), (position, 0), Lane::default(), Arc::new(Notify::new()));
    Admitted { consumer: consumer(what), number: 0, held, stopped: false, others: Vec::new() }
}

fn row(seq: i64, tenant: u128) -> LogRow {
    LogRow {
        seq,
        tenant,
        subject: Happened::SUBJECT.to_owned(),
        key: format!("k-{seq}"),
        slot: 0,
        event: EventId::from_bits(seq.cast_unsigned().into()),
        at: 0,
        envelope: String::new(),
    }
}

/// Rows of a tenant as the main read brings them.
fn read(state: &mut State, seqs: std::ops::RangeInclusive<i64>, tenant: u128) {
    let last = *seqs.end();
    seqs.for_each(|seq| state.push(row(seq, tenant)));
    state.read = last;
}

/// Handles everything that is queued for a consumer; answers what it was.
fn handle(state: &mut State, what: &str) -> Vec<i64> {
    let hold = hold(what);
    let mut handled = Vec::new();
    loop {
        let rows = state.held(&hold).map(|held| held.lane.take(64)).unwrap_or_default();
        if rows.is_empty() {
            return handled;
        }
        for row in rows {
            state.finish(&hold, row.seq);
            handled.push(row.seq);
        }
    }
}

fn page(state: &State) -> Page {
    match state.plan(state.read) {
        Plan::Page(page) => page,
        other => panic!("{other:?}"),
    }
}

const TENANT_CAP: usize = 1_024;
const CAP: i64 = TENANT_CAP as i64;

#[test]
fn a_slow_consumer_holds_nobody_but_itself_back() {
    let mut state = state(&[("slow", 0), ("quick", 0)]);
    read(&mut state, 1..=CAP, 1);
    assert_eq!(handle(&mut state, "quick").len(), TENANT_CAP);
    // Both were full; the quick one has room again, and is read for from where it was.
    let (except, behind) = (page(&state).except, state.behind());
    assert_eq!(except, [1]);
    assert_eq!(behind, [Behind { tenant: 1, after: CAP, consumers: vec!["b-service.quick".to_owned()] }]);
    state.push_behind(&behind[0], Vec::new(), CAP, false);
    // It has joined the main read, so that nobody leaves the tenant out of it any more.
    assert_eq!(page(&state).except, []);
    read(&mut state, CAP + 1..=CAP + 10, 1);
    assert_eq!(handle(&mut state, "quick").len(), 10);
    let slow: Vec<i64> = handle(&mut state, "slow");
    assert_eq!((slow.len(), slow.last()), (TENANT_CAP, Some(&CAP)));
    let behind = state.behind();
    assert_eq!(behind, [Behind { tenant: 1, after: CAP, consumers: vec!["b-service.slow".to_owned()] }]);
    state.push_behind(&behind[0], (CAP + 1..=CAP + 10).map(|seq| row(seq, 1)).collect(), CAP + 10, false);
    assert_eq!(handle(&mut state, "slow"), (CAP + 1..=CAP + 10).collect::<Vec<_>>());
    assert_eq!(state.queued, Amount::default());
}

#[test]
fn those_at_the_same_place_are_read_for_together() {
    let mut state = state(&[("one", 0), ("two", 0)]);
    state.sweep(&[1, 2], 0, 50_000);
    let both = || vec!["b-service.one".to_owned(), "b-service.two".to_owned()];
    let expected = [1, 2].map(|tenant| Behind { tenant, after: 0, consumers: both() });
    assert_eq!(state.behind(), expected);
    state.push_behind(&expected[0], vec![row(7, 1)], 50_000, false);
    assert_eq!((handle(&mut state, "one"), handle(&mut state, "two")), (vec![7], vec![7]));
}

#[test]
fn a_suspended_consumer_fills_nothing_and_goes_on_where_it_was() {
    let mut state = state(&[("broken", 0), ("well", 0)]);
    read(&mut state, 1..=10, 1);
    state.stop("b-service.broken", true);
    read(&mut state, 11..=3 * CAP, 1);
    assert_eq!(state.position(&hold("broken")).map(|(position, _)| position), Some(0));
    assert_eq!(handle(&mut state, "well").len(), TENANT_CAP);
    assert_eq!(handle(&mut state, "broken"), [0_i64; 0]);
    state.stop("b-service.broken", false);
    assert_eq!(state.read, 0, "it is read again from where it was");
    read(&mut state, 1..=20, 1);
    assert_eq!(handle(&mut state, "broken"), (1..=20).collect::<Vec<_>>());
    assert_eq!(handle(&mut state, "well"), [0_i64; 0], "what was finished is not queued again");
}

#[test]
fn what_lies_before_a_position_is_not_queued_for_its_lane() {
    let mut state = state(&[("old", 100), ("new", 0)]);
    assert_eq!(state.read, 0);
    read(&mut state, 1..=103, 1);
    assert_eq!(handle(&mut state, "old"), [101, 102, 103]);
    assert_eq!(handle(&mut state, "new").len(), 103);
}

#[test]
fn a_position_waits_for_what_is_read_apart() {
    let mut state = state(&[("one", 0)]);
    read(&mut state, 1..=5, 1);
    state.sweep(&[2], 5, 20_000);
    assert_eq!(handle(&mut state, "one").len(), 5);
    assert_eq!(state.position(&hold("one")).map(|(position, _)| position), Some(5));
    let behind = state.behind();
    state.push_behind(&behind[0], Vec::new(), 20_000, false);
    assert_eq!(state.position(&hold("one")).map(|(position, _)| position), Some(20_000));
}

#[test]
fn nothing_is_read_while_everything_is_full() {
    let mut state = state(&[("one", 0)]);
    for tenant in 1..=8_u128 {
        read(&mut state, 1..=CAP, tenant);
    }
    assert!(page(&state).full);
    assert_eq!(state.behind(), []);
}

#[test]
fn a_tenant_that_joins_while_a_page_without_it_is_read_is_read_apart_again() {
    let mut state = state(&[("one", 0)]);
    state.sweep(&[1], 0, 20_000);
    let Page { except, .. } = page(&state);
    assert_eq!(except, [1]);
    // It has everything of the tenant up to where the page begins, and joins the main read.
    state.push_behind(
        &Behind { tenant: 1, after: 0, consumers: vec!["b-service.one".to_owned()] },
        Vec::new(),
        20_000,
        false,
    );
    assert_eq!(page(&state).except, []);
    // The page that was planned before comes without the tenant's rows.
    state.push_page(&except, vec![row(20_001, 2)], 20_010);
    let expected = Behind { tenant: 1, after: 20_000, consumers: vec!["b-service.one".to_owned()] };
    assert_eq!(state.behind(), [expected]);
}

/// A new consumer, one that was rebuilt, or one that was resumed has the whole log before it.
#[test]
fn a_consumer_that_is_far_behind_sends_nobody_through_the_log_with_it() {
    let mut state = state(&[("old", 50_000), ("new", 0)]);
    let Plan::Sweep { after, until } = state.plan(50_010) else { panic!("nobody looks who has rows at all") };
    assert_eq!((after, until), (0, 50_000));
    state.sweep(&[1, 2], after, until);
    let behind: Vec<_> = state.behind().into_iter().map(|it| (it.tenant, it.after, it.consumers)).collect();
    let new = || vec!["b-service.new".to_owned()];
    assert_eq!(behind, [(1, 0, new()), (2, 0, new())]);
    // What is committed now is read for the old one at once, of these tenants too.
    let page = page(&state);
    assert_eq!((page.after, page.except), (50_000, vec![]));
    read(&mut state, 50_001..=50_010, 1);
    assert_eq!(handle(&mut state, "old").len(), 10);
    assert_eq!(state.position(&hold("old")).map(|(position, _)| position), Some(50_010));
    assert_eq!(state.position(&hold("new")).map(|(position, _)| position), Some(0));
}

#[test]
fn one_that_is_further_is_read_for_apart_from_where_it_is() {
    let mut state = state(&[("half", 20_000), ("new", 0)]);
    let Plan::Sweep { after, until } = state.plan(50_000) else { panic!("nobody looks who has rows at all") };
    assert_eq!((after, until), (0, 50_000));
    state.sweep(&[1], after, until);
    let behind: Vec<_> = state.behind().into_iter().map(|it| (it.after, it.consumers)).collect();
    assert_eq!(behind, [(0, vec!["b-service.new".to_owned()]), (20_000, vec!["b-service.half".to_owned()])]);
}

#[test]
fn a_consumer_that_is_stuck_with_many_tenants_stops_nobody_else() {
    let mut state = state(&[("stuck", 0), ("flowing", 0)]);
    state.ahead = ReadAhead { tenant_rows: 8, consumer_rows: 64, ..ReadAhead::default() };
    let mut flowed = 0;
    for tenant in 1..=40_i64 {
        assert!(!page(&state).full, "nothing is read for anybody, at tenant {tenant}");
        read(&mut state, 8 * tenant..=8 * tenant + 7, tenant.cast_unsigned().into());
        flowed += handle(&mut state, "flowing").len();
        // It was full of the tenant, and is read for in it again.
        let of_flowing = |it: &Behind| it.consumers == ["b-service.flowing"];
        let behind: Vec<_> = state.behind().into_iter().filter(of_flowing).collect();
        let until = state.read;
        behind.iter().for_each(|behind| state.push_behind(behind, Vec::new(), until, false));
    }
    assert_eq!(flowed, 320);
    assert_eq!(state.queued.rows, 64, "the stuck one has what it may have, and no more");
    // Nothing was lost for it: as it goes on, it is read for tenant by tenant.
    let mut handled = handle(&mut state, "stuck");
    while let Some(behind) = state.behind().first().cloned() {
        let all = (8..=327).map(|seq| row(seq, u128::try_from(seq / 8).expect("it is small")));
        let rows: Vec<_> = all.filter(|row| row.tenant == behind.tenant && row.seq > behind.after).collect();
        let until = state.read;
        state.push_behind(&behind, rows, until, false);
        handled.extend(handle(&mut state, "stuck"));
    }
    handled.sort_unstable();
    assert_eq!(handled, (8..=327).collect::<Vec<_>>());
}

#[test]
fn those_with_an_equal_share_of_all_wait_and_the_others_go_on() {
    let mut state = state(&[("greedy", 0), ("modest", 0)]);
    state.ahead = ReadAhead { rows: 20, ..ReadAhead::default() };
    for seq in 1..=100 {
        read(&mut state, seq..=seq, seq.cast_unsigned().into());
        if seq % 5 == 0 {
            assert_eq!(handle(&mut state, "modest").len(), 5);
        }
    }
    assert!(state.queued.rows <= 40, "{:?}", state.queued);
    assert!(!page(&state).full);
}

/// As many rows as may be queued, of a megabyte each, would fill any memory.
#[test]
fn large_envelopes_fill_the_queues_sooner_and_are_read_in_small_pages() {
    let mut state = state(&[("one", 0)]);
    let large = |seq: i64| LogRow { envelope: "x".repeat(1_000), ..row(seq, seq.cast_unsigned().into()) };
    state.ahead = ReadAhead { consumer_bytes: 10_000, page_bytes: 4_000, ..ReadAhead::default() };
    assert_eq!(page(&state).limit, 1_000);
    state.push_page(&[], (1..=4).map(large).collect(), 4);
    assert_eq!(page(&state).limit, 4);
    state.push_page(&[], (5..=12).map(large).collect(), 12);
    assert_eq!((state.queued.rows, state.queued.bytes), (10, 10_000));
    assert!(page(&state).full);
    assert_eq!(state.behind(), []);
    assert_eq!(handle(&mut state, "one").len(), 10);
    let behind = state.behind();
    assert_eq!(behind.iter().map(|it| (it.tenant, it.after)).collect::<Vec<_>>(), [(11, 10), (12, 11)]);
    assert_eq!((state.still(&behind[..1]).1, state.still(&behind).1), (4, 2), "no more of both than of one alone");
    assert_eq!(state.queued, Amount::default());
}

#[test]
fn what_was_to_be_read_apart_is_left_where_the_queues_are_full_meanwhile() {
    let mut state = state(&[("one", 0)]);
    state.ahead = ReadAhead { tenant_rows: 8, consumer_rows: 6, ..ReadAhead::default() };
    state.sweep(&[1, 2, 3], 0, 20_000);
    let behind = state.behind();
    assert_eq!(behind.len(), 3);
    let rows = |tenant: u128| (1..=4).map(|seq| row(seq * 10 + tenant as i64, tenant)).collect::<Vec<_>>();
    for of in &behind[..2] {
        let (still, _) = state.still(std::slice::from_ref(of));
        state.push_behind(&still[0], rows(of.tenant), 20_000, true);
    }
    assert_eq!(state.still(&behind[2..]).0, []);
    // Who had nothing goes first when there is room again.
    handle(&mut state, "one");
    assert_eq!(state.behind().len(), 3);
    state.push_behind(&state.behind()[1].clone(), rows(2), 20_000, true);
    assert_eq!(state.behind().iter().map(|it| it.tenant).collect::<Vec<_>>(), [1, 3, 2]);
}

#[test]
fn a_lane_that_is_let_go_disturbs_nobody_and_takes_its_rows_along() {
    let mut state = state(&[("one", 0), ("two", 0)]);
    read(&mut state, 1..=10, 1);
    let reading = state.reading;
    let taken = state.held(&hold("two")).map(|held| held.lane.take(4)).expect("it is held");
    state.dismiss(&hold("two"));
    assert_eq!((state.reading, state.read, state.queued.rows), (reading, 10, 10));
    assert!(!state.finish(&hold("two"), taken[0].seq), "it is nobody's");
    assert_eq!(handle(&mut state, "one").len(), 10);
    assert_eq!(state.queued, Amount::default());
}

#[test]
fn lanes_that_are_taken_together_have_the_log_read_again_once() {
    let mut state = state(&[("one", 0)]);
    read(&mut state, 1..=10, 1);
    let reading = state.reading;
    let lanes = (0..8).map(|lane| Admitted { number: lane, ..admitted("two", i64::from(lane)) });
    state.admit(lanes.collect());
    assert!(state.reading - reading <= 2, "{}", state.reading - reading);
    assert_eq!(state.read, 0);
}

#[test]
fn a_lane_that_has_everything_disturbs_nobody() {
    let mut state = state(&[("one", 0)]);
    read(&mut state, 1..=10, 1);
    state.admit(vec![admitted("two", 10)]);
    assert_eq!((state.read, state.queued.rows), (10, 10), "what is queued stays");
    assert_eq!(handle(&mut state, "one").len(), 10);
}

#[test]
fn what_was_taken_before_the_log_was_read_again_is_counted_once() {
    let mut state = state(&[("one", 0)]);
    read(&mut state, 1..=10, 1);
    let taken = state.held(&hold("one")).map(|held| held.lane.take(4)).expect("it is held");
    state.read_again();
    read(&mut state, 1..=10, 1);
    for row in &taken {
        state.finish(&hold("one"), row.seq);
    }
    assert_eq!(state.queued.rows, 10);
    handle(&mut state, "one");
    assert_eq!(state.queued, Amount::default());
}

/// An event of another release would otherwise be taken for one that nobody handles, and buried, in the moment in which its lane
/// passes on.
#[test]
fn what_other_releases_handle_is_known_of_a_lane_as_long_as_it_is_held() {
    let others = vec!["a.b.c.changed.v1".to_owned()];
    let mut state = State::default();
    state.admit(vec![Admitted { others: others.clone(), ..admitted("one", 0) }]);
    assert_eq!(state.others_of(&hold("one")), Some(&*others));
    assert_eq!(state.others_of(&LaneHold { epoch: 2, ..hold("one") }), None, "it is somebody else's");
    state.dismiss(&hold("one"));
    assert_eq!(state.others_of(&hold("one")), None);
}
