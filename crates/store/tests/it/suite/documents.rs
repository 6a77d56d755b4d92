//! Documents: what a decision rested on must still hold when it is flushed.

use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use karwan_store::{Error, Guard, Query, TenantTx};

use crate::fixture::{Fixture, first};
use crate::shop::{Counter, Order, changed, counter, order, placed};

on_both! {
    of_two_units_that_read_one_version_the_second_is_refused,
    a_document_that_was_only_read_is_checked_too,
    a_peeked_document_is_not_checked,
    an_absence_that_was_relied_on_is_checked,
    a_blind_put_of_an_existing_document_is_refused,
    versions_go_on_counting_over_delete_and_re_creation,
    a_blind_put_goes_on_behind_a_tombstone,
    a_delete_of_a_changed_document_is_refused,
    what_only_the_unit_created_and_deleted_never_was,
    crossed_reads_and_writes_do_not_both_commit,
    crossed_guards_do_not_both_commit,
    two_puts_under_one_guard_do_not_both_commit,
    a_put_onto_a_row_that_is_missing_creates_nothing,
    old_and_new_documents_of_one_unit_are_written_together_or_not_at_all,
    of_many_documents_that_were_only_read_the_changed_one_is_named,
    a_count_under_a_guard_is_never_exceeded,
    a_commit_between_guard_and_query_is_noticed,
    a_fact_holds_the_document_that_carries_its_key,
    a_unit_sees_its_own_writes,
    a_document_stays_as_it_was_first_read,
}

fn conflict<T: std::fmt::Debug>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Conflict { .. }))
}

async fn set(fixture: &Fixture, id: &str, value: i64) {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        tx.find::<Counter>(id).await?;
        tx.put(counter(id, value));
        Ok(())
    });
    unit.await.expect("a counter can be set");
}

async fn remove(fixture: &Fixture, id: &str) {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        tx.get::<Counter>(id).await?;
        tx.delete::<Counter>(id);
        Ok(())
    });
    unit.await.expect("a counter can be deleted");
}

async fn of_two_units_that_read_one_version_the_second_is_refused(fixture: Fixture) {
    set(&fixture, "c", 1).await;
    let [one, two] = [fixture.store.tenant(&first()), fixture.store.tenant(&first())];
    for (unit, value) in [(&one, 10), (&two, 20)] {
        unit.get::<Counter>("c").await.expect("it is there");
        unit.put(counter("c", value));
    }
    one.commit().await.expect("the first commits");
    let second = two.commit().await;
    assert!(matches!(&second, Err(Error::Conflict { what, .. }) if what.contains("counter")), "{second:?}");
    assert_eq!(fixture.counter(1, "c").await, Some(10));
}

async fn a_document_that_was_only_read_is_checked_too(fixture: Fixture) {
    set(&fixture, "rate", 1).await;
    let unit = fixture.store.tenant(&first());
    let rate = unit.get::<Counter>("rate").await.expect("it is there").value;
    unit.put(counter("price", rate * 100));
    set(&fixture, "rate", 2).await;
    assert!(conflict(&unit.commit().await));
    assert_eq!(fixture.counter(1, "price").await, None);
}

async fn a_peeked_document_is_not_checked(fixture: Fixture) {
    set(&fixture, "rate", 1).await;
    let unit = fixture.store.tenant(&first());
    unit.peek::<Counter>("rate").await.expect("it is there");
    unit.put(counter("price", 100));
    set(&fixture, "rate", 2).await;
    unit.commit().await.expect("what may be stale may be");
    // Read again for a decision, it is.
    let unit = fixture.store.tenant(&first());
    unit.peek::<Counter>("rate").await.expect("it is there");
    unit.get::<Counter>("rate").await.expect("it is there");
    unit.put(counter("other", 100));
    set(&fixture, "rate", 3).await;
    assert!(conflict(&unit.commit().await));
}

async fn an_absence_that_was_relied_on_is_checked(fixture: Fixture) {
    let unit = fixture.store.tenant(&first());
    assert_eq!(unit.find::<Counter>("c").await.expect("it can be asked for"), None);
    unit.put(counter("other", 1));
    set(&fixture, "c", 1).await;
    assert!(conflict(&unit.commit().await));
    assert_eq!(fixture.counter(1, "other").await, None);
    // An absence that holds is no hindrance, and leaves nothing that could be found.
    let unit = fixture.store.tenant(&first());
    unit.find::<Counter>("none").await.expect("it can be asked for");
    unit.put(counter("other", 1));
    unit.commit().await.expect("the absence holds");
    assert_eq!(fixture.counter(1, "none").await, None);
}

