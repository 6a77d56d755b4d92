//! Samples that must stay valid: document 003 §4's envelope around the event that it names there.

use karwan_registry::platform::Sample;

macro_rules! envelope {
    ($name:literal) => {
        ($name, include_str!(concat!("../samples/envelopes/learning/", $name, ".json")))
    };
}

/// Name and text of every envelope.
pub fn envelopes() -> Vec<(&'static str, &'static str)> {
    vec![envelope!("course_draft_published")]
}

/// The samples as files of the catalogue.
pub(crate) fn files() -> Vec<Sample> {
    let envelopes = envelopes().into_iter();
    envelopes.map(|(name, text)| Sample { path: format!("envelopes/learning/{name}.json"), text }).collect()
}
