//! A simulation: the engine and the store as they are shipped, several processes over one file, and one seed that decides
//! everything else.
//!
//! Time is the runtime's, paused: it passes only when nobody has anything to do. SQLite's work is done on the task that asks
//! for it, so there is one thread, and the same seed gives the same run to the last call ([`Report::trace`]). Every call
//! to the store waits, fails before it is made, loses its answer, or is the last thing its process did, and so may be whatever
//! comes from a channel or a task, before anybody acts on it; processes crash, stop and are paused for about the life of a
//! lease at any instant besides. A crash drops the engine and the store of
//! its process: all its tasks, whatever they wait for, and all its connections.
//!
//! In the end the faults stop, and what was done is compared with the log, the commands and the vendor's own books: every
//! event handled once per consumer or given up, in order per key, no update lost, every deadline fired once, every charge
//! made once.
//!
//! Not here: Postgres. One writer cannot show a wrong horizon; real servers do (`store`'s tests). Nor the relay and what streams
//! feed: they need a broker, whose answers come over sockets and by the real clock, and a broker of our own would be a mock.
//! Their calls and receives pass the same hook: the engine's tests end a process at each of them with a real server
//! (`broken_off`), and `karwan chaos` kills processes, broker and database at any instant.

mod calls;
mod chance;
mod desk;
mod node;
mod platform;
mod vendor;
mod verdict;
mod work;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use karwan_store::Address;
pub use karwan_store::simulation::Rule;

pub use crate::simulation::calls::Undisturbed;
use crate::simulation::verdict::Observer;
use crate::simulation::world::World;

/// How long after the faults nothing may be as it was and still be unfinished, by the simulated clock: longer than any
/// lease, limit or wait for another try.
const STUCK: Duration = Duration::from_secs(40);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(3);
/// How long it must stay so: longer than a lease, so that everybody who was late has come.
const QUIET: Duration = Duration::from_secs(7);

/// What is simulated.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// A rule of the store that is left out.
    pub without: Option<Rule>,
    /// Whether the trace is kept line by line.
    pub tell: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// What is not as it must be; nothing in a run that is well.
    pub violations: Vec<String>,
    /// All that happened as one number: the same in every run of a seed.
    pub trace: u64,
    /// All that happened line by line, where that was asked for.
    pub lines: Vec<String>,
    /// How much of what happened.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Runs one seed from beginning to end, on this thread.
pub fn run(plan: &Plan) -> Report {
    let file = File::fresh();
    karwan_store::simulation::leave_out(plan.without);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let report = runtime.expect("a runtime without threads can be made").block_on(async {
        let world = Arc::new(World::new(plan.seed, file.path.clone(), plan.tell));
        let violations = play(&world).await;
        let (trace, lines, counts) = world.traced();
        Report { violations, trace, lines, counts }
    });
    karwan_store::simulation::leave_out(None);
    report
}

async fn play(world: &Arc<World>) -> Vec<String> {
    let nodes: Vec<_> =
        (1..=world.weather.nodes).map(|number| tokio::spawn(node::live(world.clone(), number))).collect();
    let clients: Vec<_> = (0..desk::CLIENTS).map(|client| tokio::spawn(desk::send(world.clone(), client))).collect();
    for client in clients {
        client.await.expect("a client does not break");
    }
    world.wait(2_000, 12_000).await;
    world.calm_down();
    let mut lives = Vec::new();
    for node in nodes {
        lives.push(node.await.expect("a process does not break"));
    }
    let mut observer = Observer::new(world.open(Arc::new(Undisturbed)).await);
    let (mut before, mut since) = (Vec::new(), tokio::time::Instant::now());
    loop {
        let violations = observer.violations(world).await;
        if violations.is_empty() {
            break;
        }
        if violations != before {
            (before, since) = (violations, tokio::time::Instant::now());
        } else if since.elapsed() > STUCK {
            return before;
        }
        tokio::time::sleep(LOOK).await;
    }
    tokio::time::sleep(QUIET).await;
    observer.violations(world).await
}

/// A migrated file of its own, gone with this.
struct File {
    path: PathBuf,
}

impl File {
    fn fresh() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        static MIGRATED: OnceLock<Vec<u8>> = OnceLock::new();
        let name = |number: u64| std::env::temp_dir().join(format!("karwan-sim-{}-{number}.db", std::process::id()));
        let bytes = MIGRATED.get_or_init(|| {
            let file = Self { path: name(0) };
            let address = Address::Sqlite(file.path.clone());
            let (catalogue, kinds) = (platform::catalogue(), platform::kinds());
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
            let migrated = runtime.block_on(karwan_store::migrate(&address, &[&catalogue], &kinds, &|_, _, _| {}));
            migrated.expect("an empty file can be migrated");
            std::fs::read(&file.path).expect("a file that was made can be read")
        });
        let file = Self { path: name(COUNT.fetch_add(1, Ordering::Relaxed) + 1) };
        std::fs::write(&file.path, bytes).expect("the temporary directory takes a small file");
        file
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            // Some of them were never made.
            drop(std::fs::remove_file(name));
        }
    }
}
