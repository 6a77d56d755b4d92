//! What goes with age, what stays because somebody needs it, and what comes before it goes.

mod undone;

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_store::consumer::Lane;
use karwan_store::log::{Filter, LogRow};
use karwan_store::operator::{Deed, LetterFilter, Place, Who};
use karwan_store::retention::{BeforeDrop, Days, Export, Nothing, Ran, Stretch, What};
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, Operator, RelayTx};
use sha2::{Digest as _, Sha256};

use super::operators::{bury, handle, hold, order_rows, target};
use crate::fixture::{Fixture, Folder, postgres, run};

on_both! {
    claims_are_kept_for_thirty_days_and_gone_after_thirty_one,
    claims_stay_while_somebody_may_read_their_rows_again,
    rows_go_below_every_saved_position_and_never_beyond,
    a_consumer_that_nobody_runs_is_named_and_holds_nothing_once_forgotten,
    rows_stay_where_the_hook_fails,
    rows_are_exported_whole_before_they_go,
    letters_go_with_their_age_and_not_before,
    what_was_before_a_repair_goes_with_the_letters_age_and_not_before,
}

const DAY_MS: i64 = 86_400_000;

fn who() -> Who {
    Who { actor: "anna".to_owned(), reason: "daily".to_owned() }
}

/// An operator so many days after the first row was logged.
fn after_days(fixture: &Fixture, rows: &[LogRow], days: i64) -> Operator {
    let clock = ManualClock::at(Timestamp::from_unix_ms(rows[0].at + days * DAY_MS + 60_000));
    fixture.operator().with_clock(Arc::new(clock))
}

async fn retain(operator: &Operator, days: &Days) -> Ran {
    operator.retain(&who(), days, &mut Nothing, &|_, _| {}).await.expect("it can run")
}

/// Nobody needs a row any more.
async fn finish(fixture: &Fixture, hold: &LaneHold) {
    let end = fixture.store.relay().end().await.expect("the log has an end").seq;
    fixture.store.save_position(hold, end, true).await.expect("the lane is held");
}

/// Lets the next row begin another stretch, where the log is dropped in such.
async fn next_stretch(fixture: &Fixture) {
    if fixture.clock.is_none() {
        fixture.spoil("SELECT setval('karwan.log_seq', 1000000)");
    }
    fixture.place(1, "younger").await;
}

/// The log, and everything else by its age.
const LOG_KEPT: Days = Days { log: 3_650, claims: 30, intents: 30, letters: 90, effects: 90, actions: 3_650 };

/// R-109.
async fn claims_are_kept_for_thirty_days_and_gone_after_thirty_one(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 2).await;
    let lane = hold(&fixture).await;
    for row in &rows {
        handle(&fixture, &lane, row, false).await.expect("it can be handled");
    }
    finish(&fixture, &lane).await;
    let claims = || fixture.count("SELECT count(*) FROM karwan.inbox");
    retain(&after_days(&fixture, &rows, 29), &LOG_KEPT).await;
    assert_eq!(claims(), "3");
    let operator = after_days(&fixture, &rows, 31);
    let would = operator.would_retain(&LOG_KEPT).await.expect("it can be planned");
    assert!(would.forgotten.contains(&(What::Claims, 3)), "{would:?}");
    let ran = retain(&operator, &LOG_KEPT).await;
    assert!(ran.forgotten.contains(&(What::Claims, 3)), "{ran:?}");
    assert_eq!(claims(), "0");
    // The rows are there, and nobody remembers that they were handled.
    let back = operator.seek(&who(), "mailer", Place::Start).await;
    assert!(matches!(back, Err(Error::ClaimsGone { .. })), "{back:?}");
}

async fn claims_stay_while_somebody_may_read_their_rows_again(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 2).await;
    let lane = hold(&fixture).await;
    handle(&fixture, &lane, &rows[2], false).await.expect("it can be handled");
    fixture.store.save_position(&lane, rows[0].seq, false).await.expect("the lane is held");
    retain(&after_days(&fixture, &rows, 400), &LOG_KEPT).await;
    assert_eq!(fixture.count("SELECT count(*) FROM karwan.inbox"), "1", "it would be handled twice");
    finish(&fixture, &lane).await;
    retain(&after_days(&fixture, &rows, 400), &LOG_KEPT).await;
    assert_eq!(fixture.count("SELECT count(*) FROM karwan.inbox"), "0");
}

