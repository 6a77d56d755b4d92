//! A consumer of a stream whose handlers are slow: word that work goes on, deliveries that come again, and few that may be out.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_broker::Topology;
use karwan_engine::{Consumer, Engine, Received, Relay, Verdict, Work};
use karwan_store::simulation::{Fate, Simulation};
use karwan_store::{Error, Store, TenantTx};
use karwan_testkit::nats::{Options, Server};
use tokio::sync::Semaphore;

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::{broker, server};
use crate::shop::{self, OrderChanged, OrderPlaced};

const DURABLE: &str = "sales-service-secretary";
/// So many deliveries may be out.
const FULL: u32 = 8;

/// Counts how often a feed said that work goes on.
#[derive(Default)]
struct Words(AtomicU32);

impl Simulation for Words {
    fn before(&self, _: &'static str) -> Fate {
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, _: &'static str) -> Fate {
        Box::pin(std::future::ready(Ok(())))
    }

    fn heard(&self, what: &'static str) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        if what == "word that work goes on is out" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Box::pin(std::future::ready(()))
    }
}

/// Notes revisions down, whenever it is let.
fn slow(may: &Arc<Semaphore>) -> Consumer {
    let may = may.clone();
    let consumer = Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, got: Received<OrderChanged>| {
        let may = may.clone();
        async move {
            may.acquire().await.expect("nobody closes it").forget();
            note(&tx, &got.event.order_id, &got.event.revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        }
    });
    consumer.lanes(2).batch(1).from_stream("SALES")
}

/// Notes what was placed and what was changed, whenever it is let; the second revision of every third order fails once.
fn slow_with_two_subjects(may: &Arc<Semaphore>) -> Consumer {
    let (placing, changing) = (may.clone(), may.clone());
    let failed: Arc<Mutex<HashSet<String>>> = Arc::default();
    Consumer::new("sales-service", "secretary")
        .on(move |tx: TenantTx, got: Received<OrderPlaced>| {
            let may = placing.clone();
            async move {
                may.acquire().await.expect("nobody closes it").forget();
                note(&tx, &got.event.order_id, "p").await?;
                Ok::<_, Error>(Verdict::Done)
            }
        })
        .on(move |tx: TenantTx, got: Received<OrderChanged>| {
            let (may, failed) = (changing.clone(), failed.clone());
            async move {
                may.acquire().await.expect("nobody closes it").forget();
                let OrderChanged { order_id, revision } = got.event;
                let fails = revision == 2 && ["o-0", "o-3"].contains(&order_id.as_str());
                if fails && failed.lock().expect("nobody panics").insert(order_id.clone()) {
                    return Ok(Verdict::Retry("not yet".to_owned()));
                }
                note(&tx, &order_id, &revision.to_string()).await?;
                Ok::<_, Error>(Verdict::Done)
            }
        })
        .lanes(4)
        .batch(1)
        .deliveries(Duration::from_millis(30), FULL)
        .from_stream("SALES")
}

/// A relay out of one store, and a slow consumer in another.
struct Line {
    server: Server,
    producer: Fixture,
    consumer: Fixture,
    relay: Engine,
    engine: Engine,
    words: Arc<Words>,
}

impl Line {
    async fn of(producer: Fixture, slow: Consumer) -> Option<Self> {
        let server = server(Options::default())?;
        let consumer = fixture::sqlite().await?;
        let relay = Relay::new(broker(&server).await, Topology::of(&shop::catalogue()));
        let relay = producer.start_work("relay", Work::new().relay(relay));
        let words = Arc::new(Words::default());
        let options = karwan_store::Options {
            clock: consumer.clock.clone(),
            simulation: Some(words.clone()),
            ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
        };
        let store = Store::open(&consumer.address, options).await.expect("a migrated store opens");
        let work = Work::new().consumer(slow).broker(broker(&server).await);
        let engine = consumer.start_over(&store, "n-1", work);
        Some(Self { server, producer, consumer, relay, engine, words })
    }

    /// Another process, which the same consumer runs in.
    async fn heir(&self, slow: Consumer) -> Engine {
        let work = Work::new().consumer(slow).broker(broker(&self.server).await);
        self.consumer.start_work("n-2", work)
    }

