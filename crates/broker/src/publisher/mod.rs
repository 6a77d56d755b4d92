//! Feeds one stream, in order.
//!
//! Every message says which sequence it expects to be the last one of the stream, so that what the stream holds is always
//! a prefix of what was sent, in that order, whatever is lost on the way. On any failure the publisher stops; its caller
//! opens a new one, reads from [`StreamEnd`] where the stream ends, and goes on from there.
//!
//! Two modes. *Pipelined*: up to [`WINDOW`] messages under way, each answered by itself. *Durable*: atomic batches of up to
//! [`BATCH_MAX`], for servers that synchronise their disk before they answer; a batch is stored whole or not at all.
//!
//! Not here: what to send (the engine's relay), one publisher a stream (its lease), parked messages (the store).

mod answers;
mod end;
mod headers;
mod letters;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use async_nats::{HeaderMap, HeaderValue, PublishErrorKind, StatusCode, Subject, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::watch;

use self::answers::{Answer, Sent, judge};
pub use self::end::StreamEnd;
pub use self::letters::{Letter, publish_letters};
use crate::connection::{Broker, Link};
use crate::error::Error;
use crate::message::{Message, header};
use crate::trial::expects_sequence;
use crate::version::Version;

/// The most messages that are under way in pipelined mode.
pub const WINDOW: usize = 1_024;

/// Where a full window is waited down to: one wake-up then answers for many messages.
const WINDOW_LOW: usize = WINDOW * 3 / 4;

/// The most messages of one atomic batch; JetStream takes no more.
pub const BATCH_MAX: u64 = 1_000;

/// The most batches whose answer is awaited.
const BATCHES_MAX: usize = 2;

/// How messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One by one, many under way. At a server's default settings an answer is no promise about its disk.
    Pipelined,
    /// In atomic batches; for a server with `sync_interval: always`, 2.15 or newer.
    Durable,
}

/// How far answers have come: everything up to `tag` is in the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acked {
    /// The caller's name for the last message that is known to be stored; none before the first.
    pub tag: Option<u64>,
    /// Its number in the stream.
    pub stream_seq: u64,
    /// How many were stored by this publisher.
    pub count: u64,
}

/// Feeds one stream; there is one at a time (a lease sees to that).
#[derive(Debug)]
pub struct Publisher {
    broker: Broker,
    stream: String,
    mode: Mode,
    /// Where answers come in: `<inbox>.<number>`, the number being the one that the message gets in the stream.
    inbox: String,
    answers: Subscriber,
    link: watch::Receiver<Link>,
    before: Link,
    /// The last number of the stream once everything under way is stored.
    last: u64,
    under_way: VecDeque<Sent>,
    acked: Acked,
    subjects: HashMap<String, Subject>,
    batch: Option<Batch>,
    batches: u64,
    held: Option<Ready>,
    /// Nobody listened to a subject; why, is asked before the error is told.
    unheard: bool,
    stopped: bool,
}

/// An atomic batch of which something was sent.
#[derive(Debug)]
struct Batch {
    id: String,
    count: u64,
    first: u64,
}

/// A message with its headers written.
#[derive(Debug)]
struct Ready {
    tag: u64,
    subject: Subject,
    headers: HeaderMap,
    payload: Bytes,
}

impl Publisher {
    /// Begins at the end of the stream, and says where that is.
    pub async fn open(broker: &Broker, stream: &str, mode: Mode) -> Result<(Self, StreamEnd), Error> {
        let version = broker.judged()?;
        if mode == Mode::Durable && version < Version::DURABLE {
            return Err(Error::NotDurable { broker: broker.address().to_owned(), found: version });
        }
        let inbox = broker.client().new_inbox();
        let subscribed = broker.client().subscribe(format!("{inbox}.*")).await;
        let answers = subscribed.map_err(|_| broker.no_answer("a subscription to answers"))?;
        let link = broker.link();
        let before = link.borrow().clone();
        let end = end::read(broker, stream).await?;
        let publisher = Self {
            broker: broker.clone(),
            stream: stream.to_owned(),
            mode,
            inbox,
            answers,
            link,
            before,
            last: end.last_seq,
            under_way: VecDeque::with_capacity(WINDOW),
            acked: Acked { stream_seq: end.last_seq, ..Acked::default() },
            subjects: HashMap::new(),
            batch: None,
            batches: 0,
            held: None,
            unheard: false,
            stopped: false,
        };
        Ok((publisher, end))
    }

    /// The stream.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// How far answers have come, as far as they were looked at: [`Self::send`], [`Self::collect`] and [`Self::flush`] do.
    pub fn acked(&self) -> Acked {
        self.acked
    }

    /// How many messages were sent and not answered yet.
    pub fn outstanding(&self) -> u64 {
        let open = self.batch.as_ref().map_or(0, |batch| batch.count) + u64::from(self.held.is_some());
        self.under_way.iter().map(|sent| sent.count).sum::<u64>() + open
    }

