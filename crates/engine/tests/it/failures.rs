//! One key's failure stops that key only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use karwan_engine::{Consumer, Policy, Received, Verdict};
use karwan_store::consumer::Lane;
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::{OrderChanged, OrderPlaced, ParcelSent};

on_both! {
    a_failing_event_holds_back_its_key_and_nobody_else,
    a_parked_key_goes_on_in_order_also_in_another_process,
    an_event_that_fails_too_often_is_given_up_and_its_key_goes_on,
    a_dead_verdict_gives_up_at_once,
    waiting_for_a_predecessor_counts_no_attempt,
    a_parked_event_waits_for_a_person,
    a_handler_that_panics_or_hangs_takes_nobody_along,
    one_that_fails_in_a_batch_takes_nobody_along,
    one_that_hangs_in_a_batch_does_not_hang_again_before_it_is_parked,
}

fed_too! {
    a_failing_event_holds_back_its_key_and_nobody_else,
    a_parked_key_goes_on_in_order_also_in_another_process,
    an_event_that_fails_too_often_is_given_up_and_its_key_goes_on,
    a_dead_verdict_gives_up_at_once,
    waiting_for_a_predecessor_counts_no_attempt,
    a_parked_event_waits_for_a_person,
    a_handler_that_panics_or_hangs_takes_nobody_along,
    one_that_fails_in_a_batch_takes_nobody_along,
    one_that_hangs_in_a_batch_does_not_hang_again_before_it_is_parked,
}

const NAME: &str = "sales-service.secretary";

/// Notes revisions; fails with order `bad` as long as it is told to.
fn picky(verdict: impl Fn() -> Verdict + Send + Sync + 'static) -> Consumer {
    let verdict = Arc::new(verdict);
    Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderChanged>| {
        let verdict = verdict.clone();
        async move {
            let OrderChanged { order_id, revision } = received.event;
            if order_id == "bad" && revision == 2 {
                match verdict() {
                    Verdict::Done => {}
                    other => return Ok(other),
                }
            }
            note(&tx, &order_id, &revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        }
    })
}

async fn orders(fixture: &Fixture) {
    for id in ["good", "bad", "fine"] {
        fixture.order(1, id, 4).await;
    }
}

fn retry() -> Verdict {
    Verdict::Retry("no".to_owned())
}

async fn a_failing_event_holds_back_its_key_and_nobody_else(fixture: Fixture) {
    let broken = Arc::new(AtomicBool::new(true));
    let told = broken.clone();
    let consumer = picky(move || if told.load(Ordering::Relaxed) { retry() } else { Verdict::Done });
    let engine = fixture.start("n-1", vec![consumer]);
    orders(&fixture).await;
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "good").await, "1234");
    assert_eq!(fixture.notes(1, "fine").await, "1234");
    assert_eq!(fixture.notes(1, "bad").await, "1");
    broken.store(false, Ordering::Relaxed);
    fixture.clock.advance_ms(2_000);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "bad").await, "1234");
    assert_eq!(fixture.dead(NAME).await, []);
    engine.stop().await;
}

async fn a_parked_key_goes_on_in_order_also_in_another_process(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![picky(retry)]);
    orders(&fixture).await;
    fixture.settle(&engine).await;
    engine.stop().await;
    fixture.clock.advance_ms(2_000);
    let heir = fixture.start("n-2", vec![picky(|| Verdict::Done)]);
    fixture.settle(&heir).await;
    assert_eq!(fixture.notes(1, "bad").await, "1234");
    assert_eq!(fixture.notes(1, "good").await, "1234");
    heir.stop().await;
}

async fn an_event_that_fails_too_often_is_given_up_and_its_key_goes_on(fixture: Fixture) {
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    let consumer = picky(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        retry()
    });
    let engine = fixture.start("n-1", vec![consumer.policy(Policy { attempts_max: 3, ..Policy::default() })]);
    orders(&fixture).await;
    for _ in 0..4 {
        fixture.settle(&engine).await;
        fixture.clock.advance_ms(60_000);
    }
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "bad").await, "134");
    let dead = fixture.dead(NAME).await;
    assert_eq!((dead.len(), dead[0].event.attempts, dead[0].event.error.as_str()), (1, 3, "no"));
    // In a batch, and then three times singly.
    assert!((3..=4).contains(&tries.load(Ordering::Relaxed)), "{tries:?}");
    engine.stop().await;
}

async fn a_dead_verdict_gives_up_at_once(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![picky(|| Verdict::Dead("never".to_owned()))]);
    orders(&fixture).await;
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "bad").await, "134");
    assert_eq!(fixture.dead(NAME).await[0].event.error, "never");
    engine.stop().await;
}

async fn waiting_for_a_predecessor_counts_no_attempt(fixture: Fixture) {
    let tries = Arc::new(AtomicU32::new(0));
    let counted = tries.clone();
    let consumer = picky(move || match counted.fetch_add(1, Ordering::Relaxed) {
        0..6 => Verdict::Later("its order has not come yet".to_owned()),
        _ => Verdict::Done,
    });
    let policy = Policy { attempts_max: 2, later_most_ms: i64::MAX, ..Policy::default() };
    let engine = fixture.start("n-1", vec![consumer.policy(policy)]);
    orders(&fixture).await;
    for _ in 0..8 {
        fixture.settle(&engine).await;
        fixture.clock.advance_ms(5_000);
    }
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "bad").await, "1234");
    assert_eq!(fixture.dead(NAME).await, []);
    engine.stop().await;
}

async fn a_parked_event_waits_for_a_person(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![picky(|| Verdict::Park("look at this".to_owned()))]);
    orders(&fixture).await;
    fixture.settle(&engine).await;
    fixture.clock.advance_ms(86_400_000);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "bad").await, "1");
    assert_eq!(fixture.dead(NAME).await, []);
    engine.stop().await;
}

