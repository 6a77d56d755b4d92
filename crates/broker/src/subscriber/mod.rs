//! Pulls one durable, in order.
//!
//! What is handed out is in stream order and without holes: every delivery of a durable has a number, and one that is
//! missing (lost with a connection, or pulled by somebody else) stops the subscription with [`Error::Interrupted`]. What is
//! delivered again because an acknowledgement was late is left out: it was handed out before. On any error the caller opens
//! again, behind what it has finished.
//!
//! Not here: who may pull (the lease of lane 0), what is finished (the store), retries (parked keys): nothing is ever
//! refused back to the broker.

mod delivery;
mod open;
mod pulls;
mod walk;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{StatusCode, Subject, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

pub use self::delivery::Delivery;
use self::delivery::{Place, delivery};
pub use self::open::Floor;
use self::pulls::{PULL_MAX, Pulls};
pub use self::walk::Walk;
use crate::connection::{Broker, Link};
use crate::error::Error;
use crate::topology::nanos;

/// How long the server keeps a request that it cannot fill.
const PULL_EXPIRES: Duration = Duration::from_secs(30);

/// How long a delivery may stay without a word, where nothing else is said: what the documents ask for subscriptions that pull
/// . Nobody waits for it: whoever takes a durable over makes it anew.
const ACK_WAIT: Duration = Duration::from_secs(600);

/// The most deliveries that are out, where nothing else is said.
const UNACKED_MAX: u32 = 8_192;

/// How a durable is made and pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The stream.
    pub stream: String,
    /// The durable.
    pub durable: String,
    /// The topics that it follows.
    pub subjects: Vec<String>,
    /// How long a delivery may stay without an acknowledgement, or word that it is worked on.
    pub ack_wait: Duration,
    /// The most deliveries that are out without an acknowledgement.
    pub unacked_max: u32,
}

impl Settings {
    /// The usual ones.
    pub fn new(stream: &str, durable: &str, subjects: &[String]) -> Self {
        Self {
            stream: stream.to_owned(),
            durable: durable.to_owned(),
            subjects: subjects.to_vec(),
            ack_wait: ACK_WAIT,
            unacked_max: UNACKED_MAX,
        }
    }
}

/// Where deliveries begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Behind this message of the stream: what the caller has finished, by its own store.
    After(u64),
    /// Behind what was acknowledged; a new durable begins with what is there.
    Floor,
    /// With the first message that is there.
    Beginning,
    /// With the next one that is stored.
    End,
}

/// One durable, pulled by one process.
#[derive(Debug)]
pub struct Subscription {
    broker: Broker,
    settings: Settings,
    inbox: String,
    messages: Subscriber,
    link: watch::Receiver<Link>,
    broken: u64,
    pulls: Pulls,
    heard: Instant,
    /// The number of the next delivery.
    next: u64,
    /// The last message that was handed out.
    handed: u64,
    /// Up to where everything was acknowledged.
    acked: u64,
    /// What was handed out and not acknowledged, by its number in the stream, with where to say so.
    unacked: VecDeque<(u64, Subject)>,
    subjects: HashSet<Arc<str>>,
}

impl Subscription {
    /// Makes the durable, or takes it over, and says where it begins. Nobody else is delivered anything from then on.
    pub async fn open(broker: &Broker, settings: &Settings, start: Start) -> Result<(Self, Floor), Error> {
        let link = broker.link();
        let broken = link.borrow().broken;
        let opened = open::open(broker, settings, start).await?;
        let inbox = broker.client().new_inbox();
        let subscribed = broker.client().subscribe(format!("{inbox}.*")).await;
        let messages = subscribed.map_err(|_| broker.no_answer("a subscription to deliveries"))?;
        let subscription = Self {
            broker: broker.clone(),
            settings: settings.clone(),
            inbox,
            messages,
            link,
            broken,
            pulls: Pulls::default(),
            heard: Instant::now(),
            next: opened.next,
            handed: opened.floor.after,
            acked: opened.floor.after,
            unacked: VecDeque::new(),
            subjects: HashSet::new(),
        };
        Ok((subscription, opened.floor))
    }

    /// Removes a durable for good, with its place.
    pub async fn delete(broker: &Broker, stream: &str, durable: &str) -> Result<(), Error> {
        open::delete(broker, stream, durable).await
    }

    /// The next messages, at most `max`: waits for the first of them, at most so long, and takes with it what is here.
    pub async fn next_batch(&mut self, max: usize, wait: Duration) -> Result<Vec<Delivery>, Error> {
        let until = Instant::now() + wait;
        let mut batch = Vec::new();
        while batch.len() < max {
            self.ask_for_more().await?;
            let message = match self.messages.next().now_or_never() {
                Some(message) => message,
                None if !batch.is_empty() => break,
                None => match self.wait(until).await? {
                    Some(message) => Some(message),
                    None => break,
                },
            };
            let Some(message) = message else { return Err(self.broker.no_answer("a request for messages")) };
            self.heard = Instant::now();
            batch.extend(self.take(message).await?);
        }
        Ok(batch)
    }

    /// Acknowledges every message up to this one. Says nothing where nothing new is.
    pub async fn ack_all(&mut self, stream_seq: u64) -> Result<(), Error> {
        let mut last = None;
        while self.unacked.front().is_some_and(|(seq, _)| *seq <= stream_seq) {
            last = self.unacked.pop_front();
        }
        match last {
            Some((seq, reply)) => {
                self.acked = self.acked.max(seq);
                self.say(reply, "+ACK").await
            }
            None => Ok(()),
        }
    }

