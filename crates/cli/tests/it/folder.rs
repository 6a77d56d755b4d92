//! A folder of a test's own, gone when the test ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::karwan::karwan;

/// An empty folder.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}-{serial}", std::process::id()));
        fs::create_dir_all(&path).expect("the build's temporary folder can be written");
        Self(path)
    }

    /// A folder with the compiled-in catalogue in `catalog/`.
    pub fn with_catalogue() -> Self {
        let folder = Self::new();
        karwan(&["catalog".into(), "emit".into(), "--out".into(), folder.at("catalog")]).exits(0);
        folder
    }

    /// The path of a file in it.
    pub fn at(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// The same as text.
    pub fn name(&self, file: &str) -> String {
        self.at(file).display().to_string()
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, and the folders above it; answers its path.
    pub fn write(&self, file: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.at(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder is ours");
        fs::write(&path, bytes).expect("the folder is ours");
        self.name(file)
    }

    pub fn read(&self, file: &str) -> Vec<u8> {
        fs::read(self.at(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub fn remove(&self, file: &str) {
        fs::remove_file(self.at(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    }

    /// Changes a JSON document in place.
    pub fn edit(&self, file: &str, change: impl FnOnce(&mut Value)) {
        let mut document = serde_json::from_slice(&self.read(file)).expect("a catalogue is JSON");
        change(&mut document);
        self.write(file, serde_json::to_vec_pretty(&document).expect("values serialise"));
    }

    /// Changes one row of a platform's `topics.json`.
    pub fn edit_topic(&self, platform: &str, subject: &str, change: impl FnOnce(&mut Value)) {
        self.edit(&format!("catalog/{platform}/topics.json"), |topics| {
            let rows = topics["topics"].as_array_mut().expect("topics are a list");
            change(rows.iter_mut().find(|row| row["subject"] == subject).expect("the subject has a row"));
        });
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What remains lies in the build's own folder, so a failure to tidy up is none of the test's.
        let _ = fs::remove_dir_all(&self.0);
    }
}
