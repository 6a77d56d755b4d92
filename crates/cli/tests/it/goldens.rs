//! The committed envelopes, as golden files: each reads, prints back byte for byte, and is valid by the catalogue of
//! today. A sample names its schema by content, so a changed schema makes it stale; `UPDATE_EXPECT=1 cargo test -p
//! karwan-cli goldens` writes the new hashes into the samples.

use std::fs;

use karwan_envelope::profile::{CLOUDEVENTS, Profile};
use karwan_envelope::wire;
use karwan_registry::{Catalogue, Platform};
use serde_json::Value;

use crate::karwan::call;
use crate::samples::{self, Sample, compact};

fn platform(sample: &Sample) -> &'static Platform {
    match sample.platform {
        "melmastoon" => &melmastoon::platform::PLATFORM,
        "learning" => &learning::platform::PLATFORM,
        "panorama" => &panorama::platform::PLATFORM,
        other => panic!("no platform {other}"),
    }
}

fn profile(name: &str) -> Profile {
    [
        melmastoon::platform::PLATFORM.profiles,
        learning::platform::PLATFORM.profiles,
        panorama::platform::PLATFORM.profiles,
    ]
    .concat()
    .into_iter()
    .chain([CLOUDEVENTS])
    .find(|profile| profile.name == name)
    .expect("a sample's folder is a profile")
}

fn catalogue(sample: &Sample) -> Catalogue {
    Catalogue::of(platform(sample)).expect("the compiled-in catalogue is in order")
}

/// Every document's envelope: 000 §4, 001, 003 §4, 004 §1, and the CloudEvents form.
#[test]
fn every_profile_has_a_golden_envelope() {
    for profile in samples::PROFILES {
        assert!(samples::all().iter().any(|sample| sample.profile == profile), "{profile}");
    }
}

#[test]
fn every_golden_envelope_names_the_schema_of_today() {
    for sample in samples::all() {
        let catalogue = catalogue(&sample);
        let decoded = wire::decode(&profile(sample.profile), catalogue.directory(), sample.text.as_bytes());
        let envelope = decoded.unwrap_or_else(|violations| panic!("{}: {violations}", sample.name)).envelope;
        let entry = catalogue.directory().resolve(envelope.subject.as_str()).expect("decoding resolved it");
        if envelope.schema == entry.schema {
            continue;
        }
        let file = sample.file();
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let renewed = sample.text.replace(&envelope.schema.to_string(), &entry.schema.to_string());
            fs::write(&file, renewed).expect("the samples can be written");
            continue;
        }
        panic!(
            "{} names an older schema; run this test with UPDATE_EXPECT=1, then `karwan catalog emit`",
            file.display()
        );
    }
}

#[test]
fn every_golden_envelope_prints_back_byte_for_byte() {
    for sample in samples::all() {
        let (catalogue, profile) = (catalogue(&sample), profile(sample.profile));
        let text = sample.compact();
        let decoded = wire::decode(&profile, catalogue.directory(), text.as_bytes()).expect("a golden envelope reads");
        let printed = wire::encode(&profile, catalogue.directory(), &decoded.envelope).expect("and prints");
        assert_eq!(printed, text, "{}", sample.name);
    }
}

#[test]
fn every_golden_envelope_is_valid_by_the_catalogue() {
    for sample in samples::all() {
        let catalogue = catalogue(&sample);
        let decoded = wire::decode(&profile(sample.profile), catalogue.directory(), sample.text.as_bytes());
        let envelope = decoded.expect("a golden envelope reads").envelope;
        let judged = catalogue.validate(&envelope);
        assert!(judged.is_ok(), "{}: {judged:?}", sample.name);
    }
}

#[test]
fn the_cloudevents_golden_is_what_converting_the_melmastoon_one_gives() {
    let of = |profile| {
        let mut samples = samples::all().into_iter();
        samples.find(|it| it.profile == profile && it.name == "booking_confirmed").expect("a sample")
    };
    let convert = ["envelope", "convert", "--from", "melmastoon", "--to", "cloudevents"];
    let converted = call(&convert).stdin(of("melmastoon").text).run().exits(0);
    assert_eq!(compact(&converted.stdout), of("cloudevents").compact());
    assert_eq!(converted.stderr, "");
}

/// Document 004's payloads, each in the document's envelope: the form reads them, prints them back, and the catalogue
/// finds them valid.
#[test]
fn every_payload_of_the_lock_document_travels_in_its_envelope() {
    let sample = samples::of("lock-ce");
    let (catalogue, profile) = (catalogue(&sample), profile("lock-ce"));
    let payloads = melmastoon::samples::payloads();
    let payloads = payloads.into_iter().filter(|(subject, _)| !subject.ends_with(".local.v1"));
    let mut count = 0;
    for (subject, payload) in payloads {
        let entry = catalogue.directory().resolve(subject).expect("a sample is named after a subject");
        let alias = entry.row.aliases.iter().find(|alias| alias.starts_with("melmastoon.lock."));
        let name = alias.unwrap_or(&entry.row.subject);
        let mut document: Value = serde_json::from_str(sample.text).expect("JSON");
        document["subject"] = name.as_str().into();
        document["type"] = name.as_str().into();
        let short = name.strip_prefix("melmastoon.lock.").unwrap_or(name);
        document["schemaUrl"] = format!("https://schemas.melmastoon.ghasi.io/lock/{short}.json").into();
        document["data"] = serde_json::from_str(payload).expect("JSON");
        let text = document.to_string();
        let decoded = wire::decode(&profile, catalogue.directory(), text.as_bytes());
        let envelope = decoded.unwrap_or_else(|violations| panic!("{subject}: {violations}")).envelope;
        let judged = catalogue.validate(&envelope);
        assert!(judged.is_ok(), "{subject}: {judged:?}");
        let printed = wire::encode(&profile, catalogue.directory(), &envelope).expect("it prints");
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(printed, document, "{subject}");
        count += 1;
    }
    assert_eq!(count, 20, "the twenty subjects of the document");
}
