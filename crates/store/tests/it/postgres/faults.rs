//! Broken servers, long transactions, other clusters, other versions.

use karwan_store::log::Filter;
use karwan_store::{Address, Error, Store, migrate};
use karwan_testkit::postgres::{Options, Server, postgres};
use tokio_postgres::NoTls;

use super::Fixture;
use super::options;
use crate::shop::{Order, catalogue, changed, context_of, kinds, order, sent};

async fn emit(store: &Store, parcel: &str, serial: u32) -> Result<i64, Error> {
    let fact = sent(parcel, i64::from(serial));
    let ctx = context_of("delivery-service", 1);
    let done = store.unit(&ctx, |tx| {
        let fact = fact.clone();
        async move {
            tx.emit(fact);
            Ok::<_, Error>(())
        }
    });
    done.await.map(|done| done.position.seq)
}

async fn keys(store: &Store) -> Vec<String> {
    let relay = store.relay();
    let page = relay.page(relay.start().await.unwrap(), &Filter::default(), 1000).await.unwrap();
    page.rows.into_iter().map(|row| row.key).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_nothing_and_needs_no_restart_of_ours() {
    let Some(server) = Server::start(Options::default()).or_skip() else { return };
    let server: &'static Server = Box::leak(Box::new(server));
    let fixture = Fixture::new(server).await;
    emit(&fixture.store, "before", 1).await.unwrap();
    server.kill();
    let refused = emit(&fixture.store, "meanwhile", 1).await.unwrap_err();
    // Whether the broken connection was noticed before or after the flush was sent is chance.
    assert!(["store-unreachable", "store-outcome-unknown"].contains(&refused.code()), "{refused:?}");
    server.start_again();
    emit(&fixture.store, "after", 1).await.unwrap();
    assert_eq!(keys(&fixture.store).await, ["before", "after"]);
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_appended_delays_readers_and_is_named_one_that_has_not_delays_nobody() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let url = fixture.database.url_as(&fixture.login);
    let (idle, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    idle.batch_execute(
        "SET ROLE karwan_app; BEGIN; SELECT karwan.highest(); CREATE TEMP TABLE t ON COMMIT DROP AS SELECT 1",
    )
    .await
    .unwrap();
    emit(&fixture.store, "a", 1).await.unwrap();
    assert_eq!(keys(&fixture.store).await, ["a"]);
    assert_eq!(fixture.store.relay().holders().await.unwrap(), []);

    let (holder, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let append = "SELECT karwan.append('0190c2f0-0000-7000-8000-000000000001', 'shop.delivery.parcel.sent.v1', 'b', 'b:1', '{\"parcelId\":\"b\",\"count\":1}')";
    holder.batch_execute(&format!("SET application_name = 'sleepy'; BEGIN; {append}")).await.unwrap();
    // Two open transactions that append different keys do not wait for each other.
    emit(&fixture.store, "c", 1).await.unwrap();
    assert_eq!(keys(&fixture.store).await, ["a"]);
    let holders = fixture.store.relay().holders().await.unwrap();
    assert_eq!(holders.len(), 1);
    assert!(holders[0].who.contains("sleepy"), "{holders:?}");
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(keys(&fixture.store).await, ["a", "b", "c"]);
    idle.batch_execute("ROLLBACK").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_restored_into_another_cluster_is_another_life_and_reads_on() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    for serial in 0..20 {
        emit(&fixture.store, "old", serial).await.unwrap();
    }
    let before = fixture.store.relay().end().await.unwrap();
    let dump = server.dump(fixture.database.name()).unwrap();

    // Its transaction ids start low: positions must not depend on them.
    let Some(other) = Server::start(Options { own_cluster: true, ..Options::default() }).or_skip() else { return };
    let other: &'static Server = Box::leak(Box::new(other));
    let database = other.database();
    let login = &fixture.login;
    let roles = "CREATE ROLE karwan_owner; CREATE ROLE karwan_app; CREATE ROLE karwan_relay; CREATE ROLE karwan_append; CREATE ROLE karwan_maintenance";
    database.psql(&format!("{roles}; CREATE ROLE {login} LOGIN; GRANT karwan_app, karwan_relay TO {login}")).unwrap();
    other.restore(database.name(), &dump).unwrap();
    let store = Store::open(&database.url_as(login).parse().unwrap(), options()).await.unwrap();
    let reset = store.relay().page(before, &Filter::default(), 10).await.unwrap_err();
    assert!(matches!(reset, Error::Reset { .. }), "{reset:?}");
    let suspended = "SELECT count(*), (array_agg(suspended ORDER BY number DESC))[1] FROM karwan.incarnation";
    assert_eq!(database.psql(suspended).unwrap(), "2|t");
    assert!(emit(&store, "new", 1).await.unwrap() > before.seq);
    let read = keys(&store).await;
    assert_eq!((read.len(), read.last().map(String::as_str)), (21, Some("new")));
    // The intents came along: what was said before is recognised.
    assert_eq!(emit(&store, "old", 3).await.unwrap(), store.relay().end().await.unwrap().seq);
    assert_eq!(keys(&store).await.len(), 21);
    other.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_refuses_clearly() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    fixture.database.psql(&format!("ALTER ROLE {} SET default_transaction_read_only = on", fixture.login)).unwrap();
    let store = Store::open(&fixture.database.url_as(&fixture.login).parse().unwrap(), options()).await;
    let refused = match store {
        Ok(store) => emit(&store, "a", 1).await.unwrap_err(),
        Err(refused) => refused,
    };
    assert_eq!(refused.code(), "store-read-only", "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_drops_in_mid_flush_is_looked_up() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    // Connections are ended while units commit; each unit is there once, or refused and not there.
    let store = fixture.store.clone();
    let writer = tokio::spawn(async move {
        let mut committed = Vec::new();
        for serial in 0..300 {
            if emit(&store, "p", serial).await.is_ok() {
                committed.push(serial);
            }
        }
        committed
    });
    let kill =
        format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{}'", fixture.login);
    while !writer.is_finished() {
        fixture.database.psql(&kill).unwrap();
        tokio::task::yield_now().await;
    }
    let committed = writer.await.unwrap();
    let logged = fixture.database.psql("SELECT count(*), count(DISTINCT event_id) FROM karwan.log").unwrap();
    let (rows, events) = logged.split_once('|').unwrap();
    assert_eq!(rows, events);
    assert_eq!(committed.len().to_string(), rows, "what was answered and what is there differ");
    assert!(!committed.is_empty());
}

#[tokio::test]
async fn a_migration_twice_is_harmless_and_a_newer_store_is_refused() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let address: Address = fixture.database.url().parse().unwrap();
    let again = migrate(&address, &[&catalogue()], &kinds(), &|_, _, _| {}).await.unwrap();
    assert_eq!((again.from, again.steps, again.backfilled), (Some(again.to), vec![], 0));
    fixture.database.psql("UPDATE karwan.meta SET schema = 99, admits_from = 99").unwrap();
    let refused = migrate(&address, &[&catalogue()], &kinds(), &|_, _, _| {}).await.unwrap_err();
    assert_eq!(refused.code(), "store-newer");
    let app: Address = fixture.database.url_as(&fixture.login).parse().unwrap();
    assert_eq!(Store::open(&app, options()).await.err().map(|error| error.code()), Some("store-newer"));
    // A later schema that still admits this program is fine: first expand, then contract.
    fixture.database.psql("UPDATE karwan.meta SET admits_from = 1").unwrap();
    assert!(Store::open(&app, options()).await.is_ok());
}

#[tokio::test]
async fn crossed_checks_and_puts_never_deadlock_and_one_of_them_is_rerun() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let ctx = context_of("sales-service", 1);
    for id in ["x", "y"] {
        let made = fixture.store.unit(&ctx, |tx| async move {
            tx.put(Order { items: 0, ..order(id) });
            Ok::<_, Error>(())
        });
        made.await.unwrap();
    }
    // Each reads both and writes one: of two that cross, the later is decided again.
    let crossing = |reads: &'static str, writes: &'static str, serial: u32| {
        let (store, ctx) = (fixture.store.clone(), ctx.clone());
        tokio::spawn(async move {
            let done = store.unit(&ctx, |tx| async move {
                let other = tx.get::<Order>(reads).await?;
                let mut own = tx.get::<Order>(writes).await?;
                own.items += 1;
                assert!(other.items >= 0);
                tx.put(own);
                tx.emit(changed(writes, i64::from(serial)));
                Ok::<_, Error>(())
            });
            done.await
        })
    };
    let mut tasks = Vec::new();
    for serial in 0..20 {
        tasks.push(crossing("x", "y", serial));
        tasks.push(crossing("y", "x", serial));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(fixture.database.psql("SELECT string_agg(f_items::text, ',') FROM karwan.doc_order").unwrap(), "20,20");
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.log").unwrap(), "40");
    // A deadlock would be a conflict like any other, and re-run: the server has counted them.
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(fixture.database.psql(deadlocks).unwrap(), "0");
}

/// A restart gives a prepared transaction another name among the locks: a horizon that outlived its connection would
/// take it for ended, and pass its row.
#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_transaction_is_waited_for_across_a_restart_of_the_server() {
    let Some(server) = Server::start(Options::default()).or_skip() else { return };
    let server: &'static Server = Box::leak(Box::new(server));
    let fixture = Fixture::new(server).await;
    let append = "SELECT karwan.append('0190c2f0-0000-7000-8000-000000000001', 'shop.delivery.parcel.sent.v1', 'late', 'late:1', '{\"parcelId\":\"late\",\"count\":1}')";
    fixture.database.psql_as(&fixture.login, &format!("BEGIN; {append}; PREPARE TRANSACTION 'sleeper'")).unwrap();
    emit(&fixture.store, "early", 1).await.unwrap();
    assert_eq!(keys(&fixture.store).await, Vec::<String>::new());
    let holders = fixture.store.relay().holders().await.unwrap();
    assert!(holders[0].who.contains("sleeper"), "{holders:?}");
    server.stop();
    server.start_again();
    // The first look after the restart may meet the broken connection; what it must not do is pass the row.
    for _ in 0..5 {
        let relay = fixture.store.relay();
        if let Ok(start) = relay.start().await
            && let Ok(page) = relay.page(start, &Filter::default(), 10).await
        {
            assert_eq!(page.rows, [], "a row was read while an earlier one was undecided");
        }
    }
    fixture.database.psql_as(&fixture.login, "COMMIT PREPARED 'sleeper'").unwrap();
    assert_eq!(keys(&fixture.store).await, ["late", "early"]);
    server.stop();
}

#[tokio::test]
async fn a_migration_without_the_kinds_of_another_keeps_what_they_order() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let address: Address = fixture.database.url().parse().unwrap();
    migrate(&address, &[&catalogue()], &[], &|_, _, _| {}).await.unwrap();
    let carriers = "SELECT count(*) FROM karwan.subject WHERE carrier = 'order'";
    assert_eq!(fixture.database.psql(carriers).unwrap(), "3");
    assert!(Store::open(&fixture.database.url_as(&fixture.login).parse().unwrap(), options()).await.is_ok());
}
