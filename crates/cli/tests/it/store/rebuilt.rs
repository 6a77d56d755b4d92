//! A read model that its consumer builds again while it runs: `karwan consumer rebuild`, on every store.

use std::sync::Arc;

use karwan::engine::{Consumer, Engine, Received, Verdict, Work};
use karwan_envelope::cause::Residency;
use karwan_envelope::ids::Id;
use karwan_envelope::time::Timestamp;
use karwan_registry::Catalogue;
use karwan_store::{Address, Document, Error, Facts, Kind, KindType, Options, Store, TenantTx, migrate};
use karwan_testkit::postgres::Database;
use melmastoon::housekeeping::events::TaskAssigned;
use melmastoon::ids::HousekeepingTaskId;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::runtime::Runtime;

use super::place::context_of;
use crate::folder::Folder;
use crate::karwan::{Answer, karwan};

const BOARD: &str = "staff-service.board";
const SERVICE: &str = "housekeeping-service";
const TASKS: u64 = 300;

/// What the read model says of a task: its version, and how often it was told of one.
#[derive(Clone, Serialize, Deserialize)]
struct Line {
    task: String,
    version: u32,
    times: u32,
}

impl Document for Line {
    const KIND: Kind = Kind::named("line");
    fn id(&self) -> String {
        self.task.clone()
    }
}

/// A store with a consumer at work.
struct Scene {
    /// As an operator opens it.
    owner: String,
    store: Store,
    engine: Option<Engine>,
    runtime: Runtime,
    file: Option<Folder>,
    database: Option<Database<'static>>,
}

fn sqlite() -> Scene {
    let folder = Folder::new();
    let owner = format!("sqlite:{}", folder.name("karwan.db"));
    let mut scene = Scene::new(owner.clone(), &owner, None);
    scene.file = Some(folder);
    scene
}

fn postgres() -> Option<Scene> {
    let database = karwan_testkit::postgres().or_skip()?.database();
    let login = format!("board_{}", database.name());
    database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
    let mut scene = Scene::new(database.url(), &database.url_as(&login), Some(&login));
    scene.database = Some(database);
    Some(scene)
}

impl Scene {
    fn new(owner: String, node: &str, login: Option<&str>) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let catalogue = Arc::new(Catalogue::of(&melmastoon::platform::PLATFORM).expect("it has a catalogue"));
        let store = runtime.block_on(async {
            let (of, kinds) = (owner.parse::<Address>().expect("an address"), vec![KindType::of::<Line>()]);
            migrate(&of, &[&catalogue], &kinds, &|_, _, _| {}).await.expect("it is migrated");
            if let Some(login) = login {
                migrate::grant(&of, login, &migrate::Purpose::Node).await.expect("it is granted");
            }
            Store::open(&node.parse().expect("an address"), Options::new(catalogue, kinds)).await.expect("it opens")
        });
        let board = Consumer::new("staff-service", "board").on(async |tx: TenantTx, got: Received<TaskAssigned>| {
            let task = got.event.task_id.to_string();
            let before: Option<Line> = tx.find(&task).await?;
            let times = before.map_or(0, |line| line.times) + 1;
            tx.put(Line { task, version: got.event.version, times });
            Ok::<_, Error>(Verdict::Done)
        });
        let options = karwan::engine::Options::new("node", Residency::Me);
        let engine = runtime.block_on(async { Engine::start(&store, Work::new().consumer(board.batch(64)), options) });
        Self { owner, store, engine: Some(engine), runtime, file: None, database: None }
    }

    /// Assigns tasks, and waits until the read model has them.
    fn assign(&self, tasks: std::ops::Range<u64>) {
        let context = context_of(SERVICE);
        let unit = self.store.unit(&context, async |tx: TenantTx| {
            tx.emit(tasks.clone().map(assigned).collect::<Facts>());
            Ok::<_, Error>(())
        });
        self.runtime.block_on(unit).expect("it commits");
        let engine = self.engine.as_ref().expect("it runs");
        self.runtime.block_on(engine.settle()).expect("it settles");
    }

    /// Takes one line of the read model away and makes another one wrong, as a bad release does.
    fn spoil(&self, gone: u64, wrong: u64) {
        let context = context_of(SERVICE);
        let unit = self.store.unit(&context, async |tx: TenantTx| {
            tx.get::<Line>(&id(gone)).await?;
            tx.delete::<Line>(&id(gone));
            let line: Line = tx.get(&id(wrong)).await?;
            tx.put(Line { version: 99, ..line });
            Ok::<_, Error>(())
        });
        self.runtime.block_on(unit).expect("it commits");
    }

    /// What the read model says of a task.
    fn line(&self, task: u64) -> Option<(u32, u32)> {
        let found = self.runtime.block_on(self.store.tenant(&context_of(SERVICE)).peek::<Line>(&id(task)));
        found.expect("it can be read").map(|line| (line.version, line.times))
    }

    fn rebuild(&self, more: &[&str]) -> Answer {
        let rebuild = ["consumer", "rebuild", BOARD, "--measure", "--reason", "game day", "--yes"];
        karwan(&[&rebuild, more, &["--store", &self.owner]].concat())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.runtime.block_on(engine.stop());
        }
        // They go when nobody has them open any more.
        drop((self.file.take(), self.database.take()));
    }
}

