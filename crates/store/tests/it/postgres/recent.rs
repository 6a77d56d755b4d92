//! What a program knows of documents is good enough to try with, and never enough to decide by: others write them, too.

use karwan_store::{Error, Query, Repeated, Store, TenantTx, UnitId};
use karwan_testkit::postgres::postgres;

use super::{Fixture, options};
use crate::fixture::block_on;
use crate::shop::{Counter, Order, context, counter, order};

/// Two programs on one store. The first has written the counter `c`, and knows it as 1.
struct Two {
    fixture: Fixture,
    other: Store,
}

impl Two {
    fn one(&self) -> &Store {
        &self.fixture.store
    }
}

fn with_two(test: impl AsyncFnOnce(Two)) {
    let Some(server) = postgres().or_skip() else { return };
    block_on(async {
        let fixture = Fixture::new(server).await;
        let address = fixture.database.url_as(&fixture.login).parse().unwrap();
        let other = Store::open(&address, options()).await.unwrap();
        assert_eq!(add(&fixture.store).await, 1);
        test(Two { fixture, other }).await;
    });
}

/// Counts one more, and answers how many that are.
async fn add(store: &Store) -> i64 {
    store.unit(&context(1), added).await.unwrap().answer
}

async fn added(tx: TenantTx) -> Result<i64, Error> {
    let next = tx.find::<Counter>("c").await?.map_or(0, |counter| counter.value) + 1;
    tx.put(counter("c", next));
    Ok(next)
}

#[test]
fn what_another_program_wrote_is_not_overwritten() {
    with_two(async |two| {
        assert_eq!(add(&two.other).await, 2);
        assert_eq!(add(two.one()).await, 3);
        assert_eq!(add(&two.other).await, 4);
    });
}

#[test]
fn a_unit_that_only_reads_is_told_what_is_there() {
    with_two(async |two| {
        add(&two.other).await;
        let read = async |tx: TenantTx| Ok::<_, Error>(tx.get::<Counter>("c").await?.value);
        assert_eq!(two.one().unit(&context(1), read).await.unwrap().answer, 2);
    });
}

#[test]
fn a_decision_that_refuses_by_what_is_old_is_made_again() {
    with_two(async |two| {
        add(&two.other).await;
        let unit = async |tx: TenantTx| match tx.get::<Counter>("c").await?.value {
            1 => Err(Error::Closed),
            value => Ok(value),
        };
        assert_eq!(two.one().unit(&context(1), unit).await.unwrap().answer, 2);
    });
}

#[test]
fn what_the_store_refuses_of_a_decision_by_what_is_old_is_decided_again() {
    with_two(async |two| {
        // What is new comes before the counter, and so does its refusal.
        let unit = async |tx: TenantTx| {
            let number = added(tx.clone()).await?;
            tx.put(counter(&format!("a-{number}"), 0));
            Ok::<_, Error>(number)
        };
        assert_eq!(two.other.unit(&context(1), unit).await.unwrap().answer, 2);
        assert_eq!(two.one().unit(&context(1), unit).await.unwrap().answer, 3);
    });
}

#[test]
fn a_repeated_command_is_answered_by_what_is_there() {
    with_two(async |two| {
        let id = UnitId::named("test", "add");
        assert_eq!(two.other.once(id, &context(1), added).await.unwrap().answer, 2);
        let again = two.one().once(id, &context(1), added).await.unwrap();
        assert_eq!((again.answer, again.repeated), (3, Some(Repeated::Unit)));
        assert_eq!(add(two.one()).await, 3, "nothing was written by it");
    });
}

#[test]
fn what_was_peeked_at_is_not_found_where_it_is_no_more() {
    with_two(async |two| {
        let place = async |tx: TenantTx| {
            tx.put(order("o-1"));
            Ok::<_, Error>(())
        };
        two.one().unit(&context(1), place).await.unwrap();
        let close = async |tx: TenantTx| {
            let closed = Order { status: "closed".to_owned(), ..tx.get::<Order>("o-1").await? };
            tx.put(closed);
            Ok::<_, Error>(())
        };
        two.other.unit(&context(1), close).await.unwrap();
        let open = async |tx: TenantTx| {
            tx.peek::<Order>("o-1").await?;
            let page = tx.query(Query::<Order>::new().equal("status", "open")).await?;
            Ok::<_, Error>(page.items.len())
        };
        assert_eq!(two.one().unit(&context(1), open).await.unwrap().answer, 0);
    });
}

/// In another life of a store a version may mean another body.
#[test]
fn what_was_known_in_another_life_is_not_decided_by() {
    with_two(async |two| {
        let Fixture { database, login, .. } = &two.fixture;
        let sql = "UPDATE karwan.doc_counter SET body = '{\"id\":\"c\",\"value\":40}' WHERE id = 'c'";
        database.psql(sql).unwrap();
        database.psql("SELECT karwan.new_life(true)").unwrap();
        let cut = format!("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '{login}'");
        database.psql(&cut).unwrap();
        // Each connection that was cut may be found so by a call of its own.
        let told = loop {
            match two.one().unit(&context(1), added).await {
                Err(Error::Unreachable { .. }) => {}
                told => break told,
            }
        };
        assert_eq!(told.unwrap().answer, 41);
    });
}
