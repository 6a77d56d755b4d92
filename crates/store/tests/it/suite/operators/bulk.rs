//! Actions on many letters: those that were shown, and no other.

use std::sync::Mutex;
use std::time::Duration;

use karwan_store::Error;
use karwan_store::operator::{Bulk, Deed, LetterFilter, State};
use tokio::time::Instant;

use super::{RETRY, ann, bury, handle, hold, letters, order_rows, park, state_of, target};
use crate::fixture::Fixture;

on_both! {
    a_selection_is_frozen,
    a_selection_of_everything_must_be_meant,
    a_dry_run_says_what_would_be_refused_and_touches_nothing,
    an_action_on_many_goes_on_past_those_that_are_refused,
    a_wrong_action_on_many_touches_none,
}

fn of_mailer() -> LetterFilter {
    LetterFilter { consumer: Some("mailer".to_owned()), ..LetterFilter::default() }
}

const AT_FULL_SPEED: Bulk<'static> = Bulk { per_second: None, told: &|_, _, _| {} };

async fn a_selection_is_frozen(fixture: Fixture) {
    let hold = hold(&fixture).await;
    let early = order_rows(&fixture, 1, "o-1", 0).await;
    park(&fixture, &hold, &early[0]).await;
    let selection = fixture.operator().select(&ann(), &of_mailer(), false).await.expect("it can be chosen");
    let late = order_rows(&fixture, 1, "o-2", 0).await;
    park(&fixture, &hold, &late[0]).await;
    assert_eq!(selection.members, [target(&early[0])]);
    assert_eq!(fixture.operator().selection(selection.id).await.expect("it is kept"), selection);
    let bulk = Bulk { per_second: Some(1_000), ..AT_FULL_SPEED };
    let done = fixture.operator().act_on_all(&ann(), selection.id, &Deed::Skip, bulk).await;
    assert_eq!(done.expect("they can be skipped").len(), 1);
    let left: Vec<(String, State)> = letters(&fixture).await.into_iter().map(|it| (it.key, it.state)).collect();
    assert_eq!(left, [("o-2".to_owned(), State::Parked), ("o-1".to_owned(), State::Skipped)]);
}

async fn a_selection_of_everything_must_be_meant(fixture: Fixture) {
    let refused = fixture.operator().select(&ann(), &LetterFilter::default(), false).await;
    assert!(matches!(refused, Err(Error::SelectsAll)), "{refused:?}");
    let all = fixture.operator().select(&ann(), &LetterFilter::default(), true).await.expect("it was said");
    assert_eq!((all.members.len(), all.filter.as_str()), (0, "all"));
    let none = fixture.operator().selection(4711).await;
    assert!(matches!(none, Err(Error::NoSuch { .. })), "{none:?}");
}

async fn a_dry_run_says_what_would_be_refused_and_touches_nothing(fixture: Fixture) {
    let hold = hold(&fixture).await;
    let ran = order_rows(&fixture, 1, "o-1", 1).await;
    bury(&fixture, &hold, &ran[0]).await;
    handle(&fixture, &hold, &ran[1], false).await.expect("its key went on");
    let waits = order_rows(&fixture, 1, "o-2", 0).await;
    park(&fixture, &hold, &waits[0]).await;
    let selection = fixture.operator().select(&ann(), &of_mailer(), false).await.expect("it can be chosen");
    let before = state_of(&fixture).await;
    let judged = fixture.operator().dry_run(&ann(), selection.id, &RETRY).await.expect("it can be tried");
    let codes: Vec<Result<i64, &str>> = judged.into_iter().map(|it| it.outcome.map_err(|error| error.code())).collect();
    assert_eq!(codes, [Err("store-out-of-order"), Ok(0)]);
    assert_eq!(state_of(&fixture).await, before);
}

async fn an_action_on_many_goes_on_past_those_that_are_refused(fixture: Fixture) {
    let hold = hold(&fixture).await;
    let mut rows = Vec::new();
    for number in 0..4 {
        rows.extend(order_rows(&fixture, 1, &format!("o-{number}"), 0).await);
        park(&fixture, &hold, &rows[number]).await;
    }
    let selection = fixture.operator().select(&ann(), &of_mailer(), false).await.expect("it can be chosen");
    // Handled meanwhile: it is none of the operator's business any more.
    handle(&fixture, &hold, &rows[1], true).await.expect("it is parked");
    let heard = Mutex::new(Vec::new());
    let told = |done: usize, all: usize, judged: &karwan_store::operator::Judged| {
        heard.lock().expect("nobody panics").push((done, all, judged.outcome.is_ok()));
    };
    let judged =
        fixture.operator().act_on_all(&ann(), selection.id, &Deed::Skip, Bulk { told: &told, ..AT_FULL_SPEED }).await;
    let outcomes: Vec<bool> = judged.expect("it ends").iter().map(|it| it.outcome.is_ok()).collect();
    assert_eq!(outcomes, [true, false, true, true]);
    let heard = heard.into_inner().expect("nobody panics");
    assert_eq!(heard, [(1, 4, true), (2, 4, false), (3, 4, true), (4, 4, true)]);
    assert_eq!(letters(&fixture).await.len(), 3);
}

/// By a clock that stands still while anything is done: what passes is what was waited for.
#[test]
fn so_many_letters_a_second_are_acted_on_and_no_more() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be made").block_on(async {
        let fixture = crate::fixture::sqlite().await.expect("a file needs no server");
        let hold = hold(&fixture).await;
        for number in 0..5 {
            let rows = order_rows(&fixture, 1, &format!("o-{number}"), 0).await;
            park(&fixture, &hold, &rows[0]).await;
        }
        let selection = fixture.operator().select(&ann(), &of_mailer(), false).await.expect("it can be chosen");
        let at = Mutex::new(Vec::new());
        let told = |_: usize, _: usize, judged: &karwan_store::operator::Judged| {
            assert!(judged.outcome.is_ok(), "{judged:?}");
            at.lock().expect("nobody panics").push(Instant::now());
        };
        let bulk = Bulk { per_second: Some(2), told: &told };
        fixture.operator().act_on_all(&ann(), selection.id, &Deed::Skip, bulk).await.expect("they can be skipped");
        let at = at.into_inner().expect("nobody panics");
        let between: Vec<Duration> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(between.len() == 4 && between.iter().all(|it| *it >= Duration::from_millis(500)), "{between:?}");
    });
}

async fn a_wrong_action_on_many_touches_none(fixture: Fixture) {
    let hold = hold(&fixture).await;
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    park(&fixture, &hold, &rows[0]).await;
    let selection = fixture.operator().select(&ann(), &of_mailer(), false).await.expect("it can be chosen");
    let before = state_of(&fixture).await;
    let alone = Deed::Delete { sign_off: "ann".to_owned() };
    let refused = fixture.operator().act_on_all(&ann(), selection.id, &alone, AT_FULL_SPEED).await;
    assert!(matches!(refused, Err(Error::SignOff { .. })), "{refused:?}");
    assert_eq!(state_of(&fixture).await, before);
}
