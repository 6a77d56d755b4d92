//! One connection to the broker: new enough, mending itself, and saying when it broke.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerError};
use tokio::sync::watch;

use crate::address::{Address, Login};
use crate::credentials;
use crate::error::{ClientError, Error};
use crate::nats_conf::inbox;
use crate::topology::names;
use crate::version::Version;

/// How a connection is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its name in the server's lists.
    pub name: String,
    /// A credentials file (`.creds`), instead of a login in the address.
    pub credentials: Option<PathBuf>,
    /// A certificate to trust besides the system's.
    pub authority: Option<PathBuf>,
    /// How long an answer may take before it counts as lost, in milliseconds.
    pub answer_ms_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { name: "karwan".to_owned(), credentials: None, authority: None, answer_ms_max: 5_000 }
    }
}

/// The longest pause between two attempts to connect again.
const RECONNECT_MS_MAX: u64 = 1_000;

/// What happened to the connection; receivers compare with what they saw before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    /// How often it broke.
    pub(crate) broken: u64,
    /// How often the server refused something, and what it said last.
    pub(crate) denied: (u64, String),
}

/// A connection to a broker that is new enough. Clones share it; it connects again by itself.
#[derive(Debug, Clone)]
pub struct Broker {
    client: Client,
    address: Arc<str>,
    user: Option<Arc<str>>,
    link: watch::Receiver<Link>,
    answer: Duration,
}

impl Broker {
    /// Connects, and refuses a server before 2.10 or without JetStream.
    pub async fn connect(url: &str, options: Options) -> Result<Self, Error> {
        let address: Address = url.parse()?;
        let shown = address.to_string();
        let (sender, link) = watch::channel(Link::default());
        let unreachable = |cause| Error::Unreachable { broker: shown.clone(), cause };
        let (connect, user) = connect_options(&address, &options, sender).await?;
        let client = connect.connect(address.servers()).await.map_err(|error| match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                Error::Denied { broker: shown.clone(), what: "connecting".to_owned() }
            }
            _ => unreachable(ClientError::Connect(error)),
        })?;
        let answer = Duration::from_millis(options.answer_ms_max);
        let broker = Self { client, address: shown.into(), user: user.map(Into::into), link, answer };
        broker.judged()?;
        Ok(broker)
    }

    /// The address, without a secret.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A durable for somebody who looks at streams: the login's own, which its permissions may name; where there is no login,
    /// one that nobody else has.
    pub fn reader(&self, random: u64) -> String {
        self.user.as_ref().map_or_else(|| format!("karwan-reader-{random:016x}"), |user| names::reader(user))
    }

    /// The server's version.
    pub fn version(&self) -> Result<Version, Error> {
        self.judged()
    }

    /// Whether messages can be published in atomic batches that one synchronisation of the disk covers.
    pub fn can_be_durable(&self) -> bool {
        self.judged().is_ok_and(|version| version >= Version::DURABLE)
    }

    /// Whether the connection stands now.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// Returns when everything that was handed to the connection has left it.
    pub async fn flush(&self) -> Result<(), Error> {
        self.client.flush().await.map_err(|_| self.no_answer("flush"))
    }

    /// The server may have been replaced by an older one while the connection was down.
    pub(crate) fn judged(&self) -> Result<Version, Error> {
        let info = self.client.server_info();
        match Version::parse(&info.version) {
            Some(version) if version >= Version::OLDEST => Ok(version),
            _ => Err(Error::OldServer { broker: self.address.to_string(), found: info.version }),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn link(&self) -> watch::Receiver<Link> {
        self.link.clone()
    }

    pub(crate) fn answer_time(&self) -> Duration {
        self.answer
    }

    pub(crate) fn no_answer(&self, what: &str) -> Error {
        Error::NoAnswer { broker: self.address.to_string(), what: what.to_owned() }
    }
}

/// How a connection is made, and whose it is, where that is known.
async fn connect_options(
    address: &Address,
    options: &Options,
    sender: watch::Sender<Link>,
) -> Result<(ConnectOptions, Option<String>), Error> {
    let mut connect = ConnectOptions::new().name(&options.name).reconnect_delay_callback(pause);
    connect = connect.event_callback(move |event| {
        note(&sender, event);
        std::future::ready(())
    });
    let mut user = None;
    match address.login() {
        Some(Login::User(name, password)) => {
            connect = connect.user_and_password(name.clone(), password.clone());
            user = Some(name.clone());
        }
        Some(Login::Token(token)) => connect = connect.token(token.clone()),
        None => {}
    }
    let files = address.files();
    if let Some(file) = options.credentials.as_ref().or(files.credentials.as_ref()) {
        let credentials = credentials::credentials(file).await?;
        let none = "it holds no user's token and seed, as `nsc generate creds` writes them";
        connect = connect.credentials(&credentials.text).map_err(|_| credentials::bad(file, none))?;
        user = credentials.user;
    }
    if let Some(file) = &files.nkey {
        connect = connect.nkey(credentials::seed(file).await?);
    }
    if let Some(file) = options.authority.as_ref().or(files.authority.as_ref()) {
        connect = connect.add_root_certificates(file.clone());
    }
    if let Some(user) = &user {
        // Where permissions are those of `nats_conf`, a user hears answers in its own inbox alone.
        connect = connect.custom_inbox_prefix(inbox(user));
    }
    Ok((connect, user))
}

/// The first attempt at once, then longer and longer pauses.
fn pause(attempts: usize) -> Duration {
    let exponent = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(7);
    Duration::from_millis((10 << exponent).min(RECONNECT_MS_MAX))
}

fn note(sender: &watch::Sender<Link>, event: Event) {
    match event {
        Event::Disconnected | Event::Closed => sender.send_modify(|link| link.broken += 1),
        Event::ServerError(ServerError::Other(text)) => {
            tracing::warn!(%text, "the broker refused something");
            sender.send_modify(|link| link.denied = (link.denied.0 + 1, text));
        }
        Event::Connected
        | Event::LameDuckMode
        | Event::Draining
        | Event::SlowConsumer(_)
        | Event::ServerError(_)
        | Event::ClientError(_) => {}
    }
}
