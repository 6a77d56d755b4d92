//! Reads what is in the logs, the streams and the documents, and asks the ledger whether that is all.

use std::time::{Duration, Instant};

use karwan::broker::{Broker, Settings, Start, Subscription, Topology};
use karwan::{Position, Store};
use karwan_store::log::{Filter, LogRow, PAGE_MAX};
use serde::Deserialize;

use super::actor::connect;
use super::ledger::Ledger;
use super::platform::{self, GUIDE, GUIDE_STREAM, STREAM, Trail, WALK, WATCH};
use super::producer;
use super::verdict::{Sighting, Trails};
use super::yard::Yard;
use crate::exit::Failure;

/// Nothing new for so long: whatever is missing does not come any more. Longer than a lease, a parked step and a broker's
/// pauses together.
const STILL: Duration = Duration::from_secs(30);
/// What still comes after so long is no backlog any more: it is judged as it is.
const LONGEST: Duration = Duration::from_secs(180);
/// How long one look may take.
const LOOK_MAX: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(200);
/// How long a pull waits.
const PULL: Duration = Duration::from_millis(100);

/// Where steps are looked for.
pub const PLACES: [&str; 5] = [
    "the log",
    "what guide-service applied from the log",
    "what watch-service applied from the stream",
    "the stream WALK",
    "the stream GUIDE",
];

/// What was read so far.
pub struct Witness {
    logs: [Log; 2],
    streams: [Stream; 2],
}

struct Log {
    store: Store,
    at: Position,
    /// The services whose events are noted, each with what was noted.
    noted: Vec<(&'static str, Trails)>,
}

struct Stream {
    broker: Broker,
    name: &'static str,
    subscription: Option<Subscription>,
    trails: Trails,
}

/// What every event says.
#[derive(Deserialize)]
struct Envelope {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    walker: String,
    step: u64,
}

impl Witness {
    /// Of servers that run.
    pub async fn of(yard: &Yard) -> Result<Self, Failure> {
        let [walk, watch] = yard.stores();
        let logs = [Log::of(walk, &[WALK, GUIDE]).await?, Log::of(watch, &[WATCH]).await?];
        let broker = connect(&yard.broker(), "witness").await?;
        let stream = |name| Stream { broker: broker.clone(), name, subscription: None, trails: Trails::default() };
        Ok(Self { logs, streams: [stream(STREAM), stream(GUIDE_STREAM)] })
    }

    /// What was seen, in the order of [`PLACES`].
    pub fn trails(&self) -> [&Trails; 5] {
        let [walk, watch] = &self.logs;
        let [first, second] = &self.streams;
        [&walk.noted[0].1, &walk.noted[1].1, &watch.noted[0].1, &first.trails, &second.trails]
    }

    /// Reads on to the end of everything.
    pub async fn look(&mut self) -> Result<(), Failure> {
        for (number, log) in self.logs.iter_mut().enumerate() {
            in_time(&format!("the log of database {}", number + 1), log.read()).await?;
        }
        for stream in &mut self.streams {
            in_time(&format!("the stream {}", stream.name), stream.read()).await?;
        }
        Ok(())
    }

    /// Waits until something was seen everywhere.
    pub async fn first(&mut self) -> Result<(), Failure> {
        self.wait(|witness| witness.trails().iter().all(|trails| trails.count() > 0)).await
    }

    /// Waits until everything is everywhere, or until nothing more comes.
    pub async fn all(&mut self, ledger: &Ledger) -> Result<(), Failure> {
        self.wait(|witness| witness.trails().iter().all(|trails| trails.has_all(ledger))).await
    }

