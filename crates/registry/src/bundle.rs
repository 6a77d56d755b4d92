//! The release bundle: a catalogue in one file, with a digest over all of it. The bundle is what runs; the committed
//! files are where changes come from.

use std::collections::BTreeMap;

use karwan_envelope::directory::Hash;
use karwan_envelope::json::{self, Limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::{SAMPLES, Tree, pretty};
use crate::hash::{HashError, hash};

/// The largest bundle that is read.
pub const BUNDLE_BYTES_MAX: usize = 64 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bundle {
    /// The format's version.
    bundle: u32,
    /// Over the canonical JSON of `files`.
    digest: Hash,
    files: BTreeMap<String, Value>,
}

/// Why a bundle cannot be built or loaded.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not JSON.
    #[error("{path} is not strict JSON")]
    Json {
        /// The file, or the bundle itself.
        path: String,
        /// Where and why.
        #[source]
        cause: json::Error,
    },
    /// Not a bundle.
    #[error("not a schema bundle of version 1")]
    Format(#[source] serde_json::Error),
    /// A version that this program does not know.
    #[error("a bundle of version {0}; this program reads version 1")]
    Version(u32),
    /// A number that has no canonical form.
    #[error("the bundle has no digest")]
    Hash(#[from] HashError),
    /// Changed after it was built.
    #[error("its digest is {actual}, and it says {stated}: the file was changed after it was built")]
    Digest {
        /// What it says.
        stated: Hash,
        /// What it is.
        actual: Hash,
    },
}

/// A catalogue's files as one document; samples stay behind.
pub fn build(tree: &Tree) -> Result<Vec<u8>, BundleError> {
    let mut files = BTreeMap::new();
    for (path, bytes) in
        tree.iter().filter(|(path, _)| path.split('/').nth(1) != Some(SAMPLES) && path.ends_with(".json"))
    {
        let parsed = json::parse(bytes, Limits::SCHEMA);
        files.insert(path.clone(), parsed.map_err(|cause| BundleError::Json { path: path.clone(), cause })?);
    }
    let digest = digest(&files)?;
    let bundle = Bundle { bundle: 1, digest, files };
    Ok(pretty(&serde_json::to_value(bundle).expect("plain structs serialise")))
}

/// The files of a bundle, after its digest was checked.
pub fn load(bytes: &[u8]) -> Result<Tree, BundleError> {
    let limits = Limits { bytes_max: BUNDLE_BYTES_MAX, ..Limits::SCHEMA };
    let text =
        json::check(bytes, limits).map_err(|cause| BundleError::Json { path: "the bundle".to_owned(), cause })?;
    let bundle: Bundle = serde_json::from_str(text).map_err(BundleError::Format)?;
    if bundle.bundle != 1 {
        return Err(BundleError::Version(bundle.bundle));
    }
    let actual = digest(&bundle.files)?;
    if actual != bundle.digest {
        return Err(BundleError::Digest { stated: bundle.digest, actual });
    }
    Ok(bundle.files.into_iter().map(|(path, document)| (path, pretty(&document))).collect())
}

fn digest(files: &BTreeMap<String, Value>) -> Result<Hash, HashError> {
    hash(&serde_json::to_value(files).expect("a map of values serialises"))
}
