//! A subject that a stream of somebody else has already: JetStream says that there is one, and not which.

use serde::Deserialize;
use serde_json::json;

use crate::api::{About, reason};
use crate::connection::Broker;
use crate::error::Error;

#[derive(Deserialize)]
struct Names {
    /// Left out, or null, where there is none.
    #[serde(default)]
    streams: Option<Vec<String>>,
}

impl Broker {
    /// The streams that take a subject.
    pub async fn takers(&self, subject: &str) -> Result<Vec<String>, Error> {
        let names: Names = self.ask("STREAM.NAMES", About::default(), &json!({ "subject": subject })).await?;
        Ok(names.streams.unwrap_or_default())
    }
}

/// The same error, and where it is about subjects that others have: who has which.
pub(crate) async fn named(broker: &Broker, stream: &str, subjects: &[String], error: Error) -> Error {
    if !matches!(error, Error::Answer { code: reason::SUBJECTS_OVERLAP, .. }) {
        return error;
    }
    let (mut taken, mut holders) = (Vec::new(), Vec::new());
    for subject in subjects {
        // Who may make a stream may not always ask for others'.
        let Ok(mut takers) = broker.takers(subject).await else { break };
        takers.retain(|taker| taker != stream);
        if !takers.is_empty() {
            taken.push(subject.clone());
        }
        holders.extend(takers);
    }
    holders.sort_unstable();
    holders.dedup();
    let subjects = if taken.is_empty() { subjects.to_vec() } else { taken };
    Error::Overlap { stream: stream.to_owned(), subjects, holders }
}

/// Who takes what, for people.
pub(crate) fn told(subjects: &[String], holders: &[String]) -> String {
    let subjects = subjects.join(", ");
    match holders {
        [] => format!("another stream, which this login may not ask for, takes one of {subjects}"),
        [one] => format!("the stream {one} takes {subjects} already"),
        many => format!("the streams {} take {subjects} already", many.join(", ")),
    }
}
