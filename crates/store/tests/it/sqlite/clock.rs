//! The store's clock, when it is wrong.

use karwan_store::consumer::{Lane, Node};
use karwan_store::log::Filter;
use karwan_store::write_set::LaneHold;

use crate::fixture::{Fixture, START_MS, run, sqlite};

const HOUR_MS: i64 = 3_600_000;

#[test]
fn a_clock_that_jumps_back_an_hour_changes_neither_order_nor_positions() {
    run(sqlite(), async |fixture: Fixture| {
        let before = fixture.place(1, "o-1").await.position;
        fixture.pass(-HOUR_MS);
        let after = fixture.place(1, "o-2").await.position;
        assert!(after > before);
        let page = fixture.store.relay().page(before, &Filter::default(), 10).await.expect("the log can be read");
        assert_eq!(
            page.rows.iter().map(|row| (row.key.as_str(), row.at)).collect::<Vec<_>>(),
            [("o-2", START_MS - HOUR_MS)]
        );
        let events: Vec<_> = fixture.log().await.iter().map(|row| row.event).collect();
        assert!(events.is_sorted(), "ids go on ascending");
    });
}

/// By the clock alone a dead process would keep its lanes until the clock has caught up.
#[test]
fn a_clock_that_jumps_back_an_hour_does_not_keep_a_dead_processs_lane() {
    run(sqlite(), async |fixture: Fixture| {
        let lane = Lane { consumer: "mailer".to_owned(), number: 0, of: 1 };
        let take = async |node: &str| fixture.store.take_lane(&lane, node, 5_000).await.expect("it can be asked for");
        let first = take("n-1").await.expect("it is free");
        fixture.pass(-500);
        assert_eq!(take("n-2").await, None, "a clock that is adjusted a little costs nobody a lane");
        fixture.pass(-HOUR_MS);
        assert!(take("n-2").await.expect("the lease is from the future").epoch > first.epoch);
    });
}

#[test]
fn a_node_that_lives_keeps_its_lanes_when_the_clock_jumps_back() {
    run(sqlite(), async |fixture: Fixture| {
        let lane = Lane { consumer: "mailer".to_owned(), number: 0, of: 1 };
        let taken = fixture.store.take_lane(&lane, "n-1", 5_000).await.expect("it can be asked for");
        let epoch = taken.expect("it is free").epoch;
        let hold = LaneHold { consumer: lane.consumer.clone(), lane: lane.number, epoch };
        fixture.pass(-HOUR_MS);
        fixture.store.beat(&Node::named("n-1"), &[hold], 5_000).await.expect("it beats");
        assert_eq!(fixture.store.take_lane(&lane, "n-2", 5_000).await.expect("it can be asked for"), None);
    });
}
