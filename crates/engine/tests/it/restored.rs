//! A store that was restored from a backup, and the streams that its former life has filled.

use std::collections::BTreeSet;

use crate::fixture::Fixture;
use crate::relay::{change, filled, revisions, server, start};

on_both! {
    what_was_published_after_the_backup_is_not_published_again_and_new_events_flow,
    rows_of_a_copy_that_were_never_published_are_published_from_it,
    a_stream_that_lost_everything_gets_from_a_restored_store_what_it_has,
}

/// numbers that were given to published events are given to others, which get through.
async fn what_was_published_after_the_backup_is_not_published_again_and_new_events_flow(fixture: Fixture) {
    let Some(server) = server(Default::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    let copy = fixture.back_up().await;
    change(&fixture, 0..3, 4..=6).await;
    filled(&server, "SALES", 18).await;
    engine.stop().await;
    let restored = fixture.restored(copy).await;
    change(&restored, 3..6, 1..=4).await;
    restored.resume_store().await;
    let engine = start(&restored, &server, "n-2").await;
    let messages = filled(&server, "SALES", 30).await;
    assert_eq!(messages.len(), 30);
    let events: BTreeSet<&str> = messages.iter().map(|message| message.event_id.as_str()).collect();
    assert_eq!(events.len(), 30, "nothing is there twice");
    let revisions: Vec<Vec<i64>> = revisions(&messages).into_values().collect();
    let (former, new) = ((1..=6).collect::<Vec<i64>>(), (1..=4).collect::<Vec<i64>>());
    assert_eq!(revisions.iter().filter(|found| **found == former).count(), 3, "{revisions:?}");
    assert_eq!(revisions.iter().filter(|found| **found == new).count(), 3, "{revisions:?}");
    engine.stop().await;
    // And with the next process, which finds messages of both lives.
    change(&restored, 3..6, 5..=5).await;
    let engine = start(&restored, &server, "n-3").await;
    assert_eq!(filled(&server, "SALES", 33).await.len(), 33);
    engine.stop().await;
}

async fn rows_of_a_copy_that_were_never_published_are_published_from_it(fixture: Fixture) {
    let Some(server) = server(Default::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    engine.stop().await;
    change(&fixture, 0..3, 4..=6).await;
    let copy = fixture.back_up().await;
    let restored = fixture.restored(copy).await;
    restored.resume_store().await;
    let engine = start(&restored, &server, "n-2").await;
    let messages = filled(&server, "SALES", 18).await;
    assert_eq!(messages.len(), 18);
    crate::relay::assert_whole(&messages, 3, 6);
    engine.stop().await;
}

async fn a_stream_that_lost_everything_gets_from_a_restored_store_what_it_has(fixture: Fixture) {
    let Some(server) = server(Default::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    let copy = fixture.back_up().await;
    engine.stop().await;
    server.kill();
    server.start_again_empty();
    let restored = fixture.restored(copy).await;
    restored.resume_store().await;
    let engine = start(&restored, &server, "n-2").await;
    let messages = filled(&server, "SALES", 9).await;
    crate::relay::assert_whole(&messages, 3, 3);
    engine.stop().await;
}