    /// Waits until as much is out as may be, and some of it not for the first time.
    async fn full_and_again(&self) {
        let broker = broker(&self.server).await;
        until("a full window in which some come again", async || {
            let out = broker.out("SALES", DURABLE).await.ok()?;
            assert!(out.unacked <= u64::from(FULL), "{out:?}");
            (out.unacked == u64::from(FULL) && out.again > 0).then_some(())
        })
        .await;
    }

    async fn orders(&self, orders: usize, changes: i64) {
        for number in 0..orders {
            self.producer.order(1, &format!("o-{number}"), changes).await;
        }
    }

    /// Every order has its revisions once, and in order.
    async fn ends_whole(self, orders: usize, expected: &str) {
        for number in 0..orders {
            let id = format!("o-{number}");
            until(&id, async || {
                // Whatever waits for its next attempt becomes due.
                self.consumer.clock.advance_ms(40);
                let found = self.consumer.notes(1, &id).await;
                assert!(expected.starts_with(&found), "{id}: {found} instead of {expected}");
                (found == expected).then_some(())
            })
            .await;
        }
        self.engine.stop().await;
        self.relay.stop().await;
    }
}

/// A third of `ack_wait` is a second here, and a handler works for longer than the whole of it.
#[test]
fn while_a_handler_works_its_broker_is_told_so_and_delivers_nothing_again() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let may = Arc::new(Semaphore::new(0));
        let Some(line) = Line::of(producer, slow(&may).deliveries(Duration::from_secs(3), 8)).await else { return };
        line.orders(2, 3).await;
        let broker = broker(&line.server).await;
        let out = async || broker.out("SALES", DURABLE).await.ok();
        until("what is out", async || out().await.filter(|out| out.unacked == 6)).await;
        let said = line.words.0.load(Ordering::Relaxed);
        until("word that work goes on", async || (line.words.0.load(Ordering::Relaxed) >= said + 4).then_some(()))
            .await;
        assert_eq!(out().await.map(|out| out.again), Some(0), "what is worked on was delivered again");
        may.add_permits(6);
        line.ends_whole(2, "123").await;
    });
}

/// No word comes in time for an `ack_wait` of milliseconds, and no more than eight deliveries may be out.
#[test]
fn what_is_delivered_again_and_again_to_a_consumer_that_is_full_is_handled_once_and_in_order() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let may = Arc::new(Semaphore::new(0));
        let Some(line) = Line::of(producer, slow(&may).deliveries(Duration::from_millis(30), 8)).await else { return };
        line.orders(6, 9).await;
        let broker = broker(&line.server).await;
        until("eight that are out, and come again", async || {
            let out = broker.out("SALES", DURABLE).await.ok()?;
            assert!(out.unacked <= 8, "{out:?}");
            (out.unacked == 8 && out.again > 0).then_some(())
        })
        .await;
        // Not all at once: others come again while some are handled.
        for _ in 0..54 {
            may.add_permits(1);
            tokio::task::yield_now().await;
        }
        line.ends_whole(6, "123456789").await;
    });
}

/// All of it together: handlers that are slower than `ack_wait`, deliveries that come again, a window that is full, two
/// subjects of every key, keys that wait parked, and a process that dies with deliveries out.
#[test]
fn a_key_keeps_its_order_across_subjects_while_all_that_is_out_comes_again_and_no_more_may_be_out() {
    const ORDERS: usize = 6;
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let may = Arc::new(Semaphore::new(0));
        let Some(mut line) = Line::of(producer, slow_with_two_subjects(&may)).await else { return };
        line.orders(ORDERS, 1).await;
        for revision in 2..=9 {
            for number in 0..ORDERS {
                line.producer.change(1, &format!("o-{number}"), revision).await;
            }
        }
        // One by one, and before each of them all that is out has timed out once more.
        for _ in 0..16 {
            line.full_and_again().await;
            may.add_permits(1);
        }
        let heir = line.heir(slow_with_two_subjects(&may)).await;
        drop(std::mem::replace(&mut line.engine, heir));
        line.consumer.lease_runs_out().await;
        for _ in 0..16 {
            line.full_and_again().await;
            may.add_permits(1);
        }
        may.add_permits(1_000);
        line.ends_whole(ORDERS, "p123456789").await;
    });
}
