//! What a broker loses: what it had refused before, and what is older than the log or its consumers remember.

use std::path::PathBuf;

use karwan_broker::Delivery;
use karwan_store::log::Filter;
use karwan_store::operator::{Deed, Target};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::Fixture;
use crate::lossy::copy;
use crate::processes::yard::until;
use crate::relay::{
    broker, change, change_large, desk, filled, given_up, heal, locked_away, parked, refused, refused_revisions,
    revisions, server, start,
};

on_both! {
    what_was_published_after_it_had_been_refused_is_published_again_where_the_broker_forgets_it,
    what_was_locked_away_and_is_still_refused_holds_back_nothing_where_its_stream_is_made_anew,
    what_was_passed_over_is_not_published_where_its_stream_is_made_anew,
    what_was_deleted_is_not_published_where_its_stream_is_made_anew,
    what_was_repaired_is_published_as_it_was_repaired_where_its_stream_is_made_anew,
    a_stream_that_lost_more_than_the_log_still_has_gets_what_it_has_and_goes_on,
    a_stream_that_lost_its_end_gets_nothing_that_consumers_may_have_forgotten,
}

/// What the broker said that it has, without what came since it was copied.
fn forgets(server: &Server, since: &std::path::Path) {
    server.kill();
    copy(since, &server.store_directory());
    server.start_again();
}

/// Its place in the log lies far behind what its relay has published: nothing that the stream still has tells that it is missing.
async fn what_was_published_after_it_had_been_refused_is_published_again_where_the_broker_forgets_it(fixture: Fixture) {
    let Some((server, engine)) = refused(&fixture, 1).await else { return };
    change(&fixture, 1..4, 1..=3).await;
    filled(&server, "SALES", 10).await;
    until("both of its key", async || (parked(&fixture).await.len() == 2).then_some(())).await;
    engine.stop().await;
    heal(&server);
    server.stop();
    let kept = server.directory().join("kept");
    copy(&server.store_directory(), &kept);
    server.start_again();

    fixture.clock.advance_ms(60 * 60 * 1000);
    change_large(&fixture, 0, 3..=3).await;
    let engine = start(&fixture, &server, "n-2").await;
    assert_eq!(refused_revisions(&filled(&server, "SALES", 13).await), [1, 2, 3]);
    until("nothing that waits", async || parked(&fixture).await.is_empty().then_some(())).await;
    engine.stop().await;

    forgets(&server, &kept);
    let engine = start(&fixture, &server, "n-3").await;
    let messages = filled(&server, "SALES", 13).await;
    assert_eq!((messages.len(), refused_revisions(&messages)), (13, vec![1, 2, 3]));
    until("nothing that waits", async || parked(&fixture).await.is_empty().then_some(())).await;
    engine.stop().await;

    // A stream that is made anew has them from the log, and not twice.
    broker(&server).await.delete_stream("SALES").await.expect("it can be deleted");
    let engine = start(&fixture, &server, "n-4").await;
    let made = async || broker(&server).await.has_stream("SALES").await.expect("it can be asked").then_some(());
    until("a stream", made).await;
    let messages = filled(&server, "SALES", 13).await;
    assert_eq!((messages.len(), refused_revisions(&messages)), (13, vec![1, 2, 3]));
    engine.stop().await;
}

/// What a stream has that is deleted, made anew by a relay, and filled with so many.
async fn made_anew(fixture: &Fixture, server: &Server, node: &str, count: usize) -> Vec<Delivery> {
    broker(server).await.delete_stream("SALES").await.expect("it can be deleted");
    let engine = start(fixture, server, node).await;
    let made = async || broker(server).await.has_stream("SALES").await.expect("it can be asked").then_some(());
    until("a stream", made).await;
    let messages = filled(server, "SALES", count).await;
    engine.stop().await;
    messages
}

/// Its row is read again, and it is known for a letter: it is not parked, and not tried.
async fn what_was_locked_away_and_is_still_refused_holds_back_nothing_where_its_stream_is_made_anew(fixture: Fixture) {
    let Some((server, target)) = given_up(&fixture).await else { return };
    change(&fixture, 1..4, 1..=3).await;
    let messages = made_anew(&fixture, &server, "n-2", 10).await;
    assert_eq!((messages.len(), refused_revisions(&messages)), (10, vec![]));
    let dead = fixture.dead("relay.SALES").await;
    assert_eq!(dead.iter().map(|it| it.event.event).collect::<Vec<_>>(), [target.event]);
}

async fn what_was_passed_over_is_not_published_where_its_stream_is_made_anew(fixture: Fixture) {
    stays_away(&fixture, Deed::Skip).await;
}