    async fn wait(&mut self, enough: impl Fn(&Self) -> bool) -> Result<(), Failure> {
        let began = Instant::now();
        let (mut seen, mut since) = ([0; 5], began);
        loop {
            self.look().await?;
            let now = self.trails().map(Trails::count);
            if enough(self) || now == seen && since.elapsed() > STILL || began.elapsed() > LONGEST {
                return Ok(());
            }
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Walkers whose document says something else than the events about it, at the places of those who follow.
    pub async fn torn(&self) -> Result<Vec<String>, Failure> {
        let mut torn = Vec::new();
        for (log, service) in [(&self.logs[0], GUIDE), (&self.logs[1], WATCH)] {
            let noted = log.noted.iter().find(|(noted, _)| *noted == service).map(|(_, trails)| trails);
            for (walker, seen) in noted.into_iter().flat_map(|trails| &trails.0) {
                let unit = log.store.tenant(&karwan::context(service, producer::tenant(walker)));
                let trail: Option<Trail> = unit.peek(walker).await?;
                let (last, count) = trail.map_or((0, 0), |trail| (trail.last, trail.count));
                let told = (seen.last().map_or(0, |sighting| sighting.step), seen.len() as u64);
                if (last, count) != told {
                    torn.push(format!(
                        "{service}'s document of {walker} says {count} steps up to {last}, its events {told:?}"
                    ));
                }
            }
        }
        Ok(torn)
    }
}

impl Log {
    async fn of(address: &karwan_store::Address, services: &[&'static str]) -> Result<Self, Failure> {
        let store = platform::open(address).await?;
        let at = store.relay().start().await?;
        Ok(Self { store, at, noted: services.iter().map(|service| (*service, Trails::default())).collect() })
    }

    async fn read(&mut self) -> Result<(), Failure> {
        loop {
            let page = self.store.relay().page(self.at, &Filter::default(), PAGE_MAX).await?;
            self.at = page.position;
            page.rows.iter().try_for_each(|row| self.note(row))?;
            if !page.more {
                return Ok(());
            }
        }
    }

    fn note(&mut self, row: &LogRow) -> Result<(), Failure> {
        let directory = self.store.catalogue().directory();
        let Some(owner) = directory.resolve(&row.subject).map(|entry| entry.row.owner.clone()) else { return Ok(()) };
        if let Some((_, trails)) = self.noted.iter_mut().find(|(service, _)| *service == owner) {
            let (walker, step) = told(row.envelope.as_bytes())?;
            trails.note(walker, Sighting { step, event: row.event.bits() });
        }
        Ok(())
    }
}

impl Stream {
    async fn read(&mut self) -> Result<(), Failure> {
        let subscription = match &mut self.subscription {
            Some(subscription) => subscription,
            None => {
                let topology = Topology::of(&*platform::catalogue()?);
                let subjects = topology.stream(self.name).map(|stream| stream.subjects.clone()).unwrap_or_default();
                if !self.broker.has_stream(self.name).await? {
                    return Ok(());
                }
                let settings = Settings::new(self.name, "witness", &subjects);
                let (subscription, _) = Subscription::open(&self.broker, &settings, Start::Beginning).await?;
                self.subscription.insert(subscription)
            }
        };
        // As far as it goes now: whoever writes meanwhile may never leave a pause as long as a pull waits.
        let end = self.broker.last_sequence(self.name).await?;
        loop {
            let deliveries = subscription.next_batch(PAGE_MAX, PULL).await?;
            let Some(last) = deliveries.last().map(|delivery| delivery.stream_seq) else { return Ok(()) };
            for delivery in deliveries {
                let (walker, step) = told(&delivery.payload)?;
                let event = uuid::Uuid::parse_str(&delivery.event_id).map_err(anyhow::Error::from)?.as_u128();
                self.trails.note(walker, Sighting { step, event });
            }
            subscription.ack_all(last).await?;
            if last >= end {
                return Ok(());
            }
        }
    }
}

/// What does not end by itself is named.
async fn in_time(what: &str, look: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let late = || anyhow::anyhow!("{what} was not read to its end in {} s", LOOK_MAX.as_secs());
    tokio::time::timeout(LOOK_MAX, look).await.map_err(|_| late())?
}

fn told(envelope: &[u8]) -> Result<(String, u64), Failure> {
    let Envelope { payload } = serde_json::from_slice(envelope).map_err(anyhow::Error::from)?;
    Ok((payload.walker, payload.step))
}
