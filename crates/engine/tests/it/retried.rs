//! What a broker refused, published after all, and then lost by the broker.

use karwan_testkit::nats::Server;

use crate::fixture::Fixture;
use crate::lossy::copy;
use crate::processes::yard::until;
use crate::relay::{broker, change, change_large, filled, heal, parked, refused, refused_revisions, start};

on_both! {
    what_was_published_after_it_had_been_refused_is_published_again_where_the_broker_forgets_it,
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
