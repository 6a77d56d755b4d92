//! Dead letters, published to the dead-letter topics of their events: `<topic>.dlq`.
//!
//! What is dead stays in the store, where operators work on it; the topic is for whoever watches a broker. One process at a
//! time does it: a relay's, or that of a consumer which a stream feeds. A letter may be published twice around a crash; the
//! broker knows it again by its id. One that the broker does not take waits, and holds back no other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karwan_broker::publisher::{Letter, publish_letters};
use karwan_broker::topology::names::letters_topic;
use karwan_broker::{Attributes, Broker, Error as BrokerError, Topology};
use karwan_store::consumer::Dead;
use karwan_store::effect;
use karwan_store::stored::{self, Published};
use karwan_store::write_set::LaneHold;

use super::{RELAYS, StreamPlan};
use crate::engine::{Lease, Stopping, pause};
use crate::leases::release;
use crate::node::Shared;
use crate::stop::Stop;
use crate::worker::told;

/// So many are looked for at once.
const PAGE: usize = 100;
/// How long nothing is looked for where nothing was found.
const IDLE: Duration = Duration::from_millis(500);
/// How long a broker is left alone that takes nothing.
const BROKER_DOWN: Duration = Duration::from_secs(5);
/// So much is told of an error in a header; the store has all of it. A server counts headers as payload, and an event that just went
/// through should do so as a letter.
const ERROR_BYTES_MAX: usize = 512;

/// See the module.
pub(crate) struct Letters {
    pub shared: Arc<Shared>,
    pub broker: Broker,
    pub topology: Topology,
}

/// A dead letter, ready to be published.
struct Ready {
    stream: String,
    subject: String,
    id: String,
    published: Published,
    attempts: String,
    error: String,
    /// Who gave it up, and what.
    about: (String, Dead),
}

