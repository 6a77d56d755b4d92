//! Tables of the user's own, written in the transaction of a unit: together with it, or not at all.

mod lost;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use karwan_store::consumer::{Lane, LaneTaken};
use karwan_store::log::LogRow;
use karwan_store::write_set::{Claim, LaneHold};
use karwan_store::{Batch, Error, Options, Query, Store, TenantTx, UnitId, migrate};
use karwan_testkit::postgres::postgres;
use tokio::sync::Barrier;

use super::{Fixture, options};
use crate::fixture;
use crate::shop::{Counter, Order, context, context_of, counter, order, sent, tenant_bits};

const INSERT: &str = "INSERT INTO parcel (id, place) VALUES ($1, 'Herat')";

/// A store beside a table of parcels that every login may write, and the first row of the log.
async fn shop() -> Option<(Fixture, LaneHold, LogRow)> {
    let fixture = Fixture::new(postgres().or_skip()?).await;
    let sql = "CREATE TABLE parcel (id text PRIMARY KEY, place text,
                   tenant uuid DEFAULT current_setting('app.tenant_id')::uuid, who text DEFAULT current_user);
               GRANT ALL ON parcel TO PUBLIC";
    fixture.database.psql(sql).unwrap();
    emit(&fixture.store, "cause", 1).await;
    let hold = take(&fixture.store).await;
    let row = fixture::log(&fixture.store).await.remove(0);
    Some((fixture, hold, row))
}

async fn emit(store: &Store, parcel: &str, count: i64) {
    let emit = async |tx: TenantTx| {
        tx.emit(sent(parcel, count));
        Ok::<_, Error>(())
    };
    store.unit(&context_of("delivery-service", 1), emit).await.unwrap();
}

async fn take(store: &Store) -> LaneHold {
    let lane = Lane { consumer: "packer".to_owned(), number: 0, of: 1 };
    let LaneTaken { epoch, .. } = store.take_lane(&lane, "n-1", 60_000).await.unwrap().unwrap();
    LaneHold { consumer: lane.consumer, lane: 0, epoch }
}

/// A unit of the first tenant that has written a parcel of its own, counted it, and told of it.
async fn packed(store: &Store, hold: &LaneHold, claim: Claim, id: &str) -> (Batch, TenantTx) {
    let mut batch = store.batch(hold);
    let tx = batch.handle(&context_of("delivery-service", 1), claim);
    let before: Option<Counter> = tx.find("packed").await.unwrap();
    assert_eq!(tx.postgres().await.unwrap().execute(INSERT, &[&id]).await.unwrap(), 1);
    tx.put(counter("packed", before.map_or(0, |before| before.value) + 1));
    tx.emit(sent(id, 1));
    (batch, tx)
}

impl Fixture {
    fn parcels(&self) -> String {
        self.database.psql("SELECT coalesce(string_agg(id, ' ' ORDER BY id), '') FROM parcel").unwrap()
    }

    /// Own rows, handled events, the counter, and the log behind its first row.
    async fn seen(&self, row: &LogRow) -> (String, usize, i64, Vec<String>) {
        let handled = self.store.handled("packer", &[row.claim()]).await.unwrap().len();
        let packed: Option<Counter> = self.store.tenant(&context(1)).peek("packed").await.unwrap();
        let told = fixture::log(&self.store).await.into_iter().skip(1).map(|row| row.key).collect();
        (self.parcels(), handled, packed.map_or(0, |packed| packed.value), told)
    }

    async fn nothing(&self, row: &LogRow) -> bool {
        self.seen(row).await == (String::new(), 0, 0, vec![])
    }

    /// Another store over the same database, with one connection of each sort.
    async fn narrow(&self) -> Store {
        let address = self.database.url_as(&self.login).parse().unwrap();
        Store::open(&address, Options { connections_max: 1, ..options() }).await.unwrap()
    }

    /// Waits until so many backends of the application wait for a lock.
    async fn waiting(&self, count: usize) {
        let sql =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while self.database.psql(sql).unwrap() != count.to_string() {
            tokio::task::yield_now().await;
        }
    }
}

fn misused<T>(outcome: Result<T, Error>, part: &str) -> bool {
    matches!(outcome, Err(error @ Error::OwnTransaction { .. }) if error.to_string().contains(part))
}

