//! What somebody is called for: letters that wait for a person, and events that break their contract.
//!
//! Not here: the rules, which Prometheus reads (`docs/alerts`).

use karwan_envelope::Violations;

use crate::error::Error;
use crate::metrics::Subscription;
use crate::store::{Shared, Store};

impl Store {
    /// Counts the letters that wait for a person, of all consumers of the store and not of this process alone, and has its
    /// metrics tell of them. Before each scrape.
    pub async fn count_letters(&self) -> Result<(), Error> {
        let counted = self.shared.backend.letters().await?;
        let letters = counted.iter().map(|(consumer, topic, count)| (&**consumer, &**topic, count.unsigned_abs()));
        self.shared.metrics.letters(letters);
        Ok(())
    }
}

impl Shared {
    /// An event that a unit wanted to tell breaks its contract: nobody gets to read it, and it is counted.
    pub(crate) fn refused(&self, subject: &str, cause: Violations) -> Error {
        let entry = self.catalogue.directory().resolve(subject);
        let service = entry.map_or("", |entry| entry.row.owner.as_str());
        self.metrics.invalid(&Subscription { service, topic: subject, consumer: "" });
        Error::Refused { subject: subject.to_owned(), cause }
    }
}
