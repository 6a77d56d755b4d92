//! A carrier of messages by mail, SMS and WhatsApp: `POST /messages`, with `X-Api-Token`.
//!
//! What is for `…@bounce.example` or a number that begins with +999 bounces. The journal has neither recipients nor texts: those
//! are kept in memory, the last ones only.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use karwan_http::{Method, Request, Response, Server, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::journal::{Error, Journal};
use crate::notices::{Notices, SOON};
use crate::sign::id;
use crate::stage::{Pace, on_loopback};

/// What a client shows.
pub const TOKEN: &str = "sandbox-carrier-token";
/// What the carrier signs webhooks with.
pub const WEBHOOK_SECRET: &str = "sandbox-carrier-webhooks";
/// The header of a webhook's signature.
pub const WEBHOOK_HEADER: &str = "carrier-signature";
/// How many texts are kept in memory.
const TEXTS_MAX: usize = 10_000;

/// A message, as it was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The same for every attempt.
    pub key: String,
    /// The customer's account.
    pub account: String,
    /// The customer's reference.
    pub reference: String,
    /// `email`, `sms` or `whatsapp`.
    pub channel: String,
    /// Who gets it.
    pub to: String,
    /// Its language.
    pub language: String,
    /// Of a mail.
    #[serde(default)]
    pub subject: Option<String>,
    /// What it says.
    pub text: String,
}

/// A line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    key: String,
    reference: String,
    channel: String,
    language: String,
    bounced: bool,
}

/// The carrier at work.
pub struct Messages {
    server: Server,
    desk: Arc<Desk>,
}

struct Desk {
    kept: Mutex<Kept>,
    notices: Notices,
    pace: Pace,
}

struct Kept {
    /// By key, whether it bounced.
    taken: HashMap<String, bool>,
    last: VecDeque<Message>,
    journal: Journal,
}

impl Messages {
    /// Opens the books, and answers on a free port of loopback.
    pub async fn open(file: Option<&Path>, delay: (Duration, Duration)) -> Result<Self, Error> {
        let (journal, entries) = Journal::open::<Entry>(file)?;
        let taken = entries.into_iter().map(|entry| (entry.key, entry.bounced)).collect();
        let kept = Mutex::new(Kept { taken, last: VecDeque::new(), journal });
        let desk =
            Arc::new(Desk { kept, notices: Notices::new(WEBHOOK_SECRET, WEBHOOK_HEADER), pace: Pace::new(delay) });
        let asked = desk.clone();
        let server = on_loopback(move |request| answer(asked.clone(), request)).await?;
        Ok(Self { server, desk })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// It takes so long from now on, at least and at most.
    pub fn pace(&self, delay: (Duration, Duration)) {
        self.desk.pace.set(delay);
    }

    /// Where webhooks go from now on.
    pub async fn notify(&self, url: impl Into<String>) {
        self.desk.notices.to(Some(url.into())).await;
    }

    /// The last messages of this process, oldest first.
    pub fn last(&self) -> Vec<Message> {
        self.desk.kept().last.iter().cloned().collect()
    }

    /// How many messages were ever taken.
    pub fn count(&self) -> usize {
        self.desk.kept().taken.len()
    }
}

impl Desk {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nothing panics while holding it")
    }

    /// Takes a message once: whether it bounced, and whether it is new.
    fn take(&self, message: &Message) -> std::io::Result<(bool, bool)> {
        let mut kept = self.kept();
        if let Some(bounced) = kept.taken.get(&message.key) {
            return Ok((*bounced, false));
        }
        let bounced = message.to.ends_with("@bounce.example") || message.to.starts_with("+999");
        let Message { key, reference, channel, language, .. } = message.clone();
        kept.journal.keep(&Entry { key: key.clone(), reference, channel, language, bounced })?;
        kept.taken.insert(key, bounced);
        if kept.last.len() == TEXTS_MAX {
            kept.last.pop_front();
        }
        kept.last.push_back(message.clone());
        Ok((bounced, true))
    }
}

async fn answer(desk: Arc<Desk>, request: Request) -> Response {
    let said = |status, what: &str| Response::json(status, &json!({ "error": what }));
    if request.header("x-api-token") != Some(TOKEN) {
        return said(StatusCode::FORBIDDEN, "token");
    }
    if (&request.method, request.path.as_str()) != (&Method::POST, "/messages") {
        return said(StatusCode::NOT_FOUND, "route");
    }
    let Ok(message) = request.json::<Message>() else { return said(StatusCode::BAD_REQUEST, "body") };
    if !["email", "sms", "whatsapp"].contains(&message.channel.as_str()) {
        return said(StatusCode::BAD_REQUEST, "channel");
    }
    desk.pace.take_time(&message.key).await;
    let reference = id("cm", &message.key);
    match desk.take(&message) {
        Ok((true, _)) => said(StatusCode::UNPROCESSABLE_ENTITY, "no_such_recipient"),
        Ok((false, new)) => {
            if new {
                let told = json!({
                    "id": id("cn", &message.key),
                    "account": message.account,
                    "reference": message.reference,
                    "event": "delivered",
                });
                desk.notices.tell(told.to_string(), 1, SOON);
            }
            Response::json(StatusCode::ACCEPTED, &json!({ "message": reference }))
        }
        Err(cause) => {
            tracing::error!(error = %cause, "the sandbox carrier cannot keep its books");
            said(StatusCode::INTERNAL_SERVER_ERROR, "books")
        }
    }
}
