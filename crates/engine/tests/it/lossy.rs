//! A stream that lost something: its beginning, before a consumer saw it; or its end, after it had said that it has it.

use std::path::Path;

use karwan_store::operator::Place;

use crate::line::{Line, NAME, run, secretary, who};
use crate::relay::{broker, held};

impl Line {
    /// Orders that are placed and changed three times, once they are in the stream.
    async fn orders(&self, names: &[&str]) {
        for name in names {
            self.producer.order(1, name, 3).await;
        }
        let end = self.producer.store.relay().end().await.expect("it can be asked");
        self.relay.published("SALES", end).await.expect("it is published");
    }

    async fn all_noted(&self, names: &[&str]) {
        for id in names {
            self.noted(id, "p123").await;
        }
    }
}

/// What `docs/errors/broker-gap.md` says: it stops, and goes on where somebody sends it, who knows what is missing.
#[test]
fn a_consumer_whose_messages_are_gone_unseen_stops_and_goes_on_where_an_operator_sends_it() {
    run(async |line| {
        let engine = line.start("n-1", secretary()).await;
        line.orders(&["seen"]).await;
        line.all_noted(&["seen"]).await;
        engine.stop().await;
        line.orders(&["gone", "there"]).await;
        // As age does: messages 5 to 8 were never seen.
        broker(&line.server).await.drop_before("SALES", 9).await.expect("it can be dropped");
        let engine = line.start("n-2", secretary()).await;
        let said = line.suspended().await;
        assert!(said.contains("SALES") && said.contains('9'), "{said}");
        assert_eq!(line.consumer.notes(1, "there").await, "", "it has passed over what is gone");
        let fed = line.operated().await;
        fed.seek(&who(), Place::Seq(7)).await.expect_err("message 8 is gone");
        fed.seek(&who(), Place::Seq(8)).await.expect("it can be moved");
        assert!(line.operator().resume_consumer(&who(), NAME).await.expect("it can be resumed"));
        line.all_noted(&["there"]).await;
        assert_eq!(line.consumer.notes(1, "gone").await, "");
        line.orders(&["after"]).await;
        line.all_noted(&["after", "seen"]).await;
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
    run(async |line| {
        let engine = line.start("n-1", secretary()).await;
        line.orders(&["a", "b"]).await;
        line.all_noted(&["a", "b"]).await;
        line.server.stop();
        let (store, kept) = (line.server.store_directory(), line.server.directory().join("kept"));
        copy(&store, &kept);
        line.server.start_again();
        line.orders(&["c", "d", "e"]).await;
        line.all_noted(&["c", "d"]).await;
        line.server.kill();
        copy(&kept, &store);
        line.server.start_again();
        line.producer.order(1, "f", 3).await;
        line.all_noted(&["a", "b", "c", "d", "e", "f"]).await;
        let rows = line.producer.store.relay().rows(0, i64::MAX, &karwan_store::log::Filter::default(), 1000).await;
        let committed: Vec<String> = rows.expect("it can be read").iter().map(|row| row.event.to_string()).collect();
        let stream: Vec<String> = held(&line.server, "SALES").await.into_iter().map(|it| it.event_id).collect();
        assert_eq!(stream, committed, "each once, and in the order of the log");
        line.all_noted(&["a", "b", "c", "d", "e", "f"]).await;
        line.end(engine).await;
    });
}
