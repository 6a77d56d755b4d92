//! What a catalogue replaces, where nobody says it: the schemas that a store's events name, and that the store keeps.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use karwan_envelope::directory::Hash;
use karwan_envelope::time::Timestamp;
use karwan_registry::hash::hash;
use karwan_store::log::LogRow;
use karwan_store::{Address, Observer, Store, stored};
use serde_json::Value;

use super::audit::{Schemas, look};
use crate::exit::Failure;
use crate::output;

/// What events name. Bounded by the number of subjects, however many events there are.
#[derive(Default)]
struct Named {
    events: u64,
    /// The last that is not the new one, by subject.
    others: BTreeMap<String, Hash>,
    /// Subjects of events that name none.
    without: BTreeSet<String>,
    /// Subjects that the new catalogue does not have.
    foreign: BTreeSet<String>,
}

/// The schemas that events since an instant name last, by subject, where they are not the new ones; and whether every event of
/// that time was there and named one.
pub async fn others(address: &Address, since: Timestamp, new: &Schemas) -> Result<(Schemas, bool), Failure> {
    let hashes: BTreeMap<&str, Hash> =
        new.iter().filter_map(|(subject, schema)| Some((subject.as_str(), hash(schema).ok()?))).collect();
    let mut named = Named::default();
    let covered = look(address, since, &mut |row: &LogRow| named.count(row, &hashes)).await?;
    if !covered {
        output::note("the log does not have every event of these days: what others named is not known");
    }
    named.tell();
    let whole = covered && named.without.is_empty();
    let store = Store::observe(address).await?;
    let mut schemas = Schemas::new();
    for (subject, hash) in named.others {
        let schema = kept(&store, hash).await?.ok_or_else(|| unknown(&subject, hash))?;
        schemas.insert(subject, schema);
    }
    Ok((schemas, whole))
}

impl Named {
    fn count(&mut self, row: &LogRow, new: &BTreeMap<&str, Hash>) {
        self.events += 1;
        let Some(current) = new.get(row.subject.as_str()) else {
            self.foreign.insert(row.subject.clone());
            return;
        };
        match stored::contents(&row.envelope).and_then(|contents| contents.schema).map(|uri| uri.hash) {
            Some(hash) if hash == *current => {}
            Some(hash) => {
                self.others.insert(row.subject.clone(), hash);
            }
            None => {
                self.without.insert(row.subject.clone());
            }
        }
    }

    /// What the answer does not cover.
    fn tell(&self) {
        let list = |subjects: &BTreeSet<String>| subjects.iter().cloned().collect::<Vec<_>>().join(", ");
        if !self.foreign.is_empty() {
            output::note(&format!("not in the compiled-in catalogue, and not judged: {}", list(&self.foreign)));
        }
        if !self.without.is_empty() {
            let without = list(&self.without);
            output::note(&format!("events name no schema, so that OLD must be given to judge them: {without}"));
        }
        if self.others.is_empty() {
            let events = self.events;
            output::note(&format!("none of {events} events names another schema than the compiled-in catalogue has"));
        }
    }
}

/// A schema that some program has brought to the store; none where what is kept is not what its name says.
async fn kept(store: &Observer, named: Hash) -> Result<Option<Value>, Failure> {
    let document = store.schema(&named.to_string()).await?;
    let schema = document.and_then(|document| serde_json::from_str::<Value>(&document).ok());
    Ok(schema.filter(|schema| hash(schema).is_ok_and(|hash| hash == named)))
}

fn unknown(subject: &str, hash: Hash) -> Failure {
    let why = format!("events of {subject} name the schema sha256-{hash}, which this store does not keep");
    let remedy = "name the catalogue or bundle of the release that wrote them, as OLD";
    let example = "karwan schema audit --store … release-bundle.json";
    Failure::usage(anyhow!("{why}: {remedy}: `{example}` (see --help)"))
}
