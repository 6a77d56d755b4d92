//! All vendors of a sandbox, on loopback.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use karwan_http::{Request, Response, Server};
use tokio::net::TcpListener;

use crate::gateway::Gateway;
use crate::journal::Error;
use crate::locks::Locks;
use crate::messages::Messages;

/// What a sandbox is made with.
#[derive(Debug, Clone, Default)]
pub struct StageOptions {
    /// Where the vendors keep their books; nowhere, and they forget with their process.
    pub folder: Option<PathBuf>,
    /// How long the gateway takes, at least and at most.
    pub gateway: (Duration, Duration),
    /// How long the maker of locks takes.
    pub locks: (Duration, Duration),
    /// How long the carrier of messages takes.
    pub messages: (Duration, Duration),
}

impl StageOptions {
    /// As slow as real ones are: a gateway answers in a fraction of a second, a lock in 3 to 8 seconds.
    pub fn lifelike() -> Self {
        let ms = |from, until| (Duration::from_millis(from), Duration::from_millis(until));
        Self { folder: None, gateway: ms(80, 300), locks: ms(3_000, 8_000), messages: ms(20, 120) }
    }
}

/// All vendors.
pub struct Stage {
    /// The card gateway.
    pub gateway: Gateway,
    /// The maker of locks.
    pub locks: Locks,
    /// The carrier of messages.
    pub messages: Messages,
}

impl Stage {
    /// Opens every vendor's books and starts them, on ports of their own.
    pub async fn open(options: &StageOptions) -> Result<Self, Error> {
        let file = |name: &str| options.folder.as_ref().map(|folder| folder.join(name));
        Ok(Self {
            gateway: Gateway::open(file("gateway.jsonl").as_deref(), options.gateway).await?,
            locks: Locks::open(file("locks.jsonl").as_deref(), options.locks).await?,
            messages: Messages::open(file("messages.jsonl").as_deref(), options.messages).await?,
        })
    }

    /// Every vendor takes as long as these say from now on.
    pub fn pace(&self, options: &StageOptions) {
        self.gateway.pace(options.gateway);
        self.locks.pace(options.locks);
        self.messages.pace(options.messages);
    }
}

/// How long a vendor takes, which may be changed while it works.
pub(crate) struct Pace(Mutex<(Duration, Duration)>);

impl Pace {
    pub fn new(delay: (Duration, Duration)) -> Self {
        Self(Mutex::new(delay))
    }

    pub fn set(&self, delay: (Duration, Duration)) {
        *self.0.lock().expect("nothing panics while holding it") = delay;
    }

    /// Takes as long as this request does, which is the same for the same request.
    pub async fn take_time(&self, request: &str) {
        let (from, until) = *self.0.lock().expect("nothing panics while holding it");
        let spread = u64::try_from(until.saturating_sub(from).as_millis()).unwrap_or(u64::MAX);
        let wait = from + Duration::from_millis(crate::sign::below(spread, request));
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }
}

/// A server on a free port of loopback.
pub(crate) async fn on_loopback<F>(answer: impl Fn(Request) -> F + Send + Sync + 'static) -> Result<Server, Error>
where
    F: Future<Output = Response> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::Listen)?;
    Server::start(listener, answer).map_err(Error::Listen)
}

/// The vendor's own clock.
#[expect(clippy::disallowed_methods, reason = "a vendor has a clock of its own, which no test of ours moves")]
pub(crate) fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
