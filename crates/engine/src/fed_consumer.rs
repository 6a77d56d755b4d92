//! Moving a consumer that a stream feeds, and having it handle events again: what the store does for consumers of its log,
//! with places and events that the consumer's broker is asked for.
//!
//! Its positions are numbers of the stream. A time is the broker's: a message is stored after its event was logged, so that
//! everything is there that was logged since. Events are read through a durable that goes again; the consumer's own is left
//! to whoever feeds it.

use std::sync::Arc;

use karwan_broker::{Broker, Delivery, Place as StreamPlace, Settings, Start, Walk};
use karwan_envelope::ids::{EventId, Form};
use karwan_envelope::mint::Random;
use karwan_envelope::time::Timestamp;
use karwan_store::log::{LogRow, Seq};
use karwan_store::operator::{Again, Chosen, Moved, Place, Replayed, Steps, Tally, Who};
use karwan_store::retention::REMEMBERED_MS;
use karwan_store::write_set::{Claim, TenantBits, slot};
use karwan_store::{Declared, Operator, RelayTx, stored};

/// What can go wrong with a store, or with a broker.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Of the consumer's store.
    #[error(transparent)]
    Store(#[from] karwan_store::Error),
    /// Of the broker that feeds it.
    #[error(transparent)]
    Broker(#[from] karwan_broker::Error),
}

impl Error {
    /// The stable code; each has a page.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Broker(error) => error.code(),
        }
    }
}

/// A consumer that a stream feeds, in the hands of an operator.
pub struct FedConsumer {
    operator: Operator,
    broker: Broker,
    random: Arc<dyn Random>,
    name: String,
    stream: String,
    subjects: Vec<String>,
    rebuildable: bool,
}

impl FedConsumer {
    /// By what it has declared of itself; none where its store's log feeds it.
    pub fn of(operator: &Operator, declared: Declared, broker: Broker, random: Arc<dyn Random>) -> Option<Self> {
        let Declared { consumer: name, stream, subjects, rebuildable, .. } = declared;
        Some(Self { operator: operator.clone(), broker, random, name, stream: stream?, subjects, rebuildable })
    }

    /// The number of the stream behind which a place lies.
    pub async fn number(&self, place: Place) -> Result<Seq, Error> {
        let place = match place {
            // Whatever is there when it is read: the first message may go meanwhile.
            Place::Start => return Ok(0),
            Place::End => StreamPlace::End,
            Place::Seq(seq) => StreamPlace::After(seq.max(0).unsigned_abs()),
            Place::Time(at) => StreamPlace::Time(Timestamp::from_unix_ms(at)),
            Place::Position(_) => {
                let (consumer, stream) = (self.name.clone(), self.stream.clone());
                return Err(karwan_store::Error::StreamFed { consumer, stream }.into());
            }
        };
        Ok(signed(self.broker.number_of(&self.stream, place, &self.question()).await?))
    }

    /// What [`Self::seek`] would do.
    pub async fn would_seek(&self, place: Place) -> Result<Moved, Error> {
        let number = self.number(place).await?;
        let would = self.operator.would_seek_in_stream(&self.name, number).await?;
        self.remembers(number).await?;
        Ok(would)
    }

    /// Moves it, back or forth. What it has handled stays handled.
    pub async fn seek(&self, who: &Who, place: Place) -> Result<Moved, Error> {
        let number = self.number(place).await?;
        self.remembers(number).await?;
        Ok(self.operator.seek_in_stream(who, &self.name, number).await?)
    }

    /// The same, and takes the claims of chosen events from there on back: they are handled again, in their order.
    pub async fn seek_and_clear(
        &self,
        who: &Who,
        place: Place,
        chosen: &Chosen,
        told: Steps<'_>,
    ) -> Result<Moved, Error> {
        self.again(who, (Again::Seek, self.number(place).await?), chosen, told).await
    }

    /// Takes the claims of chosen events from a place on back, and moves nothing.
    pub async fn clear_inbox(&self, who: &Who, place: Place, chosen: &Chosen, told: Steps<'_>) -> Result<Moved, Error> {
        self.again(who, (Again::Clear, self.number(place).await?), chosen, told).await
    }

    /// Sends chosen events to it once more, where it has handled them.
    pub async fn replay(&self, who: &Who, place: Place, chosen: &Chosen, told: Steps<'_>) -> Result<Replayed, Error> {
        let from = self.number(place).await?;
        let keys = self.counted(from, chosen).await?.keys;
        let moved = self.again(who, (Again::Replay, from), chosen, told).await?;
        Ok(Replayed { action: moved.action, events: moved.cleared, keys })
    }

    /// How many events [`Self::replay`] would send.
    pub async fn would_replay(&self, place: Place, chosen: &Chosen) -> Result<Replayed, Error> {
        self.counted(self.number(place).await?, chosen).await
    }

