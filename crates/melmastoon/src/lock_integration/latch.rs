//! The client of a maker of locks: a token that runs out, and calls that take their time.

use std::time::Duration;

use karwan::TenantId;
use karwan::envelope::time::Clock;
use karwan_http::client::Answer;
use karwan_http::{Client, Error, Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::port::{Asked, CALL_MS_MAX, Failed, Issue, Issued, Notice, Revoke, Revoked, Told, Vendor};
use super::terms::KeyKind;
use super::vendor::VendorFailure;
use crate::webhook::{self, Rejected};

/// How the maker is called in `/webhooks/v1/<provider>`.
pub const PROVIDER: &str = "latch";
/// The header of a webhook's signature.
pub const SIGNATURE: &str = "latch-signature";

/// How long one exchange may take: a call is at most three of them (a token, a call, another token), and the vendor's 8 seconds
/// are the second.
const ANSWER_MAX: Duration = Duration::from_millis(CALL_MS_MAX / 2);

/// Where the maker is, and who we are there.
#[derive(Clone)]
pub struct Account {
    /// Its address.
    pub url: String,
    /// Our id.
    pub client: String,
    /// Our secret.
    pub secret: String,
}

/// The vendor.
pub struct Latch {
    account: Account,
    client: Client,
    /// The token that is good until the vendor says otherwise.
    token: Mutex<Option<String>>,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    key_ref: String,
    kind: KeyKind,
}

#[derive(Deserialize)]
struct Ended {
    existed: bool,
}

#[derive(Deserialize)]
struct Problem {
    fault: Fault,
}

#[derive(Deserialize)]
struct Fault {
    name: String,
    again: bool,
}

impl Latch {
    /// A client that has no token yet.
    pub fn new(account: Account) -> Self {
        Self { account, client: Client::new(ANSWER_MAX), token: Mutex::new(None) }
    }

    async fn call<A: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<A, Failed> {
        let token = self.token(None).await?;
        let mut answer = self.post(path, &token, body).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            let token = self.token(Some(token)).await?;
            answer = self.post(path, &token, body).await?;
        }
        if answer.status.is_success() {
            return answer.json().map_err(|_| malformed());
        }
        Err(refused(&answer))
    }

    /// The token that everybody uses; another one where it is the one that was refused.
    async fn token(&self, refused_token: Option<String>) -> Result<String, Failed> {
        let mut kept = self.token.lock().await;
        if let Some(token) = kept.clone().filter(|token| Some(token) != refused_token.as_ref()) {
            return Ok(token);
        }
        let login = json!({ "client_id": self.account.client, "client_secret": self.account.secret });
        let answer = self.post("/oauth/token", "", &login).await?;
        if !answer.status.is_success() {
            return Err(refused(&answer));
        }
        let Token { access_token } = answer.json().map_err(|_| malformed())?;
        *kept = Some(access_token.clone());
        Ok(access_token)
    }

    async fn post(&self, path: &str, token: &str, body: &Value) -> Result<Answer, Failed> {
        let (url, bearer) = (format!("{}{path}", self.account.url), format!("Bearer {token}"));
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.client.send(Method::POST, &url, &headers, body.to_string()).await.map_err(|error| {
            let failure = match error {
                Error::Unreachable { .. } | Error::Address { .. } => VendorFailure::Unreachable,
                Error::NoAnswer { .. } => VendorFailure::TimedOut,
                Error::Broken { .. } => VendorFailure::MalformedAnswer,
            };
            Failed { failure, final_word: false, message: Some(error.to_string()) }
        })
    }
}

fn malformed() -> Failed {
    Failed { failure: VendorFailure::MalformedAnswer, final_word: false, message: None }
}

fn refused(answer: &Answer) -> Failed {
    let Ok(Problem { fault }) = answer.json::<Problem>() else { return malformed() };
    let failure = match (answer.status, fault.name.as_str()) {
        (StatusCode::UNAUTHORIZED, _) => VendorFailure::Unauthorised,
        (StatusCode::TOO_MANY_REQUESTS, _) => VendorFailure::RateLimited,
        (_, "DOOR_OFFLINE") => VendorFailure::DeviceOffline,
        (status, _) if status.is_client_error() => VendorFailure::Rejected,
        _ => VendorFailure::Unreachable,
    };
    Failed { failure, final_word: !fault.again, message: Some(fault.name) }
}

impl Vendor for Latch {
    fn issue(&self, ask: Issue) -> Asked<'_, Issued> {
        Box::pin(async move {
            let body = json!({
                "operation": ask.operation_key,
                "account": ask.tenant.to_string(),
                "credential": ask.credential.to_string(),
                "site": ask.property.to_string(),
                "doors": ask.rooms.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "kinds": ask.kinds,
                "opens_from": ask.valid_from.to_string(),
                "opens_until": ask.valid_until.to_string(),
            });
            let Made { key_ref, kind } = self.call("/api/keys", &body).await?;
            Ok(Issued { vendor_ref: key_ref, kind, warnings: Vec::new() })
        })
    }

    fn revoke(&self, ask: Revoke) -> Asked<'_, Revoked> {
        Box::pin(async move {
            let Ended { existed } = self.call("/api/keys/revoke", &json!({ "issueOperation": ask.issue_key })).await?;
            Ok(Revoked { existed })
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hook {
    notice: String,
    kind: String,
    account: String,
    credential: String,
    key_ref: String,
    key_kind: KeyKind,
}

/// What a webhook says, and to whom, once its signature was checked.
pub fn notice(
    secret: &str,
    clock: &dyn Clock,
    body: &[u8],
    signed: Option<&str>,
) -> Result<(TenantId, Notice), Rejected> {
    let hook: Hook = webhook::read(secret, clock, body, signed)?;
    let told = match hook.kind.as_str() {
        "key.made" => Told::Issued(Issued { vendor_ref: hook.key_ref, kind: hook.key_kind, warnings: Vec::new() }),
        "key.ended" => Told::Revoked,
        _ => return Err(Rejected::Uninteresting),
    };
    let tenant = hook.account.parse().map_err(|_| Rejected::Unreadable)?;
    let credential = hook.credential.parse().map_err(|_| Rejected::Unreadable)?;
    Ok((tenant, Notice { notice_id: hook.notice, credential, told }))
}
