//! What a relay keeps of its stream, and which dead letters wait for their topic.

use std::collections::BTreeMap;

use karwan_store::consumer::{Dead, Lane, Parked};
use karwan_store::relay_state::{RelayState, StreamPlace};
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, Store};

use crate::fixture::Fixture;

on_both! {
    a_relay_saves_its_position_with_that_of_its_stream,
    a_relay_that_lost_its_lane_saves_and_rewinds_nothing,
    a_lane_is_rewound_and_never_forward,
    a_dead_letter_waits_for_its_topic_until_it_is_told,
    what_a_stream_has_lost_is_parked_again_as_it_was_published_and_what_the_log_brings_again_is_not,
    what_was_published_long_ago_is_not_published_again,
    what_was_given_up_since_it_was_published_is_not_published_again,
    of_several_errors_the_outbox_tells_the_last,
}

fn lane() -> Lane {
    Lane { consumer: "relay.SALES".to_owned(), number: 0, of: 1 }
}

async fn hold(fixture: &Fixture, node: &str) -> LaneHold {
    let taken = fixture.store.take_lane(&lane(), node, 1_000).await.expect("it can be asked for");
    LaneHold { consumer: lane().consumer, lane: 0, epoch: taken.expect("it is free").epoch }
}

async fn state(fixture: &Fixture) -> Option<RelayState> {
    fixture.store.relay_state("relay.SALES").await.expect("it can be asked for")
}

async fn a_relay_saves_its_position_with_that_of_its_stream(fixture: Fixture) {
    let hold = hold(&fixture, "n-1").await;
    assert_eq!(state(&fixture).await, None);
    fixture.store.save_relay(&hold, 7, 5, 1_000).await.expect("the lane is held");
    fixture.store.save_relay(&hold, 9, 6, 1_000).await.expect("the lane is held");
    let fixture = fixture.reopened().await;
    assert_eq!(state(&fixture).await, Some(RelayState { seq: 9, stream_seq: 6, stream_created: 1_000 }));
}

async fn a_relay_that_lost_its_lane_saves_and_rewinds_nothing(fixture: Fixture) {
    let zombie = hold(&fixture, "n-1").await;
    fixture.store.save_relay(&zombie, 7, 5, 1_000).await.expect("the lane is held");
    fixture.pass(1_100);
    hold(&fixture, "n-2").await;
    let saved = fixture.store.save_relay(&zombie, 9, 6, 1_000).await;
    let rewound = fixture.store.rewind(&zombie, 1).await;
    assert!(matches!(saved, Err(Error::LaneLost { .. })), "{saved:?}");
    assert!(matches!(rewound, Err(Error::LaneLost { .. })), "{rewound:?}");
    assert_eq!(state(&fixture).await, Some(RelayState { seq: 7, stream_seq: 5, stream_created: 1_000 }));
}

async fn a_lane_is_rewound_and_never_forward(fixture: Fixture) {
    let hold = hold(&fixture, "n-1").await;
    fixture.store.save_relay(&hold, 7, 5, 1_000).await.expect("the lane is held");
    for (to, at) in [(9, 7), (3, 3), (5, 3)] {
        fixture.store.rewind(&hold, to).await.expect("the lane is held");
        assert_eq!(state(&fixture).await.map(|state| state.seq), Some(at));
    }
}

async fn a_dead_letter_waits_for_its_topic_until_it_is_told(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    fixture.place(2, "o-2").await;
    let rows = fixture.log().await;
    let hold = hold(&fixture, "n-1").await;
    for row in &rows {
        let event = row.clone().parked(None, 7, "no answer".to_owned());
        fixture.store.bury(&hold, &Dead { event, at: 0 }).await.expect("the lane is held");
    }
    let unfed = fixture.store.dead_unfed(0, 10).await.expect("they can be asked for");
    let found: Vec<_> = unfed.iter().map(|(of, dead)| (of.as_str(), dead.event.event, &dead.event.envelope)).collect();
    let all: Vec<_> = rows.iter().map(|row| ("relay.SALES", row.event, &row.envelope)).collect();
    assert_eq!(found, all);
    for (skip, found) in [(0, rows[0].event), (1, rows[1].event)] {
        let some = fixture.store.dead_unfed(skip, 1).await.expect("they can be asked for");
        assert_eq!(some.iter().map(|(_, dead)| dead.event.event).collect::<Vec<_>>(), [found], "behind {skip}");
    }
    let died = |event| unfed.iter().find(|(_, dead)| dead.event.event == event).map_or(0, |(_, dead)| dead.at);
    let [first, second] = [rows[0].event, rows[1].event];
    // One of another consumer, and one that was given up another time, are other letters.
    let fed = [("relay.SALES", first, died(first)), ("biller", second, died(second)), ("relay.SALES", second, 1)];
    let fed = fed.map(|(consumer, event, at)| (consumer.to_owned(), event, at));
    fixture.store.mark_fed(&fed).await.expect("they can be told of");
    let left = fixture.store.dead_unfed(0, 10).await.expect("they can be asked for");
    assert_eq!(left.iter().map(|(_, dead)| dead.event.event).collect::<Vec<_>>(), [rows[1].event]);
    assert_eq!(fixture.store.dead("relay.SALES", 0, 10).await.expect("it can be asked").len(), 2);
}

