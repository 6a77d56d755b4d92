//! Retry, repair, skip, quarantine and delete.

use karwan_store::log::LogRow;
use karwan_store::operator::{Class, Deed, State, Who, quarantine};
use karwan_store::{Error, write_set::LaneHold};

use super::{
    RETRY, RETRY_ANYHOW, ann, bury, claims_are_kept_behind, handle, hold, lane, letters, order_rows, park, parked,
    refused, target, told_actions,
};
use crate::fixture::{Fixture, Folder};

on_both! {
    a_parked_event_that_is_retried_is_due_at_once,
    a_dead_event_that_is_retried_is_parked_and_its_lane_is_taken_anew,
    a_retried_dead_event_is_handled_once,
    a_dead_event_whose_successors_ran_is_retried_out_of_order_only,
    a_dead_event_of_whose_successors_no_claims_are_kept_is_retried_out_of_order_only,
    successors_that_died_or_were_skipped_did_not_run,
    a_successor_that_was_deleted_did_not_run,
    an_event_that_was_handled_is_refused_as_handled,
    an_event_that_breaks_its_schema_is_not_retried_until_it_is_repaired,
    a_repair_of_a_parked_event_is_not_passed_by_with_what_its_holder_has_in_memory,
    a_repair_that_breaks_the_schema_or_names_another_key_is_refused,
    a_skipped_event_is_claimed_and_its_key_goes_on,
    a_quarantined_event_is_in_its_folder_byte_for_byte,
    a_folder_that_cannot_be_written_leaves_the_letter_where_it_was,
    a_deletion_needs_somebody_elses_sign_off,
    an_action_needs_who_and_why,
    an_action_raises_the_revision_of_its_consumer,
    a_letter_tells_its_envelope_attempts_and_actions,
    what_would_be_done_leaves_nothing,
    an_operators_skip_and_the_live_path_meet_and_one_of_them_wins,
}

/// Makes a stored envelope break its schema: an order of no items.
fn spoil(fixture: &Fixture, table: &str) {
    let sql = format!("UPDATE karwan.{table} SET envelope = replace(envelope, '\"items\":1', '\"items\":0')");
    fixture.spoil(&sql);
}

async fn dead(fixture: &Fixture, changes: i64) -> (Vec<LogRow>, LaneHold) {
    let rows = order_rows(fixture, 1, "o-1", changes).await;
    let hold = hold(fixture).await;
    bury(fixture, &hold, &rows[0]).await;
    (rows, hold)
}

async fn a_parked_event_that_is_retried_is_due_at_once(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let hold = hold(&fixture).await;
    park(&fixture, &hold, &rows[0]).await;
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("it is parked");
    let head = fixture.store.parked_heads(&lane(), 10).await.expect("it can be asked");
    assert_eq!((head.len(), head[0].due, head[0].attempts), (1, Some(0), 1));
    handle(&fixture, &hold, &rows[0], true).await.expect("its holder holds the lane still");
    assert_eq!(told_actions(&fixture).await, ["retry ann the vendor is back"]);
}

async fn a_dead_event_that_is_retried_is_parked_and_its_lane_is_taken_anew(fixture: Fixture) {
    let (rows, zombie) = dead(&fixture, 1).await;
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("nothing of its key ran");
    // The holder did not know of it: its successor would overtake it.
    let overtaking = handle(&fixture, &zombie, &rows[1], false).await;
    assert!(matches!(overtaking, Err(Error::LaneLost { .. })), "{overtaking:?}");
    let heads = fixture.store.parked_heads(&lane(), 10).await.expect("it can be asked");
    assert_eq!((heads[0].event, heads[0].due, heads[0].attempts), (rows[0].event, Some(0), 0));
    assert_eq!(heads[0].envelope, rows[0].envelope, "byte for byte");
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), []);
}

async fn a_retried_dead_event_is_handled_once(fixture: Fixture) {
    let (rows, _) = dead(&fixture, 0).await;
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("nothing of its key ran");
    let heir = hold(&fixture).await;
    handle(&fixture, &heir, &rows[0], true).await.expect("it is parked");
    let again = handle(&fixture, &heir, &rows[0], false).await;
    assert!(matches!(again, Err(Error::Claimed { .. })), "{again:?}");
    assert_eq!(refused(&fixture, &target(&rows[0]), &RETRY).await, "store-claimed");
}