impl Letters {
    /// Publishes whenever this process holds the lane of dead letters, until it is stopped.
    pub async fn run(self, (node, lease): (String, Lease), stopping: Arc<Stopping>) {
        // Publishing them is a call to the outside: its lane reads no log.
        let lane = effect::lane("dead-letters");
        while !stopping.is_now() {
            match self.shared.store.take_lane(&lane, &node, lease.ms).await {
                Ok(Some(taken)) => {
                    let hold = LaneHold { consumer: lane.consumer.clone(), lane: 0, epoch: taken.epoch };
                    self.shared.admit_calls(&hold);
                    self.publish(&hold, &stopping).await;
                    self.shared.dismiss(&hold);
                    // Whoever has it now says what waits, and why.
                    self.say(&BTreeMap::new());
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(error = %error, "the lane of dead letters cannot be taken"),
            }
            pause(lease.beat, &stopping).await;
        }
    }

    async fn publish(&self, hold: &LaneHold, stopping: &Stopping) {
        while !stopping.is_now() && self.shared.calls_under(hold) {
            let wait = match self.pass().await {
                Ok(Passed { fed, kept }) => {
                    self.say(&kept);
                    match kept.is_empty() {
                        true if fed > 0 => continue,
                        true => IDLE,
                        false => BROKER_DOWN,
                    }
                }
                Err(Stop::LaneLost) => return,
                Err(Stop::Suspended | Stop::Paused(_)) => BROKER_DOWN,
                Err(Stop::Store(error)) => {
                    tracing::warn!(error = %error, "dead letters cannot be looked for");
                    BROKER_DOWN
                }
                Err(Stop::Broker(error)) => {
                    tracing::warn!(error = %told(&error), "dead letters cannot be published; the store keeps them");
                    BROKER_DOWN
                }
            };
            pause(wait, stopping).await;
        }
        if stopping.is_now() {
            release(&self.shared, hold).await;
        }
    }

    /// What keeps letters from their streams, and of which nothing does.
    fn say(&self, kept: &Kept) {
        for stream in self.topology.streams().iter().map(StreamPlan::letters) {
            match kept.get(&stream) {
                Some((count, error)) => {
                    self.shared.troubles.met(&stream, error, self.shared.clock.now());
                    tracing::warn!(%stream, count, error = %told(error), "dead letters cannot be published; the store keeps them");
                }
                None => self.shared.troubles.over(&stream),
            }
        }
    }

    /// Publishes what can be published. Ends early where the broker says nothing at all.
    async fn pass(&self) -> Result<Passed, Stop> {
        let store = &self.shared.store;
        if store.suspended().await? {
            return Err(Stop::Suspended);
        }
        let (mut passed, mut skip) = (Passed::default(), 0);
        loop {
            let dead = store.dead_unfed(skip, PAGE).await?;
            let (count, mut done, mut ready) = (dead.len(), Vec::new(), Vec::new());
            for (consumer, dead) in dead {
                let name = (consumer.clone(), dead.event.event, dead.at);
                match self.topic(consumer, dead) {
                    Topic::Ready(letter) => ready.push((name, *letter)),
                    Topic::Never => done.push(name),
                    Topic::Anothers => {}
                }
            }
            let (names, ready): (Vec<_>, Vec<_>) = ready.into_iter().unzip();
            let told = self.sent(&ready).await;
            let silent = told.iter().all(|one| matches!(one, Err(BrokerError::NoAnswer { .. })));
            for ((name, letter), told) in names.into_iter().zip(&ready).zip(told) {
                match told {
                    Ok(()) => done.push(name),
                    // One that is refused, too: it is told of for as long as the store has it, and may go when the broker takes more.
                    Err(error) => passed.kept.entry(letter.stream.clone()).or_insert((0, error)).0 += 1,
                }
            }
            store.mark_fed(&done).await?;
            passed.fed += done.len();
            skip += count - done.len();
            if count < PAGE || silent && !ready.is_empty() {
                return Ok(self.mended(passed).await);
            }
        }
    }

    /// A stream that is not there is made; its letters wait for the next time.
    async fn mended(&self, mut passed: Passed) -> Passed {
        for plan in self.topology.streams() {
            let stream = plan.letters();
            let Some((count, BrokerError::StreamGone { .. })) = passed.kept.get(&stream) else { continue };
            let count = *count;
            match self.topology.clone().of_services(&[&plan.service]).apply(&self.broker).await {
                Ok(_) => drop(passed.kept.remove(&stream)),
                Err(error) => {
                    tracing::error!(%stream, error = %told(&error), "a stream for dead letters cannot be made");
                    passed.kept.insert(stream, (count, error));
                }
            }
        }
        passed
    }

    fn topic(&self, consumer: String, dead: Dead) -> Topic {
        let (row, catalogue) = (dead.event.row(), self.shared.store.catalogue());
        let Some(stream) = self.topology.stream_of(&row.subject) else {
            let known = catalogue.directory().resolve(&row.subject).is_some();
            return if known { Topic::Never } else { Topic::Anothers };
        };
        // What a relay locked away was refused by the broker.
        if consumer.starts_with(RELAYS) {
            return Topic::Never;
        }
        let Ok(published) = stored::published(catalogue, &row) else { return Topic::Never };
        Topic::Ready(Box::new(Ready {
            stream: stream.letters(),
            subject: letters_topic(&row.subject),
            // Of this death: an event that is retried may die again. Published twice, a letter has the id that it had.
            id: format!("{consumer}:{}:{}", published.event_id, dead.at),
            published,
            attempts: dead.event.attempts.to_string(),
            error: bounded(&dead.event.error),
            about: (consumer, dead),
        }))
    }

    async fn sent(&self, ready: &[Ready]) -> Vec<Result<(), BrokerError>> {
        let about: Vec<_> = ready.iter().map(Ready::about).collect();
        let letters: Vec<_> = ready.iter().zip(&about).map(|(ready, about)| ready.letter(about)).collect();
        let told = publish_letters(&self.broker, &letters).await;
        self.shared.store.heard("whether letters were taken").await;
        told
    }
}

/// What one look at all letters brought.
#[derive(Default)]
struct Passed {
    /// So many wait for nothing any more.
    fed: usize,
    /// What was not taken.
    kept: Kept,
}

/// By stream, how many letters were not taken, and why the first of them was not.
type Kept = BTreeMap<String, (usize, BrokerError)>;

/// Where a dead letter goes.
enum Topic {
    Ready(Box<Ready>),
    /// There is no topic for it, and never will be.
    Never,
    /// This program's catalogue does not know it: whoever knows it publishes it.
    Anothers,
}

/// The beginning of an error that is long.
fn bounded(error: &str) -> String {
    const CUT: &str = "…";
    if error.len() <= ERROR_BYTES_MAX {
        return error.to_owned();
    }
    let ends = (0..=ERROR_BYTES_MAX - CUT.len()).rev().find(|end| error.is_char_boundary(*end));
    format!("{}{CUT}", &error[..ends.unwrap_or_default()])
}

impl Ready {
    fn about(&self) -> [(&'static str, &str); 4] {
        let (consumer, _) = &self.about;
        [
            ("Karwan-Consumer", consumer),
            ("Karwan-Attempts", &self.attempts),
            // As Pub/Sub names it, for tools that were written for it.
            ("googclient_deliveryattempt", &self.attempts),
            ("Karwan-Error", &self.error),
        ]
    }

    fn letter<'a>(&'a self, about: &'a [(&'static str, &'a str)]) -> Letter<'a> {
        let Self { stream, subject, id, published, about: (_, dead), .. } = self;
        Letter {
            tag: 0,
            stream,
            subject,
            id,
            attributes: Attributes {
                event_id: &published.event_id,
                event_type: &published.event_type,
                event_version: published.event_version,
                tenant_id: &published.tenant_id,
                idempotency_key: &published.idempotency_key,
                ordering_key: &published.ordering_key,
            },
            about,
            payload: Bytes::copy_from_slice(dead.event.envelope.as_bytes()),
        }
    }
}
