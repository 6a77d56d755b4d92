//! For tests of one's own: a store that goes with the test, and a clock that the test moves.
//!
//! With [`Engine::settle`](crate::Engine::settle), which returns when nothing is left to do, a test of a whole flow reads
//! from top to bottom: do something, settle, look; move the clock, settle, look again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use karwan_envelope::cause::Residency;
pub use karwan_envelope::mint::SeededRandom;
pub use karwan_envelope::time::ManualClock;
use karwan_envelope::time::Timestamp;
use karwan_registry::Catalogue;
use karwan_store::kind::KindType;
use karwan_store::{Address, Error, Options, Store, migrate};

/// Where the clock of a throw-away store starts: the first instant of 2026.
const START_MS: i64 = 1_767_225_600_000;

/// An empty store in a folder of its own, which goes when this does.
pub struct Throwaway {
    store: Option<Store>,
    clock: Arc<ManualClock>,
    folder: PathBuf,
}

impl Throwaway {
    /// A store of a platform that keeps these kinds, on SQLite, with nothing in it.
    pub async fn new(catalogue: Arc<Catalogue>, kinds: Vec<KindType>) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("karwan-throwaway-{}-{number}", std::process::id()));
        // A folder that a killed run left is not this test's. Whatever keeps it from being made is told by the migration.
        drop(std::fs::remove_dir_all(&folder));
        drop(std::fs::create_dir_all(&folder));
        let address = Address::Sqlite(folder.join("store.db"));
        migrate(&address, &[&catalogue], &kinds, &|_, _, _| {}).await?;
        let clock = Arc::new(ManualClock::at(Timestamp::from_unix_ms(START_MS)));
        let options = Options { clock: clock.clone(), ..Options::new(catalogue, kinds) };
        let store = Some(Store::open(&address, options).await?);
        Ok(Self { store, clock, folder })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("it is there until this is dropped")
    }

    /// Its clock, which stands still until it is moved.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// What an engine over it is started with: the same clock, and chance that is the same every time.
    pub fn engine(&self) -> karwan_engine::Options {
        let random = Arc::new(SeededRandom::new(1));
        karwan_engine::Options {
            clock: self.clock.clone(),
            random,
            ..karwan_engine::Options::new("test", Residency::Eu)
        }
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        drop(self.store.take());
        // Where it cannot be removed, the system's own cleaning does it.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
