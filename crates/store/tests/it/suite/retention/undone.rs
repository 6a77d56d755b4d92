//! What operators set aside, after retention: undone as long as the letter is kept, and refused from then on.

use karwan_store::Error;
use karwan_store::consumer::Dead;
use karwan_store::log::LogRow;
use karwan_store::operator::{Deed, LetterFilter, Operator, Place, State};
use karwan_store::retention::{Days, What};
use karwan_store::write_set::LaneHold;

use super::super::operators::{
    RETRY, RETRY_ANYHOW, ann, bury, handle, hold, lane, letters, order_rows, park, refused, state_of, target,
};
use super::{after_days, finish, next_stretch, retain};
use crate::fixture::{Fixture, Folder};

on_both! {
    what_was_set_aside_is_undone_after_its_rows_were_dropped,
    an_undone_skip_is_handled_from_its_own_envelope_after_its_rows_were_dropped,
    an_undo_is_refused_with_the_reason_once_the_letter_is_not_kept,
    a_retry_that_nobody_tried_is_undone_after_its_rows_were_dropped,
    a_consumer_is_not_taken_back_to_where_its_rows_were_dropped,
}

/// A parked event that is skipped and a dead one that is quarantined: their rows, and the actions.
struct SetAside {
    skipped: (LogRow, i64),
    quarantined: (LogRow, i64),
    dead: Vec<Dead>,
    lane: LaneHold,
    _folder: Folder,
}

async fn set_aside(fixture: &Fixture) -> SetAside {
    let [skipped, quarantined] =
        [order_rows(fixture, 1, "o-1", 0).await, order_rows(fixture, 1, "o-2", 0).await].map(|mut rows| rows.remove(0));
    let (folder, lane) = (Folder::new(), hold(fixture).await);
    park(fixture, &lane, &skipped).await;
    bury(fixture, &lane, &quarantined).await;
    let dead = fixture.store.dead("mailer", 0, 10).await.expect("it can be asked");
    let operator = fixture.operator();
    let skip = operator.act(&ann(), &target(&skipped), &Deed::Skip).await.expect("it is parked");
    let quarantine = Deed::Quarantine { folder: folder.path().to_owned() };
    let quarantine = operator.act(&ann(), &target(&quarantined), &quarantine).await.expect("it is dead");
    SetAside { skipped: (skipped, skip), quarantined: (quarantined, quarantine), dead, lane, _folder: folder }
}

/// Retention after so many days, when everybody has finished: nothing of the rows is left. The operator of that day.
async fn retained(fixture: &Fixture, aside: &SetAside, days: i64) -> Operator {
    next_stretch(fixture).await;
    finish(fixture, &aside.lane).await;
    let rows = [aside.skipped.0.clone(), aside.quarantined.0.clone()];
    let operator = after_days(fixture, &rows, days);
    let ran = retain(&operator, &Days::default()).await;
    assert!(ran.floor >= rows[1].seq && ran.forgotten.contains(&(What::Claims, 2)), "{ran:?}");
    assert!(fixture.log().await.iter().all(|row| row.seq > rows[1].seq), "rows are left");
    operator
}

async fn what_was_set_aside_is_undone_after_its_rows_were_dropped(fixture: Fixture) {
    let aside = set_aside(&fixture).await;
    let operator = retained(&fixture, &aside, 31).await;
    // Whether a successor ran cannot be seen any more, so that it must be said that order does not matter.
    let before = state_of(&fixture).await;
    let unsure = operator.undo(&ann(), aside.skipped.1, false).await;
    let Err(error @ Error::OutOfOrder { .. }) = unsure else { panic!("{unsure:?}") };
    assert!(error.to_string().contains("its place in the log is not there to compare: dropped"), "{error}");
    assert_eq!(state_of(&fixture).await, before, "a refused undo changes nothing");
    operator.undo(&ann(), aside.skipped.1, true).await.expect("it was said");
    let waiting = fixture.store.parked(&lane(), 10).await.expect("it can be asked");
    assert_eq!(waiting.iter().map(|it| it.row()).collect::<Vec<_>>(), std::slice::from_ref(&aside.skipped.0));
    // A dead one runs nothing: it is dead again as it was.
    operator.undo(&ann(), aside.quarantined.1, false).await.expect("nothing happened since");
    assert_eq!(fixture.store.dead("mailer", 0, 10).await.expect("it can be asked"), aside.dead);
    assert_eq!(refused(&fixture, &target(&aside.quarantined.0), &RETRY).await, "store-out-of-order");
    operator.act(&ann(), &target(&aside.quarantined.0), &RETRY_ANYHOW).await.expect("it was said");
    let waiting = letters(&fixture).await;
    assert!(waiting.len() == 2 && waiting.iter().all(|letter| letter.state == State::Parked), "{waiting:?}");
}

