//! Producers under load while nobody listens: whoever follows the log stands still or is gone, and the broker is down.

use std::ops::RangeInclusive;

use karwan_engine::{Consumer, Engine, Received, Relay, Verdict, Work};
use karwan_store::{Error, TenantTx};
use karwan_testkit::nats::{Options, Server};
use tokio::sync::watch;

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::{assert_whole, broker, change, filled, held, server, topology};
use crate::shop::OrderChanged;

on_both! {
    what_is_committed_while_every_listener_is_down_is_neither_lost_nor_doubled_nor_turned_around,
}

/// So many write at once, each its own orders.
const WRITERS: u64 = 4;
const ORDERS_EACH: u64 = 5;
const ORDERS: u64 = WRITERS * ORDERS_EACH;

/// A broker, a producer's store with a consumer of its log and a relay, and a consumer of the stream in another store.
struct Scene {
    server: Server,
    producer: Fixture,
    elsewhere: Fixture,
    /// Handlers do nothing before it is open.
    gate: watch::Sender<bool>,
}

/// Notes every change of an order, once the gate is open.
fn secretary(gate: &watch::Sender<bool>) -> Consumer {
    let gate = gate.subscribe();
    Consumer::new("sales-service", "secretary").on(move |tx: TenantTx, received: Received<OrderChanged>| {
        let mut gate = gate.clone();
        async move {
            // Its other end is there as long as the test is.
            let _ = gate.wait_for(|open| *open).await;
            note(&tx, &received.event.order_id, &format!("{},", received.event.revision)).await?;
            Ok::<_, Error>(Verdict::Done)
        }
    })
}

impl Scene {
    async fn of(producer: Fixture) -> Option<Self> {
        let server = server(Options::default())?;
        let elsewhere =
            if producer.database.is_some() { fixture::postgres().await? } else { fixture::sqlite().await? };
        Some(Self { server, producer, elsewhere, gate: watch::Sender::new(false) })
    }

    /// Whoever follows the log and the stream.
    async fn listeners(&self, node: &str) -> [Engine; 3] {
        let relay = Relay::new(broker(&self.server).await, topology());
        let relay = self.producer.start_work(&format!("relay-{node}"), Work::new().relay(relay));
        let follower = secretary(&self.gate).from_stream("SALES");
        let follower = Work::new().consumer(follower).broker(broker(&self.server).await);
        let reader = self.producer.start_work(node, Work::new().consumer(secretary(&self.gate)));
        [relay, self.elsewhere.start_work(node, follower), reader]
    }

    /// All at once: a unit for each revision of each order, and every one commits.
    async fn write(&self, revisions: RangeInclusive<i64>) {
        let writer = async |number: u64| {
            for revision in revisions.clone() {
                let own = number * ORDERS_EACH..(number + 1) * ORDERS_EACH;
                change(&self.producer, own, revision..=revision).await;
            }
        };
        tokio::join!(writer(0), writer(1), writer(2), writer(3));
    }

    /// What a consumer has noted of each order.
    async fn noted(&self, store: &Fixture) -> Vec<String> {
        let mut all = Vec::new();
        for number in 0..ORDERS {
            all.push(store.notes(number % 3, &format!("o-{number}")).await);
        }
        all
    }
}

/// nobody who commits waits for whoever reads. R-448: what nobody heard of is in the log.
async fn what_is_committed_while_every_listener_is_down_is_neither_lost_nor_doubled_nor_turned_around(
    fixture: Fixture,
) {
    let Some(scene) = Scene::of(fixture).await else { return };
    let Scene { server, producer, elsewhere, .. } = &scene;
    let nothing = vec![String::new(); ORDERS as usize];
    let listeners = scene.listeners("n-1").await;
    Box::pin(scene.write(1..=5)).await;
    // Consumers stand still, and everything is in the stream.
    assert_whole(&filled(server, "SALES", ORDERS as usize * 5).await, ORDERS as usize, 5);
    assert_eq!((scene.noted(producer).await, scene.noted(elsewhere).await), (nothing.clone(), nothing));
    // As a crash would, and nobody hears of a commit any more.
    drop(listeners);
    server.kill();
    let deaf = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    producer.sql("SELECT 1", deaf);
    Box::pin(scene.write(6..=12)).await;
    server.start_again();
    assert_eq!(held(server, "SALES").await.len(), ORDERS as usize * 5, "nobody has published");
    for store in [producer, elsewhere] {
        store.lease_runs_out().await;
    }
    scene.gate.send_replace(true);
    let listeners = scene.listeners("n-2").await;
    let whole: String = (1..=12).map(|revision| format!("{revision},")).collect();
    for (what, store) in [("the log's consumer", producer), ("the stream's consumer", elsewhere)] {
        until(what, async || {
            let noted = scene.noted(store).await;
            let wrong = noted.iter().find(|noted| !whole.starts_with(*noted));
            assert_eq!(wrong, None, "{what}");
            noted.iter().all(|noted| *noted == whole).then_some(())
        })
        .await;
    }
    let messages = held(server, "SALES").await;
    assert_eq!(messages.len(), ORDERS as usize * 12);
    assert_whole(&messages, ORDERS as usize, 12);
    for engine in listeners {
        engine.stop().await;
    }
    // Nothing came twice behind their backs either.
    assert!(scene.noted(producer).await.iter().chain(&scene.noted(elsewhere).await).all(|noted| *noted == whole));
}
