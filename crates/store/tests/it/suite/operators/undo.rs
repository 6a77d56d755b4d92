//! Undoing, as long as nothing else has happened.

use karwan_store::Error;
use karwan_store::operator::{Deed, State, Who};

use super::{
    RETRY, ann, bury, claims_are_kept_behind, handle, hold, lane, letters, order_rows, park, parked, state_of, target,
    told_actions,
};
use crate::fixture::{Fixture, Folder};

on_both! {
    a_skip_is_undone_and_the_event_waits_as_before,
    undoing_a_skip_after_its_successors_ran_needs_out_of_order,
    undoing_a_skip_of_whose_successors_no_claims_are_kept_needs_out_of_order,
    a_quarantine_is_undone_and_its_file_stays,
    a_dead_letter_that_was_skipped_is_dead_again,
    a_retry_is_undone_until_it_was_tried,
    what_is_not_kept_any_more_is_not_brought_back,
    an_action_is_undone_once_and_some_never,
    pauses_are_undone,
    undoing_a_pause_that_was_ended_lifts_no_other,
}

async fn a_skip_is_undone_and_the_event_waits_as_before(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let held = hold(&fixture).await;
    park(&fixture, &held, &rows[0]).await;
    let before = fixture.store.parked(&lane(), 10).await.expect("it can be asked");
    let skipped = fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is parked");
    fixture.operator().undo(&ann(), skipped, false).await.expect("nothing ran since");
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), before);
    // Its successor would overtake it in a holder that does not know of it.
    let overtaking = handle(&fixture, &held, &rows[1], false).await;
    assert!(matches!(overtaking, Err(Error::LaneLost { .. })), "{overtaking:?}");
    let heir = hold(&fixture).await;
    handle(&fixture, &heir, &rows[0], true).await.expect("it is not claimed any more");
}

async fn undoing_a_skip_after_its_successors_ran_needs_out_of_order(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let hold = hold(&fixture).await;
    park(&fixture, &hold, &rows[0]).await;
    let skipped = fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is parked");
    handle(&fixture, &hold, &rows[1], false).await.expect("the key goes on");
    let before = state_of(&fixture).await;
    let refused = fixture.operator().undo(&ann(), skipped, false).await;
    assert!(matches!(refused, Err(Error::OutOfOrder { .. })), "{refused:?}");
    assert_eq!(state_of(&fixture).await, before);
    fixture.operator().undo(&ann(), skipped, true).await.expect("it was said");
    assert_eq!(letters(&fixture).await[0].state, State::Parked);
}

async fn undoing_a_skip_of_whose_successors_no_claims_are_kept_needs_out_of_order(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let hold = hold(&fixture).await;
    park(&fixture, &hold, &rows[0]).await;
    let skipped = fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is parked");
    handle(&fixture, &hold, &rows[1], false).await.expect("the key goes on");
    claims_are_kept_behind(&fixture, &rows[1]);
    let refused = fixture.operator().undo(&ann(), skipped, false).await;
    assert!(matches!(refused, Err(Error::OutOfOrder { .. })), "{refused:?}");
    fixture.operator().undo(&ann(), skipped, true).await.expect("it was said");
}

async fn a_quarantine_is_undone_and_its_file_stays(fixture: Fixture) {
    let folder = Folder::new();
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let hold = hold(&fixture).await;
    bury(&fixture, &hold, &rows[0]).await;
    let dead = fixture.store.dead("mailer", 0, 10).await.expect("it can be asked");
    let deed = Deed::Quarantine { folder: folder.path().to_owned() };
    let quarantined = fixture.operator().act(&ann(), &target(&rows[0]), &deed).await.expect("it is dead");
    fixture.operator().undo(&ann(), quarantined, false).await.expect("nothing happened since");
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), dead);
    fixture.operator().act(&ann(), &target(&rows[0]), &deed).await.expect("the same file is there");
    let kept = karwan_store::operator::quarantine::manifest(folder.path()).expect("it was written");
    assert_eq!(kept.len(), 1);
}

async fn a_dead_letter_that_was_skipped_is_dead_again(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let hold = hold(&fixture).await;
    bury(&fixture, &hold, &rows[0]).await;
    handle(&fixture, &hold, &rows[1], false).await.expect("the key goes on");
    let before = fixture.store.dead("mailer", 0, 10).await.expect("it can be asked");
    let skipped = fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is dead");
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), []);
    fixture.operator().undo(&ann(), skipped, false).await.expect("a dead letter runs nothing");
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), before);
}

