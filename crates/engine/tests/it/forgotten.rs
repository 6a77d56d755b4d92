//! Consumers of streams that hold more than the consumers remember: nothing is handled twice, and who might skip something stops.

use std::sync::Arc;

use karwan_engine::fed_consumer::Error as FedError;
use karwan_engine::{Consumer, Engine, FedConsumer, Received, Relay, Verdict, Work};
use karwan_envelope::mint::OsRandom;
use karwan_store::operator::{Chosen, Operator, Place, Who};
use karwan_store::retention::{Days, Nothing};
use karwan_store::{Error, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::{broker, filled, server, topology};
use crate::shop::{OrderChanged, OrderPlaced};

const NAME: &str = "sales-service.secretary";
const DAY_MS: i64 = 86_400_000;

/// A producer's store with its relay, a broker, and the store of a consumer; all by clocks that the test moves.
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
        let server = server(Options::default())?;
        let consumer = fixture::sqlite().await?;
        let relay = producer.start_work("relay", Work::new().relay(Relay::new(broker(&server).await, topology())));
        Some(Self { server, producer, consumer, relay })
    }

    async fn start(&self, node: &str, consumer: Consumer) -> Engine {
        self.consumer.start_work(node, Work::new().consumer(consumer).broker(broker(&self.server).await))
    }

    async fn noted(&self, id: &str, expected: &str) {
        until(&format!("{id} as {expected}"), async || {
            let found = self.consumer.notes(1, id).await;
            assert!(expected.starts_with(&found), "{id}: {found} instead of {expected}");
            (found == expected).then_some(())
        })
        .await;
    }

    /// So many days pass, and the consumer's store drops what it need not keep any longer.
    async fn days_pass(&self, days: i64) {
        self.producer.clock.advance_ms(days * DAY_MS);
        self.consumer.clock.advance_ms(days * DAY_MS);
        let ran = self.operator().retain(&who(), &Days::default(), &mut Nothing, &|_, _| {}).await;
        ran.expect("nobody holds anything back");
    }

    fn operator(&self) -> Operator {
        Operator::new(&self.consumer.owner, Vec::new()).with_clock(self.consumer.clock.clone())
    }

    /// The consumer in the hands of an operator.
    async fn operated(&self) -> FedConsumer {
        let declared = self.operator().declared(NAME).await.expect("it has run");
        let broker = broker(&self.server).await;
        FedConsumer::of(&self.operator(), declared, broker, Arc::new(OsRandom)).expect("a stream feeds it")
    }

    /// The stream goes, and its relay makes it anew with what the log has.
    async fn stream_is_made_anew(&self, messages: usize) {
        broker(&self.server).await.delete_stream("SALES").await.expect("it can be deleted");
        self.producer.order(1, "unseen", 0).await;
        until("a stream that is there again", async || {
            broker(&self.server).await.has_stream("SALES").await.expect("it can be asked").then_some(())
        })
        .await;
        assert_eq!(filled(&self.server, "SALES", messages + 1).await.len(), messages + 1);
    }

    async fn end(self, engine: Engine) {
        engine.stop().await;
        self.relay.stop().await;
    }
}

fn who() -> Who {
    Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() }
}

fn run(test: impl AsyncFnOnce(Line)) {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        if let Some(line) = Line::of(producer).await {
            test(line).await;
        }
    });
}

#[test]
fn a_stream_that_was_made_anew_and_holds_more_than_is_remembered_stops_its_consumer_and_nothing_is_handled_twice() {
    run(async |line| {
        let engine = line.start("n-1", secretary()).await;
        line.producer.order(1, "old", 3).await;
        line.noted("old", "p123").await;
        engine.stop().await;
        line.stream_is_made_anew(4).await;
        line.days_pass(31).await;
        line.producer.order(1, "young", 3).await;
        let engine = line.start("n-2", secretary()).await;
        let suspended = async || {
            let suspensions = line.consumer.store.suspensions().await.expect("they can be asked for");
            suspensions.into_iter().find(|it| it.consumer == NAME)
        };
        let said = until("a consumer that stops", suspended).await.reason;
        assert!(said.contains("SALES") && said.contains("up to 5 "), "{said}");
        assert!(line.operator().resume_consumer(&who(), NAME).await.expect("it can be resumed"));
        line.noted("young", "p123").await;
        assert_eq!(line.consumer.notes(1, "old").await, "p123", "it is handled twice");
        line.end(engine).await;
    });
}