    /// Sends a message behind all others; waits while too many are under way. After an error nothing can be sent any more.
    pub async fn send(&mut self, message: &Message<'_>) -> Result<(), Error> {
        self.usable()?;
        let outcome = match self.mode {
            Mode::Pipelined => self.send_pipelined(message).await,
            Mode::Durable => self.send_batched(message).await,
        };
        self.ended(outcome).await
    }

    /// Looks at the answers that are here, without waiting.
    pub fn collect(&mut self) -> Result<Acked, Error> {
        self.usable()?;
        let outcome = self.take_what_is_here();
        self.stopped = outcome.is_err();
        outcome.map(|()| self.acked)
    }

    /// Waits until something more is answered, or nothing is under way.
    pub async fn progress(&mut self) -> Result<Acked, Error> {
        self.usable()?;
        let most = self.under_way.len().saturating_sub(1);
        let outcome = self.answered_down_to(most).await;
        self.ended(outcome).await.map(|()| self.acked)
    }

    /// Ends the open batch and waits for every answer.
    pub async fn flush(&mut self) -> Result<Acked, Error> {
        self.usable()?;
        let outcome = self.flushed().await;
        self.ended(outcome).await.map(|()| self.acked)
    }

    fn usable(&self) -> Result<(), Error> {
        if self.stopped {
            return Err(Error::OutOfStep { stream: self.stream.clone(), expected: self.last });
        }
        Ok(())
    }

    async fn ended(&mut self, outcome: Result<(), Error>) -> Result<(), Error> {
        self.stopped = outcome.is_err();
        if self.stopped && self.unheard { Err(self.why_unheard().await) } else { outcome }
    }

    async fn flushed(&mut self) -> Result<(), Error> {
        if let Some(held) = self.held.take() {
            self.put_into_batch(held, true).await?;
        }
        self.answered_down_to(0).await
    }

    async fn send_pipelined(&mut self, message: &Message<'_>) -> Result<(), Error> {
        if self.under_way.len() >= WINDOW_LOW {
            self.take_what_is_here()?;
            if self.under_way.len() >= WINDOW {
                self.answered_down_to(WINDOW_LOW).await?;
            }
        }
        let mut ready = self.ready(message).await?;
        self.expect(&mut ready.headers);
        let sent =
            Sent { seq: self.last + 1, count: 1, first: ready.tag, last: ready.tag, subject: ready.subject.clone() };
        let reply = Subject::from(format!("{}.{}", self.inbox, sent.seq));
        self.hand_over(ready, Some(reply)).await?;
        self.last = sent.seq;
        self.under_way.push_back(sent);
        Ok(())
    }

    /// The last message of a batch says so: each is held until it is known whether another one follows.
    async fn send_batched(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let ready = self.ready(message).await?;
        if let Some(held) = self.held.replace(ready) {
            let is_last = self.batch.as_ref().is_some_and(|batch| batch.count + 1 >= BATCH_MAX);
            self.put_into_batch(held, is_last).await?;
        }
        Ok(())
    }

    async fn put_into_batch(&mut self, mut ready: Ready, is_last: bool) -> Result<(), Error> {
        let mut batch = match self.batch.take() {
            Some(batch) => batch,
            None => {
                self.answered_down_to(BATCHES_MAX - 1).await?;
                self.batches += 1;
                self.expect(&mut ready.headers);
                let id = format!("{}-{}", self.inbox.rsplit('.').next().unwrap_or_default(), self.batches);
                Batch { id, count: 0, first: ready.tag }
            }
        };
        batch.count += 1;
        ready.headers.insert(header::BATCH_ID, HeaderValue::from(batch.id.as_str()));
        ready.headers.insert(header::BATCH_SEQUENCE, HeaderValue::from(batch.count));
        if !is_last {
            self.batch = Some(batch);
            return self.hand_over(ready, None).await;
        }
        ready.headers.insert(header::BATCH_COMMIT, HeaderValue::from("1"));
        let seq = self.last + batch.count;
        let (first, last, subject) = (batch.first, ready.tag, ready.subject.clone());
        let reply = Subject::from(format!("{}.{seq}", self.inbox));
        self.hand_over(ready, Some(reply)).await?;
        self.last = seq;
        self.under_way.push_back(Sent { seq, count: batch.count, first, last, subject });
        self.take_what_is_here()
    }

    /// Says which sequence must be the last one of the stream.
    fn expect(&self, headers: &mut HeaderMap) {
        if expects_sequence() {
            headers.insert(header::EXPECTED_LAST, HeaderValue::from(self.last));
        }
    }

    /// Writes the headers. A message that no server would take is refused here, after those before it are answered.
    async fn ready(&mut self, message: &Message<'_>) -> Result<Ready, Error> {
        let bytes_max = self.broker.client().max_payload();
        let refused = match headers::of(message) {
            Ok(headers) if headers::bytes(&headers) + message.payload.len() > bytes_max => {
                format!("it is larger than the {bytes_max} bytes that the server takes")
            }
            Ok(headers) => {
                let subject = self.subject(message.subject);
                return Ok(Ready { tag: message.tag, subject, headers, payload: message.payload.clone() });
            }
            Err(unwritable) => format!("its {} holds a line break, which no header can", unwritable.0),
        };
        self.refused(message.tag, refused).await
    }

