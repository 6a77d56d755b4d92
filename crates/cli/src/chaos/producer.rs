//! A process whose walkers walk: every step is in the ledger before it is tried, and again when its commit was answered.
//!
//! A step whose answer was lost is tried again until it is answered: its intent makes it one. A producer that was killed begins
//! with what its ledger says was tried.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use karwan::{Context, Error, Store, TenantTx};
use tokio::task::JoinSet;

use super::ledger::{Ledger, Line, Pen};
use super::platform::{self, WALK, below};
use crate::exit::Failure;
use crate::output;

/// Walkers of a producer.
const WALKERS: u64 = 12;
/// Units of a producer that are under way at once.
const TASKS: u64 = 4;
const TENANTS: u64 = 3;
/// Between two steps of a task, at most.
const EVERY_MS: u64 = 150;
/// How long a store that is away is left alone.
const AWAY: Duration = Duration::from_millis(100);
/// One step in so many is decided against at the last moment, as a step that nobody must ever see.
const WITHDRAWN: u64 = 20;
/// Added to such a step.
const GHOST: u64 = 1 << 40;
/// How long a producer that was told to end tries to finish what it began.
const FINISH_MAX: Duration = Duration::from_secs(120);

/// The tenant of a walker.
pub fn tenant(walker: &str) -> u64 {
    1 + walker.rsplit('-').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or_default() % TENANTS
}

/// Why a unit ended without a commit.
enum Halt {
    Withdrawn,
    Store(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Produces until it is told that it is enough.
pub async fn run(store: Store, name: &str, ledger: &Path, enough: Arc<AtomicBool>) -> Result<(), Failure> {
    let (known, pen) = (Ledger::of(ledger)?, Pen::open(ledger)?);
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let walkers = (task..WALKERS).step_by(TASKS as usize).map(|number| {
            let walker = format!("{name}-{number}");
            let walked = known.0.get(&walker).copied().unwrap_or_default();
            // What was tried and not answered is tried again; where nothing is open this is the last step, once more.
            (walker, walked.tried.max(1))
        });
        let feet = Feet { store: store.clone(), pen: pen.clone(), enough: enough.clone() };
        tasks.spawn(feet.walk(walkers.collect()));
    }
    let told = enough.clone();
    let late = async move {
        while !told.load(Ordering::Relaxed) {
            tokio::time::sleep(AWAY).await;
        }
        tokio::time::sleep(FINISH_MAX).await;
    };
    tokio::select! {
        done = tasks.join_all() => done.into_iter().collect(),
        () = late => Err(anyhow::anyhow!("{name} could not finish what it began").into()),
    }
}

/// What a task walks with.
struct Feet {
    store: Store,
    pen: Pen,
    enough: Arc<AtomicBool>,
}

impl Feet {
    async fn walk(self, mut walkers: Vec<(String, u64)>) -> Result<(), Failure> {
        loop {
            for (walker, next) in &mut walkers {
                if below(WITHDRAWN) == 0 {
                    self.withdraw(walker, *next).await;
                }
                self.pen.note(Line::Try, walker, *next)?;
                self.step(walker, *next).await;
                self.pen.note(Line::Done, walker, *next)?;
                *next += 1;
                if self.enough.load(Ordering::Relaxed) {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(below(EVERY_MS))).await;
            }
        }
    }

    /// Until its commit was answered.
    async fn step(&self, walker: &str, step: u64) {
        let context = context(walker);
        loop {
            let taken = self.store.unit(&context, async |tx: TenantTx| platform::walk(&tx, walker, step).await);
            match taken.await {
                Ok(_) => return,
                Err(error) => {
                    output::note(&format!("step {step} of {walker}: {error}"));
                    tokio::time::sleep(AWAY).await;
                }
            }
        }
    }

    /// Decides a step and withdraws it. Whether the store was there does not matter.
    async fn withdraw(&self, walker: &str, step: u64) {
        let context = context(walker);
        let decided = self.store.unit(&context, async |tx: TenantTx| {
            platform::walk(&tx, walker, GHOST + step).await?;
            Err::<(), Halt>(Halt::Withdrawn)
        });
        match decided.await {
            Err(Halt::Store(error)) => output::note(&format!("a step of {walker} that is withdrawn: {error}")),
            Ok(_) | Err(Halt::Withdrawn) => {}
        }
    }
}

fn context(walker: &str) -> Context {
    karwan::context(WALK, tenant(walker))
}
