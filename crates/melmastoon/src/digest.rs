//! Hashes as events write them: `sha256:` and 64 digits.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// A hash, written out.
pub fn sha256_text(hash: &[u8]) -> String {
    hash.iter().fold(String::from("sha256:"), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string can be written to");
        text
    })
}

/// The hash of some parts, which are told apart by their lengths: `ab` and `c` are not `a` and `bc`.
pub fn sha256_of(parts: &[&[u8]]) -> String {
    sha256_text(&digest(parts))
}

/// 128 bits of the same: for ids that follow from what they name.
pub fn bits_of(parts: &[&[u8]]) -> u128 {
    u128::from_be_bytes(digest(parts)[..16].try_into().expect("a digest has 32 bytes"))
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}