async fn rows_go_below_every_saved_position_and_never_beyond(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 3).await;
    let lane = hold(&fixture).await;
    fixture.store.save_position(&lane, rows[1].seq, false).await.expect("the lane is held");
    next_stretch(&fixture).await;
    retain(&after_days(&fixture, &rows, 1), &Days::default()).await;
    assert_eq!(fixture.log().await.len(), 5, "nothing is old enough");
    let operator = after_days(&fixture, &rows, 31);
    let plan = operator.would_retain(&Days::default()).await.expect("it can be planned");
    assert!(plan.goes <= rows[1].seq, "{plan:?}");
    assert_eq!(plan.holders[0].consumer, "mailer");
    // Whoever looks at a file goes by the machine's clock, and not by the test's.
    assert!(fixture.clock.is_some() || plan.holders[0].run_by.as_deref() == Some("n-1"), "{plan:?}");
    let ran = retain(&operator, &Days::default()).await;
    assert_eq!(ran.floor, plan.goes);
    assert!(fixture.log().await.iter().any(|row| row.seq == rows[2].seq), "the lane's next row is gone");
    finish(&fixture, &lane).await;
    let ran = retain(&operator, &Days::default()).await;
    assert!(ran.floor >= rows[3].seq, "{ran:?}");
    let start = fixture.store.relay().start().await.expect("the log has a start");
    assert_eq!(start.seq, ran.floor);
    assert!(fixture.log().await.iter().all(|row| row.seq > ran.floor));
}

/// A DROP that waits for somebody who still reads queues every append behind it: it gives way in moments, and what is old goes once
/// nobody stands in the way. Without a bound to its waiting, nobody here would ever go on.
#[test]
fn nobody_waits_for_a_drop_that_waits_for_a_reader() {
    run(postgres(), async |fixture: Fixture| {
        let rows = order_rows(&fixture, 1, "o-1", 3).await;
        next_stretch(&fixture).await;
        let reader = karwan_store::bare::connect(&fixture.owner()).await.expect("a superuser may");
        reader.batch_execute("BEGIN; SELECT FROM karwan.log").await.expect("nobody drops it yet");
        let operator = after_days(&fixture, &rows, 31);
        let others = async {
            for number in 0..20 {
                fixture.place(1, &format!("meanwhile-{number}")).await;
            }
        };
        let days = Days::default();
        let both = Box::pin(async { tokio::join!(retain(&operator, &days), others) });
        let both = tokio::time::timeout(std::time::Duration::from_secs(60), both).await;
        both.expect("nobody waits for somebody who waits");
        assert_eq!(fixture.log().await[0].seq, rows[0].seq, "somebody reads it");
        reader.batch_execute("COMMIT").await.expect("it has read");
        retain(&operator, &days).await;
        assert!(fixture.log().await[0].seq > rows[3].seq, "what is old is gone");
    });
}

async fn a_consumer_that_nobody_runs_is_named_and_holds_nothing_once_forgotten(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let lane = Lane { consumer: "retired".to_owned(), number: 0, of: 1 };
    let taken = fixture.store.take_lane(&lane, "n-1", 1_000).await.expect("it can be asked for").expect("it is free");
    let held = LaneHold { consumer: "retired".to_owned(), lane: 0, epoch: taken.epoch };
    fixture.store.save_position(&held, rows[0].seq, true).await.expect("the lane is held");
    next_stretch(&fixture).await;
    let operator = after_days(&fixture, &rows, 31);
    let plan = operator.would_retain(&Days::default()).await.expect("it can be planned");
    assert_eq!((plan.holders[0].consumer.as_str(), &plan.holders[0].run_by), ("retired", &None));
    assert!(plan.goes <= rows[0].seq);
    operator.forget(&who(), "retired").await.expect("nobody runs it");
    let ran = retain(&operator, &Days::default()).await;
    assert!(ran.floor >= rows[1].seq, "{ran:?}");
}

/// Refuses, after a look at what would go.
struct Refuses(usize);

