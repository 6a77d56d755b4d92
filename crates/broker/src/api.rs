//! JetStream's own questions and answers: JSON over `$JS.API`. The only requests that are ever sent.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::connection::Broker;
use crate::error::Error;

/// JetStream's numbers of the reasons that are told apart.
pub(crate) mod reason {
    /// No stream of that name.
    pub(crate) const STREAM_NOT_FOUND: u64 = 10_059;
    /// No consumer of that name.
    pub(crate) const CONSUMER_NOT_FOUND: u64 = 10_014;
    /// No message of that number.
    pub(crate) const MESSAGE_NOT_FOUND: u64 = 10_037;
    /// The last sequence is another one.
    pub(crate) const WRONG_LAST_SEQUENCE: u64 = 10_071;
    /// A subject is another stream's.
    pub(crate) const SUBJECTS_OVERLAP: u64 = 10_065;
    /// A message of a batch is missing.
    pub(crate) const BATCH_INCOMPLETE: u64 = 10_176;
    /// An id of a batch is in the stream already.
    pub(crate) const BATCH_DUPLICATE: u64 = 10_201;
    /// JetStream is off, or off for this account.
    pub(crate) const NOT_ENABLED: [u64; 2] = [10_076, 10_039];
    /// No room: resources of the server, limits of the account or of the stream.
    pub(crate) const FULL: [u64; 5] = [10_002, 10_023, 10_028, 10_047, 10_077];
}

#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    #[serde(default)]
    pub(crate) code: u64,
    #[serde(default)]
    pub(crate) err_code: u64,
    #[serde(default)]
    pub(crate) description: String,
}

/// Where a stream is.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamState {
    pub(crate) messages: u64,
    #[serde(default)]
    pub(crate) bytes: u64,
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    #[serde(default)]
    pub(crate) first_ts: String,
    #[serde(default)]
    pub(crate) last_ts: String,
}

/// What is known of a stream.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamInfo {
    pub(crate) config: Value,
    pub(crate) created: String,
    pub(crate) state: StreamState,
}

/// Two counters: of the consumer and of the stream.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Sequences {
    pub(crate) consumer_seq: u64,
    pub(crate) stream_seq: u64,
}

/// What is known of a consumer.
#[derive(Debug, Deserialize)]
pub(crate) struct ConsumerInfo {
    pub(crate) config: Value,
    pub(crate) delivered: Sequences,
    pub(crate) ack_floor: Sequences,
    pub(crate) num_ack_pending: u64,
    pub(crate) num_pending: u64,
    #[serde(default)]
    pub(crate) num_waiting: u64,
    #[serde(default)]
    pub(crate) num_redelivered: u64,
}

/// What a refusal is about.
#[derive(Clone, Copy, Default)]
pub(crate) struct About<'a> {
    pub(crate) stream: &'a str,
    pub(crate) durable: &'a str,
}

impl Broker {
    /// Asks JetStream; `verb` follows `$JS.API.`.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        verb: &str,
        about: About<'_>,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let subject = format!("$JS.API.{verb}");
        let body = serde_json::to_vec(body).map_err(|error| self.answered(verb, 0, &error.to_string()))?;
        let request = async_nats::Request::new().payload(body.into()).timeout(Some(self.answer_time()));
        let mut link = self.link();
        link.mark_unchanged();
        let refused = async {
            loop {
                if link.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                let said = link.borrow_and_update().denied.1.clone();
                if said.contains(&subject) {
                    return said;
                }
            }
        };
        let answer = tokio::select! {
            answer = self.client().send_request(subject.clone(), request) => answer,
            said = refused => return Err(Error::Denied { broker: self.address().to_owned(), what: said }),
        };
        let message = answer.map_err(|error| match error.kind() {
            async_nats::RequestErrorKind::NoResponders => Error::NoJetStream { broker: self.address().to_owned() },
            _ => self.no_answer(verb),
        })?;
        let mut value: Value =
            serde_json::from_slice(&message.payload).map_err(|error| self.answered(verb, 0, &error.to_string()))?;
        if let Some(refusal) = value.get_mut("error").map(Value::take) {
            let refusal: Refusal =
                serde_json::from_value(refusal).map_err(|error| self.answered(verb, 0, &error.to_string()))?;
            return Err(self.refused(verb, about, &refusal));
        }
        serde_json::from_value(value).map_err(|error| self.answered(verb, 0, &error.to_string()))
    }

    /// What is known of a stream.
    pub(crate) async fn stream_info(&self, stream: &str) -> Result<StreamInfo, Error> {
        let about = About { stream, ..About::default() };
        self.ask(&format!("STREAM.INFO.{stream}"), about, &serde_json::json!({})).await
    }

    /// What is known of a durable.
    pub(crate) async fn consumer_info(&self, stream: &str, durable: &str) -> Result<ConsumerInfo, Error> {
        self.ask(&format!("CONSUMER.INFO.{stream}.{durable}"), About { stream, durable }, &serde_json::json!({})).await
    }

    pub(crate) fn answered(&self, what: &str, code: u64, description: &str) -> Error {
        let (broker, what, description) = (self.address().to_owned(), what.to_owned(), description.to_owned());
        Error::Answer { broker, what, code, description }
    }

    fn refused(&self, verb: &str, about: About<'_>, refusal: &Refusal) -> Error {
        let stream = || about.stream.to_owned();
        match refusal.err_code {
            reason::STREAM_NOT_FOUND => Error::StreamGone { stream: stream() },
            reason::CONSUMER_NOT_FOUND => Error::ConsumerGone { stream: stream(), durable: about.durable.to_owned() },
            code if reason::NOT_ENABLED.contains(&code) => Error::NoJetStream { broker: self.address().to_owned() },
            code if reason::FULL.contains(&code) => {
                Error::Full { stream: stream(), code, description: refusal.description.clone() }
            }
            0 => self.answered(verb, refusal.code, &refusal.description),
            code => self.answered(verb, code, &refusal.description),
        }
    }
}
