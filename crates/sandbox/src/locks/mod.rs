//! A maker of locks: `POST /oauth/token`, `/api/keys`, `/api/keys/revoke`. It takes its time: a door must be reached.
//!
//! A token is had for a client's id and secret, and runs out. Errors are `{"fault": {"name": …, "again": bool}}`.

mod books;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use karwan_http::signature::{is_signed, signature};
use karwan_http::{Method, Request, Response, Server, StatusCode};
use serde::Deserialize;
use serde_json::json;

use books::{Books, Entry, Issue, Ruling};
pub use books::{Fault, Key};

use crate::journal::{Error, Journal};
use crate::notices::{Notices, SOON};
use crate::sign::id;
use crate::stage::{Pace, now_seconds, on_loopback};

/// The client's id.
pub const CLIENT: &str = "sandbox-hotels";
/// The client's secret.
pub const SECRET: &str = "sandbox-latch-secret";
/// What the maker signs webhooks with.
pub const WEBHOOK_SECRET: &str = "sandbox-latch-webhooks";
/// The header of a webhook's signature.
pub const WEBHOOK_HEADER: &str = "latch-signature";
/// How long a token is good, in seconds: as long as a signature.
pub const TOKEN_SECONDS: u64 = karwan_http::signature::AGE_SECONDS_MAX;
/// How long an answer that never comes is held.
const NEVER: Duration = Duration::from_secs(90);

/// The maker at work.
pub struct Locks {
    server: Server,
    desk: Arc<Desk>,
}

struct Desk {
    kept: Mutex<(Books, Journal)>,
    notices: Notices,
    pace: Pace,
}

impl Locks {
    /// Opens the books, and answers on a free port of loopback.
    pub async fn open(file: Option<&Path>, delay: (Duration, Duration)) -> Result<Self, Error> {
        let (journal, entries) = Journal::open::<Entry>(file)?;
        let mut books = Books::default();
        for entry in &entries {
            books.enter(entry);
        }
        let notices = Notices::new(WEBHOOK_SECRET, WEBHOOK_HEADER);
        let desk = Arc::new(Desk { kept: Mutex::new((books, journal)), notices, pace: Pace::new(delay) });
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

    /// Misbehaves with one operation, and with no other of its site.
    pub fn fault(&self, operation: &str, fault: Fault) -> std::io::Result<()> {
        self.desk.enter(&Entry::Fault { operation: operation.to_owned(), fault }).map(drop)
    }

    /// Every key in the books, also those that open nothing any more.
    pub fn keys(&self) -> Vec<Key> {
        self.desk.kept().0.keys().cloned().collect()
    }
}

impl Desk {
    fn kept(&self) -> MutexGuard<'_, (Books, Journal)> {
        self.kept.lock().expect("nothing panics while holding it")
    }

    fn enter(&self, entry: &Entry) -> std::io::Result<Ruling> {
        let mut kept = self.kept();
        kept.1.keep(entry)?;
        Ok(kept.0.enter(entry))
    }

    fn tell(&self, kind: &str, key: &Key) {
        let body = json!({
            "notice": id("nt-", &format!("{kind} {}", key.reference)),
            "kind": kind,
            "account": key.account,
            "credential": key.credential,
            "keyRef": key.reference,
            "keyKind": key.kind,
        });
        let twice = self.kept().0.fault(&key.operation) == Some(Fault::DuplicateNotices);
        self.notices.tell(body.to_string(), if twice { 3 } else { 1 }, SOON);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    client_id: String,
    client_secret: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Revoke {
    issue_operation: String,
}

async fn answer(desk: Arc<Desk>, request: Request) -> Response {
    match (&request.method, request.path.as_str()) {
        (&Method::POST, "/oauth/token") => token(&request),
        (&Method::POST, _) if !is_client(&request) => fault(StatusCode::UNAUTHORIZED, "TOKEN_INVALID", true),
        (&Method::POST, "/api/keys") => match request.json() {
            Ok(issue) => issued(&desk, issue).await,
            Err(_) => fault(StatusCode::BAD_REQUEST, "BODY_INVALID", false),
        },
        (&Method::POST, "/api/keys/revoke") => match request.json() {
            Ok(revoke) => revoked(&desk, revoke).await,
            Err(_) => fault(StatusCode::BAD_REQUEST, "BODY_INVALID", false),
        },
        _ => fault(StatusCode::NOT_FOUND, "NO_SUCH_ROUTE", false),
    }
}

/// A token is a signed instant: the maker keeps no list.
fn token(request: &Request) -> Response {
    match request.json::<Login>() {
        Ok(Login { client_id, client_secret }) if client_id == CLIENT && client_secret == SECRET => {
            let token = signature(SECRET, now_seconds(), CLIENT.as_bytes());
            Response::json(StatusCode::OK, &json!({ "access_token": token, "expires_in": TOKEN_SECONDS }))
        }
        _ => fault(StatusCode::UNAUTHORIZED, "LOGIN_INVALID", false),
    }
}

fn is_client(request: &Request) -> bool {
    request.bearer().is_some_and(|token| is_signed(SECRET, now_seconds(), CLIENT.as_bytes(), token))
}

async fn issued(desk: &Desk, issue: Issue) -> Response {
    desk.pace.take_time(&issue.operation).await;
    let operation = issue.operation.clone();
    match desk.enter(&Entry::Issue(issue)) {
        Ok(Ruling::Made(key, new)) => {
            if new {
                desk.tell("key.made", &key);
            }
            if new && desk.kept().0.fault(&operation) == Some(Fault::TimeoutAfterIssue) {
                tokio::time::sleep(NEVER).await;
            }
            Response::json(StatusCode::OK, &json!({ "keyRef": key.reference, "kind": key.kind }))
        }
        other => not_done(other),
    }
}

async fn revoked(desk: &Desk, revoke: Revoke) -> Response {
    desk.pace.take_time(&format!("revoke {}", revoke.issue_operation)).await;
    let Revoke { issue_operation } = revoke;
    match desk.enter(&Entry::Revoke { issue_operation: issue_operation.clone() }) {
        Ok(Ruling::Ended(existed)) => {
            let key = desk.kept().0.key(&issue_operation).cloned();
            if let Some(key) = key {
                desk.tell("key.ended", &key);
            }
            Response::json(StatusCode::OK, &json!({ "existed": existed }))
        }
        other => not_done(other),
    }
}

fn not_done(ruling: std::io::Result<Ruling>) -> Response {
    match ruling {
        Ok(Ruling::Refused(name)) => fault(StatusCode::UNPROCESSABLE_ENTITY, name, false),
        Ok(Ruling::Later(name)) => fault(StatusCode::SERVICE_UNAVAILABLE, name, true),
        Ok(Ruling::Made(..) | Ruling::Ended(_)) => fault(StatusCode::INTERNAL_SERVER_ERROR, "CONFUSED", true),
        Err(cause) => {
            tracing::error!(error = %cause, "the sandbox maker of locks cannot keep its books");
            fault(StatusCode::INTERNAL_SERVER_ERROR, "BOOKS", true)
        }
    }
}

fn fault(status: StatusCode, name: &str, again: bool) -> Response {
    Response::json(status, &json!({ "fault": { "name": name, "again": again } }))
}