async fn a_blind_put_of_an_existing_document_is_refused(fixture: Fixture) {
    set(&fixture, "c", 1).await;
    let refused = fixture.unit(1, async |tx: TenantTx| {
        tx.put(counter("c", 2));
        Ok(())
    });
    assert!(
        matches!(refused.await, Err(Error::Exists { kind, id }) if (kind.as_str(), id.as_str()) == ("counter", "c"))
    );
    assert_eq!(fixture.counter(1, "c").await, Some(1));
}

/// Read, deleted and made again by others: it looks the same, and is not.
async fn versions_go_on_counting_over_delete_and_re_creation(fixture: Fixture) {
    set(&fixture, "c", 1).await;
    let reader = fixture.store.tenant(&first());
    reader.get::<Counter>("c").await.expect("it is there");
    reader.put(counter("c", 2));
    remove(&fixture, "c").await;
    set(&fixture, "c", 1).await;
    assert!(conflict(&reader.commit().await));
    assert_eq!(fixture.counter(1, "c").await, Some(1));
    // The same where nothing was there: absent, made, deleted is not the absence that was read.
    let reader = fixture.store.tenant(&first());
    reader.find::<Counter>("d").await.expect("it can be asked for");
    reader.put(counter("d", 5));
    set(&fixture, "d", 1).await;
    remove(&fixture, "d").await;
    assert!(conflict(&reader.commit().await));
    assert_eq!(fixture.counter(1, "d").await, None);
}

async fn a_blind_put_goes_on_behind_a_tombstone(fixture: Fixture) {
    set(&fixture, "c", 1).await;
    let reader = fixture.store.tenant(&first());
    reader.get::<Counter>("c").await.expect("it is there");
    reader.put(counter("c", 9));
    remove(&fixture, "c").await;
    let blind = fixture.unit(1, async |tx: TenantTx| {
        tx.put(counter("c", 2));
        Ok(())
    });
    blind.await.expect("what was deleted does not exist");
    assert!(conflict(&reader.commit().await), "the version that was read is used again");
    assert_eq!(fixture.counter(1, "c").await, Some(2));
}

async fn a_delete_of_a_changed_document_is_refused(fixture: Fixture) {
    set(&fixture, "c", 1).await;
    let unit = fixture.store.tenant(&first());
    unit.get::<Counter>("c").await.expect("it is there");
    unit.delete::<Counter>("c");
    set(&fixture, "c", 2).await;
    assert!(conflict(&unit.commit().await));
    assert_eq!(fixture.counter(1, "c").await, Some(2));
    let unread = fixture.unit(1, async |tx: TenantTx| {
        tx.delete::<Counter>("c");
        Ok(())
    });
    assert!(matches!(unread.await, Err(Error::NotFound { .. })));
}

async fn what_only_the_unit_created_and_deleted_never_was(fixture: Fixture) {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        tx.put(counter("c", 1));
        tx.delete::<Counter>("c");
        assert_eq!(tx.find::<Counter>("c").await?, None);
        Ok(())
    });
    unit.await.expect("there is nothing to write");
    assert_eq!(fixture.counter(1, "c").await, None);
    set(&fixture, "c", 1).await;
}

/// Write skew: each reads both and writes one.
async fn crossed_reads_and_writes_do_not_both_commit(fixture: Fixture) {
    set(&fixture, "a", 1).await;
    set(&fixture, "b", 1).await;
    let [one, two] = [fixture.store.tenant(&first()), fixture.store.tenant(&first())];
    for (unit, id) in [(&one, "a"), (&two, "b")] {
        unit.get::<Counter>("a").await.expect("it is there");
        unit.get::<Counter>("b").await.expect("it is there");
        unit.put(counter(id, 0));
    }
    one.commit().await.expect("the first commits");
    assert!(conflict(&two.commit().await));
    assert_eq!((fixture.counter(1, "a").await, fixture.counter(1, "b").await), (Some(0), Some(1)));
}

fn open() -> Query<Order> {
    Query::new().equal("status", "open")
}

/// Each rests on both guards, and each would make the other's answer wrong.
async fn crossed_guards_do_not_both_commit(fixture: Fixture) {
    let [one, two] = [fixture.store.tenant(&first()), fixture.store.tenant(&first())];
    let (left, right) = (Guard::of("left"), Guard::of("right"));
    for (unit, guards, id) in [(&one, [&left, &right], "o-1"), (&two, [&right, &left], "o-2")] {
        for guard in guards {
            assert_eq!(unit.query_under(guard, open()).await.expect("it can be asked").items, []);
        }
        unit.put(order(id));
    }
    one.commit().await.expect("the first commits");
    assert!(conflict(&two.commit().await));
    assert_eq!(fixture.order(1, "o-2").await, None);
}

