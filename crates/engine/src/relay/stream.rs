//! The publisher of one stream, whenever this process holds its lane.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use karwan_broker::{Broker, Error as BrokerError, Mode, Publisher, StreamEnd, Topology};
use karwan_store::Position;
use karwan_store::consumer::Lane;
use karwan_store::log::Seq;
use karwan_store::relay_state::{RelayState, StreamPlace};
use karwan_store::write_set::LaneHold;

use super::pages::Pages;
use super::resume::{End, Last, Resume, Saved, Told, resume};
use super::session::{Session, created_ms};
use super::{Sharing, share};
use crate::engine::{STORE_DOWN, Stopping, pause};
use crate::leases::release;
use crate::node::Shared;
use crate::stop::Stop;
use crate::worker::told;

/// How long a relay waits before it asks a broker again that is away, at first and at most.
const BROKER_DOWN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How long a paused relay waits before it asks whether it may go on.
const PAUSED: Duration = Duration::from_secs(1);

/// A stream and what is published to it.
pub(super) struct Stream {
    pub sharing: Sharing,
    pub lane: Lane,
    pub shared: Arc<Shared>,
    pub pages: Arc<Pages>,
    pub broker: Broker,
    pub name: String,
    pub service: String,
    pub subjects: HashSet<String>,
    pub mode: Mode,
    pub waiting_max: usize,
    /// Of its service alone.
    pub topology: Topology,
}

impl Stream {
    /// Publishes whenever this process holds the stream's lane, until it is stopped.
    pub async fn run(self, stopping: Arc<Stopping>) {
        let Sharing { node, lease, living } = &self.sharing;
        let mut living = living.clone();
        while !stopping.is_now() {
            if !self.is_ours() {
                tokio::select! {
                    biased;
                    _ = living.changed(), if living.has_changed().is_ok() => {}
                    () = pause(lease.beat, &stopping) => {}
                }
                self.shared.store.heard("who may publish").await;
                continue;
            }
            match self.shared.store.take_lane(&self.lane, node, lease.ms).await {
                Ok(Some(taken)) => {
                    let hold = LaneHold { consumer: self.lane.consumer.clone(), lane: 0, epoch: taken.epoch };
                    self.shared.admit_calls(&hold);
                    self.publish(&hold, &stopping).await;
                    self.shared.dismiss(&hold);
                    // Whoever has it now says what waits, and why.
                    self.shared.troubles.over(&self.name);
                    self.shared.store.metrics().unpublished(&self.service, &self.name, 0, Duration::ZERO);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(stream = %self.name, error = %error, "the lane of a stream cannot be taken")
                }
            }
            pause(lease.beat, &stopping).await;
        }
    }

    /// Whether the stream is this process's to publish, as far as it knows who lives.
    fn is_ours(&self) -> bool {
        share::is_of(&self.sharing.node, &self.lane.consumer, &self.sharing.living.borrow())
    }

    /// Whether a session goes on with what is next. Under a lease that ran out it does not, whoever has the stream now: it looks
    /// held by nobody, and is taken again first.
    pub fn goes_on(&self, hold: &LaneHold) -> bool {
        self.is_ours() && self.shared.calls_under(hold) && self.shared.suspended(&self.lane.consumer).is_none()
    }

