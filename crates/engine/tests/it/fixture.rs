//! A migrated store of the shop's with a clock that a test can move, on whichever database the test runs on.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use karwan_broker::{Broker, Topology};
use karwan_engine::{Consumer, Engine, LEASE_MS, Options, ReadAhead, Relay, Work};
use karwan_envelope::cause::Residency;
use karwan_envelope::mint::SeededRandom;
use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_store::backup;
use karwan_store::consumer::{Dead, Lane};
use karwan_store::log::Seq;
use karwan_store::migrate::Purpose;
use karwan_store::trace::{SpanRecord, Spans};
use karwan_store::{Address, Done, Error, Facts, Position, Store, TenantTx, migrate};
use karwan_testkit::nats::Server;
use karwan_testkit::postgres::Database;

use crate::shop;

/// The stream of orders.
pub const STREAM: &str = "SALES";

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

/// Runs these with consumers that a stream feeds out of another store as well, as `fed::<claim>`.
macro_rules! fed_too {
    ($($claim:ident),* $(,)?) => {
        mod fed {
            $(#[test] fn $claim() { crate::fixture::run(crate::fixture::fed(), super::$claim) })*
        }
    };
}

/// An open store.
pub struct Fixture {
    /// Where events are committed, where that is another store.
    source: Option<Source>,
    pub store: Store,
    pub address: Address,
    /// When parked events are due; on SQLite also the store's.
    pub clock: Arc<ManualClock>,
    pub database: Option<Database<'static>>,
    /// As its owner opens it.
    pub owner: Address,
    pub spans: Told,
    _folder: Option<Folder>,
}

/// The store of a producer, whose relay feeds a stream.
struct Source {
    store: Store,
    owner: Address,
    spans: Told,
    relay: Engine,
    broker: Broker,
    server: Server,
    _folder: Option<Folder>,
}

/// A copy of a store.
pub enum Copy {
    /// A file.
    File(PathBuf),
    /// What `pg_dump` wrote.
    Dump(Vec<u8>),
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Spans that were told of.
pub type Told = Arc<Mutex<Vec<SpanRecord>>>;

fn options(clock: &Arc<ManualClock>, spans: &Told) -> karwan_store::Options {
    let heard = spans.clone();
    let spans: Option<Spans> = Some(Arc::new(move |span| heard.lock().expect("nobody panics").push(span)));
    karwan_store::Options {
        clock: clock.clone(),
        spans,
        ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
    }
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
    let (clock, spans) = (clock(), Told::default());
    let store = Store::open(&address, options(&clock, &spans)).await.expect("a migrated store opens");
    Some(Fixture {
        source: None,
        store,
        owner: address.clone(),
        address,
        clock,
        database: None,
        spans,
        _folder: Some(folder),
    })
}

/// A fresh database on the server of this process, opened by a login of its own.
pub async fn postgres() -> Option<Fixture> {
    let database = karwan_testkit::postgres::postgres().or_skip()?.database();
    let login = format!("app_{}", database.name());
    database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser can do that");
    let owner: Address = database.url().parse().expect("a URL is an address");
    migrate(&owner, &[&shop::catalogue()], &shop::kinds(), &|_, _, _| {}).await.expect("it can be migrated");
    for purpose in [Purpose::Node, Purpose::Appending("delivery-service".to_owned())] {
        migrate::grant(&owner, &login, &purpose).await.expect("a login can be prepared");
    }
    let (clock, spans) = (clock(), Told::default());
    let address = database.url_as(&login).parse().expect("a URL is an address");
    let store = Store::open(&address, options(&clock, &spans)).await.expect("a migrated store opens");
    Some(Fixture { source: None, store, owner, address, clock, database: Some(database), spans, _folder: None })
}

/// A database whose consumers are fed from a stream, and a producer's file with a relay to it.
pub async fn fed() -> Option<Fixture> {
    let server = Server::start(karwan_testkit::nats::Options::default()).or_skip()?;
    let consumer = postgres().await?;
    let mut producer = sqlite().await?;
    let options = karwan_broker::Options { answer_ms_max: 2_000, ..karwan_broker::Options::default() };
    let broker = Broker::connect(&server.url(), options).await.expect("a server that runs can be reached");
    let relay = Relay::new(broker.clone(), Topology::of(&shop::catalogue()));
    // By a clock of its own: what moves a test's leases leaves the relay alone.
    let relay = producer.start_work("relay", Work::new().relay(relay));
    let (store, owner, spans) = (producer.store.clone(), producer.owner.clone(), producer.spans.clone());
    let source = Source { store, owner, spans, relay, broker, server, _folder: producer._folder.take() };
    Some(Fixture { source: Some(source), ..consumer })
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
    /// Another store of the shop's, by this test's clock.
    pub async fn open(&self, address: &Address) -> Store {
        Store::open(address, options(&self.clock, &self.spans)).await.expect("a migrated store opens")
    }

    /// Consumers at work as a node of this name.
    pub fn start(&self, node: &str, consumers: Vec<Consumer>) -> Engine {
        let Some(source) = &self.source else { return self.start_work(node, consumers.into()) };
        let work = Work::new().broker(source.broker.clone());
        let work = consumers.into_iter().fold(work, |work, consumer| work.consumer(consumer.from_stream(STREAM)));
        self.start_work(node, work)
    }

    /// Where events are committed.
    pub fn producer(&self) -> &Store {
        self.source.as_ref().map_or(&self.store, |source| &source.store)
    }

    /// Where events are committed, as its owner opens it.
    pub fn producers_owner(&self) -> &Address {
        self.source.as_ref().map_or(&self.owner, |source| &source.owner)
    }

    /// Spans that were told of where events are committed, and where they are handled.
    pub fn all_spans(&self) -> Vec<SpanRecord> {
        let told = |spans: &Told| spans.lock().expect("nobody panics").clone();
        let committed = self.source.as_ref().map(|source| told(&source.spans)).unwrap_or_default();
        [committed, told(&self.spans)].concat()
    }

    /// The broker that feeds consumers, where one does.
    pub fn broker(&self) -> Option<&Broker> {
        self.source.as_ref().map(|source| &source.broker)
    }

    /// Where it is, for another process.
    pub fn broker_url(&self) -> Option<String> {
        self.source.as_ref().map(|source| source.server.url())
    }

    /// The number that a consumer has saved who has finished everything.
    pub async fn end(&self) -> Seq {
        let end = self.producer().relay().end().await.expect("it can be asked");
        let Some(Source { relay, broker, .. }) = &self.source else { return end.seq };
        relay.published(STREAM, end).await.expect("it is published");
        broker.last_sequence(STREAM).await.expect("it can be asked").cast_signed()
    }

    /// Waits until an engine has done everything that is there to do, what is on its way to its stream included.
    pub async fn settle(&self, engine: &Engine) {
        if let Some(Source { store, relay, .. }) = &self.source {
            let end = store.relay().end().await.expect("it can be asked");
            relay.published(STREAM, end).await.expect("it is published");
        }
        engine.settle().await.expect("it settles");
    }

    /// Waits until a consumer has finished what was committed up to a position.
    pub async fn wait_for(&self, engine: &Engine, consumer: &str, position: Position) -> Result<(), Error> {
        let Some(Source { relay, broker, .. }) = &self.source else { return engine.wait_for(consumer, position).await };
        relay.published(STREAM, position).await?;
        let last = broker.last_sequence(STREAM).await.expect("it can be asked").cast_signed();
        let incarnation = self.store.relay().incarnation();
        engine.wait_for(consumer, Position { incarnation, seq: last }).await
    }

    /// Any work as a node of this name.
    pub fn start_work(&self, node: &str, work: Work) -> Engine {
        self.start_over(&self.store, node, work)
    }

    /// Any work as a node of this name that reads ahead within other bounds.
    pub fn start_ahead(&self, node: &str, work: Work, ahead: ReadAhead) -> Engine {
        let random = Arc::new(SeededRandom::new(5));
        let options = Options { clock: self.clock.clone(), random, ahead, ..Options::new(node, Residency::Eu) };
        Engine::start(&self.store, work, options)
    }

    /// Any work over another store.
    pub fn start_over(&self, store: &Store, node: &str, work: Work) -> Engine {
        static STARTS: AtomicU32 = AtomicU32::new(7);
        // A process that is started again draws other numbers.
        let random = Arc::new(SeededRandom::new(STARTS.fetch_add(1, Ordering::Relaxed).into()));
        let options = Options { clock: self.clock.clone(), random, ..Options::new(node, Residency::Eu) };
        Engine::start(store, work, options)
    }

    /// Lets the leases of everybody run out, after what a process that is gone had handed to the store is done: done later, it
    /// would hold a lease that never ends by a clock that stands still.
    pub async fn lease_runs_out(&self) {
        for _ in 0..10 {
            self.store.leave("nobody").await.expect("it can be told");
        }
        self.leases_grow_older(LEASE_MS + 1);
    }

    /// Lets so many milliseconds pass for all leases.
    pub fn leases_grow_older(&self, ms: i64) {
        let Some(database) = &self.database else { return self.clock.advance_ms(ms) };
        for table in ["lane", "node"] {
            let sql = format!("UPDATE karwan.{table} SET until = until - interval '{ms} ms'");
            database.psql(&sql).expect("a superuser can do that");
        }
    }

    /// What is parked has been so for longer, by the store's clock.
    pub async fn parked_for_hours(&self, hours: i64) {
        self.sql(
            &format!("UPDATE parked SET at = at - {hours} * 3600000"),
            &format!("UPDATE karwan.parked SET at = at - interval '{hours} hours'"),
        );
    }

    /// Changes something behind everybody's back, in a file or in a database.
    pub fn sql(&self, in_a_file: &str, in_a_database: &str) {
        match &self.address {
            Address::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).expect("it can be opened");
                connection.execute_batch(in_a_file).expect("it can be changed");
            }
            Address::Postgres(_) => {
                let database = self.database.as_ref().expect("it is Postgres");
                database.psql(in_a_database).expect("a superuser can do that");
            }
        }
    }

    /// Changes the log where events are committed behind everybody's back; a stream gets it anew as it is then.
    pub async fn rewrite_log(&mut self, in_a_file: &str, in_a_database: &str) {
        let Some(Source { store, owner: Address::Sqlite(path), broker, .. }) = &self.source else {
            return self.sql(in_a_file, in_a_database);
        };
        let connection = rusqlite::Connection::open(path).expect("it can be opened");
        connection.execute_batch(in_a_file).expect("it can be changed");
        broker.delete_stream(STREAM).await.expect("it can be deleted");
        let relay = Relay::new(broker.clone(), Topology::of(&shop::catalogue()));
        let relay = self.start_over(store, "relay-anew", Work::new().relay(relay));
        let source = self.source.as_mut().expect("it is there");
        std::mem::replace(&mut source.relay, relay).stop().await;
        self.end().await;
    }

    /// What is in the log came so many days earlier.
    pub async fn log_grows_older(&self, days: i64) {
        let Some(database) = &self.database else { return self.clock.advance_ms(days * 24 * 60 * 60 * 1000) };
        // The engine's clock is not the server's: rows are old by both.
        let now = karwan_envelope::time::Clock::now(&*self.clock).unix_ms() / 1000;
        let sql = format!("UPDATE karwan.log SET at = to_timestamp({now}) - interval '{days} days'");
        database.psql(&sql).expect("a superuser can do that");
    }

    /// A copy of the store as it is now.
    pub async fn back_up(&self) -> Copy {
        match &self.address {
            Address::Sqlite(path) => {
                let out = path.with_extension("copy");
                backup::backup(&self.address, &out, &|_, _, _| {}).await.expect("it can be copied");
                Copy::File(out)
            }
            Address::Postgres(_) => {
                let database = self.database.as_ref().expect("it is Postgres");
                Copy::Dump(database.server().dump(database.name()).expect("it can be dumped"))
            }
        }
    }

    /// The store that an operator restores from a copy, in another place; nothing is published from it yet.
    pub async fn restored(&self, copy: Copy) -> Self {
        let (owner, address, from, database) = match copy {
            Copy::File(from) => {
                let address = Address::Sqlite(from.with_extension("restored"));
                (address.clone(), address, from, None)
            }
            Copy::Dump(dump) => {
                let server = karwan_testkit::postgres::postgres().or_skip().expect("there is one");
                let (database, former) = (server.database(), self.database.as_ref().expect("it is Postgres"));
                server.restore(database.name(), &dump).expect("it can be restored");
                let node = database.url_as(&format!("app_{}", former.name()));
                let address = |url: String| url.parse::<Address>().expect("a URL is an address");
                (address(database.url()), address(node), PathBuf::new(), Some(database))
            }
        };
        backup::restore(&owner, &from, false, &|_, _, _| {}).await.expect("it can be restored");
        let (store, clock, spans) = (self.open(&address).await, self.clock.clone(), self.spans.clone());
        Self { source: None, store, address, clock, database, owner, spans, _folder: None }
    }

    /// Places an order for the n-th tenant and changes it so many times.
    pub async fn order(&self, tenant: u64, id: &str, changes: i64) -> Done<()> {
        let context = shop::context(tenant);
        let placed = self.producer().unit(&context, async |tx: TenantTx| {
            tx.put(shop::order(id));
            let changed = (1..=changes).map(|revision| shop::changed(id, revision));
            tx.emit(shop::placed(id));
            tx.emit(changed.collect::<Facts>());
            Ok::<_, Error>(())
        });
        placed.await.expect("a new order can be placed")
    }

    /// Changes an order once more.
    pub async fn change(&self, tenant: u64, id: &str, revision: i64) -> Done<()> {
        let context = shop::context(tenant);
        let changed = self.producer().unit(&context, async |tx: TenantTx| {
            let order: shop::Order = tx.get(id).await?;
            tx.put(order);
            tx.emit(shop::changed(id, revision));
            Ok::<_, Error>(())
        });
        changed.await.expect("an order can be changed")
    }

    /// What a handler noted down under a name, in order.
    pub async fn notes(&self, tenant: u64, id: &str) -> String {
        let unit = self.store.tenant(&shop::context(tenant));
        let notes: Option<shop::Order> = unit.peek(&format!("notes-{id}")).await.expect("a document can be read");
        notes.map(|notes| notes.note).unwrap_or_default()
    }

    /// Lets a restored store call the outside and publish, as an operator does.
    pub async fn resume_store(&self) {
        crate::hand::operator(self).resume_store(&crate::hand::who()).await.expect("it can be resumed");
    }

    /// Lets a suspended consumer go on, as an operator does.
    pub async fn resume(&self, consumer: &str) -> bool {
        karwan_store::consumer::resume(&self.owner, consumer).await.expect("it can be resumed")
    }

    /// How many events of a consumer with four lanes are parked.
    pub async fn parked(&self, consumer: &str) -> usize {
        let mut parked = 0;
        for number in 0..4 {
            let lane = Lane { consumer: consumer.to_owned(), number, of: 4 };
            parked += self.store.parked(&lane, 1000).await.expect("what is parked can be asked for").len();
        }
        parked
    }

    /// Drops the beginning of the log, whatever stretch it lies in.
    pub async fn raise_floor(&self, floor: i64) {
        let Some(database) = &self.database else {
            assert_eq!(self.store.drop_log(floor).await.expect("it can be dropped"), floor);
            return;
        };
        let sql = format!("DELETE FROM karwan.log WHERE seq <= {floor}; UPDATE karwan.meta SET floor = {floor}");
        database.psql(&sql).expect("a superuser can do that");
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
