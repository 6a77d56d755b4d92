//! A load that a node puts on itself: bookings of all kinds, how fast they end, and what must hold when all is drained.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use karwan::TenantTx;
use karwan_envelope::ids::CorrelationId;
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_sandbox::{StageOptions, gateway};
use karwan_store::Position;
use karwan_store::log::{Filter, LogRow, PAGE_MAX};
use melmastoon::ids::{PaymentMethodId, VendorWebhookId};
use melmastoon::lock_integration;
use melmastoon::lock_integration::credentials::KeyCredentialIssued;
use melmastoon::lock_integration::vendor::VendorWebhookReceived;
use melmastoon::reservation::commands;
use melmastoon::reservation::{BookingCancelled, BookingConfirmed};
use melmastoon::values::PaymentRail;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use super::demo::{self, Furnished, Room, fresh};
use super::furnishing;
use super::invariants::{self, UnderWay, event};
use super::node::Node;
use super::tries::{ahead, wish};

/// Bookings that are under way at once, where no rate is asked for, and with one.
const UNDER_WAY: usize = 128;
const UNDER_WAY_MAX: usize = 2_000;
/// The most bookings and tenants of one load.
pub const BOOKINGS_MAX: usize = 1_000_000;
/// The most tenants of one load.
pub const TENANTS_MAX: usize = 100;
/// How long one booking may take: beyond the saga's own deadlines something is wrong.
const SAGA_MAX: Duration = Duration::from_secs(120);
/// How long it may drain without anything ending: a load of any size drains as long as it takes.
const STILL_MAX: Duration = Duration::from_secs(180);
/// The same, where only keys wait: the maker of locks is asked again after so long at most.
const KEYS_STILL_MAX: Duration =
    Duration::from_millis(lock_integration::decide::WAIT_MS_MAX.unsigned_abs()).saturating_add(STILL_MAX);
/// How long, and with how many units at most, the log's own rate is measured.
const BASE: Duration = Duration::from_millis(500);
const BASE_UNITS_MAX: u64 = 20_000;
const LOOK: Duration = Duration::from_millis(5);
const LOOK_SLOWLY: Duration = Duration::from_millis(200);

/// What is asked for.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Ask {
    /// How many bookings.
    pub bookings: usize,
    /// Over how many tenants.
    pub tenants: usize,
    /// How many a second; 0 for as many as go.
    pub rate: f64,
    /// Whether vendors take their usual time.
    pub lifelike: bool,
    /// How long the maker of locks takes, in milliseconds, whatever the others do.
    pub lock_ms: Option<u64>,
}

impl Ask {
    /// How long vendors take.
    fn pace(&self) -> StageOptions {
        let pace = if self.lifelike { StageOptions::lifelike() } else { StageOptions::default() };
        match self.lock_ms.map(Duration::from_millis) {
            Some(lock) => StageOptions { locks: (lock, lock), ..pace },
            None => pace,
        }
    }
}

/// How far it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Progress {
    /// None ran.
    #[default]
    Idle,
    /// One runs.
    Running {
        /// What it does.
        doing: String,
        /// How many bookings have ended.
        done: usize,
        /// Of how many.
        total: usize,
    },
    /// One has ended.
    Done(Report),
    /// One could not go on.
    Failed {
        /// Why.
        why: String,
    },
}

/// What came of it; these names are stable.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Bookings that were asked for.
    pub bookings: usize,
    /// Those that were confirmed.
    pub confirmed: usize,
    /// Those that were refused or cancelled, most of them on purpose.
    pub cancelled: usize,
    /// Over how many tenants.
    pub tenants: usize,
    /// From the first confirm to the last end.
    pub seconds: f64,
    /// Bookings that ended confirmed, a second; those that were refused or cancelled are not counted.
    pub sagas_per_second: f64,
    /// Events that entered the log a second, in the same time.
    pub events_per_second: f64,
    /// Events that entered the log a second just before, by units that do nothing else.
    pub base: f64,
    /// Events a second under the load, by that base.
    pub ratio: f64,
    /// From the guest's confirm to the fact that it is confirmed; none where none was.
    pub confirm_ms_p50: Option<f64>,
    /// The same, of the slowest hundredth.
    pub confirm_ms_p99: Option<f64>,
    /// From confirmed to the key; none where no key was issued.
    pub key_ms_p50: Option<f64>,
    /// The same, of the slowest hundredth.
    pub key_ms_p99: Option<f64>,
    /// How long it took until nothing was under way any more.
    pub drain_seconds: f64,
    /// What does not hold; nothing, where all is well.
    pub violations: Vec<String>,
}

