//! Streams one by one, for those who look at them and for measurements; a catalogue's are made by its topology.

use std::time::Duration;

use karwan_envelope::time::Timestamp;
use serde_json::{Value, json};

use crate::api::{About, ConsumerInfo};
use crate::connection::Broker;
use crate::error::Error;
use crate::subscriber::Subscription;
use crate::topology::{create_durable, nanos};

/// How long a consumer that was made for one question outlives it, where it cannot be removed.
const QUESTION_LIVES: Duration = Duration::from_secs(10);

/// A place in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind the last one.
    End,
    /// Behind the message of this number.
    After(u64),
    /// Before the first message that was stored at this instant or later, by the broker's clock.
    Time(Timestamp),
}

/// What a durable has handed out and not got back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Out {
    /// Deliveries without an acknowledgement.
    pub unacked: u64,
    /// Those of them that were delivered more than once.
    pub again: u64,
}

impl Broker {
    /// What a durable has handed out and not got back.
    pub async fn out(&self, stream: &str, durable: &str) -> Result<Out, Error> {
        let info = self.consumer_info(stream, durable).await?;
        Ok(Out { unacked: info.num_ack_pending, again: info.num_redelivered })
    }

    /// Whether there is a stream of this name.
    pub async fn has_stream(&self, stream: &str) -> Result<bool, Error> {
        match self.stream_info(stream).await {
            Ok(_) => Ok(true),
            Err(Error::StreamGone { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The last sequence that a stream gave; 0 where it never had a message.
    pub async fn last_sequence(&self, stream: &str) -> Result<u64, Error> {
        Ok(self.stream_info(stream).await?.state.last_seq)
    }

    /// The number behind which a place lies; refuses one whose messages are gone, or have not come yet. `name` is a name for
    /// a consumer that nobody else has, which is made for the question and removed.
    pub async fn number_of(&self, stream: &str, place: Place, name: &str) -> Result<u64, Error> {
        let state = self.stream_info(stream).await?.state;
        let last = state.last_seq;
        let first = if state.messages == 0 { last + 1 } else { state.first_seq };
        let refused = |asked: String| Error::NoPlace { stream: stream.to_owned(), asked, first, last };
        match place {
            Place::End => Ok(last),
            Place::After(number) if number > last || number + 1 < first => Err(refused(format!("behind {number}"))),
            Place::After(number) => Ok(number),
            Place::Time(at) => {
                let oldest = state.first_ts.parse::<Timestamp>().ok().filter(|_| first > 1 && state.messages > 0);
                if oldest.is_some_and(|oldest| at < oldest) {
                    return Err(refused(format!("of {at}")));
                }
                // Nobody asks for time but a consumer, when it is made: it says where it would begin.
                let config = json!({
                    "durable_name": name, "deliver_policy": "by_start_time", "opt_start_time": at.to_string(),
                    "ack_policy": "explicit", "inactive_threshold": nanos(QUESTION_LIVES),
                });
                let made: ConsumerInfo = create_durable(self, stream, name, &config).await?;
                Subscription::delete(self, stream, name).await?;
                Ok(made.delivered.stream_seq.min(last))
            }
        }
    }

    /// A stream that takes one subject, as the server makes it where nothing else is said.
    pub async fn make_plain_stream(&self, stream: &str, subject: &str) -> Result<(), Error> {
        let config = json!({ "name": stream, "subjects": [subject], "storage": "file" });
        let about = About { stream, ..About::default() };
        self.ask::<Value>(&format!("STREAM.CREATE.{stream}"), about, &config).await.map(drop)
    }

    /// Drops the beginning of a stream, as age would: this message is the first one then.
    pub async fn drop_before(&self, stream: &str, seq: u64) -> Result<(), Error> {
        let about = About { stream, ..About::default() };
        self.ask::<Value>(&format!("STREAM.PURGE.{stream}"), about, &json!({ "seq": seq })).await.map(drop)
    }

    /// Deletes a stream with everything in it; one that is not there is no error.
    pub async fn delete_stream(&self, stream: &str) -> Result<(), Error> {
        let about = About { stream, ..About::default() };
        match self.ask::<Value>(&format!("STREAM.DELETE.{stream}"), about, &json!({})).await {
            Ok(_) | Err(Error::StreamGone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
