//! For tests of one's own: a store that goes with the test, and a clock that the test moves.
//!
//! With [`Engine::settle`](crate::Engine::settle), which returns when nothing is left to do, a test of a whole flow reads
//! from top to bottom: do something, settle, look; move the clock, settle, look again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use karwan_engine::{Consumer, Engine};
use karwan_envelope::cause::Residency;
pub use karwan_envelope::mint::SeededRandom;
pub use karwan_envelope::time::ManualClock;
use karwan_envelope::time::Timestamp;
use karwan_registry::Catalogue;
use karwan_registry::platform::Platform;
use karwan_store::kind::KindType;
use karwan_store::metrics::{Result as Consumed, Subscription};
pub use karwan_store::trace::SpanRecord;
use karwan_store::trace::Spans;
use karwan_store::{Address, Error, Options, Store, migrate};

/// Where the clock of a throw-away store starts: the first instant of 2026.
const START_MS: i64 = 1_767_225_600_000;

/// The store in its folder.
const FILE: &str = "store.db";

/// An empty store in a folder of its own, which goes when this does.
pub struct Throwaway {
    store: Option<Store>,
    clock: Arc<ManualClock>,
    spans: Arc<Mutex<Vec<SpanRecord>>>,
    folder: PathBuf,
}

impl Throwaway {
    /// A store of a platform that keeps these kinds, on SQLite, with nothing in it.
    pub async fn new(catalogue: Arc<Catalogue>, kinds: Vec<KindType>) -> Result<Self, Error> {
        Self::opened(catalogue, kinds, |options| options).await
    }

    /// The same; `change` has the last word on how the store is opened.
    pub async fn opened(
        catalogue: Arc<Catalogue>,
        kinds: Vec<KindType>,
        change: impl FnOnce(Options) -> Options,
    ) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("karwan-throwaway-{}-{number}", std::process::id()));
        // A folder that a killed run left is not this test's. Whatever keeps it from being made is told by the migration.
        drop(std::fs::remove_dir_all(&folder));
        drop(std::fs::create_dir_all(&folder));
        let address = Address::Sqlite(folder.join(FILE));
        migrate(&address, &[&catalogue], &kinds, &|_, _, _| {}).await?;
        let clock = Arc::new(ManualClock::at(Timestamp::from_unix_ms(START_MS)));
        let spans = Arc::new(Mutex::new(Vec::new()));
        let heard = spans.clone();
        let hear: Spans = Arc::new(move |span| heard.lock().expect("nothing panics while holding it").push(span));
        let options = Options { clock: clock.clone(), spans: Some(hear), ..Options::new(catalogue, kinds) };
        let store = Some(Store::open(&address, change(options)).await?);
        Ok(Self { store, clock, spans, folder })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("it is there until this is dropped")
    }

    /// Where it is.
    pub fn address(&self) -> Address {
        Address::Sqlite(self.folder.join(FILE))
    }

    /// Its clock, which stands still until it is moved.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// The spans of everything that happened so far: one trace a request, through every service that it reached.
    pub fn spans(&self) -> Vec<SpanRecord> {
        self.spans.lock().expect("nothing panics while holding it").clone()
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

/// The replay contract of a consumer: every event of its own that `given` brings about is handled, and delivered a second
/// time it is a no-op. [`consumers!`](crate::consumers) makes one such test for every consumer on the list.
///
/// The second delivery is stopped by the claims, and no handler runs again. So the contract shows that each event is handled and
/// claimed, that nothing is handled without a claim, and that nothing is told past the unit of the event; not that a handler
/// would do the same once more, which nobody asks of it as long as claims are kept.
///
/// # Panics
/// Where the contract does not hold, with what is wrong.
pub fn replay<F>(platform: &'static Platform, kinds: Vec<KindType>, consumer: Consumer, given: impl FnOnce(Store) -> F)
where
    F: Future<Output = Result<(), Error>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let held = runtime.block_on(async {
        let catalogue = Catalogue::of(platform).map_err(|cause| cause.to_string())?;
        let place = Throwaway::new(Arc::new(catalogue), kinds).await.map_err(|error| error.to_string())?;
        replay_in(&place, &consumer, given).await
    });
    if let Err(why) = held {
        panic!("the replay contract of {} does not hold: {why}", consumer.name());
    }
}

/// The same in an empty store that is there, such as one that was [opened](Throwaway::opened) in another way; an error says what is
/// wrong.
pub async fn replay_in<F>(place: &Throwaway, consumer: &Consumer, given: impl FnOnce(Store) -> F) -> Result<(), String>
where
    F: Future<Output = Result<(), Error>>,
{
    let told = |error: Error| error.to_string();
    let store = place.store();
    given(store.clone()).await.map_err(told)?;
    deliver(place, consumer).await?;
    let end = store.relay().end().await.map_err(told)?;
    let counts = |result| -> Vec<u64> {
        let by = |topic| Subscription { service: consumer.service(), topic, consumer: consumer.name() };
        consumer.subjects().map(|topic| store.metrics().count(&by(topic), result)).collect()
    };
    let handled = counts(Consumed::Ok);
    let unseen = consumer.subjects().zip(&handled).find(|(_, handled)| **handled == 0);
    // A handler of many subjects does with all of them what it does with one.
    let seen_one = consumer.takes_each() && handled.iter().any(|handled| *handled > 0);
    if let Some((topic, _)) = unseen.filter(|_| !seen_one) {
        return Err(format!("no event of {topic} was handled; bring one about"));
    }
    if counts(Consumed::Error).iter().any(|errors| *errors > 0) {
        return Err("one of its events failed".to_owned());
    }
    store.seek(consumer.name(), 0).await.map_err(told)?;
    deliver(place, consumer).await?;
    if counts(Consumed::Ok) != handled {
        return Err("an event that was delivered twice was handled twice".to_owned());
    }
    if counts(Consumed::Noop).iter().zip(&handled).any(|(passed_over, handled)| passed_over < handled) {
        return Err("not every event was delivered twice".to_owned());
    }
    if store.relay().end().await.map_err(told)? != end {
        return Err("delivering twice has brought about more events".to_owned());
    }
    Ok(())
}

/// Runs the consumer alone until nothing is left to do.
async fn deliver(place: &Throwaway, consumer: &Consumer) -> Result<(), String> {
    let engine = Engine::start(place.store(), vec![consumer.clone()], place.engine());
    engine.settle().await.map_err(|error| error.to_string())?;
    engine.stop().await;
    Ok(())
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        drop(self.store.take());
        // Where it cannot be removed, the system's own cleaning does it.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
