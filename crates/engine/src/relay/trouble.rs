//! What keeps streams, those of dead letters among them, from being published to, for whoever asks whether a process is well. In
//! memory alone: it is about now, and about this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use karwan_broker::Error as BrokerError;
use karwan_envelope::time::Timestamp;

use crate::worker::told;

/// A stream that takes nothing, or not everything: letters that a login may not publish hold back no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The stream.
    pub stream: String,
    /// What the broker said last, or that it said nothing.
    pub why: String,
    /// The code of that error, which has a page.
    pub code: &'static str,
    /// What helps, where something does.
    pub remedy: Option<&'static str>,
    /// Since when nothing was published to it.
    pub since: Timestamp,
}

/// Those of a process, as they are now. The log holds meanwhile what is to be published.
#[derive(Debug, Clone, Default)]
pub struct Troubles(Arc<Mutex<BTreeMap<String, Trouble>>>);

impl Troubles {
    /// The streams that take nothing now, the oldest trouble first.
    pub fn now(&self) -> Vec<Trouble> {
        let mut all: Vec<Trouble> = self.all().values().cloned().collect();
        all.sort_by_key(|trouble| trouble.since);
        all
    }

    /// A stream took nothing. What is said is the last error, and the time is that of the first.
    pub(crate) fn met(&self, stream: &str, error: &BrokerError, at: Timestamp) {
        let mut all = self.all();
        let since = all.get(stream).map_or(at, |known| known.since);
        let (name, why) = (stream.to_owned(), told(error));
        all.insert(name.clone(), Trouble { stream: name, why, code: error.code(), remedy: error.remedy(), since });
    }

    /// A stream is published to again, or is not this process's any more.
    pub(crate) fn over(&self, stream: &str) {
        self.all().remove(stream);
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Trouble>> {
        self.0.lock().expect("nothing panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use karwan_broker::Error as BrokerError;
    use karwan_envelope::time::Timestamp;

    use super::Troubles;

    fn gone(stream: &str) -> BrokerError {
        BrokerError::StreamGone { stream: stream.to_owned() }
    }

    #[test]
    fn a_trouble_is_as_old_as_its_first_error_and_says_the_last_until_it_is_over() {
        let (troubles, at) = (Troubles::default(), Timestamp::from_unix_ms);
        let seen = troubles.clone();
        troubles.met("SALES", &gone("SALES"), at(2_000));
        troubles.met("AUDIT", &gone("AUDIT"), at(1_000));
        let out_of_step = BrokerError::OutOfStep { stream: "SALES".to_owned(), expected: 7 };
        troubles.met("SALES", &out_of_step, at(3_000));
        let told: Vec<_> = seen.now().into_iter().map(|it| (it.stream, it.code, it.since)).collect();
        let expected = [("AUDIT", "broker-stream-gone", at(1_000)), ("SALES", "broker-out-of-step", at(2_000))];
        assert_eq!(told, expected.map(|(stream, code, since)| (stream.to_owned(), code, since)));
        troubles.over("AUDIT");
        troubles.over("SALES");
        troubles.met("SALES", &gone("SALES"), at(9_000));
        assert_eq!(seen.now().into_iter().map(|it| it.since).collect::<Vec<_>>(), [at(9_000)]);
    }
}
