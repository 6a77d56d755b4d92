//! A producer's store with its relay, a broker, and a consumer's store that a stream feeds; all by clocks that the test moves.

use std::sync::Arc;

use karwan_engine::{Consumer, Engine, FedConsumer, Received, Relay, Verdict, Work};
use karwan_envelope::mint::OsRandom;
use karwan_store::operator::{Operator, Who};
use karwan_store::{Error, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::{broker, server, topology};
use crate::shop::{OrderChanged, OrderPlaced};

pub const NAME: &str = "sales-service.secretary";

/// See the module.
pub struct Line {
    pub server: Server,
    pub producer: Fixture,
    pub consumer: Fixture,
    pub relay: Engine,
}

/// Notes down what it gets: of an order that is placed and changed three times, `p123`.
pub fn secretary() -> Consumer {
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

/// Runs a test where a broker can be had.
pub fn run(test: impl AsyncFnOnce(Line)) {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        if let Some(line) = Line::of(producer).await {
            test(line).await;
        }
    });
}

pub fn who() -> Who {
    Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() }
}

impl Line {
    async fn of(producer: Fixture) -> Option<Self> {
        let (server, consumer) = (server(Options::default())?, fixture::sqlite().await?);
        let relay = producer.start_work("relay", Work::new().relay(Relay::new(broker(&server).await, topology())));
        Some(Self { server, producer, consumer, relay })
    }

    pub async fn start(&self, node: &str, consumer: Consumer) -> Engine {
        self.consumer.start_work(node, Work::new().consumer(consumer).broker(broker(&self.server).await))
    }

    /// Waits until the consumer has noted this of an order, and nothing else before.
    pub async fn noted(&self, id: &str, expected: &str) {
        until(&format!("{id} as {expected}"), async || {
            let found = self.consumer.notes(1, id).await;
            assert!(expected.starts_with(&found), "{id}: {found} instead of {expected}");
            (found == expected).then_some(())
        })
        .await;
    }

    /// Waits until the consumer has stopped; why.
    pub async fn suspended(&self) -> String {
        let suspended = async || {
            let suspensions = self.consumer.store.suspensions().await.expect("they can be asked for");
            suspensions.into_iter().find(|it| it.consumer == NAME)
        };
        until("a consumer that stops", suspended).await.reason
    }

    pub fn operator(&self) -> Operator {
        Operator::new(&self.consumer.owner, Vec::new()).with_clock(self.consumer.clock.clone())
    }

    /// The consumer in the hands of an operator.
    pub async fn operated(&self) -> FedConsumer {
        let declared = self.operator().declared(NAME).await.expect("it has run");
        let broker = broker(&self.server).await;
        FedConsumer::of(&self.operator(), declared, broker, Arc::new(OsRandom)).expect("a stream feeds it")
    }

    pub async fn end(self, engine: Engine) {
        engine.stop().await;
        self.relay.stop().await;
    }
}
