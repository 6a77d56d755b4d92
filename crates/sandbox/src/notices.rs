//! What a vendor tells by itself: signed, repeated until somebody takes it, and not always once or in order.

use std::sync::Arc;
use std::time::Duration;

use karwan_http::{Client, Method};
use tokio::sync::{Mutex, Semaphore};

use crate::stage::now_seconds;
use karwan_http::signature::signature;

/// How often a notice is tried.
const TRIES_MAX: u32 = 8;
/// How long the first repetition waits; each later one twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// How many are on their way at once.
const AT_ONCE_MAX: usize = 32;
/// How long after the answer to a call a notice comes, where all is well.
pub(crate) const SOON: Duration = Duration::from_millis(250);
/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Tells somebody.
#[derive(Clone)]
pub(crate) struct Notices {
    client: Client,
    /// Where to; nobody listens yet where it is empty.
    url: Arc<Mutex<Option<String>>>,
    secret: String,
    header: &'static str,
    room: Arc<Semaphore>,
}

impl Notices {
    pub fn new(secret: &str, header: &'static str) -> Self {
        Self {
            client: Client::new(ANSWER_MAX),
            url: Arc::default(),
            secret: secret.to_owned(),
            header,
            room: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        }
    }

    /// From now on, these are told.
    pub async fn to(&self, url: Option<String>) {
        *self.url.lock().await = url;
    }

    /// Tells, so many times; in a task of its own, so that nobody waits.
    pub fn tell(&self, body: String, times: usize, after: Duration) {
        let notices = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            for _ in 0..times {
                notices.deliver(&body).await;
            }
        });
    }

    async fn deliver(&self, body: &str) {
        let Ok(_room) = self.room.acquire().await else { return };
        let mut pause = PAUSE;
        for _ in 0..TRIES_MAX {
            let Some(url) = self.url.lock().await.clone() else { return };
            let signed = signature(&self.secret, now_seconds(), body.as_bytes());
            let headers = [(self.header, signed.as_str()), ("content-type", "application/json")];
            match self.client.send(Method::POST, &url, &headers, body.to_owned()).await {
                Ok(answer) if answer.status.is_success() => return,
                // Somebody who says no means it.
                Ok(answer) if answer.status.is_client_error() => {
                    tracing::warn!(status = answer.status.as_u16(), "a webhook was refused");
                    return;
                }
                Ok(_) | Err(_) => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
    }
}
