//! Which streams, subjects and durables a catalogue needs.
//!
//! One stream a service, its subjects listed one by one; a second one for its dead letters; one durable a consumer. All of
//! it follows from the catalogue, so that a broker can be filled from nothing and checked at any start.
//!
//! Not here: accounts and permissions ([`crate::nats_conf`]).

mod apply;
mod compare;
pub mod names;
pub(crate) mod overlap;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use karwan_envelope::subject::Grammar;
use karwan_registry::Catalogue;

pub use self::apply::Change;
pub(crate) use self::apply::create_durable;
pub(crate) use self::compare::few;
pub use self::compare::{Difference, Remedy, What};
pub(crate) use self::wanted::{durable as wanted_durable, nanos};
use crate::subscriber::Settings;

/// What a catalogue needs of a broker.
#[derive(Debug, Clone)]
pub struct Topology {
    platform: &'static str,
    grammar: Grammar<'static>,
    replicas: u32,
    streams: Vec<Stream>,
    consumers: Vec<Consumer>,
}

/// The stream of one service, with that of its dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// Who feeds it.
    pub service: String,
    /// The topics that it takes, in the order of their names.
    pub subjects: Vec<String>,
    /// How long messages stay: the longest that the catalogue asks for any of its topics.
    pub days: u32,
}

impl Stream {
    /// The stream of its dead letters.
    pub fn letters(&self) -> String {
        names::letters_stream(&self.name)
    }
}

/// A consumer that is fed from one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// Its name.
    pub name: String,
    /// The service that it belongs to.
    pub service: String,
    /// Its stream.
    pub stream: String,
    /// Its topics, all of that stream.
    pub subjects: Vec<String>,
    /// Its durable.
    pub durable: String,
    /// Its subscriptions, one a topic.
    pub subscriptions: Vec<String>,
}

impl Consumer {
    /// How it is opened.
    pub fn settings(&self) -> Settings {
        Settings::new(&self.stream, &self.durable, &self.subjects)
    }
}

/// Why a consumer cannot be fed from the streams.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadConsumer {
    /// It follows nothing.
    #[error("{consumer} names no subject")]
    Nothing {
        /// The consumer.
        consumer: String,
    },
    /// A subject that no stream takes.
    #[error("{consumer}: no stream takes {subject}")]
    Subject {
        /// The consumer.
        consumer: String,
        /// The subject.
        subject: String,
    },
    /// Order is promised within one stream.
    #[error("{consumer} follows {}: a consumer is fed from one stream, so make it one for each", listed(streams))]
    SeveralStreams {
        /// The consumer.
        consumer: String,
        /// All of them.
        streams: BTreeSet<String>,
    },
    /// one subscription of a service to a topic.
    #[error("{subscription} belongs to {owner} and is never shared")]
    Shared {
        /// The subscription.
        subscription: String,
        /// Whose it is.
        owner: String,
    },
    /// Two names that become one.
    #[error("{consumer} and {other} would share the durable {durable}")]
    SameDurable {
        /// The consumer.
        consumer: String,
        /// Who was first.
        other: String,
        /// What both become.
        durable: String,
    },
}

impl Topology {
    /// What the catalogue needs. Events that never leave their device are nowhere.
    pub fn of(catalogue: &Catalogue) -> Self {
        let mut streams: BTreeMap<String, Stream> = BTreeMap::new();
        for entry in catalogue.directory().entries().iter().filter(|entry| !entry.row.local_only) {
            let name = names::stream(&entry.row.owner);
            let stream = streams.entry(name.clone()).or_insert_with(|| Stream {
                name,
                service: entry.row.owner.clone(),
                subjects: Vec::new(),
                days: 0,
            });
            stream.subjects.push(entry.row.subject.clone());
            stream.days = stream.days.max(entry.retention.broker_days);
        }
        let mut streams: Vec<Stream> = streams.into_values().collect();
        streams.iter_mut().for_each(|stream| stream.subjects.sort_unstable());
        let platform = catalogue.platform();
        Self { platform: platform.name, grammar: platform.grammar, replicas: 1, streams, consumers: Vec::new() }
    }