async fn a_dead_event_whose_successors_ran_is_retried_out_of_order_only(fixture: Fixture) {
    let (rows, hold) = dead(&fixture, 1).await;
    handle(&fixture, &hold, &rows[1], false).await.expect("its key went on");
    assert_eq!(refused(&fixture, &target(&rows[0]), &RETRY).await, "store-out-of-order");
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY_ANYHOW).await.expect("it was said");
    assert_eq!(letters(&fixture).await[0].state, State::Parked);
}

/// Letters are kept for longer than claims: that a successor has none says nothing then.
async fn a_dead_event_of_whose_successors_no_claims_are_kept_is_retried_out_of_order_only(fixture: Fixture) {
    let alone = order_rows(&fixture, 1, "o-2", 0).await;
    let (rows, hold) = dead(&fixture, 1).await;
    bury(&fixture, &hold, &alone[0]).await;
    handle(&fixture, &hold, &rows[1], false).await.expect("its key goes on");
    claims_are_kept_behind(&fixture, &rows[1]);
    assert_eq!(refused(&fixture, &target(&rows[0]), &RETRY).await, "store-out-of-order");
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY_ANYHOW).await.expect("it was said");
    fixture.operator().act(&ann(), &target(&alone[0]), &RETRY).await.expect("nothing of its key came after it");
}

async fn successors_that_died_or_were_skipped_did_not_run(fixture: Fixture) {
    let (rows, hold) = dead(&fixture, 2).await;
    bury(&fixture, &hold, &rows[1]).await;
    park(&fixture, &hold, &rows[2]).await;
    fixture.operator().act(&ann(), &target(&rows[2]), &Deed::Skip).await.expect("it is parked");
    // Another key, and another tenant's key of the same name, are none of its successors.
    let others = order_rows(&fixture, 1, "o-2", 0).await;
    handle(&fixture, &hold, &others[0], false).await.expect("the lane is held");
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("nothing of its key ran");
}

async fn a_successor_that_was_deleted_did_not_run(fixture: Fixture) {
    let (rows, hold) = dead(&fixture, 1).await;
    bury(&fixture, &hold, &rows[1]).await;
    let deed = Deed::Delete { sign_off: "bob".to_owned() };
    let deletion = fixture.operator().act(&ann(), &target(&rows[1]), &deed).await.expect("bob agreed");
    let gone = fixture.operator().letter(&target(&rows[1])).await;
    assert!(matches!(gone, Err(Error::Deleted { action, .. }) if action == deletion), "{gone:?}");
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("nothing ran after it");
}

async fn an_event_that_was_handled_is_refused_as_handled(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let hold = hold(&fixture).await;
    assert_eq!(refused(&fixture, &target(&rows[0]), &RETRY).await, "store-no-letter");
    handle(&fixture, &hold, &rows[0], false).await.expect("it is new");
    for deed in [RETRY, Deed::Skip, Deed::Delete { sign_off: "bob".to_owned() }] {
        assert_eq!(refused(&fixture, &target(&rows[0]), &deed).await, "store-claimed");
    }
}

