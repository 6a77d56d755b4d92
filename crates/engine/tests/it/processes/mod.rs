//! Real processes that share a consumer on Postgres, and what becomes of it when they are killed, stopped, continued,
//! restarted and replaced.
//!
//! `cargo xtask slow processes --rounds N` repeats what is done to them N times; here it is done a few times.

mod effects;
mod meeting;
mod node;
mod rolling;
mod shapes;
mod signals;
mod vendor;
pub mod yard;
mod zombie;

use std::time::{Duration, Instant};

use karwan_store::write_set::slot;
use tokio::time::sleep;

use self::node::below;
use self::yard::{Judgement, Process, Yard, until};
use crate::shop::tenant_bits;

/// Not a test of its own: what [`Yard::start`] starts.
#[test]
fn a_program_that_the_other_tests_start() {
    if let Ok(program) = std::env::var(node::PROGRAM) {
        node::run(&program);
    }
}

/// How often something is done to processes: so often here, or as the slow suite says.
fn rounds(here: u64) -> u64 {
    std::env::var("KARWAN_PROCESS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(here)
}

/// Runs a test over a fresh store; no Postgres is a skipped test.
fn with_yard<F: Future<Output = ()>>(test: impl FnOnce(Yard) -> F) {
    over(Yard::new(), test);
}

/// The same with consumers that a stream feeds.
fn with_fed_yard<F: Future<Output = ()>>(test: impl FnOnce(Yard) -> F) {
    over(Yard::fed(), test);
}

fn over<F: Future<Output = ()>>(yard: impl Future<Output = Option<Yard>>, test: impl FnOnce(Yard) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime can be made").block_on(async {
        if let Some(yard) = yard.await {
            Box::pin(test(yard)).await;
        }
    });
}

const KEYS: usize = 24;
const EVERY: Duration = Duration::from_millis(8);

#[test]
fn killed_again_and_again_processes_lose_double_and_reorder_nothing() {
    with_yard(async |yard| {
        let programs = ["a", "b"].map(|name| yard.program(name));
        let mut processes = programs.each_ref().map(|program| yard.start(program));
        for process in &processes {
            yard.at_work(process).await;
        }
        let producing = yard.produce(KEYS, EVERY);
        for round in 0..rounds(3) {
            sleep(Duration::from_millis(500 + below(1_500))).await;
            let victim = usize::from(round % 2 == 1);
            let heir = yard.start(&programs[victim]);
            std::mem::replace(&mut processes[victim], heir).kill();
        }
        producing.end().await;
        yard.unharmed().await;
    });
}

/// Whoever wakes learns of its lost lanes with its next beat. With beats that are answered late, it works on for a while.
const LATE_BEATS: &str = "CREATE OR REPLACE FUNCTION karwan.late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         PERFORM pg_sleep(0.7);
         RETURN NEW;
     END $$;
     CREATE OR REPLACE TRIGGER late BEFORE INSERT ON karwan.node FOR EACH ROW EXECUTE FUNCTION karwan.late();";

/// Stops each of two processes in turn for about the life of a lease, while their handlers are slow and often fail.
async fn stopped_for_about_a_lease(yard: &Yard, rounds: u64) -> Judgement {
    /// Not so many that slow handlers need long after the end.
    const EVERY: Duration = Duration::from_millis(25);
    let programs = ["a", "b"].map(|name| {
        let program = yard.program(name);
        node::Program { slow_ms: 300, failing: 50, ..program }
    });
    yard.psql(LATE_BEATS);
    let processes: [Process; 2] = programs.each_ref().map(|program| yard.start(program));
    for process in &processes {
        yard.at_work(process).await;
    }
    let producing = yard.produce(KEYS, EVERY);
    for round in 0..rounds {
        sleep(Duration::from_millis(700 + below(600))).await;
        let victim = &processes[usize::from(round % 2 == 1)];
        victim.signal("STOP");
        sleep(Duration::from_millis(programs[0].lease_ms + 50 + below(501))).await;
        victim.signal("CONT");
    }
    producing.end().await;
    yard.judged().await
}

#[test]
fn stopped_for_about_a_lease_processes_lose_double_and_reorder_nothing() {
    with_yard(async |yard| {
        let judgement = stopped_for_about_a_lease(&yard, rounds(3)).await;
        println!("{judgement:?}");
        assert!(judgement.committed > 0, "nothing was committed");
        assert_eq!(judgement.harm(), 0, "{judgement:?}");
    });
}

/// The time is printed, not judged: it depends on the machine.
#[test]
fn what_a_killed_process_held_is_taken_over() {
    with_yard(async |yard| {
        let quick = |name| node::Program {
            slow_ms: 0,
            failing: 0,
            lease_ms: karwan_engine::LEASE_MS.unsigned_abs(),
            ..yard.program(name)
        };
        let (one, other) = (yard.start(&quick("a")), yard.start(&quick("b")));
        yard.at_work(&one).await;
        yard.at_work(&other).await;
        let lanes = yard.psql("SELECT lane FROM karwan.lane WHERE holder LIKE 'a#%'");
        let lanes: Vec<u16> = lanes.lines().map(|lane| lane.parse().expect("a number")).collect();
        let keys = (0..).map(|number| format!("k-{number}"));
        let key = keys.clone().find(|key| lanes.contains(&(slot(tenant_bits(1), key) % 8))).expect("there are enough");
        let killed = Instant::now();
        one.kill();
        yard.change(&key, 1).await;
        until("its handling", async || yard.attempts().iter().any(|line| line.starts_with("b ")).then_some(())).await;
        println!("from kill -9 to the first event handled by the survivor: {:?}", killed.elapsed());
        yard.unharmed().await;
    });
}
