//! Feeds a consumer from a stream instead of the log.
//!
//! The process that holds all lanes of the consumer pulls one durable, queues what comes in the lanes, and acknowledges
//! everything up to the lowest number that is not finished: handled, parked or buried in the consumer's own store. So a crash
//! loses nothing, and whatever comes again is known by its claim.
//!
//! The consumer's saved positions are numbers of the stream. They, and not the broker's floor, say where it goes on; a stream
//! that was made anew is read from its beginning.

use std::sync::Arc;
use std::time::Duration;

use karwan_broker::topology::names;
use karwan_broker::{Broker, Delivery, Error as BrokerError, Floor, Settings, Start, Subscription, Walk};
use karwan_envelope::time::Timestamp;
use karwan_store::log::{LogRow, Seq};
use karwan_store::retention::REMEMBERED_MS;
use karwan_store::stored;
use karwan_store::write_set::LaneHold;
use tokio::time::Instant;

use crate::consumer::Consumer;
use crate::engine::{IDLE, STORE_DOWN, Stopping, pause};
use crate::fed_consumer::{self, signed as seq};
use crate::node::Shared;
use crate::stop::Stop;
use crate::worker::told;

/// So many deliveries are taken at once.
const BATCH: usize = 512;
/// How long a pull waits for the first of them.
const PULL: Duration = Duration::from_millis(50);
/// How often a consumer with nothing to do asks how far the stream is.
const LOOK: Duration = Duration::from_millis(200);

/// A consumer and the stream that feeds it.
#[derive(Clone)]
pub(crate) struct Feed {
    pub shared: Arc<Shared>,
    pub broker: Broker,
    pub consumer: Arc<Consumer>,
    pub stream: String,
}

impl Feed {
    /// Feeds the consumer whenever this process holds all of its lanes, until it is stopped.
    pub async fn run(self, stopping: Arc<Stopping>) {
        while !stopping.is_now() {
            let Some(holds) = self.shared.all_held(&self.consumer) else {
                pause(IDLE, &stopping).await;
                continue;
            };
            let fed = tokio::select! {
                biased;
                // A broker that is away is not waited for; whatever was delivered and not acknowledged comes again.
                // no crash point: what follows is a stop
                () = stopping.comes() => break,
                fed = self.session(&holds, &stopping) => fed,
            };
            match fed {
                // A restored store may be fed: what waits for a person is publishing and calling.
                Ok(()) | Err(Stop::Suspended | Stop::Paused(_)) => {}
                // It may be known here only with the next beat.
                Err(Stop::LaneLost) => pause(IDLE, &stopping).await,
                Err(Stop::Store(error)) => {
                    tracing::warn!(consumer = %self.consumer.name, error = %told(&error), "a stream's consumer cannot reach its store");
                    pause(STORE_DOWN, &stopping).await;
                }
                Err(Stop::Broker(BrokerError::Interrupted { .. })) => {}
                Err(Stop::Broker(error)) => {
                    tracing::warn!(consumer = %self.consumer.name, error = %told(&error), "a stream cannot be read");
                    pause(STORE_DOWN, &stopping).await;
                }
            }
        }
    }

    /// The last sequence of the stream; 0 where it cannot be asked.
    pub async fn end(&self) -> Seq {
        self.broker.last_sequence(&self.stream).await.map_or(0, seq)
    }

    async fn session(&self, holds: &[LaneHold], stopping: &Stopping) -> Result<(), Stop> {
        let Some((mut subscription, mut read)) = self.open(holds).await? else {
            pause(STORE_DOWN, stopping).await;
            return Ok(());
        };
        let (mut acked, mut looked, mut said) = (read, Instant::now(), Instant::now());
        while !stopping.is_now() {
            let deliveries = subscription.next_batch(BATCH, PULL).await?;
            self.shared.store.heard("what a stream delivers").await;
            let mut last = deliveries.last().map_or(read, |delivery| seq(delivery.stream_seq));
            if deliveries.is_empty() && looked.elapsed() >= LOOK {
                // Messages of other topics lie behind, too: without them a stream that forgets would seem to have a hole.
                last = subscription.caught_up().await?.map_or(last, seq).max(last);
                looked = Instant::now();
            }
            let rows = deliveries.iter().filter_map(|delivery| self.row(delivery)).collect();
            if !self.shared.feed(holds, rows, last) {
                return Err(Stop::LaneLost);
            }
            read = last;
            // Whatever lies at or before it is handled, parked or buried, and committed.
            let finished = self.shared.position(&self.consumer.name).map_or(acked, |(position, _)| position);
            if finished > acked {
                subscription.ack_all(finished.unsigned_abs()).await?;
                self.shared.store.heard("an acknowledgement is out").await;
                acked = finished;
            }
            // Handlers may be slow, and keys many: whatever is queued or under way is not to come again.
            if said.elapsed() >= subscription.word_after() {
                subscription.in_progress().await?;
                self.shared.store.heard("word that work goes on is out").await;
                said = Instant::now();
            }
        }
        Ok(())
    }

