//! What becomes of every call to the store, and of whoever hears of something: the seed decides before a call takes effect and
//! after, and before anybody acts on what came from a channel or a task.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use karwan_engine::LEASE_MS;
use karwan_store::simulation::{Fate, Lost, Simulation};

use crate::simulation::node::Life;
use crate::simulation::world::World;

/// The calls of one process, or of clients, which lose answers and never crash.
pub struct Calls {
    pub world: Arc<World>,
    /// Who calls: the calls of a life that has ended never return.
    pub life: Weak<Life>,
    pub name: String,
    pub crashes: bool,
}

/// The calls of somebody who only looks, and to whom nothing happens.
pub struct Undisturbed;

impl Simulation for Undisturbed {
    fn before(&self, _: &'static str) -> Fate {
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, _: &'static str) -> Fate {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

#[derive(Debug, Clone, Copy)]
enum Decision {
    Goes,
    Yields(u64),
    Waits(u64),
    Fails,
    Crashes,
}

impl Simulation for Calls {
    fn before(&self, call: &'static str) -> Fate {
        self.fate(call, Side::Before)
    }

    fn after(&self, call: &'static str) -> Fate {
        self.fate(call, Side::After)
    }

    fn heard(&self, what: &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (world, life, crashes) = (self.world.clone(), self.life.upgrade(), self.crashes);
        let decision = self.decide_heard();
        world.note(&self.name, &format!("hears: {what} {decision:?}"));
        world.count("receives");
        world.count(what);
        Box::pin(async move {
            let Some(life) = life.filter(|life| !life.gone.load(Ordering::Relaxed)) else {
                return if crashes { std::future::pending().await } else { late(decision).await };
            };
            if let Decision::Crashes = decision {
                world.count("crashes at a receive");
                life.crash(&world);
                return std::future::pending().await;
            }
            late(decision).await;
            life.while_paused().await;
            if life.gone.load(Ordering::Relaxed) {
                std::future::pending().await
            }
        })
    }
}

impl Calls {
    fn fate(&self, call: &'static str, side: Side) -> Fate {
        let (world, life) = (self.world.clone(), self.life.upgrade());
        let of = call.trim_start_matches("karwan_store::sqlite::Sqlite::");
        let of = of.split("::").next().unwrap_or(of);
        let decision = self.decide(of, side);
        world.note(&self.name, &format!("{of} {side:?} {decision:?}"));
        world.count("calls");
        if of == "tenants" {
            world.count("sweeps");
        }
        let crashes = self.crashes;
        Box::pin(async move {
            let Some(life) = life.filter(|life| !life.gone.load(Ordering::Relaxed)) else {
                return if crashes { std::future::pending().await } else { decided(&world, decision).await };
            };
            if let Decision::Crashes = decision {
                life.crash(&world);
                return std::future::pending().await;
            }
            let decided = decided(&world, decision).await;
            life.while_paused().await;
            if life.gone.load(Ordering::Relaxed) {
                return std::future::pending().await;
            }
            decided
        })
    }

    /// What becomes of somebody who has heard of something: nothing of it fails, but it may be late, or the last that it heard.
    fn decide_heard(&self) -> Decision {
        let (chance, weather) = (&self.world.chance, &self.world.weather);
        if self.world.is_calm() {
            Decision::Goes
        } else if self.crashes && chance.once_in(weather.crash_heard) {
            Decision::Crashes
        } else if chance.once_in(4) {
            Decision::Yields(chance.between(1, 4))
        } else {
            Decision::Goes
        }
    }

    fn decide(&self, call: &str, side: Side) -> Decision {
        let (chance, weather) = (&self.world.chance, &self.world.weather);
        if self.world.is_calm() {
            return Decision::Waits(chance.between(10, 40));
        }
        let fails = match side {
            Side::Before => weather.refused,
            Side::After => weather.lost,
        };
        if self.crashes && chance.once_in(weather.crash) {
            Decision::Crashes
        } else if chance.once_in(fails) {
            Decision::Fails
        } else if self.crashes && chance.once_in(if call == "beat" { weather.late_beat } else { weather.stalled }) {
            let lease = LEASE_MS.cast_unsigned();
            Decision::Waits(chance.between(lease * 3 / 4, lease * 3 / 2))
        } else if chance.once_in(weather.slow) {
            Decision::Waits(chance.between(20, 500))
        } else if chance.once_in(2) {
            Decision::Waits(chance.between(1, 40))
        } else if chance.once_in(2) {
            Decision::Yields(chance.between(1, 4))
        } else {
            Decision::Goes
        }
    }
}

async fn decided(world: &World, decision: Decision) -> Result<(), Lost> {
    late(decision).await;
    if let Decision::Fails = decision {
        world.count("failed calls");
        return Err(Lost);
    }
    Ok(())
}

async fn late(decision: Decision) {
    match decision {
        Decision::Goes | Decision::Crashes | Decision::Fails => {}
        Decision::Yields(times) => {
            for _ in 0..times {
                tokio::task::yield_now().await;
            }
        }
        Decision::Waits(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
    }
}
