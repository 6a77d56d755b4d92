//! Where a store is: `sqlite:PATH` or `postgres://…`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A store's address. Printing it hides the password.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// A file; it is made by `migrate`.
    Sqlite(PathBuf),
    /// A database, as a connection URL.
    Postgres(String),
}

/// Why a text is not a store's address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a store's address: write sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
pub struct BadAddress {
    text: String,
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        if let Some(path) = text.strip_prefix("sqlite:").map(|rest| rest.strip_prefix("//").unwrap_or(rest))
            && !path.is_empty()
        {
            return Ok(Self::Sqlite(path.into()));
        }
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if is_url { Ok(Self::Postgres(text.to_owned())) } else { Err(BadAddress { text: masked(text) }) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => f.write_str(&masked(url)),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text with its password, before a URL's host, among its parameters or in a list of words, replaced by `***`.
///
/// What looks odd is hidden rather than shown: it may be a password with a character that should have been encoded.
pub fn masked(text: &str) -> String {
    let shown = masked_url(text);
    let words = shown.split(' ').map(|word| match word.split_once('=') {
        Some((name, _)) if name.eq_ignore_ascii_case("password") => format!("{name}=***"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn masked_url(url: &str) -> String {
    let odd = |(_, query): &(&str, &str)| query.contains('@');
    let parts = url.split_once('?').filter(|parts| !odd(parts));
    let (head, query) = parts.map_or((url, None), |(head, query)| (head, Some(query)));
    let start = head.find("://").map_or(0, |place| place + 3);
    let mut shown = match head.rfind('@').filter(|at| *at >= start) {
        Some(at) => match head[start..at].split_once(':') {
            Some((user, _)) => format!("{}{user}:***{}", &head[..start], &head[at..]),
            None => head.to_owned(),
        },
        None => head.to_owned(),
    };
    if let Some(query) = query {
        let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if name.eq_ignore_ascii_case("password") => format!("{name}=***"),
            _ => parameter.to_owned(),
        });
        shown.push('?');
        shown.push_str(&parameters.collect::<Vec<_>>().join("&"));
    }
    shown
}