/// R-135: schema drift is not replayed until it validates.
async fn an_event_that_breaks_its_schema_is_not_retried_until_it_is_repaired(fixture: Fixture) {
    let (rows, _) = dead(&fixture, 0).await;
    spoil(&fixture, "dead");
    let name = target(&rows[0]);
    let spoilt = fixture.operator().letter(&name).await.expect("it is there");
    assert_eq!((spoilt.class, spoilt.violations.len()), (Class::SchemaDrift, 1), "{:?}", spoilt.violations);
    assert_eq!(refused(&fixture, &name, &RETRY_ANYHOW).await, "store-drift");
    let payload = r#"{"orderId":"o-1","items":3}"#.to_owned();
    let repair = Deed::Repair { payload, out_of_order: false };
    fixture.operator().act(&ann(), &name, &repair).await.expect("the new payload is valid");
    let repaired = fixture.operator().letter(&name).await.expect("it is there");
    assert_eq!((repaired.letter.state, repaired.violations.len()), (State::Parked, 0));
    assert_eq!(repaired.original.as_deref(), Some(spoilt.envelope.as_str()));
    let head = fixture.store.parked_heads(&lane(), 10).await.expect("it can be asked").remove(0);
    let row = LogRow { envelope: head.envelope, ..rows[0].clone() };
    let (old, new) = (fixture.store.received(&rows[0]).await, fixture.store.received(&row).await);
    let (old, new) = (old.expect("it was valid"), new.expect("it is valid again"));
    assert_eq!((new.id, &new.idempotency_key, new.tenant), (old.id, &old.idempotency_key, old.tenant));
    assert_eq!(new.payload.get(), r#"{"orderId":"o-1","items":3}"#);
}

async fn a_repair_of_a_parked_event_is_not_passed_by_with_what_its_holder_has_in_memory(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let holder = hold(&fixture).await;
    park(&fixture, &holder, &rows[0]).await;
    let deed = Deed::Repair { payload: r#"{"orderId":"o-1","items":3}"#.to_owned(), out_of_order: false };
    fixture.operator().act(&ann(), &target(&rows[0]), &deed).await.expect("it is parked");
    let former = handle(&fixture, &holder, &rows[0], true).await;
    assert!(matches!(former, Err(Error::LaneLost { .. })), "{former:?}");
    let heir = hold(&fixture).await;
    let head = fixture.store.parked_heads(&lane(), 10).await.expect("it can be asked").remove(0);
    assert!(head.envelope.contains(r#""items":3"#), "{}", head.envelope);
    handle(&fixture, &heir, &rows[0], true).await.expect("whoever takes the lane has the repaired one");
}

async fn a_repair_that_breaks_the_schema_or_names_another_key_is_refused(fixture: Fixture) {
    let (rows, _) = dead(&fixture, 0).await;
    for payload in ["{", r#"{"orderId":"o-1","items":0}"#, r#"{"items":1}"#] {
        let repair = Deed::Repair { payload: payload.to_owned(), out_of_order: true };
        assert_eq!(refused(&fixture, &target(&rows[0]), &repair).await, "store-bad-repair", "{payload}");
    }
}

async fn a_skipped_event_is_claimed_and_its_key_goes_on(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let hold = hold(&fixture).await;
    fixture.store.park(&hold, &[parked(&rows[0], 3), parked(&rows[1], 0)]).await.expect("the lane is held");
    fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is parked");
    let heads = fixture.store.parked_heads(&lane(), 10).await.expect("it can be asked");
    assert_eq!((heads.len(), heads[0].event), (1, rows[1].event));
    let skipped = handle(&fixture, &hold, &rows[0], true).await;
    assert!(matches!(skipped, Err(Error::Claimed { .. })), "{skipped:?}");
    let again = fixture.store.park(&hold, &[parked(&rows[0], 4)]).await;
    assert!(matches!(again, Err(Error::Claimed { .. })), "a holder that was at it does not park it again: {again:?}");
    handle(&fixture, &hold, &rows[1], true).await.expect("the key goes on");
    assert_eq!(refused(&fixture, &target(&rows[0]), &RETRY).await, "store-letter-state");
}

/// R-134: the file, the row, and who did it.
async fn a_quarantined_event_is_in_its_folder_byte_for_byte(fixture: Fixture) {
    let folder = Folder::new();
    let path = folder.path().join("deep").join("er");
    let (rows, hold) = dead(&fixture, 1).await;
    park(&fixture, &hold, &rows[1]).await;
    let deed = Deed::Quarantine { folder: path.clone() };
    for row in &rows {
        fixture.operator().act(&ann(), &target(row), &deed).await.expect("the folder can be made");
    }
    let kept = quarantine::manifest(&path).expect("it was written");
    assert_eq!(kept.len(), 2);
    for kept in &kept {
        let row = rows.iter().find(|row| row.event.to_string() == kept.event).expect("it is one of them");
        let bytes = std::fs::read(path.join(&kept.file)).expect("the file is there");
        assert_eq!(bytes, row.envelope.as_bytes());
        assert_eq!((kept.actor.as_str(), kept.reason.as_str()), ("ann", "the vendor is back"));
        assert_eq!(kept.sha256.len(), 64);
    }
    let states: Vec<State> = letters(&fixture).await.iter().map(|letter| letter.state).collect();
    assert_eq!(states, [State::Quarantined; 2]);
    let story = fixture.operator().letter(&target(&rows[0])).await.expect("it is there");
    assert_eq!(story.folder, Some(path.display().to_string()));
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), []);
}

async fn a_folder_that_cannot_be_written_leaves_the_letter_where_it_was(fixture: Fixture) {
    let folder = Folder::new();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "in the way").expect("it can be written");
    let (rows, _) = dead(&fixture, 0).await;
    assert_eq!(refused(&fixture, &target(&rows[0]), &Deed::Quarantine { folder: file }).await, "store-quarantine");
}

/// R-136: a deletion without sign-off is refused; the record stays.
async fn a_deletion_needs_somebody_elses_sign_off(fixture: Fixture) {
    let (rows, hold) = dead(&fixture, 1).await;
    park(&fixture, &hold, &rows[1]).await;
    for sign_off in ["", "ann", " ann "] {
        let deed = Deed::Delete { sign_off: sign_off.to_owned() };
        assert_eq!(refused(&fixture, &target(&rows[0]), &deed).await, "store-sign-off");
    }
    for row in &rows {
        let deed = Deed::Delete { sign_off: "bob".to_owned() };
        fixture.operator().act(&ann(), &target(row), &deed).await.expect("bob agreed");
        let gone = handle(&fixture, &hold, row, false).await;
        assert!(matches!(gone, Err(Error::Claimed { .. })), "it is not handled either: {gone:?}");
    }
    assert_eq!(letters(&fixture).await, []);
    assert_eq!(fixture.count("SELECT count(*) FROM karwan.attempt"), "2", "why it failed stays");
    assert_eq!(told_actions(&fixture).await.len(), 2);
}

/// R-388.
async fn an_action_needs_who_and_why(fixture: Fixture) {
    let (rows, _) = dead(&fixture, 0).await;
    for (actor, reason) in [("", "why"), ("ann", " ")] {
        let who = Who { actor: actor.to_owned(), reason: reason.to_owned() };
        let refused = fixture.operator().act(&who, &target(&rows[0]), &RETRY).await;
        assert!(matches!(refused, Err(Error::Unsigned { .. })), "{refused:?}");
    }
    assert_eq!(letters(&fixture).await[0].state, State::Dead);
}

async fn an_action_raises_the_revision_of_its_consumer(fixture: Fixture) {
    let (rows, _) = dead(&fixture, 0).await;
    assert_eq!(fixture.store.revisions().await.expect("they can be asked for"), []);
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("it is dead");
    fixture.operator().act(&ann(), &target(&rows[0]), &Deed::Skip).await.expect("it is parked");
    let revisions = fixture.store.revisions().await.expect("they can be asked for");
    assert_eq!(revisions, [("mailer".to_owned(), 2)]);
}

/// R-131, R-132.
async fn a_letter_tells_its_envelope_attempts_and_actions(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let hold = hold(&fixture).await;
    for attempts in 1..=60 {
        fixture.store.park(&hold, &[parked(&rows[0], attempts)]).await.expect("the lane is held");
        // Parked again without an attempt: later, not failed.
        fixture.store.park(&hold, &[parked(&rows[0], attempts)]).await.expect("the lane is held");
    }
    let name = target(&rows[0]);
    fixture.operator().note(&ann(), &name, "ticket 7").await.expect("it is there");
    let story = fixture.operator().letter(&name).await.expect("it is there");
    assert_eq!(story.envelope, rows[0].envelope);
    let numbers: Vec<u32> = story.history.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, (11..=60).collect::<Vec<_>>(), "the last fifty");
    assert_eq!((story.letter.attempts, story.letter.error.as_str()), (60, "no answer"));
    assert_eq!(story.class, Class::Transient);
    assert_eq!(story.actions.len(), 1);
    assert_eq!(story.actions[0].detail, r#"{"note":"ticket 7"}"#);
}

async fn what_would_be_done_leaves_nothing(fixture: Fixture) {
    let folder = Folder::new();
    let (rows, hold) = dead(&fixture, 1).await;
    handle(&fixture, &hold, &rows[1], false).await.expect("its key went on");
    let before = super::state_of(&fixture).await;
    let would = |deed: Deed| {
        let (operator, name) = (fixture.operator(), target(&rows[0]));
        async move { operator.would(&ann(), &name, &deed).await.map_err(|error| error.code()) }
    };
    let path = folder.path().join("q");
    assert_eq!(would(RETRY).await, Err("store-out-of-order"));
    assert_eq!(would(RETRY_ANYHOW).await, Ok(()));
    assert_eq!(would(Deed::Quarantine { folder: path.clone() }).await, Ok(()));
    assert_eq!(super::state_of(&fixture).await, before);
    assert!(!path.exists());
}

/// The holder commits the event, or the operator skips it, never both, and the other is told.
async fn an_operators_skip_and_the_live_path_meet_and_one_of_them_wins(fixture: Fixture) {
    let hold = hold(&fixture).await;
    for number in 0..10 {
        let rows = order_rows(&fixture, 1, &format!("o-{number}"), 0).await;
        park(&fixture, &hold, &rows[0]).await;
        let (operator, name, who) = (fixture.operator(), target(&rows[0]), ann());
        let (skipped, handled) =
            tokio::join!(operator.act(&who, &name, &Deed::Skip), handle(&fixture, &hold, &rows[0], true));
        assert!(skipped.is_ok() != handled.is_ok(), "{skipped:?} {handled:?}");
        assert_eq!(fixture.store.parked(&lane(), 10).await.expect("it can be asked"), []);
    }
}
