//! The writer's groups: units that commit in one transaction, and what becomes of them when it does not.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use karwan_store::{Done, Error, Options, Store, TenantTx};

use crate::fixture::{Fixture, first, run, sqlite};
use crate::shop::{Order, order, placed};

type Pending = Pin<Box<dyn Future<Output = Result<Done<()>, Error>>>>;

/// Places an order of so many bytes.
fn place(store: &Store, id: &str, bytes: usize) -> Pending {
    let (store, id) = (store.clone(), id.to_owned());
    Box::pin(async move {
        let place = async |tx: TenantTx| {
            tx.put(Order { note: "x".repeat(bytes), ..order(&id) });
            tx.emit(placed(&id));
            Ok(())
        };
        store.unit(&first(), place).await
    })
}

/// Runs a unit until it waits for the writer.
async fn start(unit: &mut Pending) {
    let answered = poll_fn(|cx| Poll::Ready(unit.as_mut().poll(cx).is_ready())).await;
    assert!(!answered, "nothing can be answered before the commit");
}

/// Hands all of them to the writer while it cannot begin, so that they stand in one group; answers what became of them.
async fn in_one_group(fixture: &Fixture, mut units: Vec<Pending>) -> Vec<Result<Done<()>, Error>> {
    let blocker = fixture.raw();
    blocker.execute_batch("BEGIN IMMEDIATE").expect("nobody writes yet");
    for unit in &mut units {
        start(unit).await;
    }
    blocker.execute_batch("ROLLBACK").expect("it can be ended");
    let mut outcomes = Vec::new();
    for unit in units {
        outcomes.push(unit.await);
    }
    outcomes
}

#[test]
fn a_refused_unit_of_a_group_takes_none_of_the_others_with_it() {
    run(sqlite(), async |fixture: Fixture| {
        let units = ["a", "b", "a", "c"].map(|id| place(&fixture.store, id, 10));
        let outcomes = in_one_group(&fixture, units.into()).await;
        let stands: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(stands, [true, true, false, true]);
        assert!(matches!(outcomes[2], Err(Error::Exists { .. })));
        assert_eq!(fixture.told().await, ["order.placed a", "order.placed b", "order.placed c"]);
    });
}

/// When the first is answered, all of its group are there.
#[test]
fn waiting_units_commit_in_one_transaction() {
    run(sqlite(), async |fixture: Fixture| {
        let mut units: Vec<Pending> = (0..40).map(|number| place(&fixture.store, &format!("o-{number}"), 10)).collect();
        let blocker = fixture.raw();
        blocker.execute_batch("BEGIN IMMEDIATE").expect("nobody writes yet");
        for unit in &mut units {
            start(unit).await;
        }
        blocker.execute_batch("ROLLBACK").expect("it can be ended");
        units.remove(0).await.expect("the unit commits");
        let count = "SELECT count(*) FROM log";
        assert_eq!(blocker.query_row(count, [], |row| row.get::<_, i64>(0)).expect("it tells"), 40);
        for unit in units {
            unit.await.expect("the unit commits");
        }
    });
}

/// SQLite's lost group: on a full disk SQLite rolls the whole transaction back by itself. Whoever goes on in it commits
/// the later units without the earlier ones, and tells the earlier ones that they are there.
#[test]
fn on_a_full_disk_the_whole_group_fails_and_nothing_follows_in_it() {
    run(sqlite(), async |fixture: Fixture| {
        fixture.place(1, "before").await;
        let size = std::fs::metadata(fixture.path()).expect("the file is there").len();
        let bounded = Options { file_bytes_max: Some(size + 400_000), ..fixture.options() };
        let bounded = fixture.reopened_with(bounded).await;
        let ids: Vec<String> = (0..40).map(|number| format!("o-{number}")).collect();
        let units = ids.iter().map(|id| place(&bounded.store, id, 40_000)).collect();
        let outcomes = in_one_group(&bounded, units).await;
        let told = bounded.told().await;
        for (id, outcome) in ids.iter().zip(&outcomes) {
            let is_there = bounded.order(1, id).await.is_some();
            assert_eq!(is_there, outcome.is_ok(), "{id}: {outcome:?}");
            assert_eq!(told.contains(&format!("order.placed {id}")), outcome.is_ok(), "{id}");
            if let Err(error) = outcome {
                assert!(matches!(error, Error::Full { .. }), "{id}: {error:?}");
            }
        }
        // The first of the group had been written without complaint when the disk became full.
        assert!(outcomes[0].is_err(), "the group was not lost: {outcomes:?}");
        assert!(bounded.order(1, "before").await.is_some());
        let later = place(&bounded.store, "small", 10).await;
        assert!(later.is_ok(), "the writer goes on after a lost group: {later:?}");
    });
}
