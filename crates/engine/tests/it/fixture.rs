//! A migrated store of the shop's with a clock that a test can move, on whichever database the test runs on.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use karwan_engine::{Consumer, Engine, LEASE_MS, Options, Work};
use karwan_envelope::cause::Residency;
use karwan_envelope::mint::SeededRandom;
use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_store::consumer::Dead;
use karwan_store::{Address, Done, Error, Facts, Store, TenantTx, migrate};
use karwan_testkit::postgres::Database;

use crate::shop;

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

/// An open store.
pub struct Fixture {
    pub store: Store,
    /// When parked events are due; on SQLite also the store's.
    pub clock: Arc<ManualClock>,
    pub database: Option<Database<'static>>,
    _folder: Option<Folder>,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn options(clock: &Arc<ManualClock>) -> karwan_store::Options {
    karwan_store::Options { clock: clock.clone(), ..karwan_store::Options::new(shop::catalogue(), shop::kinds()) }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_unix_ms(1_780_000_000_000)))
}

/// A fresh file in a folder of its own.
pub async fn sqlite() -> Option<Fixture> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Folder(std::env::temp_dir().join(format!("karwan-engine-{}-{number}", std::process::id())));
    drop(std::fs::remove_dir_all(&folder.0));
    std::fs::create_dir_all(&folder.0).expect("a folder can be made");
    let address = Address::Sqlite(folder.0.join("shop.db"));
    migrate(&address, &[&shop::catalogue()], &shop::kinds(), &|_, _, _| {}).await.expect("it can be migrated");
    let clock = clock();
    let store = Store::open(&address, options(&clock)).await.expect("a migrated store opens");
    Some(Fixture { store, clock, database: None, _folder: Some(folder) })
}

/// A fresh database on the server of this process, opened by a login of its own.
pub async fn postgres() -> Option<Fixture> {
    let database = karwan_testkit::postgres::postgres().or_skip()?.database();
    let login = format!("app_{}", database.name());
    database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser can do that");
    let owner: Address = database.url().parse().expect("a URL is an address");
    migrate(&owner, &[&shop::catalogue()], &shop::kinds(), &|_, _, _| {}).await.expect("it can be migrated");
    for service in [None, Some("delivery-service")] {
        migrate::grant(&owner, &login, service).await.expect("a login can be prepared");
    }
    let clock = clock();
    let address = database.url_as(&login).parse().expect("a URL is an address");
    let store = Store::open(&address, options(&clock)).await.expect("a migrated store opens");
    Some(Fixture { store, clock, database: Some(database), _folder: None })
}

/// Runs one test on a runtime of its own; no fixture is a skipped test.
pub fn run<F: Future<Output = ()>>(make: impl Future<Output = Option<Fixture>>, test: impl FnOnce(Fixture) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    runtime.expect("a runtime can be made").block_on(async {
        if let Some(fixture) = make.await {
            Box::pin(test(fixture)).await;
        }
    });
}

impl Fixture {
    /// Consumers at work as a node of this name.
    pub fn start(&self, node: &str, consumers: Vec<Consumer>) -> Engine {
        self.start_work(node, consumers.into())
    }

    /// Any work as a node of this name.
    pub fn start_work(&self, node: &str, work: Work) -> Engine {
        let random = Arc::new(SeededRandom::new(7));
        let options = Options { clock: self.clock.clone(), random, ..Options::new(node, Residency::Eu) };
        Engine::start(&self.store, work, options)
    }

    /// Lets the leases of everybody run out.
    pub fn lease_runs_out(&self) {
        let Some(database) = &self.database else { return self.clock.advance_ms(LEASE_MS + 1) };
        for table in ["lane", "node"] {
            let sql = format!("UPDATE karwan.{table} SET until = until - interval '{} ms'", LEASE_MS + 1);
            database.psql(&sql).expect("a superuser can do that");
        }
    }

    /// Places an order for the n-th tenant and changes it so many times.
    pub async fn order(&self, tenant: u64, id: &str, changes: i64) -> Done<()> {
        let context = shop::context(tenant);
        let placed = self.store.unit(&context, async |tx: TenantTx| {
            tx.put(shop::order(id));
            let changed = (1..=changes).map(|revision| shop::changed(id, revision));
            tx.emit(shop::placed(id));
            tx.emit(changed.collect::<Facts>());
            Ok::<_, Error>(())
        });
        placed.await.expect("a new order can be placed")
    }

    /// What a handler noted down under a name, in order.
    pub async fn notes(&self, tenant: u64, id: &str) -> String {
        let unit = self.store.tenant(&shop::context(tenant));
        let notes: Option<shop::Order> = unit.peek(&format!("notes-{id}")).await.expect("a document can be read");
        notes.map(|notes| notes.note).unwrap_or_default()
    }

    pub async fn dead(&self, consumer: &str) -> Vec<Dead> {
        self.store.dead(consumer, 0, 1000).await.expect("dead letters can be asked for")
    }
}

/// Notes something down behind what was noted before.
pub async fn note(tx: &TenantTx, id: &str, text: &str) -> Result<(), Error> {
    let name = format!("notes-{id}");
    let notes: Option<shop::Order> = tx.find(&name).await?;
    let notes = notes.unwrap_or_else(|| shop::order(&name));
    tx.put(shop::Order { note: format!("{}{text}", notes.note), ..notes });
    Ok(())
}
