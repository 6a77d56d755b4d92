//! A store with a consumer at work, whose handler fails where a test says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use karwan::engine::{Answered, Call, Consumer, Engine, Performer, Policy, Received, Refusal, Verdict, Work};
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, Id, TenantId};
use karwan_envelope::time::Timestamp;
use karwan_registry::Catalogue;
use karwan_store::{Error, Facts, Options, Store, TenantTx};
use karwan_testkit::postgres::Database;
use melmastoon::housekeeping::events::TaskAssigned;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::folder::Folder;
use crate::karwan::{Answer, karwan};
use crate::store::place::{TENANT, file};

/// The consumer.
pub const PAGER: &str = "notification-service.pager";
/// Its subject.
pub const ASSIGNED: &str = "melmastoon.housekeeping.task.assigned.v1";
/// Whom tasks are assigned to; personal.
pub const ASSIGNEE: u128 = 0x0190_c2f0_0000_7000_8000_0000_00a5_5169;

/// What the handler says of a task's events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// They are given up at once.
    Dead,
    /// They wait for a person.
    Park,
}

/// What the handler goes by, and what it did.
#[derive(Default)]
struct Book {
    moods: BTreeMap<u64, Mood>,
    handled: Vec<(u64, u32)>,
    calls: u32,
    vendor_is_up: bool,
}

/// A store, an engine over it, and the operator's address of it.
pub struct Scene {
    pub address: String,
    runtime: Runtime,
    store: Store,
    engine: Option<Engine>,
    book: Arc<Mutex<Book>>,
    file: Option<Folder>,
    database: Option<Database<'static>>,
}

/// On a fresh file.
pub fn sqlite() -> Scene {
    let (folder, address) = file();
    Scene::new(address.clone(), &address, Some(folder), None)
}

/// On a fresh database: the engine under a login of its own, the operator as the owner.
pub fn postgres() -> Option<Scene> {
    let database = karwan_testkit::postgres().or_skip()?.database();
    let login = format!("node_{}", database.name());
    database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
    karwan(&["migrate", "--store", &database.url(), "--grant", &login]).exits(0);
    let node = database.url_as(&login);
    Some(Scene::new(database.url(), &node, None, Some(database)))
}

impl Scene {
    fn new(address: String, node: &str, file: Option<Folder>, database: Option<Database<'static>>) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let catalogue = Catalogue::of(&melmastoon::platform::PLATFORM).expect("it has a catalogue");
        let options = Options::new(Arc::new(catalogue), Vec::new());
        let opened = runtime.block_on(Store::open(&node.parse().expect("an address"), options));
        let store = opened.expect("a migrated store opens");
        let mut scene = Self { address, runtime, store, engine: None, book: Arc::default(), file, database };
        scene.restart();
        scene
    }

    /// Stops the engine and starts another one, which takes every lane anew.
    pub fn restart(&mut self) {
        self.stop();
        let work = Work::new().consumer(pager(&self.book)).performer(caller(&self.book));
        let options = karwan::engine::Options::new("node", Residency::Me);
        let _inside = self.runtime.enter();
        self.engine = Some(Engine::start(&self.store, work, options));
        self.settle();
    }

