//! A migrated store of the shop's, on whichever database the test runs on.
//!
//! A suite test is an async function over a [`Fixture`]; `on_both!` makes it a test on every store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use karwan_envelope::envelope::Context;
use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_store::kind::KindType;
use karwan_store::log::{Filter, LogRow, PAGE_MAX};
use karwan_store::{Address, Done, Error, Operator, Options, Store, TenantTx, migrate};
use karwan_testkit::postgres::Database;

use crate::shop;

/// Where the manual clock starts.
pub const START_MS: i64 = 1_780_000_000_000;

/// Runs these async functions on every store, as `sqlite::<claim>` and `postgres::<claim>`.
macro_rules! on_both {
    ($($claim:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $claim() { crate::fixture::run(crate::fixture::sqlite(), super::$claim) })*
        }
        mod postgres {
            $(#[test] fn $claim() { crate::fixture::run(crate::fixture::postgres(), super::$claim) })*
        }
    };
}

/// An open store and what is needed to open it again.
pub struct Fixture {
    pub store: Store,
    pub address: Address,
    /// The store's clock, where a test can set it.
    pub clock: Option<Arc<ManualClock>>,
    home: Home,
}

/// What goes with the test.
enum Home {
    Folder(#[expect(dead_code, reason = "it is removed when it is dropped")] Folder),
    Database(Database<'static>),
}

/// A fresh database on the server of this process, opened by a login of its own.
pub async fn postgres() -> Option<Fixture> {
    let server = karwan_testkit::postgres::postgres().or_skip()?;
    let crate::postgres::Fixture { database, login, store } = crate::postgres::Fixture::new(server).await;
    let address = database.url_as(&login).parse().expect("a URL is an address");
    Some(Fixture { store, address, clock: None, home: Home::Database(database) })
}

/// A fresh file in a folder of its own.
pub async fn sqlite() -> Option<Fixture> {
    let folder = Folder::new();
    let address = Address::Sqlite(folder.path().join("shop.db"));
    migrate_shop(&address).await.expect("a fresh path can be migrated");
    let clock = Arc::new(ManualClock::at(Timestamp::from_unix_ms(START_MS)));
    let store = Store::open(&address, options(&clock)).await.expect("a migrated store opens");
    Some(Fixture { store, address, clock: Some(clock), home: Home::Folder(folder) })
}

pub fn options(clock: &Arc<ManualClock>) -> Options {
    Options { clock: clock.clone(), ..Options::new(shop::catalogue(), shop::kinds()) }
}

pub async fn migrate_shop(address: &Address) -> Result<migrate::Migrated, Error> {
    migrate_kinds(address, &shop::kinds()).await
}

pub async fn migrate_kinds(address: &Address, kinds: &[KindType]) -> Result<migrate::Migrated, Error> {
    migrate(address, &[&shop::catalogue()], kinds, &|_, _, _| {}).await
}

/// Runs one test on a runtime of its own; no fixture is a skipped test.
pub fn run<F: Future<Output = ()>>(make: impl Future<Output = Option<Fixture>>, test: impl FnOnce(Fixture) -> F) {
    block_on(async {
        if let Some(fixture) = make.await {
            Box::pin(test(fixture)).await;
        }
    });
}

/// A runtime for one test.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    runtime.expect("a runtime can be made").block_on(future)
}

impl Fixture {
    /// Lets the store's clock go on. A server's clock cannot be set, so there everything that was timed moves back.
    pub fn pass(&self, ms: i64) {
        match (&self.clock, &self.home) {
            (Some(clock), _) => clock.advance_ms(ms),
            (None, Home::Database(database)) => {
                let times = [("lane", "until"), ("node", "until"), ("intent", "at"), ("unit", "at")];
                for (table, column) in times {
                    let sql = format!("UPDATE karwan.{table} SET {column} = {column} - interval '{ms} milliseconds'");
                    database.psql(&sql).expect("a superuser can do that");
                }
            }
            (None, Home::Folder(_)) => panic!("a file's clock is set by its test"),
        }
    }

    /// The address of whoever may migrate and act.
    pub fn owner(&self) -> Address {
        match &self.home {
            Home::Folder(_) => self.address.clone(),
            Home::Database(database) => database.url().parse().expect("a URL is an address"),
        }
    }

    /// An operator of this store.
    pub fn operator(&self) -> Operator {
        let operator = Operator::new(&self.owner(), vec![shop::catalogue()]);
        match &self.clock {
            Some(clock) => operator.with_clock(clock.clone()),
            None => operator,
        }
    }

