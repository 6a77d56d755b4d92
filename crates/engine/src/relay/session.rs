//! From the moment that a stream said how far it is, until something goes wrong.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karwan_broker::{Attributes, Error as BrokerError, Message, Publisher, StreamEnd, Watermark};
use karwan_envelope::time::Timestamp;
use karwan_store::Listening;
use karwan_store::consumer::Parked;
use karwan_store::log::{LogPage, LogRow, Seq};
use karwan_store::stored::{self, Published};
use karwan_store::write_set::LaneHold;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::outgoing::Outgoing;
use super::pages::Page;
use super::stream::Stream;
use crate::engine::Stopping;
use crate::lane::Lane;
use crate::leases::waiting;
use crate::stop::Stop;

/// Positions are saved at most so often: the stream itself says what was published.
const SAVE: Duration = Duration::from_millis(200);
/// How long a relay with nothing to do waits before it looks by itself.
const IDLE: Duration = Duration::from_millis(50);
/// What waits behind a parked event of its key.
const BEHIND: &str = "behind another event of its key";

/// A page that is being read, while the one before is published.
type Coming = JoinHandle<Result<Option<Arc<Page>>, karwan_store::Error>>;

/// See the module.
pub(super) struct Session<'a> {
    pub(super) stream: &'a Stream,
    pub(super) hold: LaneHold,
    pub(super) publisher: Publisher,
    pub(super) lane: Lane,
    pub(super) outgoing: Outgoing,
    revision: i64,
    incarnation: i64,
    pub(super) created: i64,
    /// What was saved last, and when.
    saved: ((Seq, u64), Instant),
    /// Behind this number nothing was given up, or published after it had been refused.
    amended_to: Seq,
    listening: Listening,
}

impl<'a> Session<'a> {
    pub async fn open(
        stream: &'a Stream,
        hold: LaneHold,
        publisher: Publisher,
        (from, end): (Seq, StreamEnd),
    ) -> Result<Self, Stop> {
        let store = &stream.shared.store;
        let (revision, waiting) = waiting(store, &stream.lane, stream.waiting_max).await?;
        Ok(Self {
            hold,
            publisher,
            lane: Lane::with(waiting),
            outgoing: Outgoing::new(from, end.last_seq),
            revision,
            incarnation: store.relay().incarnation(),
            created: created_ms(&end),
            saved: ((from, 0), Instant::now()),
            amended_to: store.amended_to(&stream.lane.consumer).await?,
            listening: store.relay().listen(),
            stream,
        })
    }

    /// Until a stop, a pause, or another's turn, when what is on its way is waited for and the position is saved.
    pub async fn run(&mut self, stopping: &Stopping) -> Result<(), Stop> {
        let outcome = self.publish(stopping).await;
        let outcome = match outcome {
            Ok(()) => self.flush().await,
            Err(stop) => self.aside(stop).await,
        };
        // Also where it broke: whatever the broker has answered is true.
        self.note_acknowledged();
        self.save(true).await?;
        outcome
    }

    async fn publish(&mut self, stopping: &Stopping) -> Result<(), Stop> {
        let mut coming = self.read(self.outgoing.scanned());
        while !stopping.is_now() && self.stream.goes_on(&self.hold) {
            self.publisher.collect()?;
            self.stream.shared.store.heard("what the broker has").await;
            self.note_acknowledged();
            self.save(false).await?;
            self.obey().await?;
            self.retry_due().await?;
            if self.is_past_bound().await? {
                continue;
            }
            let page = match coming.await {
                Ok(page) => page?,
                Err(_) => None,
            };
            self.stream.shared.store.heard("a page for a stream").await;
            let Some(page) = page else {
                self.flush().await?;
                // Nothing is to be published, and the stream has said how far it is.
                self.stream.shared.troubles.over(&self.stream.name);
                self.save(false).await?;
                tokio::select! {
                    biased;
                    () = self.listening.rung() => {}
                    () = tokio::time::sleep(IDLE) => {}
                }
                self.stream.shared.store.heard("a relay is woken").await;
                coming = self.read(self.outgoing.scanned());
                continue;
            };
            coming = self.read(page.page.position.seq);
            self.send_page(&page).await?;
        }
        coming.abort();
        Ok(())
    }

    /// Begins to read on, so that reading and publishing go on beside each other.
    fn read(&self, after: Seq) -> Coming {
        let pages = self.stream.pages.clone();
        tokio::spawn(async move { pages.after(after).await })
    }

    async fn send_page(&mut self, page: &Arc<Page>) -> Result<(), Stop> {
        if page.page.position.incarnation != self.incarnation {
            let now = page.page.position;
            return Err(Stop::Store(karwan_store::Error::Reset { asked: page.after, now }));
        }
        let page = &self.as_amended(page).await?;
        let ours = |row: &LogRow| self.is_ours(row) && !self.lane.is_parked(row);
        let rows = page.page.rows.iter().enumerate().filter(|(_, row)| ours(row));
        let (behind, free): (Vec<_>, Vec<_>) = rows.partition(|(_, row)| self.lane.must_wait(row));
        if !behind.is_empty() {
            // Before anything behind them is sent: once that is in the stream, it says that everything before it was done with.
            let behind: Vec<Parked> =
                behind.into_iter().map(|(_, row)| row.clone().parked(Some(0), 0, BEHIND.to_owned())).collect();
            self.stream.shared.store.park(&self.hold, &behind).await?;
            behind.into_iter().for_each(|event| self.lane.park(event));
        }
        for (place, row) in free {
            let tag = self.outgoing.send(page, place);
            self.send(row, tag, row.seq).await?;
        }
        self.outgoing.scan(page.page.position.seq);
        Ok(())
    }

