//! A stream that lost something: its beginning, before a consumer saw it; or its end, after it had said that it has it.

use std::path::Path;
use std::sync::Arc;

use karwan_engine::{Consumer, Engine, FedConsumer, Received, Relay, Verdict, Work};
use karwan_envelope::mint::OsRandom;
use karwan_store::operator::{Operator, Place, Who};
use karwan_store::{Error, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::{broker, held, server, topology};
use crate::shop::{OrderChanged, OrderPlaced};

const NAME: &str = "sales-service.secretary";

/// A producer's store with its relay, a broker, and the store of a consumer.
struct Line {
    server: Server,
    producer: Fixture,
    consumer: Fixture,
    relay: Engine,
}

fn secretary() -> Consumer {
    Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, got: Received<OrderPlaced>| {
            note(&tx, &got.event.order_id, "p").await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .on(async |tx: TenantTx, got: Received<OrderChanged>| {
            note(&tx, &got.event.order_id, &got.event.revision.to_string()).await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .from_stream("SALES")
}

impl Line {
    async fn of(producer: Fixture) -> Option<Self> {
        let (server, consumer) = (server(Options::default())?, fixture::sqlite().await?);
        let relay = producer.start_work("relay", Work::new().relay(Relay::new(broker(&server).await, topology())));
        Some(Self { server, producer, consumer, relay })
    }

    async fn start(&self, node: &str) -> Engine {
        self.consumer.start_work(node, Work::new().consumer(secretary()).broker(broker(&self.server).await))
    }

    /// Orders that are placed and changed three times, once they are in the stream.
    async fn orders(&self, names: &[&str]) {
        for name in names {
            self.producer.order(1, name, 3).await;
        }
        let end = self.producer.store.relay().end().await.expect("it can be asked");
        self.relay.published("SALES", end).await.expect("it is published");
    }

    async fn noted(&self, names: &[&str]) {
        for id in names {
            until(id, async || {
                let found = self.consumer.notes(1, id).await;
                assert!("p123".starts_with(&found), "{id}: {found}");
                (found == "p123").then_some(())
            })
            .await;
        }
    }

    async fn end(self, engine: Engine) {
        engine.stop().await;
        self.relay.stop().await;
    }
}

/// What `docs/errors/broker-gap.md` says: it stops, and goes on where somebody sends it, who knows what is missing.
#[test]
fn a_consumer_whose_messages_are_gone_unseen_stops_and_goes_on_where_an_operator_sends_it() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let Some(line) = Line::of(producer).await else { return };
        let engine = line.start("n-1").await;
        line.orders(&["seen"]).await;
        line.noted(&["seen"]).await;
        engine.stop().await;
        line.orders(&["gone", "there"]).await;
        // As age does: messages 5 to 8 were never seen.
        broker(&line.server).await.drop_before("SALES", 9).await.expect("it can be dropped");
        let engine = line.start("n-2").await;
        let suspended = async || {
            let suspensions = line.consumer.store.suspensions().await.expect("they can be asked for");
            suspensions.into_iter().find(|it| it.consumer == NAME)
        };
        let said = until("a consumer that stops", suspended).await.reason;
        assert!(said.contains("SALES") && said.contains('9'), "{said}");
        assert_eq!(line.consumer.notes(1, "there").await, "", "it has passed over what is gone");
        let operator = Operator::new(&line.consumer.owner, Vec::new()).with_clock(line.consumer.clock.clone());
        let who = Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() };
        let declared = operator.declared(NAME).await.expect("it has run");
        let broker = broker(&line.server).await;
        let fed = FedConsumer::of(&operator, declared, broker, Arc::new(OsRandom)).expect("a stream feeds it");
        fed.seek(&who, Place::Seq(7)).await.expect_err("message 8 is gone");
        fed.seek(&who, Place::Seq(8)).await.expect("it can be moved");
        assert!(operator.resume_consumer(&who, NAME).await.expect("it can be resumed"));
        line.noted(&["there"]).await;
        assert_eq!(line.consumer.notes(1, "gone").await, "");
        line.orders(&["after"]).await;
        line.noted(&["after", "seen"]).await;
        line.end(engine).await;
    });
}

pub fn copy(from: &Path, to: &Path) {
    drop(std::fs::remove_dir_all(to));
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("it can be read") {
        let entry = entry.expect("it can be read");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("it is something").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("it can be copied");
        }
    }
}

/// It said that it has them, they were handled, and after a crash its disk knows nothing of them.
#[test]
fn a_broker_that_accepts_and_forgets_gets_again_what_the_log_has_and_nothing_is_handled_twice() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let Some(line) = Line::of(producer).await else { return };
        let engine = line.start("n-1").await;
        line.orders(&["a", "b"]).await;
        line.noted(&["a", "b"]).await;
        line.server.stop();
        let (store, kept) = (line.server.store_directory(), line.server.directory().join("kept"));
        copy(&store, &kept);
        line.server.start_again();
        line.orders(&["c", "d", "e"]).await;
        line.noted(&["c", "d"]).await;
        line.server.kill();
        copy(&kept, &store);
        line.server.start_again();
        line.producer.order(1, "f", 3).await;
        line.noted(&["a", "b", "c", "d", "e", "f"]).await;
        let rows = line.producer.store.relay().rows(0, i64::MAX, &karwan_store::log::Filter::default(), 1000).await;
        let committed: Vec<String> = rows.expect("it can be read").iter().map(|row| row.event.to_string()).collect();
        let stream: Vec<String> = held(&line.server, "SALES").await.into_iter().map(|it| it.event_id).collect();
        assert_eq!(stream, committed, "each once, and in the order of the log");
        line.noted(&["a", "b", "c", "d", "e", "f"]).await;
        line.end(engine).await;
    });
}
