//! What is published: one event, its attributes, and where its producer's log was.

use std::fmt;
use std::str::FromStr;

use async_nats::HeaderName;
use bytes::Bytes;

/// Attributes and headers by their names on the wire.
pub(crate) mod header {
    use super::HeaderName;

    pub(crate) const EVENT_ID: HeaderName = HeaderName::from_static("eventId");
    pub(crate) const EVENT_TYPE: HeaderName = HeaderName::from_static("eventType");
    pub(crate) const EVENT_VERSION: HeaderName = HeaderName::from_static("eventVersion");
    pub(crate) const TENANT_ID: HeaderName = HeaderName::from_static("tenantId");
    pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotencyKey");
    pub(crate) const ORDERING_KEY: HeaderName = HeaderName::from_static("orderingKey");
    pub(crate) const POSITION: HeaderName = HeaderName::from_static("Karwan-Position");
    pub(crate) const LOGGED: HeaderName = HeaderName::from_static("Karwan-Logged");
    pub(crate) const MESSAGE_ID: HeaderName = HeaderName::from_static("Nats-Msg-Id");
    pub(crate) const EXPECTED_LAST: HeaderName = HeaderName::from_static("Nats-Expected-Last-Sequence");
    pub(crate) const BATCH_ID: HeaderName = HeaderName::from_static("Nats-Batch-Id");
    pub(crate) const BATCH_SEQUENCE: HeaderName = HeaderName::from_static("Nats-Batch-Sequence");
    pub(crate) const BATCH_COMMIT: HeaderName = HeaderName::from_static("Nats-Batch-Commit");
}

/// How far a producer's log lies behind a message: everything up to it is in the stream, or parked by the relay. Printed as
/// `<incarnation>-<seq>`, like the store's positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watermark {
    /// Which life of the store.
    pub incarnation: i64,
    /// The last row of the log that lies behind.
    pub seq: i64,
}

/// Why a text is not a watermark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a watermark such as 1-42")]
pub struct BadWatermark(String);

impl fmt::Display for Watermark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.incarnation, self.seq)
    }
}

impl FromStr for Watermark {
    type Err = BadWatermark;

    fn from_str(text: &str) -> Result<Self, BadWatermark> {
        let number = |part: &str| part.parse().ok().filter(|number: &i64| *number >= 0);
        let parts = text.split_once('-').and_then(|(life, seq)| Some((number(life)?, number(seq)?)));
        let (incarnation, seq) = parts.ok_or_else(|| BadWatermark(text.chars().take(64).collect()))?;
        Ok(Self { incarnation, seq })
    }
}

/// What a receiver may route by without reading the payload, and the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// The event; also what the broker deduplicates by.
    pub event_id: &'a str,
    /// Its type, without a version.
    pub event_type: &'a str,
    /// Its version.
    pub event_version: u32,
    /// Its tenant; empty for an event of the platform itself.
    pub tenant_id: &'a str,
    /// The business intent.
    pub idempotency_key: &'a str,
    /// `<tenant>:<aggregate>`.
    pub ordering_key: &'a str,
}

/// One event on its way into a stream.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The caller's name for it, in answers. Growing from message to message.
    pub tag: u64,
    /// Where it goes: the event's subject.
    pub subject: &'a str,
    /// What a receiver may route by.
    pub attributes: Attributes<'a>,
    /// The stored envelope, byte for byte.
    pub payload: Bytes,
    /// How far the producer's log lies behind.
    pub position: Watermark,
    /// When the event entered the producer's log, in milliseconds after 1970.
    pub logged_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::Watermark;

    #[test]
    fn a_watermark_is_read_as_it_is_printed() {
        let mark = Watermark { incarnation: 3, seq: 42 };
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for text in ["", "42", "-1-2", "a-b", "1-"] {
            assert!(text.parse::<Watermark>().is_err(), "{text}");
        }
    }
}
