//! What the broker refuses: parked, tried again, and locked away after 50 attempts over at least six hours.
//!
//! What is published so lies far behind the relay's position. Its place in the stream is kept, so that a stream which loses it gets it
//! again.

use karwan_broker::Error as BrokerError;
use karwan_store::consumer::{Dead, Parked};
use karwan_store::relay_state::StreamPlace;

use super::session::Session;
use crate::policy::RELAY;
use crate::stop::Stop;

/// Parked events that are published in one go.
const RETRIED_AT_ONCE: usize = 100;

impl Session<'_> {
    /// A session broke. Where it was for one event, that event is parked, and the session may be opened again at once.
    pub(super) async fn aside(&mut self, stop: Stop) -> Result<(), Stop> {
        let Stop::Broker(BrokerError::Refused { tag, ref description, .. }) = stop else { return Err(stop) };
        let Some(row) = self.outgoing.row(tag) else { return Err(stop) };
        let event = row.clone().parked(None, 0, String::new());
        self.failed(event, description.clone()).await
    }

    /// Publishes the parked events whose time has come, each alone.
    pub(super) async fn retry_due(&mut self) -> Result<(), Stop> {
        // What is new has its turn after as many.
        let due = self.lane.due(self.stream.shared.now_ms(), RETRIED_AT_ONCE);
        for event in due {
            let Some(event) = self.still_waits(event).await? else { continue };
            // What is on its way is in the stream first: only then does the mark say the truth.
            self.flush().await?;
            let (tag, mark) = (self.outgoing.next_tag(), self.outgoing.scanned());
            let sent = match self.send(&event.row(), tag, mark).await {
                Ok(()) => self.flush().await,
                Err(stop) => Err(stop),
            };
            let acked = self.publisher.acked();
            if acked.tag == Some(tag) {
                // Also where it was in the stream already, and the publisher has stopped for that.
                let place = StreamPlace { seq: acked.stream_seq.cast_signed(), created: self.created };
                self.stream.shared.store.retried(&self.hold, event.event, place).await?;
                self.next_of(&event).await?;
            }
            match sent {
                Ok(()) => {}
                Err(Stop::Broker(BrokerError::Refused { description, .. })) => {
                    self.failed(event, description).await?;
                    // The publisher has stopped; it is opened again.
                    return Err(Stop::Broker(BrokerError::OutOfStep { stream: self.stream.name.clone(), expected: 0 }));
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    /// The event as the store has it now: an operator may have repaired it, or taken it away, and the broker does not ask.
    async fn still_waits(&mut self, known: Parked) -> Result<Option<Parked>, Stop> {
        let (lane, shared) = (&self.stream.lane, &self.stream.shared);
        let head = shared.store.parked_head(lane, known.tenant, &known.key).await?;
        let now = shared.now_ms();
        if head.as_ref().is_some_and(|head| head.event == known.event && head.due.is_some_and(|due| due <= now)) {
            return Ok(head);
        }
        self.lane.promote(&known, head);
        Ok(None)
    }

    /// Parks an event that was refused, or locks it away; its key goes on without it then.
    async fn failed(&mut self, event: Parked, error: String) -> Result<(), Stop> {
        let (shared, now) = (&self.stream.shared, self.stream.shared.now_ms());
        let attempts = event.attempts + 1;
        tracing::warn!(stream = %self.stream.name, event = %event.event, attempts, %error, "the broker refuses an event");
        let parked_ms = shared.store.parked_ms(&self.hold.consumer, event.event).await?;
        if RELAY.exhausted(attempts, parked_ms) {
            let dead = Parked { attempts, error, ..event.clone() };
            shared.store.bury(&self.hold, &Dead { event: dead, at: 0 }).await?;
            tracing::error!(stream = %self.stream.name, event = %event.event, "an event is locked away: it was refused for hours");
            return self.next_of(&event).await;
        }
        let due = Some(now + RELAY.policy.wait_ms(attempts, &*shared.random));
        let parked = Parked { due, attempts, error, ..event };
        shared.store.park(&self.hold, std::slice::from_ref(&parked)).await?;
        self.lane.park(parked);
        Ok(())
    }

    /// The first of a key's parked events is done with: the one behind it may go.
    async fn next_of(&mut self, done: &Parked) -> Result<(), Stop> {
        let lane = &self.stream.lane;
        let next = self.stream.shared.store.parked_head(lane, done.tenant, &done.key).await?;
        self.lane.promote(done, next);
        Ok(())
    }
}
