//! What failed, after retention has dropped the rows of the log that it came from: a letter has its envelope with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use karwan_engine::{Consumer, Engine, Received, Verdict};
use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_store::log::{Filter, LogRow, Seq};
use karwan_store::operator::{Deed, Target, Who};
use karwan_store::retention::{Days, Nothing};
use karwan_store::{Error, Operator, TenantTx};

use crate::fixture::{Fixture, note};
use crate::processes::yard::until;
use crate::shop::{self, OrderChanged};

on_both! {
    what_is_parked_is_handled_when_it_is_due_after_its_rows_were_dropped,
    what_an_operator_retries_is_handled_after_its_rows_were_dropped,
    what_was_given_up_is_retried_after_its_rows_were_dropped_by_whoever_says_that_order_does_not_matter,
}

fed_too! {
    what_is_parked_is_handled_when_it_is_due_after_its_rows_were_dropped,
    what_an_operator_retries_is_handled_after_its_rows_were_dropped,
    what_was_given_up_is_retried_after_its_rows_were_dropped_by_whoever_says_that_order_does_not_matter,
}

const NAME: &str = "sales-service.secretary";
const DAY_MS: i64 = 86_400_000;

/// What a handler was given: the id of each event, and its place in the log.
type Seen = Arc<Mutex<Vec<(String, Seq)>>>;

/// A consumer that fails with the second revision of order `bad` as long as it is broken.
struct Secretary {
    broken: Arc<AtomicBool>,
    verdict: Verdict,
    handled: Seen,
}

impl Secretary {
    fn failing(verdict: Verdict) -> Self {
        Self { broken: Arc::new(AtomicBool::new(true)), verdict, handled: Seen::default() }
    }

    fn start(&self, fixture: &Fixture, node: &str) -> Engine {
        let (broken, verdict, handled) = (self.broken.clone(), self.verdict.clone(), self.handled.clone());
        let secretary =
            Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderChanged>| {
                let (broken, verdict, handled) = (broken.clone(), verdict.clone(), handled.clone());
                async move {
                    let OrderChanged { order_id, revision } = &received.event;
                    if order_id == "bad" && *revision == 2 && broken.load(Ordering::Relaxed) {
                        return Ok(verdict);
                    }
                    note(&tx, order_id, &revision.to_string()).await?;
                    let seen = (received.envelope.id.to_string(), received.seq);
                    handled.lock().expect("nobody panics").push(seen);
                    Ok::<_, Error>(Verdict::Done)
                }
            });
        fixture.start(node, vec![secretary])
    }

    fn mend(&self) {
        self.broken.store(false, Ordering::Relaxed);
    }

    /// Whether the handler was given this row; one whose commit was refused may have been given twice.
    fn was_given(&self, row: &LogRow) -> bool {
        let seen = (row.event.to_string(), row.seq);
        self.handled.lock().expect("nobody panics").contains(&seen)
    }
}

fn who() -> Who {
    Who { actor: "anna".to_owned(), reason: "a test".to_owned() }
}

fn operator(fixture: &Fixture) -> Operator {
    Operator::new(&fixture.owner, vec![shop::catalogue()]).with_clock(fixture.clock.clone())
}

/// The changes of order `bad` in the log where they were committed, in order. A stream that has all of it has the same places.
async fn changes(fixture: &Fixture) -> Vec<LogRow> {
    let relay = fixture.producer().relay();
    let safe = relay.safe().await.expect("it can be asked");
    let rows = relay.rows(0, safe, &Filter::default(), 1000).await.expect("it can be read");
    rows.into_iter().filter(|row| row.key == "bad" && row.subject.contains("changed")).collect()
}

/// Runs retention a month later, when the consumer has read everything: nothing of these rows is left.
async fn drop_rows(fixture: &Fixture, rows: &[LogRow]) {
    // A database drops whole stretches of the log: the next row begins another one.
    fixture.sql("SELECT 1", "SELECT setval('karwan.log_seq', 1000000)");
    fixture.order(1, "younger", 1).await;
    let end = fixture.end().await;
    until("saved positions", async || {
        let positions = fixture.store.relay().positions(NAME).await.expect("they can be asked for");
        (!positions.is_empty() && positions.iter().all(|position| *position >= end)).then_some(())
    })
    .await;
    let later = ManualClock::at(Timestamp::from_unix_ms(rows[0].at + 31 * DAY_MS + 60_000));
    let operator = Operator::new(fixture.producers_owner(), Vec::new()).with_clock(Arc::new(later));
    // A relay holds what it has not saved as published.
    until("retention", async || {
        let ran = operator.retain(&who(), &Days::default(), &mut Nothing, &|_, _| {}).await.expect("it can run");
        (ran.floor >= rows[rows.len() - 1].seq).then_some(())
    })
    .await;
    if let Some(broker) = fixture.broker() {
        let end = broker.last_sequence("SALES").await.expect("it can be asked");
        broker.drop_before("SALES", end).await.expect("a stream forgets, too");
    }
    assert_eq!(changes(fixture).await, [], "rows are left");
}

