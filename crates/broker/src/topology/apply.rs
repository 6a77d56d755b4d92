//! Makes a broker what the catalogue asks for: adds, never takes away.

use std::fmt;

use serde_json::{Value, json};

use super::compare::{self, Difference, Remedy, What};
use super::overlap;
use super::wanted::{self, Wanted};
use super::{Consumer, Topology};
use crate::api::{About, StreamInfo};
use crate::connection::Broker;
use crate::error::Error;

/// What `apply` did, or left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A stream was made.
    Stream(String),
    /// A durable was made.
    Durable {
        /// Of this stream.
        stream: String,
        /// Its name.
        durable: String,
    },
    /// A difference was mended.
    Mended(Difference),
    /// A difference was left.
    Kept(Difference),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(name) => write!(f, "made    {name}"),
            Self::Durable { stream, durable } => write!(f, "made    {stream} {durable}"),
            Self::Mended(difference) => write!(f, "mended  {difference}"),
            Self::Kept(difference) => write!(f, "kept    {difference}"),
        }
    }
}

impl Topology {
    /// Makes what is missing and mends what can be mended; says what it did. What cannot be changed in place stops it, and
    /// nothing after that is touched. Where a stream is another platform's, nothing is touched at all.
    pub async fn apply(&self, broker: &Broker) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        let mut streams = Vec::new();
        for wanted in self.wanted(broker.version()?) {
            let info = found(broker, &wanted.name).await?;
            let others = info.as_ref().map(|info| self.of_others(info, &wanted)).unwrap_or_default();
            if !others.is_empty() {
                return Err(Error::OtherPlatform { stream: wanted.name, platform: self.platform, subjects: others });
            }
            streams.push((wanted, info));
        }
        for (wanted, info) in streams {
            apply_stream(broker, &wanted, info, &mut changes).await?;
        }
        for consumer in &self.consumers {
            apply_durable(broker, consumer, &mut changes).await?;
        }
        Ok(changes)
    }

    /// What is not as it should be; nothing is changed.
    pub async fn check(&self, broker: &Broker) -> Result<Vec<Difference>, Error> {
        let mut differences = Vec::new();
        for wanted in self.wanted(broker.version()?) {
            differences.extend(match found(broker, &wanted.name).await? {
                Some(info) => self.differences(&info, &wanted),
                None => vec![missing(&wanted.name, None)],
            });
        }
        for consumer in &self.consumers {
            let wanted = wanted::durable(&consumer.settings());
            let (stream, durable) = (&consumer.stream, &consumer.durable);
            differences.extend(match broker.consumer_info(stream, durable).await {
                Ok(info) => compare::durable(stream, durable, &info.config, &wanted),
                Err(Error::ConsumerGone { .. } | Error::StreamGone { .. }) => vec![missing(stream, Some(durable))],
                Err(error) => return Err(error),
            });
        }
        Ok(differences)
    }

    fn of_others(&self, info: &StreamInfo, wanted: &Wanted) -> Vec<String> {
        compare::of_others(&info.config, &wanted.config, &self.grammar)
    }

    /// Of a stream that is another's nothing else is asked: it should have nothing of what is wanted.
    fn differences(&self, info: &StreamInfo, wanted: &Wanted) -> Vec<Difference> {
        let others = self.of_others(info, wanted);
        if others.is_empty() {
            return compare::stream(&wanted.name, &info.config, &wanted.config);
        }
        let (stream, what) = (wanted.name.clone(), What::OtherPlatform(others));
        vec![Difference { stream, durable: None, what, remedy: Remedy::Impossible }]
    }
}

fn missing(stream: &str, durable: Option<&str>) -> Difference {
    let (stream, durable) = (stream.to_owned(), durable.map(str::to_owned));
    Difference { stream, durable, what: What::Missing, remedy: Remedy::Apply }
}

