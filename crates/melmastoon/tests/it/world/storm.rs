//! What becomes of the calls that services make of their store: the seed has some come late, some fail before they took effect or
//! lose their answer, and from one on none ever returns, which is a crash.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use karwan::envelope::mint::Random;
use karwan::store::simulation::{Fate, Lost, Simulation};
use karwan::testing::SeededRandom;

/// See the module.
pub struct Storm {
    chance: SeededRandom,
    calm: AtomicBool,
    /// Sides of calls until the crash.
    left: AtomicU64,
}

impl Storm {
    pub fn new(seed: u64) -> Self {
        Self { chance: SeededRandom::new(seed), calm: AtomicBool::new(false), left: AtomicU64::new(u64::MAX) }
    }

    /// From here on nothing goes wrong.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    /// So many more of its calls are heard of.
    pub fn ends_after(&self, calls: u64) {
        self.left.store(calls, Ordering::Relaxed);
    }

    /// Whether it goes on.
    fn lives(&self) -> bool {
        let next = |left: u64| Some(if left == u64::MAX { left } else { left.saturating_sub(1) });
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) != Ok(0)
    }

    fn fate(&self) -> Fate {
        if !self.lives() {
            return Box::pin(std::future::pending());
        }
        if self.calm.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(Ok(())));
        }
        let late = Duration::from_millis(1 + self.chance.bits() % 30);
        match self.chance.bits() % 1_000 {
            0..4 => Box::pin(std::future::ready(Err(Lost))),
            4..60 => Box::pin(async move {
                tokio::time::sleep(late).await;
                Ok(())
            }),
            60..260 => Box::pin(async {
                tokio::task::yield_now().await;
                Ok(())
            }),
            _ => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl Simulation for Storm {
    fn before(&self, _: &'static str) -> Fate {
        self.fate()
    }

    fn after(&self, _: &'static str) -> Fate {
        self.fate()
    }

    fn heard(&self, _: &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if self.lives() { Box::pin(std::future::ready(())) } else { Box::pin(std::future::pending()) }
    }
}
