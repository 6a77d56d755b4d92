//! A card gateway: `POST /v2/charges`, `…/capture`, `…/refunds`, `/v2/voids`; a ledger at `GET /v2/ledger`.
//!
//! Requests carry `X-Merchant-Key` and `X-Signature` (over method, path and body) and an `Idempotency-Key`. It answers 402 with a
//! code for what a card's bank refuses, 400 for what makes no sense, 401 for who is not a merchant, and tells captures and refunds
//! through webhooks that it signs with another secret.

mod books;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use karwan_http::signature::is_signed;
use karwan_http::{Method, Request, Response, Server, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

pub use books::{Amount, Charge, Fault};
use books::{Books, Entry, Ruling};

use crate::journal::{Error, Journal};
use crate::notices::{Notices, SOON};
use crate::sign::id;
use crate::stage::{Pace, now_seconds, on_loopback};

/// The merchant's key.
pub const MERCHANT: &str = "mk_sandbox";
/// What a merchant signs requests with.
pub const SECRET: &str = "sandbox-merchant-secret";
/// What the gateway signs webhooks with.
pub const WEBHOOK_SECRET: &str = "sandbox-gateway-webhooks";
/// The header of a webhook's signature.
pub const WEBHOOK_HEADER: &str = "sandpay-signature";
/// How long a capture whose answer never comes is held: longer than anybody waits.
const NEVER: Duration = Duration::from_secs(90);
/// How late a late notice is.
const LATE: Duration = Duration::from_millis(1_500);

/// The gateway at work.
pub struct Gateway {
    server: Server,
    desk: Arc<Desk>,
}

struct Desk {
    kept: Mutex<Kept>,
    notices: Notices,
    pace: Pace,
}

struct Kept {
    books: Books,
    journal: Journal,
}

impl Gateway {
    /// Opens the books, and answers on a free port of loopback.
    pub async fn open(file: Option<&Path>, delay: (Duration, Duration)) -> Result<Self, Error> {
        let (journal, entries) = Journal::open::<Entry>(file)?;
        let mut books = Books::default();
        for entry in &entries {
            books.enter(entry);
        }
        let kept = Mutex::new(Kept { books, journal });
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

    /// Misbehaves for an instrument from now on.
    pub fn fault(&self, instrument: &str, fault: Fault) -> std::io::Result<()> {
        self.desk.enter(&Entry::Fault { instrument: instrument.to_owned(), fault }).map(drop)
    }

    /// Every charge in the books.
    pub fn charges(&self) -> Vec<Charge> {
        self.desk.kept().books.charges().cloned().collect()
    }
}

impl Desk {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nothing panics while holding it")
    }

    /// Decides, keeps, and answers; whether it is new, too.
    fn enter(&self, entry: &Entry) -> std::io::Result<(Ruling, bool)> {
        let mut kept = self.kept();
        let new = !kept.books.knows(entry);
        if new {
            kept.journal.keep(entry)?;
        }
        Ok((kept.books.enter(entry), new))
    }

    fn faults(&self, entry: &Entry) -> Vec<Fault> {
        self.kept().books.faults(entry).to_vec()
    }

    /// Tells of what was done.
    fn tell(&self, (kind, subject): (&str, &str), charge: &Charge, faults: &[Fault], about: Value) {
        let notice = json!({
            "id": id("ev_", &format!("{kind} {subject}")),
            "type": kind,
            "account": charge.account,
            "reference": charge.reference,
            "data": about,
        });
        let times = if faults.contains(&Fault::DuplicateNotices) { 3 } else { 1 };
        let after = if faults.contains(&Fault::LateNotices) { LATE } else { SOON };
        self.notices.tell(notice.to_string(), times, after);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Charging {
    account: String,
    reference: String,
    instrument: String,
    amount: Amount,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capturing {
    amount: Amount,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refunding {
    reference: String,
    amount: Amount,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Voiding {
    charge_key: String,
}

async fn answer(desk: Arc<Desk>, request: Request) -> Response {
    if !is_merchant(&request) {
        return error(StatusCode::UNAUTHORIZED, "authentication_error", "who_are_you");
    }
    if (&request.method, request.path.as_str()) == (&Method::GET, "/v2/ledger") {
        let charges: Vec<Charge> = desk.kept().books.charges().cloned().collect();
        return Response::json(StatusCode::OK, &json!({ "charges": charges }));
    }
    let Some(key) = request.header("idempotency-key").map(str::to_owned) else {
        return error(StatusCode::BAD_REQUEST, "invalid_request", "idempotency_key_missing");
    };
    let segments = request.segments();
    let entry = match (&request.method, segments.as_slice()) {
        (&Method::POST, ["v2", "charges"]) => {
            request.json().map(|Charging { account, reference, instrument, amount }| Entry::Authorise {
                key: key.clone(),
                account,
                reference,
                instrument,
                amount,
            })
        }
        (&Method::POST, ["v2", "charges", charge, "capture"]) => request
            .json()
            .map(|Capturing { amount }| Entry::Capture { key: key.clone(), charge: (*charge).to_owned(), amount }),
        (&Method::POST, ["v2", "charges", charge, "refunds"]) => {
            request.json().map(|Refunding { reference, amount }| Entry::Refund {
                key: key.clone(),
                charge: (*charge).to_owned(),
                reference,
                amount,
            })
        }
        (&Method::POST, ["v2", "voids"]) => request.json().map(|Voiding { charge_key }| Entry::Void { charge_key }),
        _ => return error(StatusCode::NOT_FOUND, "invalid_request", "no_such_route"),
    };
    match entry {
        Ok(entry) => {
            desk.pace.take_time(&format!("{} {key}", request.path)).await;
            done(&desk, &entry).await
        }
        Err(_) => error(StatusCode::BAD_REQUEST, "invalid_request", "body_invalid"),
    }
}

fn is_merchant(request: &Request) -> bool {
    let text = [request.method.as_str().as_bytes(), b" ", request.path.as_bytes(), b"\n", &request.body].concat();
    request.header("x-merchant-key") == Some(MERCHANT)
        && request.header("x-signature").is_some_and(|given| is_signed(SECRET, now_seconds(), &text, given))
}

async fn done(desk: &Desk, entry: &Entry) -> Response {
    let faults = desk.faults(entry);
    if faults.contains(&Fault::Down) {
        return error(StatusCode::SERVICE_UNAVAILABLE, "api_error", "down_for_maintenance");
    }
    let (ruling, new) = match desk.enter(entry) {
        Ok(entered) => entered,
        Err(cause) => {
            tracing::error!(error = %cause, "the sandbox gateway cannot keep its books");
            return error(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "books");
        }
    };
    if new {
        told(desk, entry, &ruling, &faults);
    }
    if new && matches!(entry, Entry::Capture { .. }) && faults.contains(&Fault::TimeoutAfterCharge) {
        tokio::time::sleep(NEVER).await;
    }
    match ruling {
        Ruling::Done(charge) => {
            let status = if charge.captured_micros > 0 { "captured" } else { "authorized" };
            Response::json(StatusCode::OK, &json!({ "id": charge.id, "status": status, "amount": charge.amount }))
        }
        Ruling::Refunded(refund, _) => {
            let Entry::Refund { amount, .. } = entry else { return Response::empty(StatusCode::OK) };
            Response::json(StatusCode::OK, &json!({ "id": refund, "status": "succeeded", "amount": amount }))
        }
        Ruling::Voided(returned) => {
            Response::json(StatusCode::OK, &json!({ "status": "voided", "returned": returned }))
        }
        Ruling::Declined(code) => error(StatusCode::PAYMENT_REQUIRED, "card_error", code),
        Ruling::Wrong(code) => error(StatusCode::BAD_REQUEST, "invalid_request", code),
    }
}

/// Sends webhooks of what was done just now.
fn told(desk: &Desk, entry: &Entry, ruling: &Ruling, faults: &[Fault]) {
    match (entry, ruling) {
        (Entry::Capture { .. }, Ruling::Done(charge)) => {
            let about = json!({ "charge": charge.id, "amount": charge.amount });
            desk.tell(("charge.captured", &charge.id), charge, faults, about);
        }
        (Entry::Refund { reference, amount, .. }, Ruling::Refunded(refund, charge)) => {
            let about =
                json!({ "charge": charge.id, "refund": refund, "refund_reference": reference, "amount": amount });
            desk.tell(("charge.refunded", refund), charge, faults, about);
        }
        (
            Entry::Authorise { .. }
            | Entry::Capture { .. }
            | Entry::Refund { .. }
            | Entry::Void { .. }
            | Entry::Fault { .. },
            _,
        ) => {}
    }
}

fn error(status: StatusCode, kind: &str, code: &str) -> Response {
    Response::json(status, &json!({ "error": { "type": kind, "code": code } }))
}