/// What is parked of three orders, of which the relay has published each under its number, the first repaired before.
async fn retried(fixture: &Fixture) -> (LaneHold, Vec<Parked>) {
    for id in ["o-1", "o-2", "o-3"] {
        fixture.place(1, id).await;
    }
    let hold = hold(fixture, "n-1").await;
    let rows = fixture.log().await.into_iter();
    let mut events: Vec<Parked> = rows.map(|row| row.parked(None, 3, "too large".to_owned())).collect();
    events[0].envelope = "repaired".to_owned();
    fixture.store.park(&hold, &events).await.expect("the lane is held");
    for (event, seq) in events.iter().zip(20..) {
        let place = StreamPlace { seq, created: 1_000 };
        fixture.store.retried(&hold, event.event, place).await.expect("the lane is held");
    }
    assert_eq!(parked(fixture).await, []);
    (hold, events)
}

async fn parked(fixture: &Fixture) -> Vec<Parked> {
    fixture.store.parked(&lane(), 10).await.expect("it can be asked for")
}

async fn what_a_stream_has_lost_is_parked_again_as_it_was_published_and_what_the_log_brings_again_is_not(
    fixture: Fixture,
) {
    let (hold, events) = retried(&fixture).await;
    let lost = async |from, (seq, created)| {
        fixture.store.park_lost(&hold, from, StreamPlace { seq, created }).await.expect("the lane is held")
    };
    assert_eq!(lost(100, (22, 1_000)).await, 0);
    assert_eq!(lost(events[0].seq, (20, 1_000)).await, 0, "the log brings the two that are gone");
    assert_eq!(lost(100, (20, 1_000)).await, 0, "and nothing else does");
    assert_eq!(lost(100, (50, 2_000)).await, 3, "another stream, however long");
    let again = parked(&fixture).await;
    assert_eq!(again.len(), 3);
    let Parked { event, seq, envelope, due, attempts, .. } = &again[0];
    assert_eq!((*event, *seq, &**envelope), (events[0].event, events[0].seq, "repaired"));
    assert_eq!((*due, *attempts), (Some(0), 0));
    assert_eq!(lost(100, (0, 3_000)).await, 0, "it is parked already");
}

async fn what_was_published_long_ago_is_not_published_again(fixture: Fixture) {
    let (hold, events) = retried(&fixture).await;
    let long_ago = if fixture.clock.is_some() { "0" } else { "'epoch'" };
    fixture.spoil(&format!("UPDATE karwan.retried SET logged = {long_ago}"));
    // The others were published only now, however old they are.
    fixture.spoil(&format!("UPDATE karwan.retried SET at = {long_ago} WHERE stream_seq = 20"));
    let end = StreamPlace { seq: 0, created: 1_000 };
    assert_eq!(fixture.store.park_lost(&hold, 100, end).await.expect("the lane is held"), 2);
    let again: Vec<_> = parked(&fixture).await.into_iter().map(|event| event.event).collect();
    assert_eq!(again, [events[1].event, events[2].event]);
}

async fn what_was_given_up_since_it_was_published_is_not_published_again(fixture: Fixture) {
    let (hold, events) = retried(&fixture).await;
    fixture.spoil(
        "INSERT INTO karwan.inbox (consumer, event_id, tenant_id, seq, at)
         SELECT consumer, event_id, tenant_id, seq, logged FROM karwan.retried WHERE stream_seq = 20",
    );
    let end = StreamPlace { seq: 0, created: 1_000 };
    assert_eq!(fixture.store.park_lost(&hold, 100, end).await.expect("the lane is held"), 2);
    let again: Vec<_> = parked(&fixture).await.into_iter().map(|event| event.event).collect();
    assert_eq!(again, [events[1].event, events[2].event]);
}

/// Not the one that comes last in an alphabet.
async fn of_several_errors_the_outbox_tells_the_last(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    fixture.place(1, "o-2").await;
    let hold = hold(&fixture, "n-1").await;
    let rows = fixture.log().await;
    for (row, error) in rows.iter().zip(["too large", "no room"]) {
        let event = row.clone().parked(Some(0), 1, error.to_owned());
        fixture.store.park(&hold, &[event]).await.expect("the lane is held");
        fixture.pass(10);
    }
    let observer = Store::observe(&fixture.owner()).await.expect("it can be observed");
    let outbox = observer.outbox(|_| None, &BTreeMap::new()).await.expect("it can be asked for");
    let told: Vec<_> = outbox.relays[0].topics.iter().map(|topic| (topic.parked, topic.error.as_deref())).collect();
    assert_eq!(told, [(2, Some("no room"))]);
}
