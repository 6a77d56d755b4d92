//! The settings of streams and durables, as JetStream has them.
//!
//! Kept as JetStream can: retention on the broker, the acknowledgement deadline, acknowledged messages stay. Kept by us
//! instead: backoff between 10 and 600 s (parked keys), exactly once (the inbox), order (the expected sequence).

use std::time::Duration;

use serde_json::{Value, json};

use super::{Stream, Topology, names};
use crate::subscriber::Settings;
use crate::version::Version;

/// How long the broker remembers the ids of messages. Order and uniqueness rest on the expected sequence; this catches what
/// a publisher that was thought dead sends late.
const DUPLICATES: Duration = Duration::from_secs(120);

/// Dead letters have no expected sequence, and are few.
const LETTER_DUPLICATES: Duration = Duration::from_secs(24 * 60 * 60);

/// One day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A stream as it should be: its name and its configuration.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) config: Value,
}

impl Topology {
    /// Each stream and the one of its dead letters, for a server of this version.
    pub(super) fn wanted(&self, version: Version) -> Vec<Wanted> {
        self.streams.iter().flat_map(|stream| self.pair(stream, version)).collect()
    }

    fn pair(&self, stream: &Stream, version: Version) -> [Wanted; 2] {
        let letters: Vec<String> = stream.subjects.iter().map(|topic| names::letters_topic(topic)).collect();
        let days = stream.days.max(1);
        let mut config = self.config(&stream.name, &stream.subjects, days, DUPLICATES);
        config["description"] = json!(format!("events of {}", stream.service));
        if version >= Version::ATOMIC {
            config["allow_atomic"] = json!(true);
        }
        let mut letters_config = self.config(&stream.letters(), &letters, days, LETTER_DUPLICATES);
        letters_config["description"] = json!(format!("dead letters of {}", stream.service));
        [Wanted { name: stream.name.clone(), config }, Wanted { name: stream.letters(), config: letters_config }]
    }

    fn config(&self, name: &str, subjects: &[String], days: u32, duplicates: Duration) -> Value {
        json!({
            "name": name,
            "subjects": subjects,
            "retention": "limits",
            "storage": "file",
            "discard": "new",
            "max_age": nanos(DAY * days),
            "duplicate_window": nanos(duplicates),
            "num_replicas": self.replicas,
            "allow_direct": true,
        })
    }
}

/// A durable as it should be; where it starts is decided by whoever opens it.
pub(crate) fn durable(settings: &Settings) -> Value {
    json!({
        "durable_name": settings.durable,
        "filter_subjects": settings.subjects,
        "ack_policy": "all",
        "ack_wait": nanos(settings.ack_wait),
        "max_deliver": -1,
        "max_ack_pending": settings.unacked_max,
        "replay_policy": "instant",
    })
}

/// JetStream counts time in nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