fn id(task: u64) -> String {
    let id: HousekeepingTaskId = Id::from_bits(task.into());
    id.to_string()
}

fn assigned(task: u64) -> TaskAssigned {
    TaskAssigned {
        task_id: Id::from_bits(task.into()),
        version: 7,
        property_id: Id::from_bits(5),
        room_id: Id::from_bits(6),
        assignee_id: Id::from_bits(8),
        previous_assignee_id: None,
        shift_id: None,
        due_at: None,
        assigned_at: Timestamp::from_unix_ms(1_777_543_200_117),
    }
}

/// Nobody stops for it: whoever runs the consumer is told to begin anew, and does.
fn a_read_model_is_rebuilt_by_its_consumer_while_it_runs_and_the_time_is_printed(scene: &Scene) {
    scene.assign(0..TASKS);
    assert_eq!((scene.line(0), scene.line(TASKS - 1)), (Some((7, 1)), Some((7, 1))));
    scene.spoil(1, 2);
    assert_eq!((scene.line(1), scene.line(2)), (None, Some((99, 1))));
    let printed = scene.rebuild(&[]).exits(0).stdout;
    let words =
        printed.trim_end().strip_prefix(&format!("{BOARD} was rebuilt in ")).and_then(|it| it.split_once(" s: "));
    let (seconds, rest) = words.unwrap_or_else(|| panic!("{printed}"));
    assert!(seconds.parse::<f64>().is_ok_and(|seconds| seconds >= 0.0), "{printed}");
    assert!(rest.starts_with(&format!("{TASKS} events, ")) && rest.ends_with("/s"), "{printed}");
    // It was waited for: nothing is waited for here.
    assert_eq!(scene.line(1), Some((7, 1)), "what was gone is there again");
    for task in (0..TASKS).filter(|task| *task != 1) {
        assert_eq!(scene.line(task), Some((7, 2)), "{task} is handled once more, and right again");
    }
    let told = scene.rebuild(&["--json"]).exits(0).json();
    assert_eq!((&told["consumer"], &told["events"]), (&json!(BOARD), &json!(TASKS)), "{told}");
    let [rebuilt, cleared] = ["rebuiltSeconds", "clearedSeconds"].map(|name| told[name].as_f64());
    assert!(rebuilt.is_some() && rebuilt >= cleared, "{told}");
    assert_eq!((scene.line(1), scene.line(0)), (Some((7, 2)), Some((7, 3))));
    // And it goes on with what is new.
    scene.assign(TASKS..TASKS + 5);
    assert_eq!((scene.line(TASKS + 4), scene.line(0)), (Some((7, 1)), Some((7, 3))));
}

mod sqlite {
    #[test]
    fn a_read_model_is_rebuilt_by_its_consumer_while_it_runs_and_the_time_is_printed() {
        super::a_read_model_is_rebuilt_by_its_consumer_while_it_runs_and_the_time_is_printed(&super::sqlite());
    }
}

mod postgres {
    #[test]
    fn a_read_model_is_rebuilt_by_its_consumer_while_it_runs_and_the_time_is_printed() {
        let Some(scene) = super::postgres() else { return };
        super::a_read_model_is_rebuilt_by_its_consumer_while_it_runs_and_the_time_is_printed(&scene);
    }
}