    /// Opens the durable where the consumer's own positions say; none where the consumer had to be stopped.
    async fn open(&self, holds: &[LaneHold]) -> Result<Option<(Subscription, Seq)>, Stop> {
        let (store, name) = (&self.shared.store, &self.consumer.name);
        // Where the lanes were given up meanwhile, somebody else has them, with a durable that is not to be changed any more.
        let others = self.shared.others(&holds[0]).ok_or(Stop::LaneLost)?;
        let (position, _) = self.shared.position(name).ok_or(Stop::LaneLost)?;
        // What other releases of the consumer handle is parked here for them.
        let subjects: Vec<String> = self.consumer.subjects().map(str::to_owned).chain(others).collect();
        let mut settings = Settings::new(&self.stream, &names::durable(name), &subjects);
        if let Some((ack_wait, unacked_max)) = self.consumer.deliveries {
            settings = Settings { ack_wait, unacked_max, ..settings };
        }
        let start = if position == 0 { Start::Beginning } else { Start::After(position.unsigned_abs()) };
        let (subscription, floor) = match Subscription::open(&self.broker, &settings, start).await {
            Ok(open) => open,
            Err(gap @ BrokerError::Gap { .. }) => {
                store.suspend(&holds[0], &gap.to_string()).await?;
                self.shared.suspend_one(name, gap.to_string());
                return Ok(None);
            }
            Err(BrokerError::Behind { .. }) => return self.open_anew(holds, &settings).await,
            Err(error) => return Err(error.into()),
        };
        store.heard("a stream is open").await;
        match store.relay_state(name).await? {
            Some(saved) if saved.stream_created != created_ms(&floor) => {
                drop(subscription);
                self.open_anew(holds, &settings).await
            }
            saved => {
                if saved.is_none() {
                    store.save_relay(&holds[0], position, 0, created_ms(&floor)).await?;
                }
                self.shared.fed_from(holds, seq(floor.last_seq));
                Ok(Some((subscription, seq(floor.after))))
            }
        }
    }

    /// The stream is another one than it was: it is read from its beginning, and what was handled is known by its claims. What is
    /// older than they are kept is passed over, but for a consumer that may handle everything anew. Where the stream only lost its
    /// end, that was finished; where it was made anew, nobody knows, and the consumer is stopped first.
    async fn open_anew(&self, holds: &[LaneHold], settings: &Settings) -> Result<Option<(Subscription, Seq)>, Stop> {
        let (store, name, stream) = (&self.shared.store, &self.consumer.name, &self.stream);
        let forgotten = self.forgotten(settings).await?;
        store.heard("what of a stream is too old").await;
        tracing::error!(consumer = %name, %stream, forgotten, "a stream was made anew, or lost messages: it is read from its beginning, or behind what is older than claims are kept");
        let start = forgotten.map_or(Start::Beginning, |seq| Start::After(seq.unsigned_abs()));
        let (subscription, floor) = Subscription::open(&self.broker, settings, start).await?;
        let (after, created) = (forgotten.unwrap_or_default(), created_ms(&floor));
        let was_made_anew = store.relay_state(name).await?.is_some_and(|saved| saved.stream_created != created);
        let reason = forgotten.filter(|_| was_made_anew).map(|seq| {
            format!("stream {stream} was made anew, and nobody remembers which of its messages up to {seq} were handled: resumed, it goes on behind them")
        });
        if let Some(reason) = &reason {
            store.suspend(&holds[0], reason).await?;
        }
        store.restart_feed(holds, (after, created)).await?;
        self.shared.restart_feed(holds, after);
        if let Some(reason) = reason {
            self.shared.suspend_one(name, reason);
            return Ok(None);
        }
        // Whatever comes may have been handled from the former stream, also what is not in this one yet.
        self.shared.fed_from(holds, Seq::MAX);
        Ok(Some((subscription, seq(floor.after))))
    }

    /// The number of the stream up to which events are older than their claims are kept; none where there are none, or where that
    /// does not matter.
    async fn forgotten(&self, settings: &Settings) -> Result<Option<Seq>, BrokerError> {
        if self.consumer.is_rebuildable() {
            return Ok(None);
        }
        let walk = Walk::begin(&self.broker, settings.clone(), Start::Beginning).await?;
        fed_consumer::forgotten(walk, self.shared.now_ms() - REMEMBERED_MS).await
    }

    /// A delivery as a row; none where it is not one of ours.
    fn row(&self, delivery: &Delivery) -> Option<LogRow> {
        let catalogue = self.shared.store.catalogue();
        let row = fed_consumer::row(delivery, |key| stored::ordering_key(catalogue, key));
        if row.is_none() {
            tracing::error!(consumer = %self.consumer.name, stream = %self.stream, seq = delivery.stream_seq, "a message without our attributes is passed over");
        }
        row
    }
}

/// When a stream was made; another one of its name has another time.
fn created_ms(floor: &Floor) -> i64 {
    floor.created.parse::<Timestamp>().map_or(0, Timestamp::unix_ms)
}