    /// Until the lane is lost, or another's, or until a stop, which waits for what is on its way.
    async fn publish(&self, hold: &LaneHold, stopping: &Stopping) {
        let (mut wait, mut mode) = (BROKER_DOWN.0, self.mode);
        while !stopping.is_now() && self.is_ours() && self.shared.calls_under(hold) {
            let stopped = match self.session(hold, mode).await {
                Ok(mut session) => {
                    wait = BROKER_DOWN.0;
                    session.run(stopping).await
                }
                Err(stop) => Err(stop),
            };
            match stopped {
                Ok(()) => {
                    mode = self.mode;
                    if self.shared.suspended(&hold.consumer).is_some() {
                        pause(PAUSED, stopping).await;
                    }
                }
                Err(Stop::LaneLost) => return,
                Err(Stop::Suspended) => {
                    tracing::warn!(stream = %self.name, "a restored store publishes nothing until `karwan restore --resume --reason …`");
                    pause(BROKER_DOWN.1, stopping).await;
                }
                Err(Stop::Paused(reason)) => {
                    tracing::info!(stream = %self.name, reason, "a relay is paused");
                    pause(PAUSED, stopping).await;
                }
                Err(Stop::Store(error)) => {
                    tracing::warn!(stream = %self.name, error = %error, "the log cannot be read for a stream");
                    pause(STORE_DOWN, stopping).await;
                }
                Err(Stop::Broker(BrokerError::StreamGone { .. })) => {
                    tracing::error!(stream = %self.name, "there is no such stream: it is made, and gets what the log still has");
                    if let Err(error) = self.topology.apply(&self.broker).await {
                        self.shared.troubles.met(&self.name, &error, self.shared.clock.now());
                        tracing::error!(stream = %self.name, error = %told(&error), "the stream cannot be made");
                        pause(wait, stopping).await;
                        wait = (wait * 2).min(BROKER_DOWN.1);
                    }
                }
                // One of many is refused, and nobody says which: they are sent one by one.
                Err(Stop::Broker(BrokerError::BatchRefused { .. })) if mode != Mode::Pipelined => {
                    mode = Mode::Pipelined
                }
                // Its answer was lost, or the server was killed: what it has is asked for at once.
                Err(Stop::Broker(error @ BrokerError::OutOfStep { .. })) => {
                    tracing::info!(stream = %self.name, error = %error, "a stream is asked how far it is");
                }
                Err(Stop::Broker(error)) => {
                    self.shared.troubles.met(&self.name, &error, self.shared.clock.now());
                    tracing::warn!(stream = %self.name, error = %told(&error), "the broker takes nothing; the log holds it");
                    pause(wait, stopping).await;
                    wait = (wait * 2).min(BROKER_DOWN.1);
                }
            }
        }
        if self.shared.calls_under(hold) {
            release(&self.shared, hold).await;
        }
    }

    /// Asks the stream how far it is, and goes on from there.
    async fn session(&self, hold: &LaneHold, mode: Mode) -> Result<Session<'_>, Stop> {
        let store = &self.shared.store;
        if store.suspended().await? {
            return Err(Stop::Suspended);
        }
        // Asked of the store: a process that has just begun has not heard of pauses yet.
        let pauses = store.suspensions().await?;
        if let Some(pause) = pauses.into_iter().find(|pause| pause.consumer == hold.consumer) {
            return Err(Stop::Paused(pause.reason));
        }
        let (publisher, end) = Publisher::open(&self.broker, &self.name, mode).await?;
        store.heard("how far a stream is").await;
        let saved = store.relay_state(&hold.consumer).await?;
        let lives = store.relay().lives().await?;
        let floor = store.relay().start().await?.seq;
        let found = End { created: created_ms(&end), last: end.last_seq, message: last_message(&end) };
        let Resume { mut from, told } = resume(saved.as_ref().map(as_saved), found, &lives, floor);
        if let Some(saved) = saved.filter(|saved| from < saved.seq) {
            from = from.max(store.relay().published_again(saved.seq, self.shared.now_ms()).await?);
        }
        self.tell(told, from);
        if saved.is_some_and(|saved| from < saved.seq) {
            store.rewind(hold, from).await?;
        }
        let place = StreamPlace { seq: end.last_seq.cast_signed(), created: created_ms(&end) };
        let lost = store.park_lost(hold, from, place).await?;
        if lost > 0 {
            tracing::error!(stream = %self.name, lost, "a stream has lost events that were published after they had been refused: they are published again");
        }
        Session::open(self, hold.clone(), publisher, (from, end)).await
    }

    fn tell(&self, told: Told, from: Seq) {
        let stream = &self.name;
        match told {
            Told::GoesOn => tracing::info!(%stream, from, "a stream goes on"),
            Told::New => tracing::info!(%stream, from, "a stream is new: it gets everything that the log has"),
            Told::WentBackwards => {
                tracing::error!(%stream, from, "a stream has lost messages, or was made anew: what the log still has is published again");
            }
            Told::Restored { lost } => {
                tracing::error!(%stream, from, lost, "this store is a restored copy, and the stream has events that it lost: `karwan lost` lists them");
            }
            Told::Foreign => {
                tracing::error!(%stream, from, "somebody else has published to a stream that is ours alone: stop whoever does (a relay of another store, or a program of its own), and give out logins of `karwan topology emit-nats`, which keep others out");
            }
        }
    }
}

fn last_message(end: &StreamEnd) -> Last {
    match end.position {
        Some(mark) => Last::At(Position { incarnation: mark.incarnation, seq: mark.seq }),
        None if end.unmarked => Last::Unmarked,
        None => Last::Gone,
    }
}

fn as_saved(state: &RelayState) -> Saved {
    Saved { seq: state.seq, stream_seq: state.stream_seq.unsigned_abs(), created: state.stream_created }
}
