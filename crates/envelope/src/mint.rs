//! Fresh ids from a clock and a random source that are passed in.

use std::cell::RefCell;
use std::sync::Mutex;

use crate::ids::{CorrelationId, EventId, OutboxId};
use crate::time::Clock;

/// Where chance comes from.
pub trait Random: Send + Sync {
    /// Sixty-four random bits.
    fn bits(&self) -> u64;
}

impl<R: Random + ?Sized> Random for std::sync::Arc<R> {
    fn bits(&self) -> u64 {
        (**self).bits()
    }
}

/// The operating system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

/// Numbers that are fetched at once: a call to the operating system for each was a tenth of building an event.
const FETCHED: usize = 32;

thread_local! {
    /// Numbers not given out yet, each once; nothing here survives its thread.
    static POOL: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Random for OsRandom {
    fn bits(&self) -> u64 {
        POOL.with_borrow_mut(|pool| {
            if pool.is_empty() {
                let mut bytes = [0; FETCHED * 8];
                getrandom::fill(&mut bytes).expect("an operating system without entropy cannot run this program");
                let (numbers, _) = bytes.as_chunks::<8>();
                pool.extend(numbers.iter().map(|number| u64::from_ne_bytes(*number)));
            }
            pool.pop().expect("it was filled")
        })
    }
}

/// A reproducible source: the same seed gives the same bits.
#[derive(Debug)]
pub struct SeededRandom {
    state: Mutex<u64>,
}

impl SeededRandom {
    /// The source of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: Mutex::new(seed) }
    }
}

impl Random for SeededRandom {
    /// SplitMix64: passes through all 2^64 states.
    fn bits(&self) -> u64 {
        let mut state = self.state.lock().expect("nothing panics while holding it");
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = *state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

/// Mints UUIDv7 bits that strictly ascend within one process, whatever the clock does.
///
/// Bound: after a clock jump backwards, ids keep the old millisecond and count on in their random part.
pub struct Mint<C, R> {
    clock: C,
    random: R,
    last: Mutex<u128>,
}

const RANDOM_A: u128 = 0xFFF;
const RANDOM_B: u128 = (1 << 62) - 1;

impl<C: Clock, R: Random> Mint<C, R> {
    /// A mint over this clock and this random source.
    pub const fn new(clock: C, random: R) -> Self {
        Self { clock, random, last: Mutex::new(0) }
    }

    /// The clock that it reads.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// A fresh event id.
    pub fn event(&self) -> EventId {
        EventId::from_bits(self.next())
    }

    /// A fresh correlation id, for a request that comes from outside.
    pub fn correlation(&self) -> CorrelationId {
        CorrelationId::from_bits(self.next())
    }

    /// A fresh log row id.
    pub fn outbox(&self) -> OutboxId {
        OutboxId::from_bits(self.next())
    }

    fn next(&self) -> u128 {
        let ms = self.clock.now().unix_ms().max(0) as u128 & 0xFFFF_FFFF_FFFF;
        let random = u128::from(self.random.bits()) << 64 | u128::from(self.random.bits());
        let mut last = self.last.lock().expect("nothing panics while holding it");
        let fresh = layout(ms, random >> 64, random);
        // Inside one millisecond the 74 random bits are counted up as one number.
        *last = if fresh > *last { fresh } else { successor(*last) };
        *last
    }
}

fn layout(ms: u128, random_a: u128, random_b: u128) -> u128 {
    ms << 80 | 7 << 76 | (random_a & RANDOM_A) << 64 | 0b10 << 62 | (random_b & RANDOM_B)
}

fn successor(id: u128) -> u128 {
    let counter = ((id >> 64 & RANDOM_A) << 62 | (id & RANDOM_B)) + 1;
    let carry = counter >> 74;
    layout((id >> 80) + carry, counter >> 62, counter)
}