    /// The same with so many copies of each stream.
    #[must_use]
    pub fn replicated(mut self, replicas: u32) -> Self {
        self.replicas = replicas;
        self
    }

    /// What these services feed and follow; a name that is none leaves its stream out.
    #[must_use]
    pub fn of_services(mut self, services: &[&str]) -> Self {
        self.streams.retain(|stream| services.contains(&stream.service.as_str()));
        self.consumers.retain(|consumer| services.contains(&consumer.service.as_str()));
        self
    }

    /// With a consumer more: which topics it follows, and which service it belongs to.
    pub fn consumer(mut self, name: &str, service: &str, subjects: &[&str]) -> Result<Self, BadConsumer> {
        let consumer = || name.to_owned();
        let mut streams = BTreeSet::new();
        for subject in subjects {
            let takes = self.stream_of(subject);
            let takes =
                takes.ok_or_else(|| BadConsumer::Subject { consumer: consumer(), subject: (*subject).to_owned() })?;
            streams.insert(takes.name.clone());
        }
        let stream = match streams.len() {
            0 | 1 => streams.pop_first().ok_or_else(|| BadConsumer::Nothing { consumer: consumer() })?,
            _ => return Err(BadConsumer::SeveralStreams { consumer: consumer(), streams }),
        };
        let durable = names::durable(name);
        if let Some(other) = self.consumers.iter().find(|other| other.durable == durable) {
            return Err(BadConsumer::SameDurable { consumer: consumer(), other: other.name.clone(), durable });
        }
        let subscriptions: Vec<String> =
            subjects.iter().map(|subject| names::subscription(service, subject, &self.grammar)).collect();
        for subscription in &subscriptions {
            if let Some(owner) = self.consumers.iter().find(|owner| owner.subscriptions.contains(subscription)) {
                let (subscription, owner) = (subscription.clone(), owner.name.clone());
                return Err(BadConsumer::Shared { subscription, owner });
            }
        }
        let mut subjects: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
        subjects.sort_unstable();
        let (name, service) = (consumer(), service.to_owned());
        self.consumers.push(Consumer { name, service, stream, subjects, durable, subscriptions });
        Ok(self)
    }

    /// The streams, by name.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// The consumers, as they were added.
    pub fn consumers(&self) -> &[Consumer] {
        &self.consumers
    }

    /// Its platform.
    pub fn platform(&self) -> &'static str {
        self.platform
    }

    /// The stream that takes a topic.
    pub fn stream_of(&self, subject: &str) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.subjects.iter().any(|taken| taken == subject))
    }

    /// The stream of this name.
    pub fn stream(&self, name: &str) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.name == name)
    }
}

/// One line a stream, a subject, a consumer; the same for the same catalogue.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stream in &self.streams {
            let (name, service, days, letters) = (&stream.name, &stream.service, stream.days, stream.letters());
            writeln!(f, "{name}  fed by {service}, kept {days} days, dead letters in {letters}")?;
            for subject in &stream.subjects {
                writeln!(f, "  {subject}")?;
            }
            self.show_followers(f, &stream.name)?;
        }
        let elsewhere = |name: &&str| self.stream(name).is_none();
        let names = self.consumers.iter().map(|consumer| consumer.stream.as_str()).filter(elsewhere);
        for name in names.collect::<BTreeSet<_>>() {
            writeln!(f, "{name}  fed by others")?;
            self.show_followers(f, name)?;
        }
        Ok(())
    }
}

/// Names with commas and an `and` between.
fn listed(names: &BTreeSet<String>) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        last => last.unwrap_or_default().to_owned(),
    }
}

impl Topology {
    fn show_followers(&self, f: &mut fmt::Formatter<'_>, stream: &str) -> fmt::Result {
        for consumer in self.consumers.iter().filter(|consumer| consumer.stream == stream) {
            writeln!(f, "  > {}  durable {}", consumer.name, consumer.durable)?;
            for subscription in &consumer.subscriptions {
                writeln!(f, "    {subscription}")?;
            }
        }
        Ok(())
    }
}