    fn is_ours(&self, row: &LogRow) -> bool {
        self.stream.subjects.contains(&row.subject)
    }

    /// A page without what was given up of it, and with what was repaired. Rows are read again where a stream has lost them: what an
    /// operator has passed over, deleted or mended since is not published as it was.
    async fn as_amended(&self, page: &Arc<Page>) -> Result<Arc<Page>, Stop> {
        if page.after.seq >= self.amended_to {
            return Ok(page.clone());
        }
        let rows: Vec<&LogRow> = page.page.rows.iter().filter(|row| self.is_ours(row)).collect();
        let mut amended = self.stream.shared.store.amended(&self.hold.consumer, &rows).await?;
        let kept = page.page.rows.iter().filter(|row| !amended.given_up.contains(&row.event)).cloned();
        let rows = kept.map(|row| match amended.published.remove(&row.event) {
            Some(envelope) => LogRow { envelope, ..row },
            None => row,
        });
        let LogPage { position, more, .. } = page.page;
        Ok(Arc::new(Page { after: page.after, page: LogPage { rows: rows.collect(), position, more } }))
    }

    /// Hands a row to the publisher; `mark` is how far the log lies behind it.
    pub(super) async fn send(&mut self, row: &LogRow, tag: u64, mark: Seq) -> Result<(), Stop> {
        let catalogue = self.stream.shared.store.catalogue();
        let Published { event_id, event_type, event_version, tenant_id, idempotency_key, ordering_key } =
            match stored::published(catalogue, row) {
                Ok(published) => published,
                // What cannot be read now could not be read later either; plain SQL may have brought it.
                Err(error) => return Err(self.refused(tag, crate::worker::told(&error))),
            };
        let message = Message {
            tag,
            subject: &row.subject,
            attributes: Attributes {
                event_id: &event_id,
                event_type: &event_type,
                event_version,
                tenant_id: &tenant_id,
                idempotency_key: &idempotency_key,
                ordering_key: &ordering_key,
            },
            payload: Bytes::copy_from_slice(row.envelope.as_bytes()),
            position: Watermark { incarnation: self.incarnation, seq: mark },
            logged_ms: row.at,
        };
        Ok(self.publisher.send(&message).await?)
    }

    fn refused(&self, tag: u64, description: String) -> Stop {
        Stop::Broker(BrokerError::Refused { stream: self.stream.name.clone(), tag, code: 0, description })
    }

    fn note_acknowledged(&mut self) {
        let acked = self.publisher.acked();
        if let Some(tag) = acked.tag {
            self.outgoing.acknowledged(tag, acked.stream_seq);
            self.stream.shared.troubles.over(&self.stream.name);
        }
        self.stream.shared.publish(&self.stream.name, self.outgoing.watermark().0);
    }

    /// Waits until everything that was sent is in the stream.
    pub(super) async fn flush(&mut self) -> Result<(), Stop> {
        self.publisher.flush().await?;
        self.stream.shared.store.heard("the broker has everything").await;
        self.note_acknowledged();
        Ok(())
    }

    async fn save(&mut self, now: bool) -> Result<(), Stop> {
        let ((saved, at), mark) = (self.saved, self.outgoing.watermark());
        if mark == saved || !now && at.elapsed() < SAVE {
            return Ok(());
        }
        let store = &self.stream.shared.store;
        store.save_relay(&self.hold, mark.0, mark.1.cast_signed(), self.created).await?;
        let waiting = (store.relay().end().await?.seq - mark.0).max(0).unsigned_abs();
        let oldest = self.outgoing.oldest().map_or(0, |at| (self.stream.shared.now_ms() - at).max(0).unsigned_abs());
        let Stream { service, name, .. } = self.stream;
        store.metrics().unpublished(service, name, waiting, Duration::from_millis(oldest));
        self.saved = (mark, Instant::now());
        Ok(())
    }

    /// Looks again at what waits, where operators have changed something.
    async fn obey(&mut self) -> Result<(), Stop> {
        if self.stream.shared.revision(&self.hold.consumer) > self.revision {
            self.know_again().await?;
        }
        Ok(())
    }

    async fn know_again(&mut self) -> Result<(), Stop> {
        let Stream { shared, lane, waiting_max, .. } = self.stream;
        let (revision, waiting) = waiting(&shared.store, lane, *waiting_max).await?;
        self.lane.know(waiting);
        self.amended_to = shared.store.amended_to(&lane.consumer).await?;
        self.revision = revision;
        Ok(())
    }

    /// Whether keys may wait that are not known here: an event of one would overtake those before it, so nothing new is
    /// published. What is due was tried; where that made room, others become known, else somebody has to help.
    async fn is_past_bound(&mut self) -> Result<bool, Stop> {
        let Stream { shared, name, waiting_max, .. } = self.stream;
        if !self.lane.waits_beyond() && self.lane.waiting() <= *waiting_max {
            return Ok(false);
        }
        if self.lane.waits_beyond() && self.lane.waiting() <= *waiting_max {
            self.know_again().await?;
        } else if !self.lane.has_due(shared.now_ms()) {
            let reason = format!("more than {waiting_max} keys wait");
            tracing::error!(stream = %name, %reason, "a relay is suspended; it publishes nothing until it is resumed");
            shared.store.suspend(&self.hold, &reason).await?;
            shared.suspend_one(&self.hold.consumer, reason);
        }
        Ok(true)
    }
}

/// When a stream was made; another one of its name has another time.
pub(super) fn created_ms(end: &StreamEnd) -> i64 {
    end.created.parse::<Timestamp>().map_or(0, Timestamp::unix_ms)
}