async fn what_was_deleted_is_not_published_where_its_stream_is_made_anew(fixture: Fixture) {
    stays_away(&fixture, Deed::Delete { sign_off: "omid".to_owned() }).await;
}

async fn stays_away(fixture: &Fixture, deed: Deed) {
    let Some((server, target)) = locked_away(fixture).await else { return };
    let (operator, who) = desk(fixture);
    operator.act(&who, &target, &deed).await.expect("it was given up");
    fixture.clock.advance_ms(60 * 60 * 1000);
    let engine = start(fixture, &server, "n-2").await;
    assert_eq!(refused_revisions(&filled(&server, "SALES", 2).await), [2]);
    until("nothing that waits", async || parked(fixture).await.is_empty().then_some(())).await;
    engine.stop().await;
    change(fixture, 1..4, 1..=3).await;
    let messages = made_anew(fixture, &server, "n-3", 11).await;
    assert_eq!((messages.len(), refused_revisions(&messages)), (11, vec![2]));
}

/// However often: what the log has of it is what nobody could take.
async fn what_was_repaired_is_published_as_it_was_repaired_where_its_stream_is_made_anew(fixture: Fixture) {
    let Some((server, target)) = locked_away(&fixture).await else { return };
    repair(&fixture, &target).await;
    fixture.clock.advance_ms(60 * 60 * 1000);
    let engine = start(&fixture, &server, "n-2").await;
    assert_eq!(refused_revisions(&filled(&server, "SALES", 3).await), [7, 2]);
    until("nothing that waits", async || parked(&fixture).await.is_empty().then_some(())).await;
    engine.stop().await;
    for node in ["n-3", "n-4"] {
        let messages = made_anew(&fixture, &server, node, 3).await;
        assert_eq!((messages.len(), refused_revisions(&messages)), (3, vec![7, 2]));
        assert_eq!(parked(&fixture).await, [], "it has its place in the log");
    }
}

/// Its revision is another one.
async fn repair(fixture: &Fixture, target: &Target) {
    let (operator, who) = desk(fixture);
    let letter = operator.letter(target).await.expect("it was given up");
    let envelope: serde_json::Value = serde_json::from_str(&letter.envelope).expect("an envelope is JSON");
    let mut payload = envelope["payload"].clone();
    payload["revision"] = 7.into();
    let deed = Deed::Repair { payload: payload.to_string(), out_of_order: false };
    operator.act(&who, target, &deed).await.expect("it keeps its contract");
}

/// A stream of six events that was copied when it had three; nobody relays.
async fn two_halves(fixture: &Fixture) -> Option<(Server, PathBuf)> {
    let server = server(Options::default())?;
    let kept = server.directory().join("kept");
    for (node, orders) in [("n-1", 0..3), ("n-2", 3..6)] {
        let engine = start(fixture, &server, node).await;
        let count = usize::try_from(orders.end).expect("it is small");
        change(fixture, orders, 1..=1).await;
        filled(&server, "SALES", count).await;
        let end = fixture.store.relay().end().await.expect("it can be asked");
        engine.published("SALES", end).await.expect("it is this life's");
        engine.stop().await;
        if count == 3 {
            server.stop();
            copy(&server.store_directory(), &kept);
            server.start_again();
        }
    }
    Some((server, kept))
}

async fn a_stream_that_lost_more_than_the_log_still_has_gets_what_it_has_and_goes_on(fixture: Fixture) {
    let Some((server, kept)) = two_halves(&fixture).await else { return };
    let rows = fixture.store.relay().rows(0, i64::MAX, &Filter::default(), 10).await.expect("rows");
    fixture.raise_floor(rows[3].seq).await;
    forgets(&server, &kept);
    let engine = start(&fixture, &server, "n-3").await;
    change(&fixture, 6..7, 1..=1).await;
    assert_eq!(filled(&server, "SALES", 6).await.len(), 6, "the fourth is in neither");
    engine.stop().await;
}

async fn a_stream_that_lost_its_end_gets_nothing_that_consumers_may_have_forgotten(fixture: Fixture) {
    let Some((server, kept)) = two_halves(&fixture).await else { return };
    fixture.log_grows_older(31).await;
    forgets(&server, &kept);
    let engine = start(&fixture, &server, "n-3").await;
    change(&fixture, 6..7, 1..=1).await;
    let messages = filled(&server, "SALES", 4).await;
    assert_eq!(messages.len(), 4);
    assert!(revisions(&messages).keys().any(|order| order.contains("o-6")), "{:?}", revisions(&messages));
    engine.stop().await;
}