/// Starts one, where none runs.
pub fn start(node: &Arc<Node>, ask: Ask) -> Result<(), String> {
    if ask.bookings == 0 || ask.bookings > BOOKINGS_MAX || ask.tenants == 0 || ask.tenants > TENANTS_MAX {
        return Err(format!("from 1 to {BOOKINGS_MAX} bookings of 1 to {TENANTS_MAX} tenants"));
    }
    let mut progress = kept(node);
    if matches!(*progress, Progress::Running { .. }) {
        return Err("a load runs already".to_owned());
    }
    *progress = Progress::Running { doing: "making tenants".to_owned(), done: 0, total: ask.bookings };
    drop(progress);
    let node = node.clone();
    tokio::spawn(async move {
        let ended = match run(&node, ask).await {
            Ok(report) => Progress::Done(report),
            Err(why) => Progress::Failed { why },
        };
        node.stage.pace(&StageOptions::lifelike());
        *kept(&node) = ended;
    });
    Ok(())
}

/// How far it is.
pub fn progress(node: &Node) -> Progress {
    kept(node).clone()
}

fn kept(node: &Node) -> MutexGuard<'_, Progress> {
    node.load.lock().expect("nothing panics while holding it")
}

/// Says how far it is; where it has ended, it stays ended.
fn tell(node: &Node, doing: &str, done: usize, total: usize) {
    let mut progress = kept(node);
    if matches!(*progress, Progress::Running { .. }) {
        *progress = Progress::Running { doing: doing.to_owned(), done, total };
    }
}

