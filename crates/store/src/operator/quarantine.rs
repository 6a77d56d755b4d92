//! Letters locked away in files: the envelope byte for byte, and a manifest of everything in the folder, a line a letter.
//!
//! Invariant: a letter is on the disk before the store lets go of it. Written twice, after a crash in between, it is the same
//! file, and its later line counts. Adding to a folder costs the same however much is in it.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::action::Who;
use super::find::Found;
use crate::error::Error;

/// The file that lists the others.
pub const MANIFEST: &str = "manifest.jsonl";

/// One letter of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its file.
    pub file: String,
    /// Of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Of which consumer.
    pub consumer: String,
    /// The event, or the effect.
    pub event: String,
    /// Its subject, or its kind.
    pub subject: String,
    /// Whose, 32 hexadecimal digits.
    pub tenant: String,
    /// Its key.
    pub key: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed last.
    pub error: String,
    /// Who locked it away.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When, milliseconds after 1970.
    pub at: i64,
}

/// Writes a letter and its line of the manifest, and waits until both are on the disk.
pub(super) fn write(folder: &Path, found: &Found, who: &Who, at: i64) -> Result<(), Error> {
    let failed = |cause| Error::Quarantine { folder: folder.display().to_string(), cause };
    try_write(folder, found, who, at).map_err(failed)
}

fn try_write(folder: &Path, found: &Found, who: &Who, at: i64) -> io::Result<()> {
    // Envelopes as they are, personal data included: for their owner alone.
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut own = File::options();
    own.create(true).mode(0o600);
    // Others may be adding to the same folder.
    let lock = own.clone().write(true).truncate(false).open(folder.join(".lock"))?;
    lock.lock()?;
    let letter = &found.letter;
    let target = &letter.target;
    let file = format!("{}-{:032x}.json", target.consumer.replace(['/', '\\'], "-"), target.event.bits());
    if fs::read(folder.join(&file)).is_ok_and(|there| there != found.envelope.as_bytes()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{file} holds something else")));
    }
    let beside = folder.join(format!(".{file}.new"));
    let mut whole = own.clone().write(true).truncate(true).open(&beside)?;
    whole.write_all(found.envelope.as_bytes())?;
    whole.sync_all()?;
    fs::rename(beside, folder.join(&file))?;
    let line = Kept {
        file,
        sha256: sha256(&found.envelope),
        consumer: target.consumer.clone(),
        event: target.event.to_string(),
        subject: letter.subject.clone(),
        tenant: format!("{:032x}", letter.tenant),
        key: letter.key.clone(),
        attempts: letter.attempts,
        error: letter.error.clone(),
        actor: who.actor.clone(),
        reason: who.reason.clone(),
        at,
    };
    let mut manifest = own.append(true).open(folder.join(MANIFEST))?;
    // A line that a crash cut off ends here, and is no line.
    let line = format!("\n{}\n", serde_json::to_string(&line).map_err(io::Error::other)?);
    manifest.write_all(line.as_bytes())?;
    manifest.sync_all()?;
    File::open(folder)?.sync_all()
}

/// What a folder holds, by file; as many as there are files.
pub fn manifest(folder: &Path) -> io::Result<Vec<Kept>> {
    let text = fs::read_to_string(folder.join(MANIFEST))?;
    let kept = text.lines().filter_map(|line| serde_json::from_str::<Kept>(line).ok());
    Ok(kept.map(|kept| (kept.file.clone(), kept)).collect::<BTreeMap<_, _>>().into_values().collect())
}

/// A text's SHA-256 in hexadecimal digits.
pub(super) fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
