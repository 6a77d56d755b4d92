//! A small platform that is put through trouble: walkers take steps; a guide follows them from the log of their own database,
//! a watch follows them from a stream, into another one.
//!
//! Whoever follows tells of every step it applied with an event of its own, in the transaction of the claim. A number of chance
//! stands in it: a step that were applied twice would be told twice.

use std::sync::Arc;
use std::time::Duration;

use karwan::envelope::mint::{OsRandom, Random as _};
use karwan::registry::{Event, events};
use karwan::{Catalogue, Consumer, Document, Error, Facts, Kind, KindType, Platform, Policy, Received, Service, Store};
use karwan::{TenantTx, Verdict};
use karwan_store::Address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The service whose walkers walk.
pub const WALK: &str = "walk-service";
/// Follows them in their own database.
pub const GUIDE: &str = "guide-service";
/// Follows them from another database.
pub const WATCH: &str = "watch-service";
/// What the guide and the watch do.
const FOLLOW: &str = "follow";
/// The stream that the watch is fed from.
pub const STREAM: &str = "WALK";
/// The stream of what the guide tells.
pub const GUIDE_STREAM: &str = "GUIDE";

/// Out of a hundred attempts so many fail, and park their key. Not so many that a consumer takes itself for broken.
const FAILING: u64 = 10;
/// A handler takes up to so long,
const QUICK_MS: u64 = 6;
/// and one in so many
const SLOW: u64 = 12;
/// up to so long: somebody who is stopped in it wakes as one who lost its lane.
const SLOW_MS: u64 = 250;
/// How long a parked step waits at most.
const PARKED_MS: i64 = 400;
/// Every so many steps a walker rests: two topics share a stream and a key.
const REST: u64 = 3;
const LANES: u16 = 8;
const BATCH: usize = 16;
const CONNECTIONS_MAX: usize = 8;

/// A walker took a step.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    crate = "karwan::registry",
    subject = "chaos.walk.walker.stepped.v1",
    owner = "walk-service",
    retention = "year",
    key = "{walker}",
    idempotency = "{walker}:{step}"
)]
pub struct Stepped {
    /// Who.
    pub walker: String,
    /// Which step, from 1.
    pub step: u64,
}

/// A walker rested, which counts as a step.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    crate = "karwan::registry",
    subject = "chaos.walk.walker.rested.v1",
    owner = "walk-service",
    retention = "year",
    key = "{walker}",
    idempotency = "{walker}:{step}"
)]
pub struct Rested {
    /// Who.
    pub walker: String,
    /// Which step, from 1.
    pub step: u64,
}

/// The guide followed a step.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    crate = "karwan::registry",
    subject = "chaos.guide.walker.followed.v1",
    owner = "guide-service",
    retention = "year",
    key = "{walker}",
    idempotency = "{walker}:{step}:{chance}"
)]
struct Followed {
    /// Whom.
    walker: String,
    /// Which step.
    step: u64,
    /// Another number every time.
    chance: u32,
}

/// The watch saw a step.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    crate = "karwan::registry",
    subject = "chaos.watch.walker.seen.v1",
    owner = "watch-service",
    retention = "year",
    key = "{walker}",
    idempotency = "{walker}:{step}:{chance}"
)]
struct Seen {
    /// Whom.
    walker: String,
    /// Which step.
    step: u64,
    /// Another number every time.
    chance: u32,
}

/// How far a walker is.
#[derive(Clone, Serialize, Deserialize)]
struct Walker {
    walker: String,
    steps: u64,
}

impl Document for Walker {
    const KIND: Kind = Kind::named("walker");
    fn id(&self) -> String {
        self.walker.clone()
    }
}

/// How far a walker was followed.
#[derive(Clone, Serialize, Deserialize)]
pub struct Trail {
    walker: String,
    /// The step that was applied last.
    pub last: u64,
    /// How many were applied.
    pub count: u64,
}

impl Document for Trail {
    const KIND: Kind = Kind::named("trail");
    fn id(&self) -> String {
        self.walker.clone()
    }
}

static SERVICES: &[Service] = &[
    Service { name: WALK, token: "walk" },
    Service { name: GUIDE, token: "guide" },
    Service { name: WATCH, token: "watch" },
];
static PLATFORM: Platform = Platform::plain("chaos", SERVICES, || events![Stepped, Rested, Followed, Seen].into());

/// Its catalogue.
pub fn catalogue() -> Result<Arc<Catalogue>, Failure> {
    Ok(Arc::new(Catalogue::of(&PLATFORM).map_err(anyhow::Error::from)?))
}

/// Its documents.
pub fn kinds() -> Vec<KindType> {
    vec![KindType::of::<Walker>(), KindType::of::<Trail>()]
}

/// An open store of it.
pub async fn open(address: &Address) -> Result<Store, Failure> {
    let options = karwan_store::Options::new(catalogue()?, kinds());
    Ok(Store::open(address, karwan_store::Options { connections_max: CONNECTIONS_MAX, ..options }).await?)
}

/// A number below a bound.
pub fn below(bound: u64) -> u64 {
    OsRandom.bits() % bound.max(1)
}

/// Takes a step: the walker's document and the event about it. The same step twice is one.
pub async fn walk(tx: &TenantTx, walker: &str, step: u64) -> Result<(), Error> {
    // Read, so that it may be written over.
    let _before: Option<Walker> = tx.find(walker).await?;
    let name = walker.to_owned();
    tx.put(Walker { walker: name.clone(), steps: step });
    if step.is_multiple_of(REST) {
        tx.emit(Rested { walker: name, step });
    } else {
        tx.emit(Stepped { walker: name, step });
    }
    Ok(())
}

/// Follows from the log.
pub fn guide() -> Consumer {
    following(Consumer::new(GUIDE, FOLLOW), |walker, step, chance| Followed { walker, step, chance }.into())
}

/// Follows from a stream.
pub fn watch() -> Consumer {
    let consumer = Consumer::new(WATCH, FOLLOW).from_stream(STREAM);
    following(consumer, |walker, step, chance| Seen { walker, step, chance }.into())
}

/// Tells of a step that was applied.
type Tell = fn(String, u64, u32) -> Facts;

fn following(consumer: Consumer, tell: Tell) -> Consumer {
    // Nothing is ever given up: whatever is missing in the end is lost.
    let policy = Policy {
        attempts_max: 1_000_000,
        first_ms: PARKED_MS,
        most_ms: PARKED_MS,
        later_ms: PARKED_MS,
        ..Policy::default()
    };
    consumer
        .on(move |tx: TenantTx, received: Received<Stepped>| {
            apply(tx, received.event.walker, received.event.step, tell)
        })
        .on(move |tx: TenantTx, received: Received<Rested>| apply(tx, received.event.walker, received.event.step, tell))
        .lanes(LANES)
        .batch(BATCH)
        .policy(policy)
}

/// Applies a step; slowly, and not always at once.
async fn apply(tx: TenantTx, walker: String, step: u64, tell: Tell) -> Result<Verdict, Error> {
    let most = if below(SLOW) == 0 { SLOW_MS } else { QUICK_MS };
    tokio::time::sleep(Duration::from_millis(below(most + 1))).await;
    if below(100) < FAILING {
        return Ok(Verdict::Retry("no luck".to_owned()));
    }
    let before: Option<Trail> = tx.find(&walker).await?;
    let count = before.map_or(0, |trail| trail.count) + 1;
    tx.put(Trail { walker: walker.clone(), last: step, count });
    tx.emit(tell(walker, step, below(1 << 31) as u32));
    Ok(Verdict::Done)
}
