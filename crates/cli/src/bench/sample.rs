//! A small platform that is measured: items are placed, and a consumer counts them.
//!
//! An item's event is about 1 KB with its envelope. Handling one is a claim, one document read and written, and one event
//! emitted.

use std::ops::Range;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use karwan::registry::{Event, events};
use karwan::{Catalogue, Consumer, Document, Error, Facts, Kind, KindType, Platform, Received, Service, Store};
use karwan::{TenantTx, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The service that places and counts.
pub const SERVICE: &str = "load-service";
/// Its consumer.
pub const CONSUMER: &str = "load-service.count";
/// How many lanes it has.
pub const LANES: u16 = 8;
/// So many events share a unit where they are prepared.
const A_UNIT: u64 = 250;
const NOTE: &str = "Two nights, breakfast for two, a cot for the child, late arrival announced, no smoking, high floor if there \
    is one; the invoice goes to the company, the deposit was paid by card, and the taxi from the airport is to be ordered.";

/// Something was placed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    crate = "karwan::registry",
    subject = "bench.load.item.placed.v1",
    owner = "load-service",
    retention = "year",
    key = "{item}",
    idempotency = "{item}:{serial}"
)]
pub struct Placed {
    /// Which item.
    pub item: String,
    /// Which time.
    pub serial: u64,
    /// When it was about to be committed, in microseconds after 1970.
    pub sent_us: u64,
    /// Words, for the size.
    note: String,
}

/// It was counted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    crate = "karwan::registry",
    subject = "bench.load.item.counted.v1",
    owner = "load-service",
    retention = "year",
    key = "{item}",
    idempotency = "{item}:{serial}"
)]
struct Counted {
    /// Which item.
    item: String,
    /// Which time.
    serial: u64,
    /// So far.
    times: u64,
    /// Words, for the size.
    note: String,
}

/// How often an item was placed.
#[derive(Clone, Serialize, Deserialize)]
struct Tally {
    item: String,
    times: u64,
}

impl Document for Tally {
    const KIND: Kind = Kind::named("tally");
    fn id(&self) -> String {
        self.item.clone()
    }
}

static PLATFORM: Platform =
    Platform::plain("bench", &[Service { name: SERVICE, token: "load" }], || events![Placed, Counted].into());

/// How many events share a transaction: more are quicker, and let others wait longer.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct BatchSize {
    /// How many events at most share a transaction
    #[arg(long, default_value_t = Self::default().batch, value_parser = batch_size)]
    pub batch: usize,
}

impl Default for BatchSize {
    /// As of a consumer that says nothing.
    fn default() -> Self {
        Self { batch: 32 }
    }
}

fn batch_size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (1..=256).contains(size));
    size.ok_or_else(|| format!("`{text}` is not a number from 1 to 256"))
}

/// Its catalogue.
pub fn catalogue() -> Result<Arc<Catalogue>, Failure> {
    Ok(Arc::new(Catalogue::of(&PLATFORM).map_err(anyhow::Error::from)?))
}

/// Its documents.
pub fn kinds() -> Vec<KindType> {
    vec![KindType::of::<Tally>()]
}

/// An open store of it.
pub async fn open(address: &karwan_store::Address, connections_max: usize) -> Result<Store, Failure> {
    let options = karwan_store::Options::new(catalogue()?, kinds());
    Ok(Store::open(address, karwan_store::Options { connections_max, ..options }).await?)
}

/// Now, in microseconds after 1970: processes of one machine agree about it.
#[expect(clippy::disallowed_methods, reason = "finer than a clock's milliseconds, and measured for real")]
pub fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// One of an item's events.
pub fn placed(item: String, serial: u64) -> Placed {
    Placed { item, serial, sent_us: now_us(), note: NOTE.to_owned() }
}

/// The consumer, which tells somebody of everything before it counts it.
pub fn consumer(seen: impl Fn(&Received<Placed>) + Send + Sync + 'static) -> Consumer {
    let count = move |tx: TenantTx, placed: Received<Placed>| {
        seen(&placed);
        count(tx, placed.event)
    };
    Consumer::new(SERVICE, "count").lanes(LANES).batch(64).on(count)
}

async fn count(tx: TenantTx, placed: Placed) -> Result<Verdict, Error> {
    let Placed { item, serial, note, .. } = placed;
    let before: Option<Tally> = tx.find(&item).await?;
    let times = before.map_or(0, |tally| tally.times) + 1;
    tx.put(Tally { item: item.clone(), times });
    tx.emit(Counted { item, serial, times, note });
    Ok(Verdict::Done)
}

/// Places one item's event, as a tenant; answers when the commit was answered.
pub async fn place(store: &Store, tenant: u64, item: &str, serial: u64) -> Result<(), Failure> {
    let context = karwan::context(SERVICE, tenant);
    let unit = store.unit(&context, |tx| {
        tx.emit(placed(item.to_owned(), serial));
        std::future::ready(Ok::<(), Error>(()))
    });
    unit.await?;
    Ok(())
}

/// One of the log, for its size.
pub async fn envelope(store: &Store) -> Result<String, Failure> {
    let relay = store.relay();
    let page = relay.page(relay.start().await?, &karwan_store::log::Filter::default(), 1).await?;
    Ok(page.rows.into_iter().next().map(|row| row.envelope).unwrap_or_default())
}

/// Events to be consumed: serials of items, spread over tenants.
#[derive(Clone)]
pub struct Preload {
    /// Every serial is used once in a store.
    pub serials: Range<u64>,
    /// From 1.
    pub tenants: u64,
    /// Of each tenant.
    pub items: u64,
}

impl Preload {
    /// Commits them, several units at once.
    pub async fn commit(&self, store: &Store, told: &crate::progress::Progress) -> Result<(), Failure> {
        let mut units = tokio::task::JoinSet::new();
        let mut from = self.serials.start;
        while from < self.serials.end {
            let serials = from..(from + A_UNIT).min(self.serials.end);
            from = serials.end;
            let (store, items) = (store.clone(), self.items);
            let tenant = 1 + (serials.start / A_UNIT) % self.tenants;
            if units.len() >= 4 {
                done(units.join_next().await)?;
            }
            told.advance(serials.end - serials.start);
            units.spawn(async move {
                let context = karwan::context(SERVICE, tenant);
                let unit = store.unit(&context, |tx| {
                    let items = serials.clone().map(|serial| placed(format!("item-{}", serial % items), serial));
                    tx.emit(items.collect::<Facts>());
                    std::future::ready(Ok::<(), Error>(()))
                });
                unit.await.map(|_| ())
            });
        }
        while let Some(unit) = units.join_next().await {
            done(Some(unit))?;
        }
        Ok(())
    }
}

fn done(unit: Option<Result<Result<(), Error>, tokio::task::JoinError>>) -> Result<(), Failure> {
    match unit {
        Some(unit) => Ok(unit.map_err(anyhow::Error::from)??),
        None => Ok(()),
    }
}