    /// Says of every message that is out that it is still worked on. At a third of `ack_wait`, nothing is sent twice.
    pub async fn in_progress(&mut self) -> Result<(), Error> {
        for (_, reply) in &self.unacked {
            self.say(reply.clone(), "+WPI").await?;
        }
        Ok(())
    }

    /// How often [`Self::in_progress`] is to be said.
    pub fn word_after(&self) -> Duration {
        self.settings.ack_wait / 3
    }

    /// How many messages are out without an acknowledgement.
    pub fn unacked(&self) -> usize {
        self.unacked.len()
    }

    /// Up to where everything of the stream is acknowledged or of no concern; none while something is out or pending. A
    /// consumer of rare topics saves it, or the stream would seem to have lost what it never had to see.
    pub async fn caught_up(&self) -> Result<Option<u64>, Error> {
        let stream = self.broker.stream_info(&self.settings.stream).await?;
        let durable = self.broker.consumer_info(&self.settings.stream, &self.settings.durable).await?;
        let nothing_left = durable.num_pending == 0 && durable.num_ack_pending == 0 && self.unacked.is_empty();
        Ok(nothing_left.then_some(stream.state.last_seq))
    }

    async fn say(&self, reply: Subject, word: &'static str) -> Result<(), Error> {
        let said = self.broker.client().publish(reply, word.into()).await;
        said.map_err(|_| self.broker.no_answer("an acknowledgement"))
    }

    async fn ask_for_more(&mut self) -> Result<(), Error> {
        let size = PULL_MAX.min(u64::from(self.settings.unacked_max)).max(1);
        let Some((number, batch)) = self.pulls.next(size) else { return Ok(()) };
        let Settings { stream, durable, .. } = &self.settings;
        let request = json!({ "batch": batch, "expires": nanos(PULL_EXPIRES) });
        let reply = format!("{}.{number}", self.inbox);
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}");
        let asked = self.broker.client().publish_with_reply(subject, reply, request.to_string().into()).await;
        asked.map_err(|_| self.broker.no_answer("a request for messages"))
    }

    /// Waits for a message until the time comes; none then.
    async fn wait(&mut self, until: Instant) -> Result<Option<async_nats::Message>, Error> {
        // A request that expires is said to be so; one about which nothing is said was lost.
        let silence = self.heard + PULL_EXPIRES + self.broker.answer_time();
        loop {
            tokio::select! {
                biased;
                message = self.messages.next() => {
                    let message = message.ok_or_else(|| self.broker.no_answer("a request for messages"))?;
                    return Ok(Some(message));
                }
                changed = self.link.changed() => {
                    if changed.is_err() || self.link.borrow_and_update().broken != self.broken {
                        return Err(self.broker.no_answer("a request for messages: the connection broke"));
                    }
                }
                () = tokio::time::sleep_until(until) => return Ok(None),
                () = tokio::time::sleep_until(silence) => return Err(self.broker.no_answer("a request for messages")),
            }
        }
    }

    /// What a message gives: an event, nothing, or the reason to stop.
    async fn take(&mut self, message: async_nats::Message) -> Result<Option<Delivery>, Error> {
        if let Some(status) = message.status {
            self.told(status, &message).await?;
            return Ok(None);
        }
        let Some((reply, place)) = message.reply.and_then(|reply| Some((reply.clone(), Place::parse(&reply)?))) else {
            return Ok(None);
        };
        self.pulls.filled();
        if place.delivery != self.next {
            let (stream, durable) = (self.settings.stream.clone(), self.settings.durable.clone());
            return Err(Error::Interrupted { stream, durable, got: place.delivery, wanted: self.next });
        }
        self.next += 1;
        if place.stream_seq <= self.handed {
            // Handed out before. Where its acknowledgement was lost, it is said again.
            if place.stream_seq <= self.acked {
                self.say(reply, "+ACK").await?;
            }
            return Ok(None);
        }
        self.handed = place.stream_seq;
        self.unacked.push_back((place.stream_seq, reply));
        let subject = self.subject(&message.subject);
        Ok(Some(delivery(place, subject, message.headers.as_ref(), message.payload)))
    }

    /// A word of the server about a request.
    async fn told(&mut self, status: StatusCode, message: &async_nats::Message) -> Result<(), Error> {
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse().ok());
        let gone = status == StatusCode::NO_RESPONDERS
            || message.description.as_deref().is_some_and(|text| text.eq_ignore_ascii_case("Consumer Deleted"));
        if gone {
            let (stream, durable) = (&self.settings.stream, &self.settings.durable);
            self.broker.consumer_info(stream, durable).await?;
            // It is there: somebody made it anew, and it is theirs.
            return Err(Error::ConsumerGone { stream: stream.clone(), durable: durable.clone() });
        }
        if let Some(number) = number.filter(|_| status != StatusCode::IDLE_HEARTBEAT) {
            self.pulls.ended(number);
        }
        Ok(())
    }

    /// The subject's text, made once: a stream has few, and messages are many.
    fn subject(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.subjects.get(name) {
            return Arc::clone(known);
        }
        let subject: Arc<str> = name.into();
        self.subjects.insert(Arc::clone(&subject));
        subject
    }
}
