//! The envelope samples of all platforms.

use std::path::PathBuf;

use crate::karwan::root;

/// A committed envelope.
#[derive(Clone, Copy)]
pub struct Sample {
    pub platform: &'static str,
    pub profile: &'static str,
    pub name: &'static str,
    pub text: &'static str,
}

impl Sample {
    /// Where it is committed.
    pub fn file(&self) -> PathBuf {
        let Self { platform, profile, name, .. } = self;
        root().join(format!("crates/{platform}/samples/envelopes/{profile}/{name}.json"))
    }

    /// The sample without the white space between its tokens.
    pub fn compact(&self) -> String {
        compact(self.text)
    }
}

/// The five profiles.
pub const PROFILES: [&str; 5] = ["melmastoon", "learning", "lock-ce", "panorama", "cloudevents"];

/// All of them.
pub fn all() -> Vec<Sample> {
    let melmastoon = melmastoon::samples::envelopes().into_iter();
    let learning = learning::samples::envelopes().into_iter();
    let panorama = panorama::samples::envelopes().into_iter();
    melmastoon
        .map(|(profile, name, text)| Sample { platform: "melmastoon", profile, name, text })
        .chain(learning.map(|(name, text)| Sample { platform: "learning", profile: "learning", name, text }))
        .chain(panorama.map(|(name, text)| Sample { platform: "panorama", profile: "panorama", name, text }))
        .collect()
}

/// The first sample of a profile.
pub fn of(profile: &str) -> Sample {
    all().into_iter().find(|sample| sample.profile == profile).expect("every profile has a sample")
}

/// JSON without the white space between its tokens; the order of fields stays.
pub fn compact(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let kept = json.chars().filter(|char| {
        let keep = quoted || !char.is_ascii_whitespace();
        match char {
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = quoted && *char == '\\' && !escaped;
        keep
    });
    kept.collect()
}