async fn two_puts_under_one_guard_do_not_both_commit(fixture: Fixture) {
    let guard = Guard::of("one open order");
    for round in 0..2 {
        // First a guard that nobody has written yet, then one that is there.
        let [one, two] = [fixture.store.tenant(&first()), fixture.store.tenant(&first())];
        for (unit, name) in [(&one, "one"), (&two, "two")] {
            unit.query_under(&guard, open()).await.expect("it can be asked");
            unit.put(order(&format!("{name}-{round}")));
        }
        one.commit().await.expect("the first commits");
        assert!(conflict(&two.commit().await));
        assert_eq!(fixture.order(1, &format!("two-{round}")).await, None);
    }
    // Whoever only touches the guard says the same.
    let unit = fixture.store.tenant(&first());
    unit.query_under(&guard, open()).await.expect("it can be asked");
    unit.put(order("late"));
    fixture.unit(1, async |tx: TenantTx| tx.touch(&guard).await).await.expect("a guard can be touched");
    assert!(conflict(&unit.commit().await));
}

async fn a_count_under_a_guard_is_never_exceeded(fixture: Fixture) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..32 {
        let store = fixture.store.clone();
        tasks.spawn(async move {
            let take = async |tx: TenantTx| {
                let open = tx.query_under(&Guard::of("five open orders"), open()).await?.items.len();
                if open < 5 {
                    let id = format!("o-{number}");
                    tx.put(order(&id));
                    tx.emit(placed(&id));
                }
                Ok::<bool, Error>(open < 5)
            };
            store.unit(&first(), take).await.expect("every task gets its turn").answer
        });
    }
    let mut taken = 0;
    while let Some(took) = tasks.join_next().await {
        taken += usize::from(took.expect("no task panics"));
    }
    assert_eq!(taken, 5);
    assert_eq!(fixture.told().await.len(), 5);
}

/// Wakes whoever waits for the next wake-up of a future that is polled by hand.
#[derive(Default)]
struct Woken(tokio::sync::Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// The guard is read before the query. The other way round, a unit would rest on an answer from before another's commit
/// and on a guard from after it, and nobody would notice.
async fn a_commit_between_guard_and_query_is_noticed(fixture: Fixture) {
    let guard = Guard::of("one open order");
    let unit = fixture.store.tenant(&first());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut asking = Box::pin(unit.query_under(&guard, open()));
    // The first of its two reads is made; whether it is the answer or the guard, the other one is not asked for yet. A file is read
    // without a pause: there nobody on this thread comes between, and the order is the same code's.
    if asking.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
        return;
    }
    woken.0.notified().await;
    let other = fixture.unit(1, async |tx: TenantTx| {
        tx.touch(&guard).await?;
        tx.put(order("other"));
        Ok(())
    });
    other.await.expect("the unit commits");
    let seen = asking.await.expect("it can be asked").items.len();
    unit.put(order("own"));
    let committed = unit.commit().await;
    assert!(seen == 1 || conflict(&committed), "one open order is there, none was seen, and another was made");
}

/// A fact about an order that was only read is refused when the order has changed.
async fn a_fact_holds_the_document_that_carries_its_key(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    let unit = fixture.store.tenant(&first());
    unit.peek::<Order>("o-1").await.expect("it is there");
    unit.emit(changed("o-1", 1));
    let other = fixture.unit(1, async |tx: TenantTx| {
        let order: Order = tx.get("o-1").await?;
        tx.put(Order { items: 2, ..order });
        tx.emit(changed("o-1", 2));
        Ok(())
    });
    other.await.expect("the unit commits");
    assert!(conflict(&unit.commit().await));
    assert_eq!(fixture.told().await, ["order.placed o-1", "order.changed o-1"]);
    let unit = fixture.store.tenant(&first());
    unit.peek::<Order>("o-1").await.expect("it is there");
    unit.emit(changed("o-1", 3));
    unit.commit().await.expect("an order that did not change carries its fact");
    assert_eq!(fixture.told().await.len(), 3);
}

async fn a_unit_sees_its_own_writes(fixture: Fixture) {
    set(&fixture, "c", 1).await;
    let unit = fixture.store.tenant(&first());
    unit.get::<Counter>("c").await.expect("it is there");
    unit.put(counter("c", 2));
    assert_eq!(unit.get::<Counter>("c").await.expect("it was put").value, 2);
    unit.delete::<Counter>("c");
    assert_eq!(unit.find::<Counter>("c").await.expect("it can be asked for"), None);
    unit.put(counter("c", 3));
    assert_eq!(fixture.counter(1, "c").await, Some(1), "nothing is written before the flush");
    unit.commit().await.expect("the unit commits");
    assert_eq!(fixture.counter(1, "c").await, Some(3));
}

