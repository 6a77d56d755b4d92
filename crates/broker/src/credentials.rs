//! Logins that lie in files: a user's token with its seed (`.creds`), or a seed alone.
//!
//! Nothing of a file is ever repeated but its name: all of it is secret.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::error::Error;

/// What a credentials file holds.
pub(crate) struct Credentials {
    /// The whole of it, as the client reads it.
    pub(crate) text: String,
    /// What the token calls its user.
    pub(crate) user: Option<String>,
}

/// What a token says of its user, as far as it matters here. The server judges it.
#[derive(Deserialize)]
struct Claims {
    name: Option<String>,
}

/// Reads a credentials file.
pub(crate) async fn credentials(file: &Path) -> Result<Credentials, Error> {
    let text = text(file).await?;
    let user = user(&text);
    Ok(Credentials { text, user })
}

/// Reads the seed of a user's key.
pub(crate) async fn seed(file: &Path) -> Result<String, Error> {
    let text = text(file).await?;
    let seed = text.trim();
    match is_seed(seed) {
        true => Ok(seed.to_owned()),
        false => Err(bad(file, "it holds no seed of a user: one line that begins with SU")),
    }
}

/// A file that cannot be used, and why; of what is in it nothing is said.
pub(crate) fn bad(file: &Path, reason: impl Into<String>) -> Error {
    Error::Credentials { file: file.display().to_string(), reason: reason.into() }
}

async fn text(file: &Path) -> Result<String, Error> {
    tokio::fs::read_to_string(file).await.map_err(|error| bad(file, error.to_string()))
}

/// Letters and digits of base 32, behind the mark of a user's seed.
fn is_seed(text: &str) -> bool {
    text.starts_with("SU") && text.chars().all(|letter| matches!(letter, 'A'..='Z' | '2'..='7'))
}

/// The user's name in the token of a credentials file: the middle one of three parts with dots between.
fn user(text: &str) -> Option<String> {
    let token = text.lines().map(str::trim).find(|line| line.split('.').count() == 3 && !line.contains(' '))?;
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Claims>(&claims).ok()?.name.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{is_seed, user};

    #[test]
    fn a_token_says_who_its_user_is() {
        // {"name":"billing-service"}
        let told = |claims: &str| format!("-----BEGIN NATS USER JWT-----\nhead.{claims}.sign\n------END------\n");
        assert_eq!(user(&told("eyJuYW1lIjoiYmlsbGluZy1zZXJ2aWNlIn0")).as_deref(), Some("billing-service"));
        for other in [told("eyJuYW1lIjoiIn0"), told("e30"), told("%"), "nothing".to_owned(), String::new()] {
            assert_eq!(user(&other), None, "{other}");
        }
    }

    #[test]
    fn a_seed_is_known_by_its_letters() {
        assert!(is_seed("SUAGWYLSO5QW4IDUMVZXIIDPMYQGCIDMN5TWS3RAMJ4SAYJANNSXSIK4SU"));
        for other in ["", "hush", "UD4JINWTUVNTMMM33EHLJLS4Z7XNJTKU77SB7YRJ3AN3YFAWSN6GL3D4", "SUA GW", "SUA1"] {
            assert!(!is_seed(other), "{other}");
        }
    }
}
