//! Reads a stream from a place to where it ends now, through a durable that goes again.
//!
//! For operators who look at a stream, or have events of it handled again. Nothing of anybody else's durables changes.

use std::time::Duration;

use super::{Delivery, Settings, Start, Subscription};
use crate::connection::Broker;
use crate::error::Error;

/// So many messages are handed out at once.
const BATCH: usize = 1_000;
/// How long the first of them is waited for.
const WAIT: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug)]
pub struct Walk {
    subscription: Subscription,
    settings: Settings,
    began: u64,
    done: u64,
    last: u64,
}

impl Walk {
    /// Begins; the durable's name is nobody else's.
    pub async fn begin(broker: &Broker, settings: Settings, start: Start) -> Result<Self, Error> {
        let (subscription, floor) = Subscription::open(broker, &settings, start).await?;
        Ok(Self { subscription, settings, began: floor.after, done: floor.after, last: floor.last_seq })
    }

    /// The next messages; none where it is at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Delivery>>, Error> {
        self.subscription.ack_all(self.done).await?;
        while self.done < self.last {
            let batch = self.subscription.next_batch(BATCH, WAIT).await?;
            match batch.last() {
                Some(last) => {
                    self.done = last.stream_seq;
                    return Ok(Some(batch));
                }
                // What is left are messages of other topics.
                None if self.subscription.caught_up().await?.is_some() => self.done = self.last,
                None => {}
            }
        }
        Ok(None)
    }

    /// How many numbers of the stream lie behind, and how many there are.
    pub fn progress(&self) -> (u64, u64) {
        let total = self.last.saturating_sub(self.began);
        (self.done.saturating_sub(self.began).min(total), total)
    }

    /// Removes the durable.
    pub async fn end(self) -> Result<(), Error> {
        let Settings { stream, durable, .. } = &self.settings;
        Subscription::delete(&self.subscription.broker, stream, durable).await
    }
}
