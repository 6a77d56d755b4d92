//! The client of a carrier of messages, on every channel that guests are written to.

use std::time::Duration;

use karwan::envelope::time::Clock;
use karwan::{Refusal, TenantId};
use karwan_http::{Client, Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::events::BounceReason;
use super::port::{Asked, Carrier, Notice, Outgoing, Ruling, Taken, Told};
use crate::webhook::{self, Rejected};

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How the carrier is called in events, and in `/webhooks/v1/<provider>`.
pub const PROVIDER: &str = "sandbox";
/// The header of a webhook's signature.
pub const SIGNATURE: &str = "carrier-signature";

/// Where the carrier is, and who we are there.
#[derive(Clone)]
pub struct Account {
    /// Its address.
    pub url: String,
    /// What we show.
    pub token: String,
}

/// The carrier.
pub struct HttpCarrier {
    account: Account,
    client: Client,
}

#[derive(Deserialize)]
struct Accepted {
    message: String,
}

impl HttpCarrier {
    /// A client.
    pub fn new(account: Account) -> Self {
        Self { account, client: Client::new(ANSWER_MAX) }
    }

    async fn hand_over(&self, message: Outgoing) -> Result<Ruling, Refusal> {
        let body = json!({
            "key": message.idempotency_key,
            "account": message.tenant.to_string(),
            "reference": message.message.to_string(),
            "channel": message.channel,
            "to": message.to,
            "language": message.locale,
            "subject": message.subject,
            "text": message.text,
        });
        let url = format!("{}/messages", self.account.url);
        let headers = [("x-api-token", self.account.token.as_str()), ("content-type", "application/json")];
        let answer = self.client.send(Method::POST, &url, &headers, body.to_string()).await;
        let answer = answer.map_err(|error| Refusal::Later(error.to_string()))?;
        match answer.status {
            StatusCode::ACCEPTED => {
                let unread = |_| Refusal::Later("the carrier answered something unknown".to_owned());
                let Accepted { message } = answer.json().map_err(unread)?;
                Ok(Ruling::Taken(Taken { provider: PROVIDER.to_owned(), provider_ref: message }))
            }
            StatusCode::UNPROCESSABLE_ENTITY => Ok(Ruling::Bounced(BounceReason::UnknownAddress)),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(Refusal::Later(format!("the carrier answered {status}")))
            }
            // Not its words: they may quote the recipient.
            status => Err(Refusal::Never(format!("the carrier refuses the request: {status}"))),
        }
    }
}

impl Carrier for HttpCarrier {
    fn send(&self, message: Outgoing) -> Asked<'_> {
        Box::pin(self.hand_over(message))
    }
}

#[derive(Deserialize)]
struct Hook {
    id: String,
    account: String,
    reference: String,
    event: String,
}

/// What a webhook says, and to whom, once its signature was checked. When it happened is when it came.
pub fn notice(
    secret: &str,
    clock: &dyn Clock,
    body: &[u8],
    signed: Option<&str>,
) -> Result<(TenantId, Notice), Rejected> {
    let hook: Hook = webhook::read(secret, clock, body, signed)?;
    let told = match hook.event.as_str() {
        "delivered" => Told::Delivered,
        "bounced" => Told::Bounced(BounceReason::Rejected),
        _ => return Err(Rejected::Uninteresting),
    };
    let tenant = hook.account.parse().map_err(|_| Rejected::Unreadable)?;
    let message = hook.reference.parse().map_err(|_| Rejected::Unreadable)?;
    Ok((tenant, Notice { notice_id: hook.id, message, at: clock.now(), told }))
}