    /// Runs a statement past the store: with Postgres' names, which a file spells shorter.
    pub fn spoil(&self, sql: &str) {
        match &self.home {
            Home::Folder(_) => {
                let sql = sql.replace("karwan.", "").replace("event_id", "event").replace("tenant_id", "tenant");
                self.raw().execute_batch(&sql).expect("the statement is right");
            }
            Home::Database(database) => drop(database.psql(sql).expect("the statement is right")),
        }
    }

    /// One number, asked for past the store in the same way.
    pub fn count(&self, sql: &str) -> String {
        match &self.home {
            Home::Folder(_) => {
                let sql = sql.replace("karwan.", "").replace("event_id", "event").replace("tenant_id", "tenant");
                self.texts(&format!("SELECT CAST(({sql}) AS TEXT)")).remove(0)
            }
            Home::Database(database) => lines(database, sql).remove(0),
        }
    }

    /// One unit of the n-th tenant whose decision cannot fail but by the store.
    pub async fn unit<F>(&self, tenant: u64, decide: impl Fn(TenantTx) -> F) -> Result<Done<()>, Error>
    where
        F: Future<Output = Result<(), Error>>,
    {
        self.store.unit(&shop::context(tenant), decide).await
    }

    /// Places an order, with its fact.
    pub async fn place(&self, tenant: u64, id: &str) -> Done<()> {
        let placed = self.unit(tenant, async |tx: TenantTx| {
            tx.put(shop::order(id));
            tx.emit(shop::placed(id));
            Ok(())
        });
        placed.await.expect("a new order can be placed")
    }

    /// The whole log.
    pub async fn log(&self) -> Vec<LogRow> {
        log(&self.store).await
    }

    /// The subjects of the whole log, without prefix and version, with the key: `order.placed o-1`.
    pub async fn told(&self) -> Vec<String> {
        let short = |row: &LogRow| row.subject.split('.').skip(2).take(2).collect::<Vec<_>>().join(".");
        self.log().await.iter().map(|row| format!("{} {}", short(row), row.key)).collect()
    }

    /// The order of a tenant, read in a unit of its own.
    pub async fn order(&self, tenant: u64, id: &str) -> Option<shop::Order> {
        self.store.tenant(&shop::context(tenant)).peek(id).await.expect("a document can be read")
    }

    /// The value of a counter.
    pub async fn counter(&self, tenant: u64, id: &str) -> Option<i64> {
        let counter = self.store.tenant(&shop::context(tenant)).peek::<shop::Counter>(id).await;
        counter.expect("a document can be read").map(|counter| counter.value)
    }

    /// What the store was opened with.
    pub fn options(&self) -> Options {
        self.clock.as_ref().map_or_else(|| Options::new(shop::catalogue(), shop::kinds()), options)
    }

    /// Closes the store and opens it again.
    pub async fn reopened(self) -> Self {
        let options = self.options();
        self.reopened_with(options).await
    }

    /// Closes the store, has it migrated so often, and opens it again.
    pub async fn migrated(self, times: usize) -> (Self, Vec<migrate::Migrated>) {
        let (options, owner) = (self.options(), self.owner());
        let Self { store, address, clock, home } = self;
        drop(store);
        let mut migrated = Vec::new();
        for _ in 0..times {
            migrated.push(migrate_shop(&owner).await.expect("it can be migrated"));
        }
        let store = Store::open(&address, options).await.expect("a migrated store opens");
        (Self { store, address, clock, home }, migrated)
    }

    /// Closes the store and opens it with something else.
    pub async fn reopened_with(self, options: Options) -> Self {
        let Self { store, address, clock, home } = self;
        drop(store);
        let store = Store::open(&address, options).await.expect("a closed store opens");
        Self { store, address, clock, home }
    }

    /// Recorded deadlines, `kind id due body`, in order.
    pub fn deadlines(&self) -> Vec<String> {
        match &self.home {
            Home::Folder(_) => {
                self.texts("SELECT kind || ' ' || id || ' ' || due || ' ' || body FROM deadline ORDER BY 1")
            }
            Home::Database(database) => lines(
                database,
                "SELECT kind || ' ' || id || ' ' || (extract(epoch FROM due) * 1000)::bigint || ' ' || body FROM karwan.deadline ORDER BY 1",
            ),
        }
    }