    /// The engine stops, and nobody handles anything.
    pub fn stop(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.runtime.block_on(engine.stop());
        }
    }

    /// Waits until nothing is left to do.
    pub fn settle(&self) {
        let engine = self.engine.as_ref().expect("it runs");
        self.runtime.block_on(engine.settle()).expect("it settles");
    }

    /// The handler fails with every event of a task.
    pub fn fails(&self, task: u64, mood: Mood) {
        self.book().moods.insert(task, mood);
    }

    /// Whatever made handlers and calls fail is mended.
    pub fn mended(&self) {
        let mut book = self.book();
        book.moods.clear();
        book.vendor_is_up = true;
    }

    /// What the handler was run with: task and version, in order; a run whose commit was refused is among them.
    pub fn handled(&self) -> Vec<(u64, u32)> {
        self.book().handled.clone()
    }

    /// How often the vendor was called.
    pub fn calls(&self) -> u32 {
        self.book().calls
    }

    fn book(&self) -> std::sync::MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics")
    }

    /// Commits versions of a task, and waits until they are handled or given up.
    pub fn assign(&self, task: u64, versions: &[u32]) {
        let context = context();
        let unit = self.store.unit(&context, |tx| {
            tx.emit(versions.iter().map(|version| assigned(task, *version)).collect::<Facts>());
            std::future::ready(Ok::<(), Error>(()))
        });
        self.runtime.block_on(unit).expect("it commits");
        if self.engine.is_some() {
            self.settle();
        }
    }

    /// Records a call to the outside that the vendor refuses for good.
    pub fn call(&self, key: &str) {
        let context = context();
        let unit = self.store.unit(&context, |tx| {
            tx.effect("page", key, &"Zarina");
            std::future::ready(Ok::<(), Error>(()))
        });
        self.runtime.block_on(unit).expect("it commits");
        self.settle();
    }

    /// Runs a command over this store.
    #[track_caller]
    pub fn karwan(&self, args: &[&str]) -> Answer {
        karwan(&[args, &["--store", &self.address]].concat())
    }

    /// Begins a command over this store, for somebody who kills it.
    pub fn spawn(&self, args: &[&str]) -> std::process::Child {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_karwan"));
        command.args(args).args(["--store", &self.address]).stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.spawn().expect("the binary starts")
    }

    /// The letters, as JSON.
    #[track_caller]
    pub fn letters(&self, args: &[&str]) -> Vec<Value> {
        let answer = self.karwan(&[&["dlq", "list", "--format", "json"], args].concat()).exits(0);
        answer.json().as_array().expect("a list").clone()
    }

    /// The event of the only letter that these flags mean.
    #[track_caller]
    pub fn only(&self, args: &[&str]) -> String {
        let letters = self.letters(args);
        assert_eq!(letters.len(), 1, "{letters:?}");
        letters[0]["event"].as_str().expect("an event").to_owned()
    }

    /// The recorded actions, as JSON, latest first.
    #[track_caller]
    pub fn actions(&self) -> Vec<Value> {
        let answer = self.karwan(&["dlq", "actions", "--format", "json"]).exits(0);
        answer.json().as_array().expect("a list").clone()
    }

    /// Runs a statement in the database itself, written as Postgres names things; what a program cannot do, a test can.
    pub fn sql(&self, sql: &str) {
        if let Some(database) = &self.database {
            database.psql(sql).expect("a superuser may");
            return;
        }
        let file = self.address.strip_prefix("sqlite:").expect("a file");
        let connection = rusqlite::Connection::open(file).expect("it is there");
        connection.execute_batch(&sql.replace("karwan.", "").replace("_id", "")).expect("it runs");
    }

    /// The view of the documents' table says the same as the command; a file has no such view.
    pub fn view_agrees(&self, expected: &str) {
        let Some(database) = &self.database else { return };
        let sql = "SELECT attempts, last_error, published_at IS NOT NULL FROM karwan.outbox ORDER BY occurred_at";
        let told = database.psql(sql).expect("a superuser may");
        assert_eq!(told, expected);
    }

    /// A path for files of this test.
    pub fn folder(&self) -> Folder {
        Folder::new()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop();
        // The file goes when nobody has it open any more.
        drop(self.file.take());
    }
}

/// The key of a task, as people write it.
pub fn key(task: u64) -> String {
    format!("{}:{}", TenantId::from_bits(tenant()), task_id(task))
}

fn task_id(task: u64) -> melmastoon::ids::HousekeepingTaskId {
    Id::from_bits(task.into())
}

fn tenant() -> u128 {
    uuid::Uuid::parse_str(TENANT).expect("a UUID").as_u128()
}

fn pager(book: &Arc<Mutex<Book>>) -> Consumer {
    let book = book.clone();
    let consumer =
        Consumer::new("notification-service", "pager").on(move |_: TenantTx, got: Received<TaskAssigned>| {
            let task = u64::try_from(got.event.task_id.bits()).expect("tests count from 1");
            let mut book = book.lock().expect("nobody panics");
            let verdict = match book.moods.get(&task) {
                Some(Mood::Dead) => Verdict::Dead("impossible state".to_owned()),
                Some(Mood::Park) => Verdict::Park("no connection to the pager".to_owned()),
                None => {
                    book.handled.push((task, got.event.version));
                    Verdict::Done
                }
            };
            std::future::ready(Ok::<_, Error>(verdict))
        });
    consumer.lanes(1).batch(1).policy(Policy { attempts_max: 1, ..Policy::default() })
}

fn caller(book: &Arc<Mutex<Book>>) -> Performer {
    let book = book.clone();
    let call = move |_: Call<String>| {
        let mut book = book.lock().expect("nobody panics");
        book.calls += 1;
        let answer =
            if book.vendor_is_up { Ok("paged".to_owned()) } else { Err(Refusal::Never("no such pager".to_owned())) };
        std::future::ready(answer)
    };
    let outcome = |_: TenantTx, _: Answered<String, String>| std::future::ready(Ok::<_, Error>(()));
    Performer::new("notification-service", "page", call, outcome)
}

fn context() -> Context {
    Context {
        tenant: Tenant::One(TenantId::from_bits(tenant())),
        cause: Cause::root(CorrelationId::from_bits(tenant())),
        actor: Actor { kind: ActorKind::Service, id: "housekeeping-service".to_owned() },
        producer: Producer {
            service: "housekeeping-service".into(),
            instance: "test".into(),
            commit: "test".into(),
            region: None,
        },
        residency: Residency::Me,
    }
}

fn assigned(task: u64, version: u32) -> TaskAssigned {
    TaskAssigned {
        task_id: task_id(task),
        version,
        property_id: Id::from_bits(5),
        room_id: Id::from_bits(6),
        assignee_id: Id::from_bits(ASSIGNEE),
        previous_assignee_id: None,
        shift_id: None,
        due_at: None,
        assigned_at: Timestamp::from_unix_ms(1_777_543_200_117),
    }
}
