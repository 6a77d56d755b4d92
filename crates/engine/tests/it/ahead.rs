//! What is read ahead has bounds, and who is at one holds back nobody else; what somebody handled before is not handled again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_engine::{Consumer, ReadAhead, Received, Verdict};
use karwan_registry::Event as _;
use karwan_store::metrics::{Result as Consumed, Subscription};
use karwan_store::{Error, TenantTx};
use tokio::sync::{Notify, Semaphore};

use crate::fixture::{self, Fixture, note, run};
use crate::shop::OrderPlaced;

const LITTLE: ReadAhead = ReadAhead {
    tenant_rows: 4,
    consumer_rows: 16,
    consumer_bytes: 1 << 20,
    rows: 48,
    bytes: 4 << 20,
    page_rows: 8,
    page_bytes: 1 << 20,
    sweep_behind: 10,
};

/// Notes orders under its own name, each with a permit.
fn clerk(what: &'static str, gate: &Arc<Semaphore>) -> Consumer {
    let gate = gate.clone();
    Consumer::new("sales-service", what).on(move |tx: TenantTx, received: Received<OrderPlaced>| {
        let gate = gate.clone();
        async move {
            gate.acquire().await.expect("nobody closes it").forget();
            note(&tx, &format!("{what}-{}", received.event.order_id), "p").await?;
            Ok::<_, Error>(Verdict::Done)
        }
    })
}

#[test]
fn a_consumer_that_is_stuck_with_many_tenants_stops_nobody_else() {
    run(fixture::sqlite(), async |fixture: Fixture| {
        let (shut, open) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(1_000)));
        let consumers = vec![clerk("stuck", &shut).batch(1), clerk("flowing", &open)];
        let engine = fixture.start_ahead("n-1", consumers.into(), LITTLE);
        let mut last = None;
        for tenant in 1..=40 {
            for number in 0..3 {
                last = Some(fixture.order(tenant, &format!("o-{number}"), 0).await.position);
            }
        }
        let last = last.expect("there were orders");
        engine.wait_for("sales-service.flowing", last).await.expect("it flows");
        shut.add_permits(1_000);
        engine.wait_for("sales-service.stuck", last).await.expect("it goes on");
        for tenant in 1..=40 {
            for number in 0..3 {
                for what in ["stuck", "flowing"] {
                    assert_eq!(fixture.notes(tenant, &format!("{what}-o-{number}")).await, "p", "{tenant} {number}");
                }
            }
        }
        engine.stop().await;
    });
}