    /// Recorded effects, `kind key body`, in order.
    pub fn effects(&self) -> Vec<String> {
        match &self.home {
            Home::Folder(_) => self.texts("SELECT kind || ' ' || key || ' ' || body FROM effect ORDER BY 1"),
            Home::Database(database) => {
                lines(database, "SELECT kind || ' ' || key || ' ' || body FROM karwan.effect ORDER BY 1")
            }
        }
    }

    /// How many rows these tables have; a kind's name stands for its documents and tombstones.
    pub fn rows_of(&self, tables: &[&str]) -> Vec<String> {
        let count = |table: &&str| {
            let table = if *table == "unit" { (*table).to_owned() } else { format!("doc_{table}") };
            match &self.home {
                Home::Folder(_) => self.texts(&format!("SELECT CAST(count(*) AS TEXT) FROM {table}")).remove(0),
                Home::Database(database) => lines(database, &format!("SELECT count(*) FROM karwan.{table}")).remove(0),
            }
        };
        tables.iter().map(count).collect()
    }

    /// The version of the one document with this id.
    pub fn version(&self, kind: &str, id: &str) -> String {
        match &self.home {
            Home::Folder(_) => {
                self.texts(&format!("SELECT CAST(version AS TEXT) FROM doc_{kind} WHERE id = '{id}'")).remove(0)
            }
            Home::Database(database) => {
                lines(database, &format!("SELECT version FROM karwan.doc_{kind} WHERE id = '{id}'")).remove(0)
            }
        }
    }

    /// Takes a document's row away, past the store and without a tombstone.
    pub fn erase(&self, kind: &str, id: &str) {
        let condition = format!("doc_{kind} WHERE id = '{id}'");
        match &self.home {
            Home::Folder(_) => drop(self.raw().execute(&format!("DELETE FROM {condition}"), []).expect("it is there")),
            Home::Database(database) => {
                drop(database.psql(&format!("DELETE FROM karwan.{condition}")).expect("it is there"));
            }
        }
    }

    /// Suspends the store as a restore does, or lets it go on.
    pub fn suspend(&self, suspended: bool) {
        match &self.home {
            Home::Folder(_) => {
                self.raw().execute("UPDATE meta SET suspended = ?", [suspended]).expect("it is there");
            }
            Home::Database(database) => {
                let sql = format!("UPDATE karwan.incarnation SET suspended = {suspended}");
                drop(database.psql(&sql).expect("it is there"));
            }
        }
    }

    /// Forgets which events were handled, as a seek back does.
    pub fn forget_claims(&self) {
        match &self.home {
            Home::Folder(_) => drop(self.raw().execute("DELETE FROM inbox", []).expect("the table is there")),
            Home::Database(database) => drop(database.psql("DELETE FROM karwan.inbox").expect("the table is there")),
        }
    }

    fn texts(&self, sql: &str) -> Vec<String> {
        let connection = self.raw();
        let mut statement = connection.prepare(sql).expect("the statement is right");
        let rows = statement.query_map([], |row| row.get(0)).expect("the table is there");
        rows.collect::<Result<_, _>>().expect("the rows can be read")
    }

    /// A connection past the store, to look at or to spoil what it keeps.
    pub fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).expect("the file opens")
    }

    /// The file.
    pub fn path(&self) -> &Path {
        match &self.address {
            Address::Sqlite(path) => path,
            Address::Postgres(_) => panic!("this test looks at a file"),
        }
    }
}

fn lines(database: &Database<'_>, sql: &str) -> Vec<String> {
    database.psql(sql).expect("the table is there").lines().map(str::to_owned).collect()
}

/// The whole log of a store, page by page.
pub async fn log(store: &Store) -> Vec<LogRow> {
    let relay = store.relay();
    let mut after = relay.start().await.expect("the log has a start");
    let mut rows = Vec::new();
    loop {
        let page = relay.page(after, &Filter::default(), PAGE_MAX).await.expect("the log can be read");
        rows.extend(page.rows);
        after = page.position;
        if !page.more {
            return rows;
        }
    }
}

/// An instant at which everything is due.
pub fn later() -> Timestamp {
    Timestamp::from_unix_ms(4_000_000_000_000)
}

/// A request for the first tenant.
pub fn first() -> Context {
    shop::context(1)
}

/// A folder that goes with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("karwan-store-{}-{number}", std::process::id()));
        // A folder that a killed run left is not this test's.
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
