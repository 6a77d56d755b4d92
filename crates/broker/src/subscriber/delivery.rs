//! One message as it is delivered, and what its reply subject says about it. Pure.

use std::sync::Arc;

use async_nats::HeaderMap;
use bytes::Bytes;

use crate::message::{Watermark, header};

/// An event from a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its number in the stream.
    pub stream_seq: u64,
    /// Its subject.
    pub subject: Arc<str>,
    /// The envelope, byte for byte as its producer stored it.
    pub payload: Bytes,
    /// The event; empty where the message was not ours.
    pub event_id: String,
    /// `<tenant>:<aggregate>`; empty where the message was not ours.
    pub ordering_key: String,
    /// How far the producer's log lay behind it.
    pub position: Option<Watermark>,
    /// When it entered the producer's log, in milliseconds after 1970.
    pub logged_ms: Option<i64>,
    /// Whether it was delivered before, perhaps to another process.
    pub redelivered: bool,
}

/// What the server says about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// How often it was delivered, this time included.
    pub(super) times: u64,
    /// Its number in the stream.
    pub(super) stream_seq: u64,
    /// Which delivery of the durable this is.
    pub(super) delivery: u64,
}

impl Place {
    /// From `$JS.ACK.<stream>.<durable>.<times>.<stream seq>.<delivery>.<time>.<pending>`; newer servers put a domain and an
    /// account before the stream.
    pub(super) fn parse(reply: &str) -> Option<Self> {
        let tokens: Vec<&str> = reply.split('.').collect();
        let at = match tokens.len() {
            9 => 4,
            11.. => 6,
            _ => return None,
        };
        if tokens[..2] != ["$JS", "ACK"] {
            return None;
        }
        let number = |index: usize| tokens[index].parse::<u64>().ok();
        Some(Self { times: number(at)?, stream_seq: number(at + 1)?, delivery: number(at + 2)? })
    }
}

/// Puts a delivery together.
pub(super) fn delivery(place: Place, subject: Arc<str>, headers: Option<&HeaderMap>, payload: Bytes) -> Delivery {
    let text = |name| headers.and_then(|headers| headers.get(name)).map_or("", |value| value.as_str());
    Delivery {
        stream_seq: place.stream_seq,
        subject,
        payload,
        event_id: text(header::EVENT_ID).to_owned(),
        ordering_key: text(header::ORDERING_KEY).to_owned(),
        position: text(header::POSITION).parse().ok(),
        logged_ms: text(header::LOGGED).parse().ok(),
        redelivered: place.times > 1,
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn the_place_is_read_from_replies_of_old_and_new_servers() {
        let place = Some(Place { times: 2, stream_seq: 30, delivery: 31 });
        assert_eq!(Place::parse("$JS.ACK.S.d.2.30.31.1700000000000000000.5"), place);
        assert_eq!(Place::parse("$JS.ACK.hub.ACCOUNT.S.d.2.30.31.1700000000000000000.5"), place);
        assert_eq!(Place::parse("$JS.ACK.hub.ACCOUNT.S.d.2.30.31.1700000000000000000.5.token"), place);
        assert_eq!(Place::parse("_INBOX.a"), None);
    }
}
