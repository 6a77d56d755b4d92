//! Samples that must stay valid: rows of document 001's notification table, one due at once and one due later.

use karwan_registry::platform::Sample;

macro_rules! envelope {
    ($name:literal) => {
        ($name, include_str!(concat!("../samples/envelopes/panorama/", $name, ".json")))
    };
}

/// Name and text of every envelope.
pub fn envelopes() -> Vec<(&'static str, &'static str)> {
    vec![envelope!("reservation_approved"), envelope!("reservation_reminder")]
}

/// The samples as files of the catalogue.
pub(crate) fn files() -> Vec<Sample> {
    let envelopes = envelopes().into_iter();
    envelopes.map(|(name, text)| Sample { path: format!("envelopes/panorama/{name}.json"), text }).collect()
}
