//! One simulated process: it starts, lives until it is crashed, stopped or paused, and starts again under another name.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use karwan_engine::{Engine, LEASE_MS, Options};
use karwan_envelope::cause::Residency;
use karwan_envelope::mint::SeededRandom;
use karwan_store::Store;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::simulation::calls::Calls;
use crate::simulation::work;
use crate::simulation::world::World;

/// One life of a process, with all its tasks and connections.
pub struct Life {
    pub gone: AtomicBool,
    running: Mutex<Option<(Store, Engine)>>,
    paused_until: Mutex<Option<Instant>>,
    ended: Notify,
    name: String,
    /// Alive as long as anything of this life has the store.
    store: Mutex<Weak<Calls>>,
}

/// How a life goes on.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Crash,
    Stop,
    Pause(u64),
}

impl Life {
    async fn start(world: &Arc<World>, name: String) -> Arc<Self> {
        let life = Arc::new(Self {
            gone: AtomicBool::new(false),
            running: Mutex::default(),
            paused_until: Mutex::default(),
            ended: Notify::new(),
            name: name.clone(),
            store: Mutex::default(),
        });
        let calls = Calls { world: world.clone(), life: Arc::downgrade(&life), name: name.clone(), crashes: true };
        let calls = Arc::new(calls);
        *life.store.lock().expect("nothing panics while holding it") = Arc::downgrade(&calls);
        let store = world.open(calls).await;
        let skew = world.weather.skew_ms;
        let wrong_ms = world.chance.between(0, 2 * skew).cast_signed() - skew.cast_signed();
        let options = Options {
            clock: world.clock(wrong_ms),
            random: Arc::new(SeededRandom::new(world.chance.seed())),
            ahead: world.weather.ahead,
            ..Options::new(&name, Residency::Eu)
        };
        world.note(&name, "starts");
        let engine = Engine::start(&store, work::work(world), options);
        *life.running.lock().expect("nothing panics while holding it") = Some((store, engine));
        life
    }

    /// Gone at once: whatever its tasks wait for, they do not get it, and its connections are closed.
    pub fn crash(&self, world: &World) {
        world.note(&self.name, "crashes");
        world.count("crashes");
        self.gone.store(true, Ordering::Relaxed);
        drop(self.running.lock().expect("nothing panics while holding it").take());
        self.ended.notify_one();
    }

    /// Gone after it has finished what is under way; it may crash meanwhile.
    async fn stop(&self, world: &World) {
        world.note(&self.name, "stops");
        world.count("stops");
        let running = self.running.lock().expect("nothing panics while holding it").take();
        let Some((_store, engine)) = running else { return };
        tokio::select! {
            biased;
            () = self.ended.notified() => {}
            () = engine.stop() => {}
        }
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Nothing of it moves, and the world goes on: its calls that are under way arrive when it wakes up.
    fn pause(&self, world: &World, ms: u64) {
        world.note(&self.name, &format!("is paused for {ms} ms"));
        world.count("pauses");
        let until = Instant::now() + Duration::from_millis(ms);
        *self.paused_until.lock().expect("nothing panics while holding it") = Some(until);
    }

    pub async fn while_paused(&self) {
        let until = *self.paused_until.lock().expect("nothing panics while holding it");
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
    }

    /// Lives until it is gone, or until the world is calm.
    async fn go_on(&self, world: &World) {
        while !world.is_calm() {
            let next = world.wait(200, world.weather.life_ms);
            tokio::select! {
                biased;
                () = self.ended.notified() => return,
                () = next => {}
            }
            if world.is_calm() {
                return;
            }
            let lease = LEASE_MS.cast_unsigned();
            let paused = world.chance.between(lease - 500, lease + 1_500);
            match world.chance.pick(&[Turn::Crash, Turn::Stop, Turn::Pause(paused)]) {
                Turn::Crash => return self.crash(world),
                Turn::Stop => return self.stop(world).await,
                Turn::Pause(ms) => self.pause(world, ms),
            }
        }
    }
}

/// A process and its lives, until the world is calm; answers the last one, which is at work.
pub async fn live(world: Arc<World>, number: u64) -> Arc<Life> {
    let mut lives = 0;
    loop {
        lives += 1;
        let life = Life::start(&world, format!("n{number}.{lives}")).await;
        life.go_on(&world).await;
        if !life.gone.load(Ordering::Relaxed) {
            return life;
        }
        world.wait(1, 3_000).await;
        if life.store.lock().expect("nothing panics while holding it").strong_count() > 0 {
            world.wrong(format!("{} is gone, and somebody still has its connections", life.name));
        }
    }
}
