//! Schedules that broke an earlier draft, played on open transactions and broken connections.

use karwan_store::consumer::Lane;
use karwan_store::log::Filter;
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, Repeated, Store, TenantTx, UnitId};
use karwan_testkit::postgres::{Options, Server, postgres};
use tokio_postgres::{Client, NoTls};

use super::{Fixture, options};
use crate::shop::{context, context_of, counter, sent};

const TENANT: &str = "0190c2f0-0000-7000-8000-000000000001";

async fn connect(fixture: &Fixture) -> Client {
    let (client, connection) = tokio_postgres::connect(&fixture.database.url_as(&fixture.login), NoTls).await.unwrap();
    tokio::spawn(connection);
    // Whoever waits for a lock at all fails.
    client.batch_execute("SET lock_timeout = 100").await.unwrap();
    client
}

fn append(key: &str) -> String {
    let payload = format!(r#"{{"parcelId":"{key}","count":1}}"#);
    format!("SELECT karwan.append('{TENANT}', 'shop.delivery.parcel.sent.v1', '{key}', '{key}:1', '{payload}')")
}

async fn keys(store: &Store) -> Vec<String> {
    let relay = store.relay();
    let page = relay.page(relay.start().await.unwrap(), &Filter::default(), 1000).await.unwrap();
    page.rows.into_iter().map(|row| row.key).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_open_transactions_on_different_keys_commit_in_either_order_without_waiting() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let [one, two] = [connect(&fixture).await, connect(&fixture).await];
    for (first, second, keys_of) in [(&one, &two, ["a", "b"]), (&two, &one, ["c", "d"])] {
        one.batch_execute(&format!("BEGIN; {}", append(keys_of[0]))).await.unwrap();
        two.batch_execute(&format!("BEGIN; {}", append(keys_of[1]))).await.unwrap();
        first.batch_execute("COMMIT").await.unwrap();
        second.batch_execute("COMMIT").await.unwrap();
    }
    assert_eq!(keys(&fixture.store).await, ["a", "b", "c", "d"]);
}

/// The counterpart: without the key's lock, order per key would be the order of numbers and not of commits.
#[tokio::test(flavor = "multi_thread")]
async fn two_open_transactions_on_one_key_wait_for_each_other() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let [one, two] = [connect(&fixture).await, connect(&fixture).await];
    one.batch_execute(&format!("BEGIN; {}", append("a"))).await.unwrap();
    let other = append("a").replace("'a:1'", "'a:2'");
    let refused = two.batch_execute(&other).await.unwrap_err();
    assert_eq!(refused.code().map(tokio_postgres::error::SqlState::code), Some("55P03"));
    one.batch_execute("COMMIT").await.unwrap();
    two.batch_execute(&other).await.unwrap();
}

/// A unit's flush is one statement, and takes the key's lock too: else it would pass by a transaction that has appended.
#[tokio::test(flavor = "multi_thread")]
async fn a_unit_waits_for_an_open_transaction_on_its_key() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let holder = connect(&fixture).await;
    holder.batch_execute(&format!("BEGIN; {}", append("a"))).await.unwrap();
    let store = fixture.store.clone();
    let unit = tokio::spawn(async move {
        let context = context_of("delivery-service", 1);
        let emit = store.unit(&context, async |tx: TenantTx| {
            tx.emit(sent("a", 2));
            Ok::<_, Error>(())
        });
        emit.await.map(drop)
    });
    let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while fixture.database.psql(waiting).unwrap() == "0" {
        assert!(!unit.is_finished(), "it did not wait for the transaction that has appended to its key");
        tokio::task::yield_now().await;
    }
    holder.batch_execute("COMMIT").await.unwrap();
    unit.await.unwrap().unwrap();
    assert_eq!(keys(&fixture.store).await, ["a", "a"]);
}

/// A copy made on the same server: whoever only looks at it begins nothing, and is not taken for the original.
#[tokio::test(flavor = "multi_thread")]
async fn an_observer_of_a_copy_begins_no_life_and_knows_that_it_is_another() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    fixture.database.psql_as(&fixture.login, &append("a")).unwrap();
    let end = fixture.store.relay().end().await.unwrap();
    let copy = server.database();
    server.restore(copy.name(), &server.dump(fixture.database.name()).unwrap()).unwrap();
    let observer = Store::observe(&copy.url().parse().unwrap()).await.unwrap();
    let seen = observer.relay().page(end, &Filter::default(), 10).await;
    assert!(matches!(seen, Err(Error::Reset { .. })), "{seen:?}");
    assert_eq!(copy.psql("SELECT count(*) FROM karwan.incarnation").unwrap(), "1");
}

/// A flush that is still in a socket's buffer when its answer is given up arrives later: its id must be spent.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_was_made_void_never_commits() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let ask = async |id: UnitId, void: bool| {
        let id = uuid::Uuid::from_u128(id.bits());
        let sql = format!("SET ROLE karwan_app; SELECT karwan.unit_committed('{TENANT}', '{id}', {void})");
        fixture.database.psql_as(&fixture.login, &sql).unwrap()
    };
    let put = async |id: UnitId| {
        let context = context(1);
        let unit = fixture.store.once(id, &context, async |tx: TenantTx| {
            tx.put(counter(&format!("{id:?}"), 1));
            Ok::<_, Error>(())
        });
        unit.await.unwrap().repeated
    };
    let [void, asked] = [UnitId::named("test", "void"), UnitId::named("test", "asked")];
    assert_eq!((ask(void, true).await, ask(asked, false).await), ("f".to_owned(), "f".to_owned()));
    assert_eq!(put(void).await, Some(Repeated::Unit));
    assert_eq!(put(asked).await, None, "asking alone spends nothing");
    assert_eq!(ask(asked, false).await, "t");
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.doc_counter").unwrap(), "1");
}

