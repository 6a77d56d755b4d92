//! Consumers of streams that hold more than the consumers remember: nothing is handled twice, and who might skip something stops.

use karwan_engine::Consumer;
use karwan_engine::fed_consumer::Error as FedError;
use karwan_store::Error;
use karwan_store::operator::{Chosen, Place};
use karwan_store::retention::{Days, Nothing};

use crate::line::{Line, NAME, run, secretary, who};
use crate::processes::yard::until;
use crate::relay::{broker, filled};

const DAY_MS: i64 = 86_400_000;

impl Line {
    /// So many days pass, and the consumer's store drops what it need not keep any longer.
    async fn days_pass(&self, days: i64) {
        self.producer.clock.advance_ms(days * DAY_MS);
        self.consumer.clock.advance_ms(days * DAY_MS);
        let ran = self.operator().retain(&who(), &Days::default(), &mut Nothing, &|_, _| {}).await;
        ran.expect("nobody holds anything back");
    }

    /// An order is handled; then its stream goes, and the relay makes it anew with what the log has; and it is long ago.
    async fn handled_from_a_former_stream(&self, consumer: Consumer) {
        let engine = self.start("n-1", consumer).await;
        self.producer.order(1, "old", 3).await;
        self.noted("old", "p123").await;
        engine.stop().await;
        broker(&self.server).await.delete_stream("SALES").await.expect("it can be deleted");
        self.producer.order(1, "unseen", 0).await;
        until("a stream that is there again", async || {
            broker(&self.server).await.has_stream("SALES").await.expect("it can be asked").then_some(())
        })
        .await;
        assert_eq!(filled(&self.server, "SALES", 5).await.len(), 5);
        self.days_pass(31).await;
    }

    /// An order is handled, and another one long after.
    async fn handled_long_ago_and_lately(&self) {
        let engine = self.start("n-1", secretary()).await;
        self.producer.order(1, "old", 3).await;
        self.noted("old", "p123").await;
        self.days_pass(31).await;
        self.producer.order(1, "young", 3).await;
        self.noted("young", "p123").await;
        engine.stop().await;
    }
}

#[test]
fn a_stream_that_was_made_anew_and_holds_more_than_is_remembered_stops_its_consumer_and_nothing_is_handled_twice() {
    run(async |line| {
        line.handled_from_a_former_stream(secretary()).await;
        line.producer.order(1, "young", 3).await;
        let engine = line.start("n-2", secretary()).await;
        let said = line.suspended().await;
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
        line.handled_from_a_former_stream(secretary().rebuildable()).await;
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
        line.handled_long_ago_and_lately().await;
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
        line.handled_long_ago_and_lately().await;
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
