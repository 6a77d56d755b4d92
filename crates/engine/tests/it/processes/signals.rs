//! Told to stop: once, in good order; twice, at once.

use std::time::Duration;

use tokio::time::sleep;

use super::node::Program;
use super::with_yard;
use super::yard::until;

/// The handler takes longer than the lease, and somebody waits for the lane.
#[test]
fn told_to_stop_a_process_finishes_what_it_holds() {
    with_yard(async |yard| {
        let slow = |name| Program { lanes: 1, slow_ms: 2_500, always_slow: true, failing: 0, ..yard.program(name) };
        let one = yard.start(&slow("a"));
        yard.at_work(&one).await;
        let other = yard.start(&slow("b"));
        yard.change("o", 1).await;
        until("the handler's start", async || (!yard.attempts().is_empty()).then_some(())).await;
        one.stop().await;
        assert_eq!(yard.attempts(), ["a o 1"], "it was not finished, and somebody else did it again");
        yard.unharmed().await;
        // Nothing of it is left in the way of others.
        yard.change("o", 2).await;
        yard.unharmed().await;
        assert_eq!(yard.attempts(), ["a o 1", "b o 2"]);
        other.stop().await;
    });
}

/// Every thread of the program is stuck in a handler.
#[test]
fn told_twice_a_process_ends_at_once_though_a_handler_hangs() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        with_yard(async |yard| {
            let mut process = yard.start(&Program { stuck: true, lanes: 1, ..yard.program("a") });
            yard.at_work(&process).await;
            yard.change("o", 1).await;
            until("the handler's start", async || (!yard.attempts().is_empty()).then_some(())).await;
            process.signal(signal);
            sleep(Duration::from_millis(300)).await;
            assert_eq!(process.has_ended(), None, "the first signal does not end it");
            process.signal(signal);
            assert_eq!(process.ended().await.code(), Some(code));
        });
    }
}

/// Their lease would outlive the test.
#[test]
fn lanes_of_a_stopped_process_are_taken_without_waiting_for_the_lease() {
    with_yard(async |yard| {
        let lasting = |name| Program { lease_ms: 600_000, slow_ms: 0, failing: 0, ..yard.program(name) };
        let one = yard.start(&lasting("a"));
        yard.at_work(&one).await;
        one.stop().await;
        assert_eq!(yard.psql("SELECT count(*) FROM karwan.lane WHERE holder IS NOT NULL"), "0");
        assert_eq!(yard.psql("SELECT count(*) FROM karwan.node"), "0");
        let other = yard.start(&lasting("b"));
        for key in 0..16 {
            yard.change(&format!("o-{key}"), 1).await;
        }
        yard.unharmed().await;
        other.stop().await;
    });
}