/// A consumer's claim is its unit's id: connections are ended while batches commit, and each event is handled once.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_drops_in_mid_batch_is_looked_up_by_its_claim() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    for number in 0..100 {
        fixture.database.psql_as(&fixture.login, &append(&format!("p-{number}"))).unwrap();
    }
    let relay = fixture.store.relay();
    let rows = relay.page(relay.start().await.unwrap(), &Filter::default(), 1000).await.unwrap().rows;
    let lane = Lane { consumer: "mailer".to_owned(), number: 0, of: 1 };
    let taken = fixture.store.take_lane(&lane, "n-1", 600_000).await.unwrap().unwrap();
    let hold = LaneHold { consumer: lane.consumer, lane: 0, epoch: taken.epoch };
    let store = fixture.store.clone();
    let handler = tokio::spawn(async move {
        for row in rows {
            loop {
                let mut batch = store.batch(&hold);
                batch.handle(&context(1), row.claim()).put(counter(&row.key, 1));
                match batch.commit().await {
                    Ok(_) | Err(Error::Claimed { .. }) => break,
                    Err(Error::Exists { .. }) => panic!("{} was handled and its claim was not seen", row.key),
                    Err(_) => {}
                }
            }
        }
    });
    let kill =
        format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{}'", fixture.login);
    while !handler.is_finished() {
        fixture.database.psql(&kill).unwrap();
        tokio::task::yield_now().await;
    }
    handler.await.unwrap();
    let counted = "SELECT (SELECT count(*) FROM karwan.doc_counter), (SELECT count(*) FROM karwan.inbox)";
    assert_eq!(fixture.database.psql(counted).unwrap(), "100|100");
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_ends_a_holder_and_readers_go_on() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let holder = connect(&fixture).await;
    holder.batch_execute(&format!("BEGIN; {}", append("held"))).await.unwrap();
    fixture.database.psql_as(&fixture.login, &append("free")).unwrap();
    assert_eq!(keys(&fixture.store).await, Vec::<String>::new());
    let relay = fixture.store.relay();
    assert_eq!(relay.end_holders(600_000).await.unwrap(), [], "it has not held for so long");
    // Without those that ask, of which an earlier one may still be on its way out.
    let sessions = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'psql'";
    let before: i64 = fixture.database.psql(sessions).unwrap().parse().unwrap();
    let ended = relay.end_holders(0).await.unwrap();
    assert!(ended.len() == 1 && ended[0].who.contains(&fixture.login), "{ended:?}");
    assert!(holder.batch_execute("COMMIT").await.is_err(), "its session is gone, and what it wrote with it");
    // Ended is not gone: the server rolls back when the session notices.
    while !relay.holders().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let after: i64 = fixture.database.psql(sessions).unwrap().parse().unwrap();
    assert_eq!(before - after, 1, "nobody else was ended");
    assert_eq!(keys(&fixture.store).await, ["free"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_refused_by_name() {
    let Some(server) = Server::start(Options::default()).or_skip() else { return };
    let server: &'static Server = Box::leak(Box::new(server));
    let fixture = Fixture::new(server).await;
    server.stop();
    // A server with this file follows another; it has none to follow, and answers reads as it stands.
    std::fs::write(server.data_directory().join("standby.signal"), "").unwrap();
    server.start_again();
    let refused = Store::open(&fixture.database.url_as(&fixture.login).parse().unwrap(), options()).await.err();
    assert!(matches!(refused, Some(Error::Standby { .. })), "{refused:?}");
    let seen = fixture.store.relay().safe().await;
    assert!(seen.is_err(), "an open store does not read on from a server that became a standby: {seen:?}");
    server.stop();
}

/// Claims lie in leaves by the week of their event; the rest of time has one of its own.
#[tokio::test(flavor = "multi_thread")]
async fn claims_of_any_week_are_kept_and_found() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let lane = Lane { consumer: "mailer".to_owned(), number: 0, of: 1 };
    let taken = fixture.store.take_lane(&lane, "n-1", 600_000).await.unwrap().unwrap();
    let hold = LaneHold { consumer: lane.consumer, lane: 0, epoch: taken.epoch };
    for key in ["now", "old", "ahead"] {
        fixture.database.psql_as(&fixture.login, &append(key)).unwrap();
    }
    fixture.database.psql("UPDATE karwan.log SET at = at - interval '90 days' WHERE key = 'old'").unwrap();
    fixture.database.psql("UPDATE karwan.log SET at = at + interval '900 days' WHERE key = 'ahead'").unwrap();
    let relay = fixture.store.relay();
    let rows = relay.page(relay.start().await.unwrap(), &Filter::default(), 10).await.unwrap().rows;
    for (again, row) in rows.iter().chain(&rows).enumerate() {
        let mut batch = fixture.store.batch(&hold);
        batch.handle(&context(1), row.claim());
        let outcome = batch.commit().await;
        assert_eq!(outcome.is_ok(), again < rows.len(), "{} {outcome:?}", row.key);
    }
    let events: Vec<_> = rows.iter().map(|row| row.claim()).collect();
    assert_eq!(fixture.store.handled("mailer", &events).await.unwrap().len(), 3);
    let leaves = "SELECT count(*) FILTER (WHERE tableoid = 'karwan.inbox_else'::regclass), count(*) FROM karwan.inbox";
    assert_eq!(fixture.database.psql(leaves).unwrap(), "2|3");
    let refused = fixture.database.psql_as(&fixture.login, "SET ROLE karwan_relay; SELECT * FROM karwan.inbox_else");
    assert!(refused.unwrap_err().contains("permission denied"));
}
