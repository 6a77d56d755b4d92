//! This process's share of every consumer's lanes: taken, kept alive, worked on, and given up.

use std::sync::Arc;
use std::time::Duration;

use karwan_store::Error;
use karwan_store::consumer::Lane as LaneName;
use karwan_store::write_set::LaneHold;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::consumer::Consumer;
use crate::engine::{BEAT, IDLE, LEASE_MS, STORE_DOWN, Stopping, pause};
use crate::lane::Lane;
use crate::node::Shared;
use crate::worker::{Stop, Worker};

/// Positions are saved at most so often: exactly-once rests on the claims.
const SAVE: Duration = Duration::from_millis(200);
/// The most parked events of one lane that are kept in memory.
const PARKED_MAX: usize = 10_000;

/// See the module.
pub(crate) struct Leases {
    pub shared: Arc<Shared>,
    pub consumers: Vec<Arc<Consumer>>,
    pub node: String,
    pub stopping: Arc<Stopping>,
}

impl Leases {
    /// Says that this process lives, and keeps its share of every consumer's lanes, until it is stopped.
    pub async fn keep(self) {
        let mut workers = JoinSet::new();
        while !self.stopping.is_now() {
            match self.shared.store.beat(&self.node, LEASE_MS).await {
                Ok(living) => {
                    for consumer in &self.consumers {
                        if let Err(error) = self.share(consumer, living.len(), &mut workers).await {
                            tracing::warn!(consumer = %consumer.name, error = %error, "lanes cannot be taken");
                        }
                    }
                }
                Err(error) => tracing::warn!(error = %error, "the store cannot be told that this process lives"),
            }
            pause(BEAT, &self.stopping).await;
            while workers.try_join_next().is_some() {}
        }
        while workers.join_next().await.is_some() {}
    }

    /// Gives up lanes beyond this process's share, and takes free ones up to it.
    async fn share(&self, consumer: &Arc<Consumer>, living: usize, workers: &mut JoinSet<()>) -> Result<(), Error> {
        let wanted = usize::from(consumer.lanes).div_ceil(living.max(1));
        let held = self.shared.held(&consumer.name);
        for extra in held.iter().skip(wanted) {
            release(&self.shared, extra).await;
        }
        let mut missing = wanted.saturating_sub(held.len());
        for number in 0..consumer.lanes {
            if missing == 0 || self.stopping.is_now() {
                break;
            }
            if held.iter().any(|hold| hold.lane == number) {
                continue;
            }
            let name = LaneName { consumer: consumer.name.clone(), number };
            let Some(taken) = self.shared.store.take_lane(&name, &self.node, LEASE_MS).await? else { continue };
            missing -= 1;
            let hold = LaneHold { consumer: name.consumer.clone(), lane: number, epoch: taken.epoch };
            // After the epoch went up: whoever held it before parks nothing any more.
            let parked = self.shared.store.parked(&name, PARKED_MAX).await?;
            let work = self.shared.admit(consumer, &hold, taken, Lane::with_parked(parked));
            let worker = Worker { shared: self.shared.clone(), consumer: consumer.clone(), hold };
            workers.spawn(work_on(worker, work, self.stopping.clone()));
        }
        Ok(())
    }
}

/// Gives a lane up, with the position that it has reached.
pub(crate) async fn release(shared: &Shared, hold: &LaneHold) {
    let position = shared.moved(hold);
    shared.dismiss(hold);
    let saved = shared.store.save_position(hold, position.unwrap_or_default(), true).await;
    if let Err(error) = saved {
        tracing::warn!(consumer = %hold.consumer, lane = hold.lane, error = %error, "a lane was not released; its lease runs out");
    }
}

async fn work_on(worker: Worker, work: Arc<Notify>, stopping: Arc<Stopping>) {
    let (shared, hold) = (worker.shared.clone(), worker.hold.clone());
    let mut saved = tokio::time::Instant::now();
    while !stopping.is_now() && shared.held(&hold.consumer).contains(&hold) {
        match step(&worker).await {
            Ok(true) => {}
            Ok(false) => drop(tokio::time::timeout(IDLE, work.notified()).await),
            Err(Stop::LaneLost) => return shared.dismiss(&hold),
            Err(Stop::StoreDown(error)) => {
                tracing::warn!(consumer = %hold.consumer, error = %error, "the store is away; its events are tried again");
                shared.give_back(&hold);
                pause(STORE_DOWN, &stopping).await;
            }
        }
        if saved.elapsed() >= SAVE
            && let Some(position) = shared.moved(&hold)
        {
            match shared.store.save_position(&hold, position, false).await {
                Ok(()) => shared.saved(&hold, position),
                Err(Error::LaneLost { .. }) => return shared.dismiss(&hold),
                Err(error) => tracing::warn!(consumer = %hold.consumer, error = %error, "a position was not saved"),
            }
            saved = tokio::time::Instant::now();
        }
    }
    if stopping.is_now() {
        release(&shared, &hold).await;
    }
}

/// One batch, or the parked events that are due; whether there was anything to do.
async fn step(worker: &Worker) -> Result<bool, Stop> {
    let retried = worker.retry_due().await?;
    let rows = worker.shared.lane(&worker.hold, |lane| lane.take(worker.consumer.batch));
    if rows.is_empty() {
        return Ok(retried);
    }
    worker.handle(&rows).await?;
    Ok(true)
}