async fn a_document_stays_as_it_was_first_read(fixture: Fixture) {
    set(&fixture, "c", 1).await;
    let unit = fixture.store.tenant(&first());
    assert_eq!(unit.get::<Counter>("c").await.expect("it is there").value, 1);
    set(&fixture, "c", 2).await;
    assert_eq!(unit.get::<Counter>("c").await.expect("it is there").value, 1);
    assert!(conflict(&unit.commit().await), "a unit that only read is told that it read what is gone");
}

/// A restored table, or somebody with a shell: the row is gone without a tombstone. A put that expected version 2 once
/// created version 3.
async fn a_put_onto_a_row_that_is_missing_creates_nothing(fixture: Fixture) {
    // Alone, and beside documents that are new.
    for beside in [None, Some("a"), Some("z")] {
        for value in [1, 2] {
            set(&fixture, "c", value).await;
        }
        let unit = fixture.store.tenant(&first());
        let read: Counter = unit.get("c").await.expect("it is there");
        fixture.erase("counter", "c");
        unit.put(Counter { value: 3, ..read });
        if let Some(new) = beside {
            unit.find::<Counter>(new).await.expect("it can be asked for");
            unit.put(counter(new, 1));
        }
        let refused = unit.commit().await;
        assert!(matches!(&refused, Err(Error::Conflict { what, .. }) if what.ends_with(" c")), "{refused:?}");
        assert_eq!(fixture.counter(1, "c").await, None);
        assert_eq!(fixture.counter(1, beside.unwrap_or("a")).await, None);
    }
}

/// Documents that were there, that were not, that are behind a tombstone, and one that is deleted, in one flush.
async fn old_and_new_documents_of_one_unit_are_written_together_or_not_at_all(fixture: Fixture) {
    let ids = ["a", "b", "c", "d", "e", "f"];
    for id in ["b", "d", "e"] {
        set(&fixture, id, 1).await;
    }
    remove(&fixture, "d").await;
    let read = async |value: i64| {
        let unit = fixture.store.tenant(&first());
        for id in ids {
            unit.find::<Counter>(id).await.expect("it can be asked for");
            if id == "e" { unit.delete::<Counter>(id) } else { unit.put(counter(id, value)) }
        }
        unit
    };
    let mut late = Vec::new();
    for _ in ids {
        late.push(read(7).await);
    }
    read(2).await.commit().await.expect("nobody else has written");
    let held = async || {
        let mut held = Vec::new();
        for id in ids {
            held.push(fixture.counter(1, id).await);
        }
        held
    };
    let expected = [Some(2), Some(2), Some(2), Some(2), None, Some(2)];
    assert_eq!(held().await, expected);
    for unit in late {
        assert!(conflict(&unit.commit().await));
    }
    // Whichever of them somebody else has written, new or old: nothing of the others stays, and it is the one that is named.
    for (place, id) in ids.into_iter().enumerate() {
        let unit = read(9).await;
        set(&fixture, id, 3).await;
        let refused = unit.commit().await;
        let named = format!(" {id}");
        assert!(matches!(&refused, Err(Error::Conflict { what, .. }) if what.ends_with(&named)), "{id}: {refused:?}");
        let mut expected = expected;
        expected[place] = Some(3);
        assert_eq!(held().await, expected, "{id}");
        read(2).await.commit().await.expect("nobody else has written");
    }
}

async fn of_many_documents_that_were_only_read_the_changed_one_is_named(fixture: Fixture) {
    let ids = ["a", "b", "c"];
    for id in ids {
        set(&fixture, id, 1).await;
    }
    for (number, changed_id) in ids.into_iter().map(Some).chain([None]).enumerate() {
        let unit = fixture.store.tenant(&first());
        for id in ids {
            unit.get::<Counter>(id).await.expect("it is there");
        }
        let placed_id = format!("o-{number}");
        unit.put(order(&placed_id));
        if let Some(id) = changed_id {
            set(&fixture, id, 2).await;
            let refused = unit.commit().await;
            let named = format!(" {id}");
            assert!(matches!(&refused, Err(Error::Conflict { what, .. }) if what.ends_with(&named)), "{refused:?}");
        } else {
            unit.commit().await.expect("nobody has written what it read");
        }
    }
}
