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

    /// How long this request takes, which is the same for the same request.
    fn of(&self, request: &str) -> Duration {
        let (from, until) = *self.0.lock().expect("nothing panics while holding it");
        let spread = u64::try_from(until.saturating_sub(from).as_millis()).unwrap_or(u64::MAX);
        from + Duration::from_millis(crate::sign::below(spread, request))
    }

    /// Takes as long as this request does.
    pub async fn take_time(&self, request: &str) {
        let wait = self.of(request);
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

#[cfg(test)]
mod tests {
    use super::{Pace, StageOptions};

    /// What is drawn for so many requests: all of it within the bounds that are documented, and much of what is between them.
    #[test]
    fn a_lifelike_vendor_takes_as_long_as_is_said_and_never_longer() {
        let options = StageOptions::lifelike();
        for (delay, ms) in [(options.gateway, 80..300), (options.locks, 3_000..8_000), (options.messages, 20..120)] {
            let pace = Pace::new(delay);
            let drawn = (0..5_000).map(|request| pace.of(&format!("operation {request}")).as_millis());
            let (mut least, mut most) = (u128::MAX, 0);
            for drawn in drawn {
                assert!(ms.contains(&drawn), "{drawn} ms, and not {ms:?}");
                (least, most) = (least.min(drawn), most.max(drawn));
            }
            let edge = (ms.end - ms.start) / 20;
            assert!(least < ms.start + edge && most >= ms.end - edge, "from {least} to {most} ms of {ms:?}");
            assert_eq!(pace.of("operation 7"), pace.of("operation 7"), "asked again, it takes as long as before");
        }
    }

    #[test]
    fn a_vendor_whose_bounds_are_one_takes_exactly_that() {
        let five = std::time::Duration::from_secs(5);
        assert_eq!(Pace::new((five, five)).of("a key"), five);
    }
}
