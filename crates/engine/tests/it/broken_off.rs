//! A process that relays to a broker and is fed by it ends at every point at which it could: before and after each kind of
//! store call, and whenever something comes from a channel, another task or the broker. Real server, real time.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use karwan_engine::{Consumer, Engine, Received, Relay, Verdict, Work};
use karwan_store::simulation::{Fate, Simulation};
use karwan_store::{Error, Position, Store, TenantTx};
use karwan_testkit::nats::{Options, Server};
use tokio::sync::Notify;

use crate::fixture::{self, Fixture, note};
use crate::relay::{broker, held, server, topology};
use crate::shop::{self, OrderChanged};

const NAME: &str = "sales-service.secretary";

/// Points that the relay and the feed must have been ended at.
const RECEIVES: [&str; 7] = [
    "heard what the broker has",
    "heard a page for a stream",
    "heard a relay is woken",
    "heard the broker has everything",
    "heard how far a stream is",
    "heard what a stream delivers",
    "heard a stream is open",
];

/// Counts points by name, and lets nothing return any more from one of them on.
#[derive(Default)]
struct Points {
    at: Option<(String, u64)>,
    passed: Mutex<BTreeMap<String, u64>>,
    reached: Notify,
}

impl Points {
    /// Whether the process ends here.
    fn pass(&self, name: String) -> bool {
        let mut passed = self.passed.lock().expect("nothing panics while holding it");
        if self.at.as_ref().is_some_and(|(at, time)| passed.get(at).is_some_and(|count| count >= time)) {
            return true;
        }
        let count = passed.entry(name.clone()).or_default();
        *count += 1;
        let ends = self.at.as_ref() == Some(&(name, *count));
        if ends {
            self.reached.notify_one();
        }
        ends
    }

    fn fate(&self, name: String) -> Fate {
        let ends = self.pass(name);
        Box::pin(async move { if ends { std::future::pending().await } else { Ok(()) } })
    }
}

impl Simulation for Points {
    fn before(&self, call: &'static str) -> Fate {
        self.fate(format!("before {call}"))
    }

    fn after(&self, call: &'static str) -> Fate {
        self.fate(format!("after {call}"))
    }

    fn heard(&self, what: &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let ends = self.pass(format!("heard {what}"));
        Box::pin(async move {
            if ends {
                std::future::pending().await
            }
        })
    }
}

/// A process that publishes the log, and notes down what the stream brings back.
async fn process(fixture: &Fixture, server: &Server, points: &Arc<Points>) -> Engine {
    let options = karwan_store::Options {
        clock: fixture.clock.clone(),
        simulation: Some(points.clone()),
        ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
    };
    let store = Store::open(&fixture.address, options).await.expect("a migrated store opens");
    let secretary =
        Consumer::new("sales-service", "secretary").on(async |tx: TenantTx, received: Received<OrderChanged>| {
            note(&tx, &received.event.order_id, &received.event.revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        });
    let broker = broker(server).await;
    let work = Work::new().relay(Relay::new(broker.clone(), topology())).broker(broker);
    fixture.start_over(&store, "n", work.consumer(secretary.lanes(2).from_stream("SALES")))
}

/// Until everything is in the stream, and what came back is handled.
async fn finished(fixture: &Fixture, server: &Server, engine: &Engine) {
    let end = fixture.store.relay().end().await.expect("it can be asked");
    engine.published("SALES", end).await.expect("it is published");
    let last = broker(server).await.last_sequence("SALES").await.expect("it can be asked").cast_signed();
    engine.wait_for(NAME, Position { seq: last, ..end }).await.expect("it gets there");
}

/// One process that ends at a point, if it comes there before it has done everything, what comes late included; answers the
/// points that it passed, and whether it ended there.
async fn broken_off(
    fixture: &Fixture,
    server: &Server,
    id: &str,
    at: Option<(String, u64)>,
) -> (BTreeMap<String, u64>, bool) {
    fixture.order(1, id, 3).await;
    let points = Arc::new(Points { at, ..Points::default() });
    let ended = async {
        // Opening the store passes points, too.
        let engine = process(fixture, server, &points).await;
        finished(fixture, server, &engine).await;
        fixture.order(1, &format!("{id}-late"), 3).await;
        finished(fixture, server, &engine).await;
    };
    let ended = tokio::select! {
        biased;
        () = points.reached.notified() => true,
        () = ended => false,
    };
    fixture.lease_runs_out().await;
    let passed = points.passed.lock().expect("nothing panics while holding it").clone();
    (passed, ended)
}

#[test]
fn a_process_that_ends_at_any_point_of_relay_and_feed_loses_doubles_and_reorders_nothing() {
    fixture::run(fixture::sqlite(), async |fixture: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let (passed, _) = broken_off(&fixture, &server, "first", None).await;
        let (mut orders, mut ended_at) = (vec!["first".to_owned()], BTreeSet::new());
        for (place, (point, count)) in passed.into_iter().enumerate() {
            let id = format!("o-{place}");
            // Not always at the first time.
            let time = 1 + place as u64 % count.min(3);
            if broken_off(&fixture, &server, &id, Some((point.clone(), time))).await.1 {
                ended_at.insert(point);
            }
            orders.push(id);
        }
        for point in RECEIVES {
            assert!(ended_at.contains(point), "no process was ended at `{point}`: {ended_at:#?}");
        }
        broken_off(&fixture, &server, "last", None).await;
        for order in &orders {
            assert_eq!(fixture.notes(1, order).await, "123", "{order}");
        }
        let rows = fixture.store.relay().rows(0, i64::MAX, &karwan_store::log::Filter::default(), 10_000).await;
        let of_sales = |subject: &str| subject.starts_with("shop.sales.");
        let rows = rows.expect("it can be read").into_iter().filter(|row| of_sales(&row.subject));
        let committed: Vec<String> = rows.map(|row| row.event.to_string()).collect();
        let published: Vec<String> =
            held(&server, "SALES").await.into_iter().map(|it| it.event_id.to_string()).collect();
        assert_eq!(published.len(), committed.len());
        assert_eq!(published, committed, "once, and in the order of the log");
    });
}