/// A small tenant's events were handled long before those of one that floods the lane that they share.
#[test]
fn what_was_handled_before_a_take_over_is_not_handled_again_behind_a_flood() {
    run(fixture::sqlite(), async |fixture: Fixture| {
        let runs: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
        let stuck = Arc::new(Notify::new());
        let counting = |sticks: bool| {
            let (runs, stuck) = (runs.clone(), stuck.clone());
            let counted = move |tx: TenantTx, received: Received<OrderPlaced>| {
                let (runs, stuck, id) = (runs.clone(), stuck.clone(), received.event.order_id);
                async move {
                    *runs.lock().expect("nobody panics").entry(id.clone()).or_default() += 1;
                    if sticks && id == "large-30" {
                        stuck.notify_one();
                        std::future::pending::<()>().await;
                    }
                    note(&tx, &id, "p").await?;
                    Ok::<_, Error>(Verdict::Done)
                }
            };
            Consumer::new("sales-service", "secretary").lanes(1).batch(4).on(counted)
        };
        for number in 0..40 {
            fixture.order(1, &format!("large-{number}"), 0).await;
        }
        let mut last = None;
        for number in 0..5 {
            last = Some(fixture.order(2, &format!("small-{number}"), 0).await.position);
        }
        let one = fixture.start("n-1", vec![counting(true)]);
        stuck.notified().await;
        // It is gone in the middle of the flood, when all of the small one is done.
        drop(one);
        fixture.lease_runs_out().await;
        // Now the first rows that are read are the flood's alone.
        let few = ReadAhead { tenant_rows: 100, consumer_rows: 4, page_rows: 4, sweep_behind: 1_000, ..LITTLE };
        let two = fixture.start_ahead("n-2", vec![counting(false)].into(), few);
        two.wait_for("sales-service.secretary", last.expect("there were orders")).await.expect("it gets there");
        for number in 0..5 {
            assert_eq!(fixture.notes(2, &format!("small-{number}")).await, "p");
        }
        let runs = runs.lock().expect("nobody panics").clone();
        let twice: Vec<_> = runs.iter().filter(|(id, runs)| id.starts_with("small") && **runs != 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        two.stop().await;
    });
}

/// Whoever takes a lane may hand events to handlers that were handled before: their failing says nothing of the consumer.
#[test]
fn what_fails_after_it_was_handled_suspends_nobody() {
    run(fixture::sqlite(), async |fixture: Fixture| {
        let secretary = |fails: bool| {
            let on = move |_: TenantTx, _: Received<OrderPlaced>| async move {
                Ok::<_, Error>(if fails { Verdict::Retry("no".to_owned()) } else { Verdict::Done })
            };
            Consumer::new("sales-service", "secretary").lanes(1).batch(1).on(on)
        };
        let one = fixture.start("n-1", vec![secretary(false)]);
        let mut last = None;
        for number in 0..130 {
            last = Some(fixture.order(1, &format!("o-{number}"), 0).await.position);
        }
        fixture.settle(&one).await;
        one.stop().await;
        // As if the first one alone were not handled, and the rest ahead of it.
        fixture.sql("DELETE FROM inbox WHERE seq = (SELECT min(seq) FROM inbox); UPDATE lane SET position = 0", "");
        let few = ReadAhead { consumer_rows: 1, ..LITTLE };
        let two = fixture.start_ahead("n-2", vec![secretary(true)].into(), few);
        let told = two.wait_for("sales-service.secretary", last.expect("there were orders")).await;
        told.expect("what it handled before suspends it");
        assert_eq!(fixture.store.suspensions().await.expect("it can be asked"), []);
        let topic = OrderPlaced::SUBJECT;
        let by = Subscription { service: "sales-service", topic, consumer: "sales-service.secretary" };
        assert_eq!(fixture.store.metrics().count(&by, Consumed::Error), 1, "the one that was not handled");
        two.stop().await;
    });
}

/// What the metrics say of the shop's sales: how much waits, and for how many seconds.
fn unpublished(fixture: &Fixture) -> (String, String) {
    let text = fixture.store.metrics().text();
    let value = |name: &str| {
        let name = format!("shop_outbox_{name}{{service=\"sales-service\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or("none").to_owned()
    };
    (value("unpublished_count"), value("oldest_unpublished_seconds"))
}

#[test]
fn what_is_in_hand_waits_and_what_nobody_here_reads_does_not() {
    run(fixture::sqlite(), async |fixture: Fixture| {
        let shut = Arc::new(Semaphore::new(0));
        let engine = fixture.start("n-1", vec![clerk("clerk", &shut)]);
        let position = fixture.order(1, "o", 0).await.position;
        fixture.clock.advance_ms(7_000);
        let told = async {
            while unpublished(&fixture) != ("1".to_owned(), "7".to_owned()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let told = tokio::time::timeout(Duration::from_secs(30), told).await;
        told.unwrap_or_else(|_| panic!("it is not told: {:?}", unpublished(&fixture)));
        shut.add_permits(9);
        engine.wait_for("sales-service.clerk", position).await.expect("it goes on");
        fixture.order(1, "more", 0).await;
        engine.stop().await;
        assert_eq!(unpublished(&fixture), ("0".to_owned(), "0".to_owned()), "it has no lanes any more");
    });
}
