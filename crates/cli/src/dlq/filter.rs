//! Which letters are meant.

use std::str::FromStr;

use anyhow::anyhow;
use clap::ValueEnum;
use karwan_envelope::ids::{EventId, Form};
use karwan_store::log::SubjectPattern;
use karwan_store::operator::{LetterFilter, State};

use super::desk::Desk;
use crate::chosen::knows_topic;
use crate::exit::Failure;
use crate::instant::Instant;
use crate::operator::said;
use crate::tenant::{KeyName, TenantName};

/// The flags that narrow letters down.
#[derive(clap::Args, Clone)]
pub struct Narrow {
    /// Only of this consumer, of a relay (relay.STREAM) or of a kind of call (effect.KIND)
    #[arg(long, value_name = "NAME")]
    pub consumer: Option<String>,
    /// Only of this tenant: tnt_…, a ULID, a UUID, or platform
    #[arg(long)]
    pub tenant: Option<TenantName>,
    /// Only these topics; * is any one segment, > at the end all the rest
    #[arg(long, value_name = "PATTERN")]
    pub topic: Option<SubjectPattern>,
    /// Only of this key: TENANT:AGGREGATE, or the aggregate's id alone
    #[arg(long)]
    pub key: Option<KeyPart>,
    /// Only in this state; otherwise parked and dead, which need somebody
    #[arg(long, value_enum)]
    pub state: Option<StateName>,
    /// Only those whose last error has this text in it
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub error: Option<String>,
    /// Only events that entered the log at or after this: 2026-04-22T10:00:00Z, or 2h ago
    #[arg(long, value_name = "INSTANT")]
    pub since: Option<Instant>,
    /// Only events that entered the log before this
    #[arg(long, value_name = "INSTANT")]
    pub until: Option<Instant>,
}

/// A state's name on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StateName {
    /// Waits for its next attempt, a person, or one before it in its key
    Parked,
    /// Was given up
    Dead,
    /// Was passed over by an operator
    Skipped,
    /// Was locked away by an operator
    Quarantined,
}

impl StateName {
    pub const fn state(self) -> State {
        match self {
            Self::Parked => State::Parked,
            Self::Dead => State::Dead,
            Self::Skipped => State::Skipped,
            Self::Quarantined => State::Quarantined,
        }
    }
}

/// A key with or without its tenant.
#[derive(Clone)]
pub enum KeyPart {
    Whole(KeyName),
    Alone(String),
}

impl FromStr for KeyPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // An aggregate's id may have a colon of its own.
        text.parse().map_or_else(|_| said(text).map(Self::Alone), |key| Ok(Self::Whole(key)))
    }
}

/// An event, or an effect, in any of its spellings.
#[derive(Clone, Copy)]
pub struct EventName(pub EventId);

impl FromStr for EventName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bits = [Form::Uuid, Form::Ulid].into_iter().find_map(|form| form.parse(text).ok());
        let bits = bits.ok_or_else(|| "an event is a UUID in lower case, as `karwan dlq list` prints it".to_owned())?;
        Ok(Self(EventId::from_bits(bits)))
    }
}

impl Narrow {
    /// Whether it narrows at all.
    pub fn is_empty(&self) -> bool {
        let Self { consumer, tenant, topic, key, state, error, since, until } = self;
        consumer.is_none()
            && tenant.is_none()
            && topic.is_none()
            && key.is_none()
            && state.is_none()
            && error.is_none()
            && since.is_none()
            && until.is_none()
    }

    /// What it means to this store; names that it does not know are refused, with those that were meant.
    pub async fn filter(&self, desk: &Desk) -> Result<LetterFilter, Failure> {
        if let Some(consumer) = &self.consumer {
            desk.knows_consumer(consumer).await?;
        }
        if let Some(topic) = &self.topic {
            knows_topic(&desk.observer, topic).await?;
        }
        let mut tenant = self.tenant.map(|tenant| tenant.0);
        let key = match &self.key {
            Some(KeyPart::Whole(KeyName { tenant: of, .. })) if tenant.is_some_and(|tenant| tenant != *of) => {
                return Err(Failure::usage(anyhow!("--key names another tenant than --tenant (see --help)")));
            }
            Some(KeyPart::Whole(name)) => {
                tenant = Some(name.tenant);
                Some(name.key.clone())
            }
            Some(KeyPart::Alone(key)) => Some(key.clone()),
            None => None,
        };
        let of_whom = LetterFilter {
            consumer: self.consumer.clone(),
            tenant,
            subject: self.topic.clone(),
            key,
            state: self.state.map(StateName::state),
            error: self.error.clone(),
            ..LetterFilter::default()
        };
        let (since, until) = (self.since.map(Instant::unix_ms), self.until.map(Instant::unix_ms));
        Ok(LetterFilter { since, until, ..of_whom })
    }
}