async fn an_undone_skip_is_handled_from_its_own_envelope_after_its_rows_were_dropped(fixture: Fixture) {
    let aside = set_aside(&fixture).await;
    let operator = retained(&fixture, &aside, 31).await;
    operator.undo(&ann(), aside.skipped.1, true).await.expect("it was said");
    let heir = hold(&fixture).await;
    let row = fixture.store.parked(&lane(), 10).await.expect("it can be asked").remove(0).row();
    handle(&fixture, &heir, &row, true).await.expect("it is not claimed any more");
    assert_eq!(fixture.counter(1, &format!("mail-{}", row.event)).await, Some(1));
    let twice = handle(&fixture, &heir, &row, true).await;
    assert!(twice.is_err(), "it was handled twice");
    let late = operator.undo(&ann(), aside.skipped.1, true).await;
    assert!(matches!(late, Err(Error::CannotUndo { .. })), "{late:?}");
}

async fn an_undo_is_refused_with_the_reason_once_the_letter_is_not_kept(fixture: Fixture) {
    let aside = set_aside(&fixture).await;
    let operator = retained(&fixture, &aside, 91).await;
    let set_aside = LetterFilter { state: Some(State::Skipped), ..LetterFilter::default() };
    assert_eq!(operator.letters(&set_aside, None, 10).await.expect("they can be listed").letters, []);
    let before = state_of(&fixture).await;
    for action in [aside.skipped.1, aside.quarantined.1] {
        for out_of_order in [false, true] {
            let late = operator.undo(&ann(), action, out_of_order).await;
            let Err(error @ Error::CannotUndo { .. }) = late else { panic!("{late:?}") };
            assert!(error.to_string().contains("the letter is not kept any more"), "{error}");
            assert!(error.to_string().contains(&action.to_string()), "{error}");
        }
    }
    assert_eq!(state_of(&fixture).await, before, "a refused undo changes nothing");
}

async fn a_retry_that_nobody_tried_is_undone_after_its_rows_were_dropped(fixture: Fixture) {
    let [parked, dead] = [order_rows(&fixture, 1, "o-1", 0).await, order_rows(&fixture, 1, "o-2", 0).await]
        .map(|mut rows| rows.remove(0));
    let first = hold(&fixture).await;
    park(&fixture, &first, &parked).await;
    bury(&fixture, &first, &dead).await;
    let (before, operator) = (letters(&fixture).await, fixture.operator());
    let waits = operator.act(&ann(), &target(&parked), &RETRY).await.expect("it is parked");
    let died = operator.act(&ann(), &target(&dead), &RETRY).await.expect("nothing of its key came after it");
    next_stretch(&fixture).await;
    // A retry unseats whoever has the lane.
    finish(&fixture, &hold(&fixture).await).await;
    let rows = [parked, dead];
    let operator = after_days(&fixture, &rows, 31);
    assert!(retain(&operator, &Days::default()).await.floor >= rows[1].seq);
    assert!(fixture.log().await.iter().all(|row| row.seq > rows[1].seq), "rows are left");
    for action in [waits, died] {
        operator.undo(&ann(), action, false).await.expect("nobody has tried it");
    }
    assert_eq!(letters(&fixture).await, before);
}

async fn a_consumer_is_not_taken_back_to_where_its_rows_were_dropped(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 3).await;
    let lane = hold(&fixture).await;
    fixture.store.save_position(&lane, rows[0].seq, true).await.expect("the lane is held");
    let operator = fixture.operator();
    next_stretch(&fixture).await;
    let forth = operator.seek(&ann(), "mailer", Place::End).await.expect("it can go forth");
    let operator = after_days(&fixture, &rows, 31);
    assert!(retain(&operator, &Days::default()).await.floor >= rows[3].seq);
    let before = state_of(&fixture).await;
    let back = operator.undo_seek(&ann(), "mailer", Some(forth.action)).await;
    assert!(matches!(back, Err(Error::BelowFloor { asked, .. }) if asked == rows[0].seq), "{back:?}");
    assert_eq!(state_of(&fixture).await, before, "a refused undo changes nothing");
}
