//! Signed bodies: an HMAC over an instant and a text, as `t=<unix seconds>,v1=<hex>`, the form that many webhooks have.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How old a signature may be, in seconds: an old request that somebody has kept is not taken again.
pub const AGE_SECONDS_MAX: u64 = 300;

/// The signature of a text at an instant.
pub fn signature(secret: &str, at_seconds: u64, text: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length is taken");
    mac.update(at_seconds.to_string().as_bytes());
    mac.update(b".");
    mac.update(text);
    format!("t={at_seconds},v1={}", hex(&mac.finalize().into_bytes()))
}

/// Whether a signature is this secret's, over this text, and not too old or from the future.
pub fn is_signed(secret: &str, now_seconds: u64, text: &[u8], given: &str) -> bool {
    let at = given.strip_prefix("t=").and_then(|rest| rest.split_once(',')).and_then(|(at, _)| at.parse::<u64>().ok());
    at.is_some_and(|at| at.abs_diff(now_seconds) <= AGE_SECONDS_MAX && same(&signature(secret, at, text), given))
}

/// In the same time wherever they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // A string takes any text.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{AGE_SECONDS_MAX, is_signed, signature};

    #[test]
    fn another_secret_text_or_time_is_not_signed() {
        let given = signature("s3cret", 1_000, b"text");
        assert!(is_signed("s3cret", 1_000 + AGE_SECONDS_MAX, b"text", &given));
        assert!(!is_signed("s3cret", 1_001 + AGE_SECONDS_MAX, b"text", &given), "too old");
        assert!(!is_signed("other", 1_000, b"text", &given));
        assert!(!is_signed("s3cret", 1_000, b"texT", &given));
        let later = given.replace("t=1000", "t=1001");
        assert!(!is_signed("s3cret", 1_000, b"text", &later));
        for bad in ["", "t=", "t=1000", "v1=00", "t=x,v1=00"] {
            assert!(!is_signed("s3cret", 1_000, b"text", bad), "{bad}");
        }
    }
}