#[tokio::test(flavor = "multi_thread")]
async fn own_rows_the_claim_documents_and_facts_commit_together() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let (batch, _) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    assert!(fixture.nothing(&row).await);
    let done = batch.commit().await.unwrap();
    assert_eq!(fixture.seen(&row).await, ("p-1".into(), 1, 1, vec!["p-1".into()]));
    assert_eq!(done.position.seq, fixture::log(&fixture.store).await[1].seq);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_that_is_given_up_leaves_nothing_and_its_connection_serves_the_next() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let store = fixture.narrow().await;
    for _ in 0..3 {
        drop(packed(&store, &hold, row.claim(), "p-1").await);
    }
    assert!(fixture.nothing(&row).await);
    let (batch, _) = packed(&store, &hold, row.claim(), "p-1").await;
    batch.commit().await.unwrap();
    assert_eq!(fixture.parcels(), "p-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handled_event_a_lost_lane_a_changed_document_and_a_refused_fact_roll_own_rows_back() {
    let Some((fixture, hold, row)) = shop().await else { return };
    // What it read was changed.
    let (batch, _) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    let other = async |tx: TenantTx| {
        tx.put(counter("packed", 7));
        Ok::<_, Error>(())
    };
    fixture.store.unit(&context(1), other).await.unwrap();
    assert!(matches!(batch.commit().await, Err(Error::Conflict { .. })));
    assert_eq!(fixture.parcels(), "");
    // The catalogue refuses its fact.
    let (batch, tx) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    tx.emit(sent("", 1));
    assert!(matches!(batch.commit().await, Err(Error::Refused { .. })));
    assert_eq!(fixture.parcels(), "");
    // It was handled before.
    let (late, _) = packed(&fixture.store, &hold, row.claim(), "p-2").await;
    packed(&fixture.store, &hold, row.claim(), "p-1").await.0.commit().await.unwrap();
    let refused = late.commit().await;
    assert!(matches!(&refused, Err(Error::Conflict { .. } | Error::Claimed { .. })), "{refused:?}");
    let (again, _) = packed(&fixture.store, &hold, row.claim(), "p-2").await;
    assert!(matches!(again.commit().await, Err(Error::Claimed { .. })));
    assert_eq!(fixture.parcels(), "p-1");
    // Somebody else has the lane.
    let next = fixture::log(&fixture.store).await.remove(1);
    let (zombie, _) = packed(&fixture.store, &hold, next.claim(), "p-2").await;
    fixture.database.psql("UPDATE karwan.lane SET until = until - interval '2 minutes'").unwrap();
    let heir = take(&fixture.store).await;
    assert!(matches!(zombie.commit().await, Err(Error::LaneLost { .. })));
    assert_eq!(fixture.parcels(), "p-1");
    packed(&fixture.store, &heir, next.claim(), "p-2").await.0.commit().await.unwrap();
    assert_eq!(fixture.parcels(), "p-1 p-2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_event_is_handled_with_own_rows() {
    let Some((fixture, hold, row)) = shop().await else { return };
    fixture.store.park(&hold, &[row.clone().parked(None, 1, "no".to_owned())]).await.unwrap();
    let live = packed(&fixture.store, &hold, row.claim(), "p-1").await.0.commit().await;
    assert!(matches!(live, Err(Error::Claimed { .. })), "{live:?}");
    assert_eq!(fixture.parcels(), "");
    let claim = Claim { parked: true, ..row.claim() };
    packed(&fixture.store, &hold, claim, "p-1").await.0.commit().await.unwrap();
    assert_eq!(fixture.seen(&row).await, ("p-1".into(), 1, 1, vec!["p-1".into()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_ends_the_transaction_within_the_unit_is_refused_and_the_unit_leaves_nothing() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let store = fixture.narrow().await;
    for end in
        ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "COMMIT AND CHAIN", "ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE"]
    {
        let (batch, tx) = packed(&store, &hold, row.claim(), end).await;
        tx.postgres().await.unwrap().batch_execute(end).await.unwrap();
        assert!(misused(batch.commit().await, "ended within the unit"), "{end}");
        let (_, handled, packed, told) = fixture.seen(&row).await;
        assert_eq!((handled, packed, told.len()), (0, 0, 0), "{end}");
    }
    // What it committed behind the unit's back is there: that is what it asked for.
    assert_eq!(fixture.parcels(), "COMMIT COMMIT AND CHAIN COMMIT; BEGIN");
    // A savepoint is no end.
    let (batch, tx) = packed(&store, &hold, row.claim(), "p-1").await;
    let own = tx.postgres().await.unwrap();
    own.batch_execute("SAVEPOINT a").await.unwrap();
    let twice = own.execute(INSERT, &[&"p-1"]).await.unwrap_err();
    assert_eq!(twice.code(), "store-statement");
    own.batch_execute("ROLLBACK TO a").await.unwrap();
    drop(own);
    batch.commit().await.unwrap();
    assert_eq!(fixture.parcels(), "COMMIT COMMIT AND CHAIN COMMIT; BEGIN p-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statements_failure_is_told_with_its_cause_and_cannot_be_passed_over() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let (batch, tx) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    let error = tx.postgres().await.unwrap().execute(INSERT, &[&"p-1"]).await.unwrap_err();
    let chain: Vec<String> = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
        .map(|it| it.to_string())
        .collect();
    assert!(chain.join(": ").contains("duplicate key value violates unique constraint"), "{chain:?}");
    assert!(misused(batch.commit().await, "a statement of it failed"));
    // A table of one's own that is not there is not the store's.
    let (_batch, tx) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    let missing = tx.postgres().await.unwrap().query("SELECT FROM nowhere", &[]).await.unwrap_err();
    assert_eq!(missing.code(), "store-statement", "{missing:?}");
    assert!(fixture.nothing(&row).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constraint_that_speaks_at_the_commit_refuses_the_whole_unit() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let sql = "CREATE TABLE place (name text PRIMARY KEY); ALTER TABLE parcel ADD FOREIGN KEY (place) REFERENCES place
               DEFERRABLE INITIALLY DEFERRED";
    fixture.database.psql(sql).unwrap();
    let refused = packed(&fixture.store, &hold, row.claim(), "p-1").await.0.commit().await.unwrap_err();
    assert_eq!(refused.code(), "store-statement", "{refused:?}");
    assert!(fixture.nothing(&row).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_keeps_the_transaction_beyond_its_unit() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let (batch, tx) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    let kept = tx.postgres().await.unwrap();
    assert!(misused(batch.commit().await, "somebody still has it"));
    assert!(misused(tx.postgres().await, "before"));
    // It is still its own transaction, which nobody will commit.
    kept.execute(INSERT, &[&"p-2"]).await.unwrap();
    drop(kept);
    assert!(fixture.nothing(&row).await);
    let (batch, tx) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    batch.commit().await.unwrap();
    assert!(misused(tx.postgres().await, "before"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_among_others_cannot_have_it() {
    let Some((fixture, hold, row)) = shop().await else { return };
    emit(&fixture.store, "other", 1).await;
    let other = fixture::log(&fixture.store).await.remove(1);
    let ctx = context_of("delivery-service", 1);
    // The first took it before it had company.
    let (mut batch, _) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    let late = batch.handle(&ctx, other.claim());
    assert!(matches!(late.postgres().await, Err(Error::RunsAlone)));
    assert!(matches!(batch.commit().await, Err(Error::RunsAlone)));
    // Beside others nobody has it, also who goes on without.
    let mut batch = fixture.store.batch(&hold);
    let tx = batch.beside(Arc::new(ctx), row.claim());
    assert!(!batch.wants_alone(0));
    assert!(matches!(tx.postgres().await, Err(Error::RunsAlone)));
    assert!(batch.wants_alone(0));
    assert!(batch.join(0));
    assert!(matches!(batch.commit().await, Err(Error::RunsAlone)));
    assert_eq!((fixture.parcels(), fixture.seen(&row).await.1), (String::new(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_has_the_rights_of_its_login_and_no_others() {
    let Some((fixture, ..)) = shop().await else { return };
    let login = format!("node_{}", fixture.database.name());
    fixture.database.psql(&format!("CREATE ROLE {login} LOGIN")).unwrap();
    migrate::grant(&fixture.database.url().parse().unwrap(), &login, &migrate::Purpose::Node).await.unwrap();
    let store = Store::open(&fixture.database.url_as(&login).parse().unwrap(), options()).await.unwrap();
    for tenant in [1, 2] {
        let placed = async |tx: TenantTx| {
            tx.put(order("o-1"));
            Ok::<_, Error>(())
        };
        store.unit(&context(tenant), placed).await.unwrap();
    }
    for table in ["doc_order", "log", "inbox", "effect", "meta"] {
        let unit = store.tenant(&context(1));
        let own = unit.postgres().await.unwrap();
        let refused = own.query_one(&format!("SELECT count(*) FROM karwan.{table}"), &[]).await.unwrap_err();
        assert!(format!("{refused:?}").contains("permission denied"), "{table}: {refused:?}");
    }
    // With the store's hat on, as the login may, it sees its tenant's documents alone.
    let unit = store.tenant(&context(1));
    let own = unit.postgres().await.unwrap();
    own.batch_execute("SET LOCAL ROLE karwan_app").await.unwrap();
    let seen = own.query_one("SELECT count(*) FROM karwan.doc_order", &[]).await.unwrap();
    assert_eq!(seen.get::<_, i64>(0), 1);
    own.batch_execute("SET LOCAL ROLE NONE").await.unwrap();
    own.execute(INSERT, &[&"p-1"]).await.unwrap();
    drop(own);
    unit.commit().await.unwrap();
    let who = fixture.database.psql("SELECT tenant, who FROM parcel").unwrap();
    assert_eq!(who, format!("{}|{login}", uuid::Uuid::from_u128(tenant_bits(1))));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_session_reaches_the_next_unit() {
    let Some((fixture, ..)) = shop().await else { return };
    let store = fixture.narrow().await;
    let unit = store.tenant(&context(1));
    let own = unit.postgres().await.unwrap();
    let mess =
        "SET ROLE karwan_relay; SET search_path = nowhere; SET app.tenant_id = 'x'; CREATE TEMP TABLE left_over ();
                SET idle_in_transaction_session_timeout = 0; SELECT pg_advisory_lock(7)";
    own.batch_execute(mess).await.unwrap();
    drop(own);
    unit.commit().await.unwrap();
    let unit = store.tenant(&context(2));
    let sql = "SELECT current_user = session_user, current_setting('search_path') LIKE '%public', to_regclass('left_over') IS NULL,
                      current_setting('idle_in_transaction_session_timeout') = '5s', current_setting('app.tenant_id') = $1::text,
                      current_setting('transaction_isolation') = 'read committed',
                      NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())";
    let tenant = uuid::Uuid::from_u128(tenant_bits(2)).to_string();
    let row = unit.postgres().await.unwrap().query_one(sql, &[&tenant]).await.unwrap();
    assert_eq!((0..7).map(|column| row.get(column)).collect::<Vec<bool>>(), [true; 7]);
    // Other snapshots than the flush needs cannot be had.
    let own = unit.postgres().await.unwrap();
    let refused = own.batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.unwrap_err();
    assert_eq!(refused.code(), "store-statement");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_writes_own_rows_once_and_claims_its_id_for_them_alone() {
    let Some((fixture, ..)) = shop().await else { return };
    let pack = async |tx: TenantTx| {
        let own = tx.postgres().await?;
        own.execute("INSERT INTO parcel (id, place) SELECT 'p-' || count(*), 'Herat' FROM parcel", &[]).await?;
        Ok::<_, Error>(())
    };
    let id = UnitId::named("api", "k-1");
    assert_eq!(fixture.store.once(id, &context(1), pack).await.unwrap().repeated, None);
    assert!(fixture.store.once(id, &context(1), pack).await.unwrap().repeated.is_some());
    assert_eq!(fixture.parcels(), "p-0");
    // A guard is written by whoever writes own rows, too.
    let guard = karwan_store::Guard::of("parcels");
    let guarded = async |tx: TenantTx| {
        tx.query_under(&guard, Query::<Order>::new()).await?;
        pack(tx).await
    };
    fixture.store.unit(&context(1), guarded).await.unwrap();
    assert_eq!(fixture.database.psql("SELECT version FROM karwan.doc_guard WHERE id = 'parcels'").unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_deadlock_over_own_rows_are_both_done_in_the_end() {
    let Some((fixture, ..)) = shop().await else { return };
    fixture.database.psql("INSERT INTO parcel (id, place, tenant) VALUES ('a', '', NULL), ('b', '', NULL)").unwrap();
    let meet = Barrier::new(2);
    let runs = AtomicUsize::new(0);
    let cross = async |[first, second]: [&'static str; 2]| {
        let decide = async |tx: TenantTx| {
            let own = tx.postgres().await?;
            let update = "UPDATE parcel SET place = place || 'x' WHERE id = $1";
            own.execute(update, &[&first]).await?;
            if runs.fetch_add(1, Ordering::Relaxed) < 2 {
                meet.wait().await;
            }
            own.execute(update, &[&second]).await?;
            Ok::<_, Error>(())
        };
        fixture.store.unit(&context(1), decide).await
    };
    let (one, two) = tokio::join!(cross(["a", "b"]), cross(["b", "a"]));
    one.unwrap();
    two.unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    assert_eq!(fixture.database.psql("SELECT string_agg(place, ' ') FROM parcel").unwrap(), "xx xx");
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_of_one_key_are_in_the_order_of_their_commits() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let (sql, connection) =
        tokio_postgres::connect(&fixture.database.url_as(&fixture.login), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let append = "BEGIN; SELECT karwan.append('0190c2f0-0000-7000-8000-000000000001', 'shop.delivery.parcel.sent.v1', 'p-1', 'p-1:0',
                  '{\"parcelId\":\"p-1\",\"count\":0}')";
    sql.batch_execute(append).await.unwrap();
    let (batch, _) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    let commit = tokio::spawn(batch.commit());
    fixture.waiting(1).await;
    sql.batch_execute("COMMIT").await.unwrap();
    commit.await.unwrap().unwrap();
    let told: Vec<String> = fixture::log(&fixture.store).await.into_iter().skip(1).map(|row| row.envelope).collect();
    assert!(told[0].contains("\"count\":0") && told[1].contains("\"count\":1"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_nobody_waits_for_any_more_is_cancelled() {
    let Some((fixture, ..)) = shop().await else { return };
    let store = fixture.narrow().await;
    let (holder, connection) =
        tokio_postgres::connect(&fixture.database.url_as(&fixture.login), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    holder.batch_execute("BEGIN; LOCK TABLE parcel").await.unwrap();
    let unit = store.tenant(&context(1));
    let hanging = tokio::spawn(async move { unit.postgres().await?.execute(INSERT, &[&"p-1"]).await });
    fixture.waiting(1).await;
    hanging.abort();
    fixture.waiting(0).await;
    let unit = store.tenant(&context(1));
    unit.postgres().await.unwrap().query_one("SELECT 1", &[]).await.unwrap();
    unit.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_idles_is_ended_by_the_server_and_told_so() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let (batch, tx) = packed(&fixture.store, &hold, row.claim(), "p-1").await;
    let own = tx.postgres().await.unwrap();
    let pid: i32 = own.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    own.batch_execute("SET LOCAL idle_in_transaction_session_timeout = 10").await.unwrap();
    while fixture
        .database
        .psql(&format!("SELECT FROM pg_stat_activity WHERE pid = {pid}"))
        .is_ok_and(|it| !it.is_empty())
    {
        tokio::task::yield_now().await;
    }
    while !own.client().is_closed() {
        tokio::task::yield_now().await;
    }
    assert!(misused(own.execute(INSERT, &[&"p-2"]).await, "idle for five seconds"));
    drop(own);
    assert!(misused(batch.commit().await, "idle for five seconds"));
    assert!(fixture.nothing(&row).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_none() {
    let fixture = fixture::sqlite().await.expect("a file can always be made");
    let refused = fixture.unit(1, async |tx: TenantTx| tx.postgres().await.map(drop)).await.unwrap_err();
    assert_eq!(refused.code(), "store-postgres-only");
    assert!(refused.to_string().contains("shop.db is no Postgres database"), "{refused}");
}
