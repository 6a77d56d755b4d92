//! A rate that is sustained: connections, plans and lanes are not there at first, and whatever takes them up is not what is measured.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// One in so many events is done before time is taken.
const FIRST: u64 = 10;

/// Counts events, and knows when the first of them were done.
pub struct Sustained {
    events: u64,
    done: AtomicU64,
    began: OnceLock<Instant>,
}

impl Sustained {
    pub fn of(events: u64) -> Self {
        Self { events, done: AtomicU64::new(0), began: OnceLock::new() }
    }

    fn first(&self) -> u64 {
        self.events / FIRST
    }

    /// So many more are done.
    pub fn note(&self, events: u64) {
        let done = self.done.fetch_add(events, Ordering::Relaxed) + events;
        if done >= self.first() {
            self.began.get_or_init(Instant::now);
        }
    }

    /// Events a second since then, where all are done now.
    pub fn rate(&self) -> f64 {
        let began = *self.began.get_or_init(Instant::now);
        (self.events - self.first()) as f64 / began.elapsed().as_secs_f64()
    }
}
