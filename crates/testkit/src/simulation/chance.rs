//! One seed decides: how many take part, how bad the weather is, and what becomes of every single call.

use karwan_engine::ReadAhead;
use karwan_envelope::mint::{Random as _, SeededRandom};

/// Decisions, one after another; the same seed decides the same.
#[derive(Debug)]
pub struct Chance(SeededRandom);

impl Chance {
    /// The decisions of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(SeededRandom::new(seed))
    }

    /// A number from one up to another, both included.
    pub fn between(&self, least: u64, most: u64) -> u64 {
        least + self.0.bits() % (most - least + 1)
    }

    /// True once in so many times; never where that is 0.
    pub fn once_in(&self, times: u64) -> bool {
        times > 0 && self.0.bits().is_multiple_of(times)
    }

    /// One of these.
    pub fn pick<T: Copy>(&self, of: &[T]) -> T {
        of[self.between(0, of.len() as u64 - 1) as usize]
    }

    /// A seed for somebody who decides alone.
    pub fn seed(&self) -> u64 {
        self.0.bits()
    }
}

/// How bad it is in one simulation. Every number is *once in so many*, and 0 is never: faults that never come together
/// in one seed do so in another, and some seeds have few of them, so that more is reached.
#[derive(Debug, Clone)]
pub struct Weather {
    /// Simulated processes.
    pub nodes: u64,
    /// Tenants, and orders of each.
    pub tenants: u64,
    /// See `tenants`.
    pub orders: u64,
    /// Commands in all.
    pub commands: u64,
    /// Shares of a consumer's keys.
    pub lanes: u16,
    /// Events that may share a transaction.
    pub batch: usize,
    /// A call after which, or before which, its process is gone.
    pub crash: u64,
    /// Something that is heard of from a channel or a task, before anybody acts on it: its process is gone.
    pub crash_heard: u64,
    /// A call that is not made.
    pub refused: u64,
    /// A call that is made and not answered.
    pub lost: u64,
    /// A call that takes up to half a second.
    pub slow: u64,
    /// A call that takes about as long as a lease.
    pub stalled: u64,
    /// A beat that takes about as long as a lease: its process works on, and has lost its lanes.
    pub late_beat: u64,
    /// How long a client waits between two commands, at most.
    pub gap_ms: u64,
    /// How long a process lives before it is crashed, stopped or paused, at most.
    pub life_ms: u64,
    /// How wrong the clocks of processes are, at most; the store's is right.
    pub skew_ms: u64,
    /// How far processes read ahead: some so little that tenants are read apart, queues are full, and whoever is behind looks
    /// first who has rows at all.
    pub ahead: ReadAhead,
}

impl Weather {
    /// The weather of a seed.
    pub fn of(chance: &Chance) -> Self {
        Self {
            nodes: chance.pick(&[1, 2, 3, 3]),
            tenants: chance.between(1, 3),
            orders: chance.between(1, 4),
            commands: chance.between(8, 40),
            lanes: chance.pick(&[1, 2, 3, 4]),
            batch: chance.pick(&[1, 4, 32]),
            crash: chance.pick(&[0, 300, 1000, 3000]),
            crash_heard: chance.pick(&[0, 300, 1000, 3000]),
            refused: chance.pick(&[0, 0, 50, 300]),
            lost: chance.pick(&[0, 0, 50, 300]),
            slow: chance.pick(&[0, 20, 100]),
            stalled: chance.pick(&[0, 100, 400]),
            late_beat: chance.pick(&[0, 4, 12]),
            gap_ms: chance.pick(&[100, 500, 2_000]),
            life_ms: chance.pick(&[1_500, 5_000, 15_000]),
            skew_ms: chance.pick(&[0, 0, 1_500]),
            ahead: ahead(chance),
        }
    }
}

/// Bounds that are reached with a few dozen events, each in some seeds.
fn ahead(chance: &Chance) -> ReadAhead {
    let most = ReadAhead::default();
    ReadAhead {
        tenant_rows: chance.pick(&[1, 4, most.tenant_rows]),
        consumer_rows: chance.pick(&[2, 8, most.consumer_rows]),
        consumer_bytes: chance.pick(&[2_000, most.consumer_bytes]),
        rows: chance.pick(&[3, 12, most.rows]),
        bytes: chance.pick(&[4_000, most.bytes]),
        page_rows: chance.pick(&[1, 4, most.page_rows]),
        page_bytes: chance.pick(&[2_000, most.page_bytes]),
        sweep_behind: chance.pick(&[2, 10, most.sweep_behind]),
    }
}