async fn found(broker: &Broker, stream: &str) -> Result<Option<StreamInfo>, Error> {
    match broker.stream_info(stream).await {
        Ok(info) => Ok(Some(info)),
        Err(Error::StreamGone { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn apply_stream(
    broker: &Broker,
    wanted: &Wanted,
    info: Option<StreamInfo>,
    changes: &mut Vec<Change>,
) -> Result<(), Error> {
    let about = About { stream: &wanted.name, ..About::default() };
    let Some(info) = info else {
        let made = broker.ask::<Value>(&format!("STREAM.CREATE.{}", wanted.name), about, &wanted.config).await;
        if let Err(error) = made {
            let subjects = compare::list(&wanted.config, "subjects");
            return Err(overlap::named(broker, &wanted.name, &subjects, error).await);
        }
        changes.push(Change::Stream(wanted.name.clone()));
        return Ok(());
    };
    let differences = compare::stream(&wanted.name, &info.config, &wanted.config);
    if let Some(difference) = differences.iter().find(|one| one.remedy == Remedy::Impossible) {
        return Err(Error::Topology { difference: Box::new(difference.clone()) });
    }
    if differences.iter().any(Difference::matters) {
        let config = merged(info.config, &wanted.config, &differences);
        if let Err(error) = broker.ask::<Value>(&format!("STREAM.UPDATE.{}", wanted.name), about, &config).await {
            let lacks = differences.iter().find_map(|one| match &one.what {
                What::SubjectsMissing(subjects) => Some(subjects.as_slice()),
                What::Missing | What::SubjectsMore(_) | What::OtherPlatform(_) | What::Setting { .. } => None,
            });
            return Err(overlap::named(broker, &wanted.name, lacks.unwrap_or_default(), error).await);
        }
    }
    changes.extend(differences.into_iter().map(told));
    Ok(())
}

fn told(difference: Difference) -> Change {
    if difference.matters() { Change::Mended(difference) } else { Change::Kept(difference) }
}

/// What is there, with what is mended; a setting that nobody asked about stays as it is.
fn merged(mut config: Value, wanted: &Value, differences: &[Difference]) -> Value {
    for difference in differences.iter().filter(|one| one.matters()) {
        match &difference.what {
            What::SubjectsMissing(missing) => {
                let mut subjects = config["subjects"].take();
                if let Some(subjects) = subjects.as_array_mut() {
                    subjects.extend(missing.iter().map(|subject| json!(subject)));
                }
                config["subjects"] = subjects;
            }
            What::Setting { name, .. } => config[*name] = wanted[*name].clone(),
            What::Missing | What::SubjectsMore(_) | What::OtherPlatform(_) => {}
        }
    }
    config
}

async fn apply_durable(broker: &Broker, consumer: &Consumer, changes: &mut Vec<Change>) -> Result<(), Error> {
    let (stream, durable) = (&consumer.stream, &consumer.durable);
    let wanted = wanted::durable(&consumer.settings());
    let info = match broker.consumer_info(stream, durable).await {
        Ok(info) => info,
        Err(Error::ConsumerGone { .. }) => {
            let mut config = wanted;
            config["deliver_policy"] = json!("all");
            let _: Value = create_durable(broker, stream, durable, &config).await?;
            changes.push(Change::Durable { stream: stream.clone(), durable: durable.clone() });
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let differences = compare::durable(stream, durable, &info.config, &wanted);
    if let Some(difference) = differences.iter().find(|one| one.remedy == Remedy::Impossible) {
        return Err(Error::Topology { difference: Box::new(difference.clone()) });
    }
    if differences.iter().any(Difference::matters) {
        let mut config = info.config;
        for (name, value) in wanted.as_object().into_iter().flatten() {
            config[name.as_str()] = value.clone();
        }
        let _: Value = create_durable(broker, stream, durable, &config).await?;
    }
    changes.extend(differences.into_iter().map(told));
    Ok(())
}

/// Makes a durable, or changes one that is there.
pub(crate) async fn create_durable<T: serde::de::DeserializeOwned>(
    broker: &Broker,
    stream: &str,
    durable: &str,
    config: &Value,
) -> Result<T, Error> {
    let body = json!({ "stream_name": stream, "config": config });
    broker.ask(&format!("CONSUMER.DURABLE.CREATE.{stream}.{durable}"), About { stream, durable }, &body).await
}
