//! What the parts of a running node share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use karwan_envelope::profile::Profile;
use karwan_sandbox::Stage;
use karwan_store::{Address, Store};

use super::demo::Furnished;
use super::load::Progress;
use super::publishing::Link;
use super::tally::Tally;

/// How far a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It does not work yet.
    Starting,
    /// It works.
    Working,
    /// It finishes what it has begun.
    Draining,
}

/// A running node.
pub struct Node {
    /// Its store.
    pub store: Store,
    /// Where that is.
    pub address: Address,
    /// What whoever asks over the control API must know.
    pub token: String,
    /// The vendors' sandboxes.
    pub stage: Stage,
    /// The services that it runs; none where it runs all.
    pub services: Vec<String>,
    /// The tenants of the demo, where it has them.
    pub houses: Vec<Furnished>,
    /// How envelopes of the log are written.
    pub profiles: Vec<Profile>,
    /// The load that runs or ran last.
    pub load: Mutex<Progress>,
    /// Sagas that began and ended, not yet among the store's counts.
    pub tally: Arc<Tally>,
    /// Where it is written down which bookings are stalled on purpose.
    pub stalls: PathBuf,
    /// How far it is.
    pub phase: PhaseCell,
    /// The broker that it publishes to, where it has one.
    pub broker: Option<Link>,
}

/// A phase that is entered.
pub struct PhaseCell(AtomicU8);

impl Default for PhaseCell {
    fn default() -> Self {
        Self(AtomicU8::new(Phase::Starting as u8))
    }
}

impl Node {
    /// How far it is.
    pub fn phase(&self) -> Phase {
        match self.phase.0.load(Ordering::Relaxed) {
            0 => Phase::Starting,
            1 => Phase::Working,
            _ => Phase::Draining,
        }
    }

    /// It is so far now.
    pub fn enter(&self, phase: Phase) {
        self.phase.0.store(phase as u8, Ordering::Relaxed);
    }
}
