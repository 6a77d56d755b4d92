//! Ids and delays that follow from a request, and are the same for the same request.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// An id that follows from a text: a vendor's own, and the same for the same request.
pub(crate) fn id(prefix: &str, text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(12).fold(prefix.to_owned(), |mut id, byte| {
        // A string takes any text.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// A number below a bound that follows from a text.
pub(crate) fn below(bound: u64, text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    let number = digest.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    if bound == 0 { 0 } else { number % bound }
}