async fn until_noted(fixture: &Fixture, notes: &str) {
    until(notes, async || {
        let found = fixture.notes(1, "bad").await;
        assert!(notes.starts_with(&found), "{found}, and should become {notes}");
        (found == notes).then_some(())
    })
    .await;
}

/// Four changes of an order, of which the first is handled and the others wait; their rows are dropped.
async fn three_parked_and_dropped(fixture: &Fixture, secretary: &Secretary) -> (Engine, Vec<LogRow>) {
    let engine = secretary.start(fixture, "n-1");
    fixture.order(1, "bad", 4).await;
    fixture.settle(&engine).await;
    let rows = changes(fixture).await;
    assert_eq!((rows.len(), fixture.notes(1, "bad").await.as_str(), fixture.parked(NAME).await), (4, "1", 3));
    drop_rows(fixture, &rows).await;
    (engine, rows)
}

/// By a process that has never read those rows.
async fn what_is_parked_is_handled_when_it_is_due_after_its_rows_were_dropped(fixture: Fixture) {
    let secretary = Secretary::failing(Verdict::Retry("no".to_owned()));
    let (engine, rows) = three_parked_and_dropped(&fixture, &secretary).await;
    engine.stop().await;
    assert_eq!(fixture.parked(NAME).await, 3, "they hold nothing, and nothing takes them away");
    secretary.mend();
    fixture.clock.advance_ms(DAY_MS);
    let engine = secretary.start(&fixture, "n-2");
    until_noted(&fixture, "1234").await;
    fixture.settle(&engine).await;
    assert_eq!((fixture.parked(NAME).await, fixture.notes(1, "bad").await.as_str()), (0, "1234"));
    assert!(rows.iter().all(|row| secretary.was_given(row)), "{:?}", secretary.handled);
    engine.stop().await;
}

/// By the process that runs.
async fn what_an_operator_retries_is_handled_after_its_rows_were_dropped(fixture: Fixture) {
    let secretary = Secretary::failing(Verdict::Park("ask the guest".to_owned()));
    let (engine, rows) = three_parked_and_dropped(&fixture, &secretary).await;
    secretary.mend();
    let target = Target { consumer: NAME.to_owned(), event: rows[1].event };
    let retried = operator(&fixture).act(&who(), &target, &Deed::Retry { out_of_order: false }).await;
    retried.expect("its key has waited: order is kept");
    until_noted(&fixture, "1234").await;
    fixture.settle(&engine).await;
    assert_eq!((fixture.parked(NAME).await, fixture.notes(1, "bad").await.as_str()), (0, "1234"));
    assert!(rows.iter().all(|row| secretary.was_given(row)), "{:?}", secretary.handled);
    engine.stop().await;
}

/// Its key went on, and what ran behind it is not to be seen any more.
async fn what_was_given_up_is_retried_after_its_rows_were_dropped_by_whoever_says_that_order_does_not_matter(
    fixture: Fixture,
) {
    let secretary = Secretary::failing(Verdict::Dead("never".to_owned()));
    let engine = secretary.start(&fixture, "n-1");
    fixture.order(1, "bad", 4).await;
    fixture.settle(&engine).await;
    let rows = changes(&fixture).await;
    assert_eq!((rows.len(), fixture.notes(1, "bad").await.as_str()), (4, "134"));
    drop_rows(&fixture, &rows).await;
    secretary.mend();
    let (operator, target) = (operator(&fixture), Target { consumer: NAME.to_owned(), event: rows[1].event });
    let refused = operator.act(&who(), &target, &Deed::Retry { out_of_order: false }).await;
    let Err(error @ Error::OutOfOrder { .. }) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("its place in the log is not there"), "{error}");
    assert_eq!(fixture.dead(NAME).await.len(), 1, "a refused retry changes nothing");
    let retried = operator.act(&who(), &target, &Deed::Retry { out_of_order: true }).await;
    retried.expect("it was said");
    until_noted(&fixture, "1342").await;
    fixture.settle(&engine).await;
    assert_eq!((fixture.dead(NAME).await.len(), fixture.notes(1, "bad").await.as_str()), (0, "1342"));
    assert!(secretary.was_given(&rows[1]), "{:?}", secretary.handled);
    engine.stop().await;
}