impl BeforeDrop for Refuses {
    async fn before_drop(&mut self, stretch: Stretch, relay: &RelayTx) -> Result<(), Error> {
        let start = relay.start().await?;
        assert_eq!(start.seq, stretch.after);
        self.0 = relay.page(start, &Filter::default(), 100).await?.rows.len();
        Err(Error::Closed)
    }
}

async fn rows_stay_where_the_hook_fails(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 3).await;
    next_stretch(&fixture).await;
    let mut hook = Refuses(0);
    let ran = after_days(&fixture, &rows, 31).retain(&who(), &Days::default(), &mut hook, &|_, _| {}).await;
    assert!(matches!(ran, Err(Error::Closed)), "{ran:?}");
    assert_eq!((hook.0, fixture.log().await.len()), (5, 5));
}

async fn rows_are_exported_whole_before_they_go(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 3).await;
    next_stretch(&fixture).await;
    let folder = Folder::new();
    let mut export = Export::new(folder.path().join("cold"));
    let ran = after_days(&fixture, &rows, 31).retain(&who(), &Days::default(), &mut export, &|_, _| {}).await;
    let floor = ran.expect("it can run").floor;
    let read = |path: &std::path::Path| std::fs::read(path).expect("a file that was written");
    let mut files: Vec<_> = std::fs::read_dir(folder.path().join("cold")).expect("it was made").collect();
    files.sort_by_key(|file| file.as_ref().expect("a file").file_name());
    let paths: Vec<_> = files.into_iter().map(|file| file.expect("a file").path()).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    let (lines, manifest) = (read(&paths[0]), read(&paths[1]));
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
    let digest: String = Sha256::digest(&lines).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((manifest["sha256"].as_str(), manifest["upTo"].as_i64()), (Some(digest.as_str()), Some(floor)));
    let text = String::from_utf8(lines).expect("text");
    let told: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let gone: Vec<&LogRow> = rows.iter().filter(|row| row.seq <= floor).collect();
    assert!(!gone.is_empty() && told.len() >= gone.len());
    for (line, row) in told.iter().zip(gone) {
        assert_eq!((line["seq"].as_i64(), line["envelope"].as_str()), (Some(row.seq), Some(row.envelope.as_str())));
    }
    let mode = std::fs::metadata(&paths[0]).expect("a file").permissions().mode();
    assert_eq!(mode & 0o077, 0, "others can read every tenant's events: {mode:o}");
}

async fn letters_go_with_their_age_and_not_before(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let lane = hold(&fixture).await;
    bury(&fixture, &lane, &rows[0]).await;
    finish(&fixture, &lane).await;
    let filter = LetterFilter::default();
    after_days(&fixture, &rows, 0).select(&who(), &filter, true).await.expect("it can be chosen");
    let dead = || fixture.count("SELECT count(*) FROM karwan.dead");
    let selections = || fixture.count("SELECT count(*) FROM karwan.selection");
    retain(&after_days(&fixture, &rows, 89), &LOG_KEPT).await;
    assert_eq!((dead().as_str(), selections().as_str()), ("1", "1"));
    retain(&after_days(&fixture, &rows, 91), &LOG_KEPT).await;
    assert_eq!((dead().as_str(), selections().as_str()), ("0", "0"));
}

async fn what_was_before_a_repair_goes_with_the_letters_age_and_not_before(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let lane = hold(&fixture).await;
    bury(&fixture, &lane, &rows[0]).await;
    finish(&fixture, &lane).await;
    let repair = Deed::Repair { payload: r#"{"orderId":"o-1","items":3}"#.to_owned(), out_of_order: false };
    let operator = after_days(&fixture, &rows, 0);
    operator.act(&who(), &target(&rows[0]), &repair).await.expect("the new payload is valid");
    let repairs = || fixture.count("SELECT count(*) FROM karwan.repair");
    retain(&after_days(&fixture, &rows, 89), &LOG_KEPT).await;
    assert_eq!(repairs(), "1");
    let ran = retain(&after_days(&fixture, &rows, 91), &LOG_KEPT).await;
    assert_eq!(repairs(), "0");
    assert!(ran.forgotten.contains(&(What::Repairs, 1)), "{ran:?}");
}
