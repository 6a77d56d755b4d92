//! What JetStream says to a published message. Pure.

use std::borrow::Cow;

use serde::Deserialize;

use crate::api::{Refusal, reason};
use crate::error::Error;

/// An answer to one message, or to the last one of a batch.
#[derive(Debug, Deserialize)]
pub(super) struct Answer<'a> {
    /// The stream that took it.
    #[serde(borrow, default)]
    pub(super) stream: Cow<'a, str>,
    /// Its number there.
    #[serde(default)]
    pub(super) seq: u64,
    /// Whether it was there already.
    #[serde(default)]
    pub(super) duplicate: bool,
    /// Why it was not taken.
    #[serde(default)]
    pub(super) error: Option<Refusal>,
}

/// What was sent and not yet answered: one message, or a whole batch.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    /// The number that its last message gets in the stream.
    pub(super) seq: u64,
    /// How many messages it is.
    pub(super) count: u64,
    /// The caller's name for the first of them.
    pub(super) first: u64,
    /// And for the last.
    pub(super) last: u64,
    /// The subject of the last.
    pub(super) subject: async_nats::Subject,
}

/// What a refusal means for the publisher.
pub(super) fn judge(stream: &str, sent: &Sent, refusal: &Refusal) -> Error {
    let (stream, description) = (stream.to_owned(), refusal.description.clone());
    let expected = sent.seq - sent.count;
    match refusal.err_code {
        // A batch that lost a message, or holds one that is there already, is as much out of step as a wrong number.
        reason::WRONG_LAST_SEQUENCE | reason::BATCH_DUPLICATE | reason::BATCH_INCOMPLETE => {
            Error::OutOfStep { stream, expected }
        }
        reason::STREAM_NOT_FOUND => Error::StreamGone { stream },
        code if reason::FULL.contains(&code) => Error::Full { stream, code, description },
        code if sent.count == 1 => Error::Refused { stream, tag: sent.last, code, description },
        code => Error::BatchRefused { stream, first: sent.first, last: sent.last, code, description },
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Sent, judge};
    use crate::api::Refusal;
    use crate::error::Error;

    fn check(count: u64, err_code: u64, expected: &str) {
        let sent = Sent { seq: 10, count, first: 70, last: 69 + count, subject: "a.b".into() };
        let refusal = Refusal { code: 400, err_code, description: "no".to_owned() };
        assert_eq!(judge("S", &sent, &refusal).code(), expected, "{err_code}");
    }

    #[test]
    fn refusals_are_told_apart_by_their_number() {
        check(1, 10_071, "broker-out-of-step");
        check(5, 10_201, "broker-out-of-step");
        check(5, 10_176, "broker-out-of-step");
        check(1, 10_077, "broker-full");
        check(1, 10_054, "broker-refused");
        check(5, 10_054, "broker-batch-refused");
        check(1, 10_059, "broker-stream-gone");
    }

    #[test]
    fn the_sequence_that_was_expected_is_the_one_before_the_batch() {
        let sent = Sent { seq: 10, count: 4, first: 1, last: 4, subject: "a.b".into() };
        let refusal = Refusal { code: 400, err_code: 10_071, description: String::new() };
        assert!(matches!(judge("S", &sent, &refusal), Error::OutOfStep { expected: 6, .. }));
    }

    #[test]
    fn answers_are_read_as_servers_write_them() {
        let answer: Answer<'_> = serde_json::from_str(r#"{"stream":"S","seq":7,"domain":"d"}"#).unwrap();
        assert_eq!((answer.stream.as_ref(), answer.seq, answer.duplicate), ("S", 7, false));
        let answer: Answer<'_> =
            serde_json::from_str(r#"{"error":{"code":400,"err_code":10071,"description":"x"},"stream":"S","seq":0}"#)
                .unwrap();
        assert_eq!(answer.error.unwrap().err_code, 10_071);
    }
}
