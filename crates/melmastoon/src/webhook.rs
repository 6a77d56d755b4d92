//! Webhooks of vendors: who speaks is known by the signature, before anything else is read.

use karwan::envelope::time::Clock;
use karwan_http::signature::is_signed;
use serde::de::DeserializeOwned;

/// Why a webhook is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// Nobody knows who said it.
    Unsigned,
    /// It cannot be read.
    Unreadable,
    /// It says something that nobody here waits for.
    Uninteresting,
}

/// The body of a webhook, once its signature was checked.
pub fn read<T: DeserializeOwned>(
    secret: &str,
    clock: &dyn Clock,
    body: &[u8],
    signed: Option<&str>,
) -> Result<T, Rejected> {
    if !signed.is_some_and(|given| is_signed(secret, seconds(clock), body, given)) {
        return Err(Rejected::Unsigned);
    }
    serde_json::from_slice(body).map_err(|_| Rejected::Unreadable)
}

/// An instant as signatures have it.
pub fn seconds(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now().unix_ms() / 1_000).unwrap_or_default()
}