#[test]
fn a_consumer_that_may_handle_everything_anew_reads_a_stream_that_was_made_anew_from_its_beginning() {
    run(async |line| {
        let engine = line.start("n-1", secretary().rebuildable()).await;
        line.producer.order(1, "old", 3).await;
        line.noted("old", "p123").await;
        engine.stop().await;
        line.stream_is_made_anew(4).await;
        line.days_pass(31).await;
        let engine = line.start("n-2", secretary().rebuildable()).await;
        line.noted("old", "p123p123").await;
        line.noted("unseen", "p").await;
        line.end(engine).await;
    });
}

/// A server whose disk is an older one: the stream is the same, and shorter than what was seen.
#[test]
fn a_stream_that_lost_its_end_has_what_is_remembered_read_again_and_what_is_not_passed_over() {
    run(async |line| {
        let engine = line.start("n-1", secretary()).await;
        line.producer.order(1, "old", 3).await;
        line.noted("old", "p123").await;
        line.days_pass(31).await;
        line.producer.order(1, "young", 3).await;
        line.noted("young", "p123").await;
        engine.stop().await;
        // As if it had seen more than there is: nobody else can shorten a stream.
        line.operator().seek(&who(), NAME, Place::Seq(50)).await.expect("it can be moved");
        line.producer.order(1, "younger", 3).await;
        let engine = line.start("n-2", secretary()).await;
        line.noted("younger", "p123").await;
        assert_eq!(line.consumer.notes(1, "old").await, "p123", "it is handled twice");
        assert_eq!(line.consumer.notes(1, "young").await, "p123", "it is handled twice");
        assert_eq!(line.consumer.store.suspensions().await.expect("they can be asked for"), []);
        line.end(engine).await;
    });
}

#[test]
fn a_consumer_goes_back_in_its_stream_as_far_as_it_remembers_and_no_further() {
    run(async |line| {
        let engine = line.start("n-1", secretary()).await;
        line.producer.order(1, "old", 3).await;
        line.noted("old", "p123").await;
        line.days_pass(31).await;
        line.producer.order(1, "young", 3).await;
        line.noted("young", "p123").await;
        engine.stop().await;
        let consumer = line.operated().await;
        let is_refused = |refused: Result<_, FedError>| match refused {
            Err(FedError::Store(Error::ClaimsGone { asked, floor, .. })) => assert_eq!((asked, floor), (0, 4)),
            other => panic!("{other:?}"),
        };
        is_refused(consumer.would_seek(Place::Start).await);
        is_refused(consumer.seek(&who(), Place::Start).await);
        let whole = Chosen::default();
        is_refused(consumer.seek_and_clear(&who(), Place::Start, &whole, &|_, _| {}).await);
        is_refused(consumer.clear_inbox(&who(), Place::Start, &whole, &|_, _| {}).await);
        let blind = line.operator().seek(&who(), NAME, Place::Start).await;
        assert!(
            matches!(blind, Err(Error::StreamFed { .. })),
            "how old they are, its broker has to be asked: {blind:?}"
        );
        consumer.seek(&who(), Place::Seq(4)).await.expect("all of that is remembered");
        // What it once declared is what it is.
        let engine = line.start("n-2", secretary().rebuildable()).await;
        line.producer.order(1, "more", 3).await;
        line.noted("more", "p123").await;
        assert_eq!(line.consumer.notes(1, "young").await, "p123");
        line.operated().await.seek(&who(), Place::Start).await.expect("it may handle everything anew");
        line.noted("old", "p123p123").await;
        line.end(engine).await;
    });
}
