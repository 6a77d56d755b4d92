//! `karwan bench relay --minutes`: a rate that is held while producers are at work on the same machine.
//!
//! Producers commit at a rate, a relay publishes beside them, and the stream is asked how far it is. Told are the rate over all,
//! the lowest one of any ten seconds, and by how many events the stream was behind at most: checkpoints and vacuums show there.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use karwan::Engine;
use karwan::engine::{Relay, Work};
use karwan_broker::{Broker, Mode};
use karwan_store::Store;
use serde::Serialize;

use super::environment::Environment;
use super::sample::{self, Preload};
use super::scratch::Place;
use super::streams::{LOAD, Streams};
use crate::exit::Failure;
use crate::progress::Progress;

const ITEMS: u64 = 1000;
const TENANTS: u64 = 32;
/// The lowest rate is that of a stretch of this length; a short run has three.
const STRETCH: Duration = Duration::from_secs(10);
/// How often the stream is asked.
const LOOK: Duration = Duration::from_millis(100);
/// How often producers look whether something is due.
const TICK: Duration = Duration::from_millis(10);

/// What was held.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    mode: &'static str,
    seconds: f64,
    events: u64,
    /// Events a second in the stream, over the time in which producers were at work.
    held_rate: f64,
    /// The lowest one of any stretch.
    min_rate: f64,
    /// By how many events the stream was behind the log at most.
    lag_max: u64,
    rate: f64,
    /// What the producers were to commit.
    base: f64,
    ratio: f64,
    environment: Environment,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, seconds, events, held_rate, min_rate, lag_max, base, environment, .. } = self;
        writeln!(f, "{mode}, {events} events in {seconds:.1} s, {base:.0} a second wanted")?;
        writeln!(f, "held: {held_rate:.0} a second")?;
        writeln!(f, "at least: {min_rate:.0} a second")?;
        writeln!(f, "behind: {lag_max} events at most")?;
        writeln!(f, "on: {environment}")
    }
}

/// How long, and how much.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub minutes: f64,
    pub rate: u64,
    pub mode: Mode,
}

/// Measures it over a scratch store.
pub async fn measure(wanted: Wanted, streams: &Streams, place: &Place) -> Result<Figures, Failure> {
    let progress = Progress::new();
    let environment = Environment::of(&place.address(), &streams.broker).await?;
    let store = sample::open(&place.address(), 8).await?;
    let relay = Relay::new(streams.broker.clone(), streams.topology.clone()).mode(wanted.mode);
    let options = karwan::engine::Options::new("bench", karwan::Residency::Eu);
    let engine = Engine::start(&store, Work::new().relay(relay), options);
    let time = Duration::from_secs_f64(wanted.minutes * 60.0);
    let (committed, began) = (AtomicU64::new(0), Instant::now());
    progress.tell("holding", 0, time.as_secs() * wanted.rate);
    let produced = produce(&store, (wanted.rate, time), &committed, &progress);
    let watched = watch(&streams.broker, (began, time), &committed);
    let ((), watched) = tokio::try_join!(produced, watched)?;
    let seconds = began.elapsed().as_secs_f64();
    progress.tell("the rest", 0, 0);
    engine.published(LOAD, store.relay().end().await?).await?;
    engine.stop().await;
    let (base, rate) = (wanted.rate as f64, watched.held_rate());
    Ok(Figures {
        mode: if wanted.mode == Mode::Durable { "durable" } else { "pipelined" },
        seconds,
        events: committed.into_inner(),
        held_rate: rate,
        min_rate: watched.min_rate(STRETCH.min(time / 3)),
        lag_max: watched.lag_max,
        rate,
        base,
        ratio: rate / base,
        environment,
    })
}

/// Commits what is due, until the time is over.
async fn produce(
    store: &Store,
    (rate, time): (u64, Duration),
    committed: &AtomicU64,
    progress: &Progress,
) -> Result<(), Failure> {
    let (began, mut serial) = (Instant::now(), 0);
    while began.elapsed() < time {
        let due = (began.elapsed().as_secs_f64() * rate as f64) as u64;
        if due <= serial {
            tokio::time::sleep(TICK).await;
            continue;
        }
        // What they are behind is made up for, a tenth of a second at once.
        let until = due.min(serial + (rate / 10).max(1));
        Preload { serials: serial..until, tenants: TENANTS, items: ITEMS }.commit(store, progress).await?;
        committed.store(until, Ordering::Relaxed);
        serial = until;
    }
    Ok(())
}

/// How far the stream was, and when.
#[derive(Debug, Default)]
struct Watched {
    seen: Vec<(Duration, u64)>,
    lag_max: u64,
}

async fn watch(broker: &Broker, (began, time): (Instant, Duration), committed: &AtomicU64) -> Result<Watched, Failure> {
    let mut watched = Watched { seen: vec![(Duration::ZERO, 0)], lag_max: 0 };
    while began.elapsed() < time {
        tokio::time::sleep(LOOK).await;
        // In this order: what is committed in between is not behind yet.
        let before = committed.load(Ordering::Relaxed);
        let published = broker.last_sequence(LOAD).await?;
        watched.seen.push((began.elapsed(), published));
        watched.lag_max = watched.lag_max.max(before.saturating_sub(published));
    }
    Ok(watched)
}

impl Watched {
    fn held_rate(&self) -> f64 {
        self.seen.last().map_or(0.0, |(at, published)| *published as f64 / at.as_secs_f64())
    }

    /// The lowest rate of stretches that are at least so long, one behind the other.
    fn min_rate(&self, stretch: Duration) -> f64 {
        // A stretch that was not whole in the end counts for all of them.
        let (mut from, mut lowest) = ((Duration::ZERO, 0), self.held_rate());
        for (at, published) in &self.seen {
            if *at >= from.0 + stretch {
                lowest = lowest.min((published - from.1) as f64 / (*at - from.0).as_secs_f64());
                from = (*at, *published);
            }
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Watched;

    #[test]
    fn the_lowest_stretch_is_told_and_not_the_mean() {
        let at = |seconds: u64, published: u64| (Duration::from_secs(seconds), published);
        let seen = vec![at(0, 0), at(5, 60), at(10, 100), at(20, 110), at(30, 300), at(33, 301)];
        let watched = Watched { seen, lag_max: 0 };
        assert_eq!(watched.min_rate(Duration::from_secs(10)), 1.0);
        assert_eq!(watched.held_rate(), 301.0 / 33.0);
        let short = Watched { seen: vec![at(0, 0), at(2, 10)], lag_max: 0 };
        assert_eq!(short.min_rate(Duration::from_secs(10)), 5.0);
    }
}