async fn a_retry_is_undone_until_it_was_tried(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let held = hold(&fixture).await;
    bury(&fixture, &held, &rows[0]).await;
    let dead = fixture.store.dead("mailer", 0, 10).await.expect("it can be asked");
    let retried = fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("it is dead");
    fixture.operator().undo(&ann(), retried, false).await.expect("it was not tried yet");
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), dead);
    assert_eq!(letters(&fixture).await.len(), 1);
    let retried = fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("it is dead");
    let heir = hold(&fixture).await;
    fixture.store.park(&heir, &[parked(&rows[0], 1)]).await.expect("it was tried, and failed");
    let late = fixture.operator().undo(&ann(), retried, false).await;
    assert!(matches!(late, Err(Error::CannotUndo { .. })), "{late:?}");
    let head = fixture.store.parked(&lane(), 10).await.expect("it can be asked").remove(0);
    let again = fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("it is parked");
    fixture.operator().undo(&ann(), again, false).await.expect("it was not tried yet");
    assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), [head]);
}

async fn an_action_is_undone_once_and_some_never(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let hold = hold(&fixture).await;
    park(&fixture, &hold, &rows[0]).await;
    let skipped = fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is parked");
    let undone = fixture.operator().undo(&ann(), skipped, false).await.expect("nothing ran since");
    let note = fixture.operator().note(&ann(), &target(&rows[0]), "seen").await.expect("it is there");
    for action in [skipped, undone, note] {
        let refused = fixture.operator().undo(&ann(), action, false).await;
        assert!(matches!(refused, Err(Error::CannotUndo { .. })), "{refused:?}");
    }
    let none = fixture.operator().undo(&ann(), 4711, false).await;
    assert!(matches!(none, Err(Error::NoSuch { .. })), "{none:?}");
    assert_eq!(told_actions(&fixture).await.len(), 3);
}

async fn pauses_are_undone(fixture: Fixture) {
    let tenant = crate::shop::tenant_bits(1);
    let operator = fixture.operator();
    assert!(operator.pause_key(&ann(), "mailer", tenant, "o-1").await.expect("it is not paused"));
    assert!(operator.pause_consumer(&ann(), "mailer").await.expect("it is not paused"));
    for action in [1, 2] {
        operator.undo(&ann(), action, false).await.expect("nothing happened since");
    }
    assert_eq!(fixture.store.paused_keys(&lane()).await.expect("they can be asked for"), []);
    assert_eq!(fixture.store.suspensions().await.expect("they can be asked for"), []);
}

/// The same was stopped once more since.
async fn undoing_a_pause_that_was_ended_lifts_no_other(fixture: Fixture) {
    let (tenant, operator) = (crate::shop::tenant_bits(1), fixture.operator());
    let pause = async |who: Who| {
        assert!(operator.pause_key(&who, "mailer", tenant, "o-1").await.expect("it is not paused"));
        assert!(operator.pause_consumer(&who, "mailer").await.expect("it is not paused"));
    };
    pause(ann()).await;
    operator.resume_key(&ann(), "mailer", tenant, "o-1").await.expect("it is paused");
    operator.resume_consumer(&ann(), "mailer").await.expect("it is paused");
    // For the same reason, which says as little about whose it is.
    pause(ann()).await;
    for action in [1, 2] {
        let refused = operator.undo(&ann(), action, false).await;
        assert!(matches!(refused, Err(Error::CannotUndo { .. })), "{refused:?}");
    }
    assert_eq!(fixture.store.paused_keys(&lane()).await.expect("they can be asked for").len(), 1);
    assert_eq!(fixture.store.suspensions().await.expect("they can be asked for").len(), 1);
}

/// Skips and quarantines can be undone until retention.
async fn what_is_not_kept_any_more_is_not_brought_back(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let hold = hold(&fixture).await;
    park(&fixture, &hold, &rows[0]).await;
    let skipped = fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is parked");
    fixture.spoil("DELETE FROM karwan.aside");
    for forget in ["", "DELETE FROM karwan.inbox"] {
        fixture.spoil(forget);
        let late = fixture.operator().undo(&ann(), skipped, true).await;
        assert!(matches!(late, Err(Error::CannotUndo { .. })), "{late:?}");
    }
    assert_eq!(letters(&fixture).await, []);
}