    async fn refused<T>(&mut self, tag: u64, description: String) -> Result<T, Error> {
        self.flushed().await?;
        Err(Error::Refused { stream: self.stream.clone(), tag, code: 0, description })
    }

    /// The subject as the client wants it, made once: a stream has few, and messages are many.
    fn subject(&mut self, name: &str) -> Subject {
        if let Some(subject) = self.subjects.get(name) {
            return subject.clone();
        }
        let subject = Subject::from(name);
        self.subjects.insert(name.to_owned(), subject.clone());
        subject
    }

    async fn hand_over(&mut self, ready: Ready, reply: Option<Subject>) -> Result<(), Error> {
        let Ready { tag, subject, headers, payload } = ready;
        let client = self.broker.client();
        let handed = match reply {
            Some(reply) => client.publish_with_reply_and_headers(subject, reply, headers, payload).await,
            None => client.publish_with_headers(subject, headers, payload).await,
        };
        match handed.map_err(|error| (error.kind(), error.to_string())) {
            Ok(()) => Ok(()),
            Err((PublishErrorKind::Send, _)) => Err(self.broker.no_answer("a message")),
            Err((PublishErrorKind::MaxPayloadExceeded | PublishErrorKind::InvalidSubject, why)) => {
                self.answered_down_to(0).await?;
                Err(Error::Refused { stream: self.stream.clone(), tag, code: 0, description: why })
            }
        }
    }

    fn take_what_is_here(&mut self) -> Result<(), Error> {
        while let Some(Some(answer)) = self.answers.next().now_or_never() {
            self.take(&answer)?;
        }
        Ok(())
    }

    async fn answered_down_to(&mut self, most: usize) -> Result<(), Error> {
        while self.under_way.len() > most {
            let answer = self.next_answer().await?;
            self.take(&answer)?;
            self.take_what_is_here()?;
        }
        Ok(())
    }

    async fn next_answer(&mut self) -> Result<async_nats::Message, Error> {
        let waited: Duration = self.broker.answer_time();
        loop {
            tokio::select! {
                biased;
                answer = self.answers.next() => {
                    return answer.ok_or_else(|| self.broker.no_answer("a message"));
                }
                changed = self.link.changed() => {
                    let now = self.link.borrow_and_update().clone();
                    if changed.is_err() || now.broken != self.before.broken {
                        return Err(self.broker.no_answer("a message: the connection broke"));
                    }
                    if now.denied.0 != self.before.denied.0 && self.is_ours(&now.denied.1) {
                        return Err(Error::Denied { broker: self.broker.address().to_owned(), what: now.denied.1 });
                    }
                }
                () = tokio::time::sleep(waited) => return Err(self.broker.no_answer("a message")),
            }
        }
    }

    /// Whether a refusal of the server speaks of a subject that we publish to.
    fn is_ours(&self, said: &str) -> bool {
        self.subjects.keys().any(|subject| said.contains(&format!("\"{subject}\"")))
    }

    fn take(&mut self, message: &async_nats::Message) -> Result<(), Error> {
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse::<u64>().ok());
        let Some(number) = number else { return Ok(()) };
        let Some(place) = self.under_way.iter().position(|sent| sent.seq == number) else { return Ok(()) };
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            // Not while JetStream recovers, not without the stream, not without the subject.
            self.unheard = true;
            return Err(self.broker.no_answer("a message: nothing listens to its subject"));
        }
        let odd = || self.broker.no_answer("a message, but something unreadable");
        let answer: Answer<'_> = serde_json::from_slice(&message.payload).map_err(|_| odd())?;
        if let Some(refusal) = &answer.error {
            return Err(judge(&self.stream, &self.under_way[place], refusal));
        }
        let expected = self.under_way[place].seq;
        // What was there already, or went elsewhere, did not move the stream to where the next message expects it.
        if answer.stream != self.stream || answer.seq != expected && !answer.duplicate {
            return Err(Error::OutOfStep { stream: self.stream.clone(), expected: expected - 1 });
        }
        for sent in self.under_way.drain(..=place) {
            self.acked.count += sent.count;
            self.acked.tag = Some(sent.last);
            self.acked.stream_seq = answer.seq;
        }
        if answer.duplicate {
            return Err(Error::OutOfStep { stream: self.stream.clone(), expected: expected - 1 });
        }
        Ok(())
    }

    /// Nobody listens to the subject of the first message under way: is it the subject, or the stream?
    async fn why_unheard(&self) -> Error {
        let Some(sent) = self.under_way.front() else { return self.broker.no_answer("a message") };
        match self.broker.stream_info(&self.stream).await {
            Err(error) => error,
            Ok(info) => {
                let bound = info.config["subjects"].as_array().is_some_and(|subjects| {
                    subjects.iter().any(|subject| subject.as_str() == Some(sent.subject.as_str()))
                });
                if bound {
                    return self.broker.no_answer("a message: nothing listened to its subject");
                }
                let description = format!("the stream does not take {}", sent.subject);
                Error::Refused { stream: self.stream.clone(), tag: sent.first, code: 0, description }
            }
        }
    }
}