/// Who reads the log beside a load, and stops with it, however it ends.
struct Follower(JoinHandle<()>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How a booking ended, and when.
type End = (bool, Instant);

/// What the log says while it runs.
#[derive(Default)]
struct Heard {
    waiting: HashMap<String, oneshot::Sender<End>>,
    confirmed_at: HashMap<String, i64>,
    key_ms: Vec<f64>,
    events: u64,
    ended: usize,
}

impl Heard {
    fn take(&mut self, row: &LogRow, now: Instant) {
        self.events += 1;
        let end = if let Some(confirmed) = event::<BookingConfirmed>(row) {
            self.confirmed_at.insert(confirmed.reservation_id.to_string(), row.at);
            Some((confirmed.reservation_id.to_string(), true))
        } else if let Some(cancelled) = event::<BookingCancelled>(row) {
            Some((cancelled.reservation_id.to_string(), false))
        } else {
            let stay = event::<KeyCredentialIssued>(row).and_then(|issued| issued.reservation_id);
            if let Some(at) = stay.and_then(|stay| self.confirmed_at.get(&stay.to_string())) {
                self.key_ms.push((row.at - at) as f64);
            }
            None
        };
        if let Some((id, confirmed)) = end
            && let Some(waiting) = self.waiting.remove(&id)
        {
            self.ended += 1;
            let _ = waiting.send((confirmed, now));
        }
    }
}

async fn run(node: &Arc<Node>, ask: Ask) -> Result<Report, String> {
    // Not after an hour of bookings.
    invariants::is_whole(node).await.map_err(|error| format!("what must hold cannot be checked: {error}"))?;
    let places = Arc::new(places(node, ask.tenants).await?);
    tell(node, "measuring the log alone", 0, ask.bookings);
    let base = base(node, &places).await?;
    drain(node, false).await?;
    node.stage.pace(&ask.pace());
    let heard = Arc::new(Mutex::new(Heard::default()));
    let from = node.store.relay().end().await.map_err(|error| error.to_string())?;
    let follower = Follower(tokio::spawn(follow(node.clone(), from, heard.clone(), ask.bookings)));
    let began = Instant::now();
    let ends = all(node, &places, &heard, ask, began).await?;
    let last = ends.iter().map(|end| end.1).max().unwrap_or(began);
    let events = heard.lock().expect("nothing panics while holding it").events;
    tell(node, "draining", ask.bookings, ask.bookings);
    let drained = drain(node, true).await?;
    drop(follower);
    tell(node, "checking what must hold", ask.bookings, ask.bookings);
    let violations = invariants::check(node).await.map_err(|error| error.to_string())?;
    let heard = heard.lock().expect("nothing panics while holding it");
    let seconds = (last - began).as_secs_f64().max(0.001);
    let confirms: Vec<f64> = ends.iter().filter(|end| end.0).map(|end| end.2).collect();
    let events_per_second = events as f64 / seconds;
    Ok(Report {
        bookings: ask.bookings,
        confirmed: confirms.len(),
        cancelled: ends.len() - confirms.len(),
        tenants: ask.tenants,
        seconds,
        sagas_per_second: confirms.len() as f64 / seconds,
        events_per_second,
        base,
        ratio: events_per_second / base.max(0.001),
        confirm_ms_p50: share(&confirms, 0.5),
        confirm_ms_p99: share(&confirms, 0.99),
        key_ms_p50: share(&heard.key_ms, 0.5),
        key_ms_p99: share(&heard.key_ms, 0.99),
        drain_seconds: drained.as_secs_f64(),
        violations,
    })
}

/// Events a second that enter the log by units that do nothing else: notices that nobody has signed, of which nothing follows.
async fn base(node: &Arc<Node>, places: &Arc<Vec<Furnished>>) -> Result<f64, String> {
    let (began, units) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for number in 0..UNDER_WAY {
        let (node, places, units) = (node.clone(), places.clone(), units.clone());
        tasks.spawn(async move {
            let house = &places[number % places.len()].house;
            let context = house.context(lock_integration::SERVICE, CorrelationId::from_bits(fresh()));
            while began.elapsed() < BASE && units.fetch_add(1, Ordering::Relaxed) < BASE_UNITS_MAX {
                let unit = async |tx: TenantTx| {
                    let webhook_id: VendorWebhookId = tx.fresh();
                    tx.emit(VendorWebhookReceived {
                        webhook_id,
                        vendor: lock_integration::work::VENDOR,
                        external_event_id: webhook_id.to_string(),
                        webhook_type: "load.base".to_owned(),
                        received_at: tx.now(),
                        signature_ok: false,
                    });
                    Ok::<_, karwan::Error>(())
                };
                node.store.unit(&context, unit).await.map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| error.to_string())??;
    }
    let done = units.load(Ordering::Relaxed).min(BASE_UNITS_MAX);
    Ok(done as f64 / began.elapsed().as_secs_f64().max(0.001))
}

/// Makes every booking, as many at once and a second as are asked for; how each ended.
async fn all(
    node: &Arc<Node>,
    places: &Arc<Vec<Furnished>>,
    heard: &Arc<Mutex<Heard>>,
    ask: Ask,
    began: Instant,
) -> Result<Vec<(bool, Instant, f64)>, String> {
    let room = Arc::new(Semaphore::new(if ask.rate > 0.0 { UNDER_WAY_MAX } else { UNDER_WAY }));
    let mut tasks = JoinSet::new();
    let mut ends = Vec::with_capacity(ask.bookings);
    for number in 0..ask.bookings {
        if ask.rate > 0.0 {
            tokio::time::sleep_until(began + Duration::from_secs_f64(number as f64 / ask.rate)).await;
        }
        let place = room.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let (node, places, heard) = (node.clone(), places.clone(), heard.clone());
        tasks.spawn(async move {
            let _place = place;
            one(&node, &places[number % places.len()], number, &heard).await
        });
        while let Some(ended) = tasks.try_join_next() {
            ends.push(ended.map_err(|error| error.to_string())??);
        }
    }
    while let Some(ended) = tasks.join_next().await {
        ends.push(ended.map_err(|error| error.to_string())??);
    }
    Ok(ends)
}

/// The value that so large a share does not exceed; of no values there is none.
fn share(values: &[f64], share: f64) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = ((values.len() as f64 * share).ceil() as usize).saturating_sub(1);
    values.get(place).copied()
}

/// The tenants, once every service knows of them.
async fn places(node: &Node, tenants: usize) -> Result<Vec<Furnished>, String> {
    let mut places = Vec::new();
    for house in demo::houses_of_load(tenants) {
        places.push(furnishing::furnish(&node.store, &house).await.map_err(|error| error.to_string())?);
    }
    drain(node, false).await.map_err(|why| format!("the tenants are not known to every service: {why}"))?;
    Ok(places)
}

/// One booking from the quote to its end; some are paid in cash, some declined, some cancelled. Answers whether it was
/// confirmed, when it ended, and how many milliseconds that took.
async fn one(
    node: &Node,
    place: &Furnished,
    number: usize,
    heard: &Mutex<Heard>,
) -> Result<(bool, Instant, f64), String> {
    let correlation = CorrelationId::from_bits(fresh());
    let context = place.house.context("reservation-service", correlation);
    let method = PaymentMethodId::from_bits(fresh());
    let rail = if number % 20 == 1 { PaymentRail::CashPending } else { PaymentRail::Card };
    if number % 20 == 2 {
        node.stage.gateway.fault(&method.to_string(), gateway::Fault::Decline).map_err(|error| error.to_string())?;
    }
    let told = |error: melmastoon::refusal::Refusal| error.to_string();
    let offer = place.offer(&node.store, &context, (Room::Double, 1), ahead(OsRandom.bits())).await.map_err(told)?;
    let placed = commands::hold(&node.store, &context, &wish(offer, rail, method)).await.map_err(told)?;
    let (tell, ended) = oneshot::channel();
    heard.lock().expect("nothing panics while holding it").waiting.insert(placed.reservation_id.to_string(), tell);
    let began = Instant::now();
    commands::confirm(&node.store, &context, placed.reservation_id).await.map_err(told)?;
    let (confirmed, at) = match timeout(SAGA_MAX, ended).await {
        Ok(Ok(end)) => end,
        _ => {
            return Err(format!(
                "booking {} did not end in {SAGA_MAX:?}: karwan trace {correlation}",
                placed.reservation_id
            ));
        }
    };
    if confirmed && number % 20 == 3 {
        commands::cancel_for_guest(&node.store, &context, placed.reservation_id).await.map_err(told)?;
    }
    Ok((confirmed, at, (at - began).as_secs_f64() * 1_000.0))
}

/// Reads the log as it grows.
async fn follow(node: Arc<Node>, mut position: Position, heard: Arc<Mutex<Heard>>, total: usize) {
    let relay = node.store.relay();
    loop {
        match relay.page(position, &Filter::default(), PAGE_MAX).await {
            Ok(page) => {
                position = page.position;
                let now = Instant::now();
                let ended = {
                    let mut heard = heard.lock().expect("nothing panics while holding it");
                    page.rows.iter().for_each(|row| heard.take(row, now));
                    heard.ended
                };
                if ended < total {
                    tell(&node, "booking", ended, total);
                }
                if !page.more {
                    sleep(LOOK).await;
                }
            }
            Err(error) => {
                tracing::warn!(error = %error, "the log cannot be read for a load");
                sleep(LOOK_SLOWLY).await;
            }
        }
    }
}

/// Waits until nothing is under way, however much that is; it gives up where nothing ends any more. Before a load, keys that wait
/// for another attempt are nobody's concern; what must hold after it does not hold while they wait.
async fn drain(node: &Node, with_keys: bool) -> Result<Duration, String> {
    let began = Instant::now();
    let (mut last, mut since) = (None, began);
    loop {
        let looking = Instant::now();
        let under_way = match with_keys {
            true => invariants::under_way(node).await,
            false => invariants::work(node).await.map(|work| UnderWay { work, keys: 0 }),
        };
        let under_way = under_way.map_err(|error| error.to_string())?;
        if under_way.is_nothing() {
            return Ok(began.elapsed());
        }
        let UnderWay { work, keys } = under_way;
        let only_keys = work == 0;
        if only_keys {
            tell(node, "draining: keys wait for the maker of locks", 0, keys as usize);
        }
        // What is counted has a bound, so the log's end is looked at, too: whoever works tells of it there.
        let now = (under_way, node.store.relay().end().await.map_err(|error| error.to_string())?);
        if last != Some(now) {
            (last, since) = (Some(now), Instant::now());
        }
        if only_keys && since.elapsed() > KEYS_STILL_MAX {
            return Err(format!("{keys} keys wait for the maker of locks, and nobody asks it: karwan saga list"));
        }
        if !only_keys && since.elapsed() > STILL_MAX {
            let still = format!("{work} events and calls are under way, and none has ended in {STILL_MAX:?}");
            return Err(format!("{still}: karwan consumer list, karwan dlq list"));
        }
        // The database has longer for what is under way than for counting it.
        sleep(LOOK_SLOWLY.max(4 * looking.elapsed())).await;
    }
}