    /// How many claims [`Self::clear_inbox`] would take back, letters among them.
    pub async fn count_claims(&self, place: Place, chosen: &Chosen) -> Result<u64, Error> {
        let (from, relay, mut claims) = (self.number(place).await?, self.operator.relay().await?, 0);
        let mut walk = self.walk(from).await?;
        while let Some(batch) = walk.next().await? {
            claims += self.handled(&relay, &batch, chosen).await?.len() as u64;
        }
        walk.end().await?;
        Ok(claims)
    }

    async fn counted(&self, from: Seq, chosen: &Chosen) -> Result<Replayed, Error> {
        let (relay, mut tally) = (self.operator.relay().await?, Tally::default());
        let mut walk = self.walk(from).await?;
        while let Some(batch) = walk.next().await? {
            tally.add(&self.handled(&relay, &batch, chosen).await?)?;
        }
        walk.end().await?;
        Ok(tally.replayed())
    }

    /// The chosen events that it has handled.
    async fn handled(&self, relay: &RelayTx, batch: &[Delivery], chosen: &Chosen) -> Result<Vec<LogRow>, Error> {
        let mut rows = rows(batch, chosen);
        let claims: Vec<Claim> = rows.iter().map(LogRow::claim).collect();
        let handled = relay.handled(&self.name, &claims).await?;
        rows.retain(|row| handled.contains(&row.event));
        Ok(rows)
    }

    async fn again(
        &self,
        who: &Who,
        (again, from): (Again, Seq),
        chosen: &Chosen,
        told: Steps<'_>,
    ) -> Result<Moved, Error> {
        self.remembers(from).await?;
        let mut in_hand = self.operator.in_hand(who, &self.name, (again, from)).await?;
        // Only now: nobody handles anything of it any more, so whatever has a claim is in the stream already.
        let mut walk = self.walk(from).await?;
        while let Some(batch) = walk.next().await? {
            in_hand.give(&rows(&batch, chosen)).await?;
            let (done, total) = walk.progress();
            told(done, total);
        }
        let moved = in_hand.let_go().await?;
        walk.end().await?;
        Ok(moved)
    }

    /// Refuses to go back behind events that are older than claims are kept: they would be handled twice, and nobody would know.
    async fn remembers(&self, from: Seq) -> Result<(), Error> {
        let places = self.operator.places(&self.name).await?;
        if self.rebuildable || places.iter().all(|place| *place <= from) {
            return Ok(());
        }
        let since = self.operator.now() - REMEMBERED_MS;
        match forgotten(self.walk(from).await?, since).await? {
            Some(floor) => {
                Err(karwan_store::Error::ClaimsGone { consumer: self.name.clone(), asked: from, floor }.into())
            }
            None => Ok(()),
        }
    }

    async fn walk(&self, from: Seq) -> Result<Walk, Error> {
        let settings = Settings::new(&self.stream, &self.question(), &self.subjects);
        let start = if from == 0 { Start::Beginning } else { Start::After(from.unsigned_abs()) };
        Ok(Walk::begin(&self.broker, settings, start).await?)
    }

    fn question(&self) -> String {
        self.broker.reader(self.random.bits())
    }
}

/// The number behind which everything was logged since an instant; none where that is where the walk begins. Some that were logged
/// before may lie behind it, which a relay published late.
pub(crate) async fn forgotten(mut walk: Walk, since: i64) -> Result<Option<Seq>, karwan_broker::Error> {
    let (mut old, mut is_found) = (None, false);
    while !is_found && let Some(batch) = walk.next().await? {
        for Delivery { stream_seq, logged_ms, .. } in &batch {
            match logged_ms {
                Some(at) if *at >= since => {
                    is_found = true;
                    break;
                }
                Some(_) => old = Some(signed(*stream_seq)),
                // It is not ours, and is passed over by whoever reads it.
                None => {}
            }
        }
    }
    walk.end().await?;
    Ok(old)
}

fn rows(batch: &[Delivery], chosen: &Chosen) -> Vec<LogRow> {
    let row = |delivery| row(delivery, stored::any_ordering_key).filter(|row| chosen.has(row));
    batch.iter().filter_map(row).collect()
}

/// A message as a row of a log, under its number in the stream; none where it is not one of ours. Whoever asks knows how
/// ordering keys are spelled.
pub fn row(delivery: &Delivery, key: impl FnOnce(&str) -> Option<(TenantBits, String)>) -> Option<LogRow> {
    let (tenant, key) = key(&delivery.ordering_key)?;
    Some(LogRow {
        seq: signed(delivery.stream_seq),
        tenant,
        subject: delivery.subject.to_string(),
        slot: slot(tenant, &key),
        key,
        event: event(delivery)?,
        at: delivery.logged_ms?,
        envelope: String::from_utf8(delivery.payload.to_vec()).ok()?,
    })
}

/// The event of a message, where it is one of ours.
pub fn event(delivery: &Delivery) -> Option<EventId> {
    Form::Uuid.parse(&delivery.event_id).ok().map(EventId::from_bits)
}

/// A number of a stream as the store keeps it.
pub(crate) fn signed(stream_seq: u64) -> Seq {
    i64::try_from(stream_seq).unwrap_or(i64::MAX)
}
