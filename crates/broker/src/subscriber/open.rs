//! Where a durable begins, and how it gets there.
//!
//! A durable with deliveries out is never taken over as it is: JetStream would first hand out what is new and only after
//! `ack_wait` what was out, and order would be lost. It is deleted and made anew behind the last message that is known to
//! be finished. Whoever pulled the old one is told that it is gone, so that a process that was thought dead gets nothing.

use serde_json::{Value, json};

use super::{Settings, Start};
use crate::api::{About, ConsumerInfo, StreamInfo};
use crate::connection::Broker;
use crate::error::Error;
use crate::topology::{create_durable, wanted_durable};

/// Where a durable and its stream were when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    /// The last message of the stream that lies behind: the next delivery comes after it.
    pub after: u64,
    /// When the stream was made, as the server prints it: another time is another stream under the same name.
    pub created: String,
    /// The first message that the stream has; one more than the last when it has none.
    pub first_seq: u64,
    /// The last message that was ever stored.
    pub last_seq: u64,
}

/// A durable that is ready to be pulled.
pub(super) struct Opened {
    pub(super) floor: Floor,
    /// The number of its next delivery.
    pub(super) next: u64,
}

pub(super) async fn open(broker: &Broker, settings: &Settings, start: Start) -> Result<Opened, Error> {
    broker.judged()?;
    let (stream, durable) = (settings.stream.as_str(), settings.durable.as_str());
    let info = broker.stream_info(stream).await?;
    let existing = match broker.consumer_info(stream, durable).await {
        Ok(existing) => Some(existing),
        Err(Error::ConsumerGone { .. }) => None,
        Err(error) => return Err(error),
    };
    let floor = begin(settings, start, &info, existing.as_ref())?;
    if let Some(existing) = &existing {
        if is_clean(settings, existing, &floor) {
            return Ok(Opened { floor, next: existing.delivered.consumer_seq + 1 });
        }
        delete(broker, stream, durable).await?;
    }
    let mut config = wanted_durable(settings);
    config["deliver_policy"] = json!("by_start_sequence");
    config["opt_start_seq"] = json!(floor.after + 1);
    let made: ConsumerInfo = create_durable(broker, stream, durable, &config).await?;
    Ok(Opened { floor, next: made.delivered.consumer_seq + 1 })
}

/// Removes a durable; one that is not there is no error.
pub(super) async fn delete(broker: &Broker, stream: &str, durable: &str) -> Result<(), Error> {
    let verb = format!("CONSUMER.DELETE.{stream}.{durable}");
    match broker.ask::<Value>(&verb, About { stream, durable }, &json!({})).await {
        Ok(_) | Err(Error::ConsumerGone { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Decides where deliveries begin; refuses a stream that lost what was not seen, or that is shorter than what was.
fn begin(
    settings: &Settings,
    start: Start,
    info: &StreamInfo,
    existing: Option<&ConsumerInfo>,
) -> Result<Floor, Error> {
    let last = info.state.last_seq;
    let first = if info.state.messages == 0 { last + 1 } else { info.state.first_seq };
    let floor = |after| Floor { after, created: info.created.clone(), first_seq: first, last_seq: last };
    let after = match (start, existing) {
        (Start::Beginning, _) | (Start::Floor, None) => return Ok(floor(first - 1)),
        (Start::End, _) => return Ok(floor(last)),
        (Start::After(after), _) => after,
        // Caught up: what is gone since was none of its subjects, or it would be pending.
        (Start::Floor, Some(info)) if info.num_pending == 0 && info.num_ack_pending == 0 => return Ok(floor(last)),
        (Start::Floor, Some(info)) => info.ack_floor.stream_seq,
    };
    let (stream, durable) = (settings.stream.clone(), settings.durable.clone());
    if after > last {
        return Err(Error::Behind { stream, durable, after, last });
    }
    if after + 1 < first {
        return Err(Error::Gap { stream, durable, after, first });
    }
    Ok(floor(after))
}

/// Whether nothing is out, nobody pulls, and it stands where we want to begin.
fn is_clean(settings: &Settings, existing: &ConsumerInfo, floor: &Floor) -> bool {
    let wanted = wanted_durable(settings);
    let same = |name: &str| existing.config[name] == wanted[name];
    existing.num_ack_pending == 0
        && existing.num_waiting == 0
        && existing.ack_floor.stream_seq == existing.delivered.stream_seq
        && existing.ack_floor.stream_seq == floor.after
        && ["filter_subjects", "ack_policy", "ack_wait", "max_deliver", "max_ack_pending"].into_iter().all(same)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Settings, Start, begin};
    use crate::api::{ConsumerInfo, StreamInfo};
    use crate::error::Error;

    fn stream(first: u64, last: u64) -> StreamInfo {
        let messages = (last + 1).saturating_sub(first);
        let value = json!({
            "config": {}, "created": "then", "state": { "messages": messages, "first_seq": first, "last_seq": last }
        });
        serde_json::from_value(value).unwrap()
    }

    fn durable(floor: u64, pending: u64) -> ConsumerInfo {
        let value = json!({
            "config": {}, "delivered": { "consumer_seq": 9, "stream_seq": floor }, "num_waiting": 0,
            "ack_floor": { "consumer_seq": 9, "stream_seq": floor }, "num_ack_pending": 0, "num_pending": pending,
        });
        serde_json::from_value(value).unwrap()
    }

    fn after(start: Start, info: &StreamInfo, existing: Option<&ConsumerInfo>) -> Result<u64, Error> {
        begin(&Settings::new("S", "d", &[]), start, info, existing).map(|floor| floor.after)
    }

    #[test]
    fn a_new_durable_begins_with_what_is_there() {
        assert!(matches!(after(Start::Floor, &stream(5, 9), None), Ok(4)));
        assert!(matches!(after(Start::Beginning, &stream(10, 9), None), Ok(9)));
        assert!(matches!(after(Start::End, &stream(5, 9), None), Ok(9)));
    }

    #[test]
    fn what_was_dropped_unseen_is_a_gap() {
        assert!(matches!(after(Start::After(4), &stream(5, 9), None), Ok(4)));
        assert!(matches!(after(Start::After(3), &stream(5, 9), None), Err(Error::Gap { after: 3, first: 5, .. })));
        assert!(matches!(after(Start::Floor, &stream(5, 9), Some(&durable(3, 5))), Err(Error::Gap { .. })));
    }

    #[test]
    fn a_durable_that_was_caught_up_misses_nothing_when_others_messages_go() {
        assert!(matches!(after(Start::Floor, &stream(500, 900), Some(&durable(3, 0))), Ok(900)));
    }

    #[test]
    fn a_stream_that_is_shorter_than_what_was_seen_is_another_one() {
        assert!(matches!(after(Start::After(10), &stream(1, 9), None), Err(Error::Behind { after: 10, last: 9, .. })));
        assert!(matches!(after(Start::After(9), &stream(1, 9), None), Ok(9)));
    }
}