async fn a_handler_that_panics_or_hangs_takes_nobody_along(fixture: Fixture) {
    let consumer = Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderPlaced>| {
            match received.event.order_id.as_str() {
                "panics" => panic!("it panics"),
                "hangs" => std::future::pending::<()>().await,
                _ => {}
            }
            note(&tx, &received.event.order_id, "p").await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .limit(Duration::from_secs(5))
        .policy(Policy { attempts_max: 1, ..Policy::default() });
    let engine = fixture.start("n-1", vec![consumer]);
    for id in ["panics", "hangs", "good"] {
        fixture.order(1, id, 0).await;
    }
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "good").await, "p");
    let errors: Vec<String> = fixture.dead(NAME).await.into_iter().map(|dead| dead.event.error).collect();
    assert!(errors[0].contains("broke off") && errors[1].contains("took longer"), "{errors:?}");
    engine.stop().await;
}

async fn one_that_fails_in_a_batch_takes_nobody_along(fixture: Fixture) {
    for number in 0..40 {
        fixture.order(1, &format!("o-{number}"), 1).await;
    }
    fixture.order(1, "bad", 4).await;
    let engine = fixture.start("n-1", vec![picky(|| Verdict::Dead("never".to_owned())).lanes(1)]);
    fixture.settle(&engine).await;
    for number in 0..40 {
        assert_eq!(fixture.notes(1, &format!("o-{number}")).await, "1");
    }
    assert_eq!(fixture.notes(1, "bad").await, "134");
    engine.stop().await;
}

/// What comes from SQL was not judged by its schema: the first reader does, and gives it up.
#[test]
fn a_schema_invalid_event_from_sql_is_given_up_and_named() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let database = fixture.database.as_ref().expect("a database");
        let login = format!("app_{}", database.name());
        for payload in [r#"{"parcelId":"p","count":"many"}"#, r#"{"parcelId":"p","count":2}"#] {
            let intent = payload.len();
            let sql = format!(
                "SELECT karwan.append('0190c2f0-0000-7000-8000-000000000001', 'shop.delivery.parcel.sent.v1', 'p', 'p:{intent}', '{payload}')"
            );
            database.psql_as(&login, &sql).expect("it can be appended");
        }
        let consumer =
            Consumer::new("sales-service", "secretary").on(async |tx: TenantTx, received: Received<ParcelSent>| {
                note(&tx, "p", &received.event.count.to_string()).await?;
                Ok::<_, Error>(Verdict::Done)
            });
        let engine = fixture.start("n-1", vec![consumer]);
        fixture.settle(&engine).await;
        assert_eq!(fixture.notes(1, "p").await, "2");
        let dead = fixture.dead(NAME).await;
        assert!(dead.len() == 1 && dead[0].event.error.contains("count"), "{dead:?}");
        // R-062: it is counted, and an alert is raised by that.
        let by = format!("service=\"sales-service\",topic=\"shop.delivery.parcel.sent.v1\",subscription=\"{NAME}\"");
        let counted = format!("\nshop_schema_validation_failures_total{{{by}}} 1\n");
        let text = fixture.store.metrics().text();
        assert!(text.contains(&counted), "{text}");
        engine.stop().await;
    });
}

/// R-103, R-108: the claims as the documents' inbox.
#[test]
fn a_claim_is_shown_with_its_topic_and_what_became_of_it() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let engine = fixture.start("n-1", vec![picky(|| Verdict::Dead("never".to_owned()))]);
        fixture.order(1, "bad", 3).await;
        engine.settle().await.expect("it settles");
        engine.stop().await;
        let database = fixture.database.as_ref().expect("a database");
        let login = format!("app_{}", database.name());
        let sql = "SET ROLE karwan_relay;
                   SELECT h.consumer_name, h.topic, h.tenant_id, h.result, h.received_at = date_trunc('milliseconds', l.at)
                   FROM karwan.handled h JOIN karwan.log l USING (event_id) ORDER BY l.seq";
        let shown = database.psql_as(&login, sql).expect("a node may look");
        let row =
            |result| format!("{NAME}|shop.sales.order.changed.v1|0190c2f0-0000-7000-8000-000000000001|{result}|t");
        assert_eq!(shown.lines().collect::<Vec<_>>(), [row("ok"), row("error"), row("ok")]);
    });
}

async fn one_that_hangs_in_a_batch_does_not_hang_again_before_it_is_parked(fixture: Fixture) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let secretary =
        Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderPlaced>| {
            let runs = counted.clone();
            async move {
                let id = received.event.order_id;
                if id.starts_with("hangs") {
                    runs.fetch_add(1, Ordering::Relaxed);
                    std::future::pending::<()>().await;
                }
                note(&tx, &id, "p").await?;
                Ok::<_, Error>(Verdict::Done)
            }
        });
    for id in ["good", "hangs-1", "fine", "hangs-2", "well"] {
        fixture.order(1, id, 0).await;
    }
    let engine = fixture.start("n-1", vec![secretary.lanes(1).limit(Duration::from_secs(2))]);
    fixture.settle(&engine).await;
    for id in ["good", "fine", "well"] {
        assert_eq!(fixture.notes(1, id).await, "p", "{id}");
    }
    let lane = Lane { consumer: NAME.to_owned(), number: 0, of: 1 };
    let parked = fixture.store.parked(&lane, 9).await.expect("it can be asked");
    let parked: Vec<_> = parked.iter().map(|event| (event.attempts, event.error.contains("took longer"))).collect();
    assert_eq!((parked, runs.load(Ordering::Relaxed)), (vec![(1, true), (1, true)], 2), "each has run once");
    engine.stop().await;
}
