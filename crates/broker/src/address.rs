//! Where a broker is: `nats://HOST:PORT`, `tls://HOST:PORT`, several with commas between; with a login before the host, and
//! files behind it: `?ca=FILE` is a certificate to trust besides the system's, `creds=FILE` and `nkey=FILE` are logins.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A broker's address. Printing it shows hosts and ports, never a user, a password or a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    servers: Vec<String>,
    login: Option<Login>,
    files: Files,
}

/// Files that a connection needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// A certificate to trust besides the system's.
    pub(crate) authority: Option<PathBuf>,
    /// A credentials file (`.creds`).
    pub(crate) credentials: Option<PathBuf>,
    /// The seed of a key.
    pub(crate) nkey: Option<PathBuf>,
}

/// Who connects; kept apart from the servers, so that nothing which prints a server can print it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Login {
    /// A user and a password.
    User(String, String),
    /// A token.
    Token(String),
}

/// Why a text is not a broker's address. The text is not repeated: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a broker's address ({reason}): write nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ before the host where one is needed, and ?ca=FILE, ?creds=FILE or ?nkey=FILE behind it"
)]
pub struct BadAddress {
    reason: &'static str,
}

/// The schemes of a server.
const SCHEMES: &[&str] = &["nats://", "tls://"];

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = |reason| BadAddress { reason };
        let mut address = Self { servers: Vec::new(), login: None, files: Files::default() };
        for server in text.split(',') {
            let server = server.trim();
            let scheme = SCHEMES.iter().find(|scheme| server.starts_with(**scheme));
            let scheme = scheme.ok_or(bad("it starts with neither nats:// nor tls://"))?;
            let rest = &server[scheme.len()..];
            let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
            let known = address.files.read(parameters);
            known.ok_or(bad("behind ? stand ca=FILE, creds=FILE or nkey=FILE, with & between, percent-encoded"))?;
            let rest = rest.trim_end_matches('/');
            let (login, host) = match rest.rsplit_once('@') {
                Some((login, host)) => (Some(parse_login(login).ok_or(bad("its login is not percent-encoded"))?), host),
                None => (None, rest),
            };
            if host.is_empty() || host.contains(['/', '?', '#', ' ']) {
                return Err(bad("it names no host, or more than a host"));
            }
            if login.is_some() && address.login.is_some() && login != address.login {
                return Err(bad("its servers want different logins"));
            }
            address.login = address.login.or(login);
            address.servers.push(format!("{scheme}{host}"));
        }
        Ok(address)
    }
}

impl Address {
    /// The servers, without a login.
    pub(crate) fn servers(&self) -> &[String] {
        &self.servers
    }

    /// Who connects.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Files that it names.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }
}

impl Files {
    /// From `ca=FILE&creds=FILE`; none where something else stands there.
    fn read(&mut self, parameters: &str) -> Option<()> {
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, file) = parameter.split_once('=')?;
            let place = match name {
                "ca" => &mut self.authority,
                "creds" => &mut self.credentials,
                "nkey" => &mut self.nkey,
                _ => return None,
            };
            *place = Some(PathBuf::from(decoded(file)?)).filter(|file| !file.as_os_str().is_empty());
            place.as_ref()?;
        }
        Some(())
    }
}

fn parse_login(text: &str) -> Option<Login> {
    match text.split_once(':') {
        Some((user, password)) => Some(Login::User(decoded(user)?, decoded(password)?)),
        None => Some(Login::Token(decoded(text)?)),
    }
}

/// `%2F` and the like undone.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                rest = behind;
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.servers.join(","))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Login};

    #[test]
    fn the_login_leaves_the_address_and_is_not_printed() {
        let address: Address = "nats://relay:p%40ss@one:4222,nats://two:4222".parse().unwrap();
        assert_eq!(address.servers(), ["nats://one:4222", "nats://two:4222"]);
        assert!(address.login() == Some(&Login::User("relay".into(), "p@ss".into())));
        assert_eq!(format!("{address} {address:?}"), "nats://one:4222,nats://two:4222 nats://one:4222,nats://two:4222");
    }

    #[test]
    fn what_is_wrong_is_said_without_the_text() {
        for text in ["http://relay:hush@host", "nats://relay:hush@", "nats://relay:hush%4@host", "hush", ""] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_login_without_a_colon_is_a_token() {
        let address: Address = "tls://s3cret@host".parse().unwrap();
        assert!(address.login() == Some(&Login::Token("s3cret".into())));
        assert_eq!(address.to_string(), "tls://host");
    }

    #[test]
    fn files_are_named_behind_the_host() {
        let address: Address = "tls://one:4222,tls://two?ca=%2Fetc%2Fca.pem&creds=relay.creds".parse().unwrap();
        assert_eq!(address.to_string(), "tls://one:4222,tls://two");
        assert_eq!(address.files().authority.as_deref(), Some("/etc/ca.pem".as_ref()));
        assert_eq!(address.files().credentials.as_deref(), Some("relay.creds".as_ref()));
        for text in ["tls://one?cert=x", "tls://one?ca=", "tls://one?ca"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
