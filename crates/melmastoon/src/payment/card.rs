//! The card rail over a gateway: requests that are signed, answers that are read carefully, webhooks that are checked.
//!
//! What the gateway decides is a ruling; everything else (no connection, silence, an error of its server, nonsense) is no answer,
//! and asked again under the same key. Not here: when a call is repeated or given up (`work`).

use std::sync::Arc;
use std::time::Duration;

use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::Clock;
use karwan::{Refusal, TenantId};
use karwan_http::signature::signature;
use karwan_http::{Client, Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::PaymentFailure;
use super::port::{
    Asked, Authorise, Authorised, Capture, Captured, Notice, Rail, Refund, Refunded, Ruling, Told, Void, Voided,
};
use crate::webhook::{self, Rejected, seconds};

/// How the gateway is called in `/webhooks/v1/<provider>`.
pub const PROVIDER: &str = "sandpay";
/// The header of a webhook's signature.
pub const SIGNATURE: &str = "sandpay-signature";
/// How long an answer may take; what was asked is then asked again.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// Where a gateway is, and who we are there.
#[derive(Clone)]
pub struct Account {
    /// Its address.
    pub url: String,
    /// Our key.
    pub merchant: String,
    /// What we sign requests with.
    pub secret: String,
}

/// The rail.
pub struct Card {
    account: Account,
    client: Client,
    clock: Arc<dyn Clock>,
}

/// An amount as the gateway writes it.
#[derive(Serialize, Deserialize)]
struct Amount {
    micros: i64,
    currency: String,
}

impl Amount {
    fn of(money: Money) -> Result<Self, Refusal> {
        let micros = i64::try_from(money.amount_micro.get());
        let micros = micros.map_err(|_| Refusal::Never("the gateway takes no amount of that size".to_owned()))?;
        Ok(Self { micros, currency: money.currency.to_string() })
    }

    fn money(&self) -> Option<Money> {
        Some(Money { amount_micro: Micros::new(i128::from(self.micros)), currency: self.currency.parse().ok()? })
    }
}

/// A charge or a refund, as the gateway answers it.
#[derive(Deserialize)]
struct Done {
    id: String,
    amount: Amount,
}

#[derive(Deserialize)]
struct Undone {
    returned: Option<Amount>,
}

#[derive(Deserialize)]
struct Problem {
    error: ProblemCode,
}

#[derive(Deserialize)]
struct ProblemCode {
    code: String,
}

impl Card {
    /// The rail over a gateway.
    pub fn new(account: Account, clock: Arc<dyn Clock>) -> Self {
        Self { account, client: Client::new(ANSWER_MAX), clock }
    }

    /// Asks the gateway, and tells its decisions from having none.
    async fn ask<A: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        key: &str,
        body: &Value,
    ) -> Result<Ruling<A>, Refusal> {
        let body = body.to_string();
        let text = format!("POST {path}\n{body}");
        let signed = signature(&self.account.secret, seconds(&*self.clock), text.as_bytes());
        let headers = [
            ("x-merchant-key", self.account.merchant.as_str()),
            ("x-signature", signed.as_str()),
            ("idempotency-key", key),
            ("content-type", "application/json"),
        ];
        let url = format!("{}{path}", self.account.url);
        let answer = self.client.send(Method::POST, &url, &headers, body).await;
        let answer = answer.map_err(|error| Refusal::Later(error.to_string()))?;
        let unread =
            |status: StatusCode| Refusal::Later(format!("the gateway answered {status} with something unknown"));
        match answer.status {
            StatusCode::OK | StatusCode::CREATED => {
                answer.json().map(Ruling::Granted).map_err(|_| unread(answer.status))
            }
            StatusCode::PAYMENT_REQUIRED => {
                let problem: Problem = answer.json().map_err(|_| unread(answer.status))?;
                Ok(Ruling::Declined(failure(&problem.error.code)))
            }
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(Refusal::Later(format!("the gateway answered {status}")))
            }
            // What it calls wrong stays wrong, however often it is asked.
            status => Err(Refusal::Never(format!("the gateway refuses the request: {status} {}", answer.text()))),
        }
    }
}

/// What a code of the gateway means to us; one that is new is a plain refusal.
fn failure(code: &str) -> PaymentFailure {
    match code {
        "insufficient_funds" => PaymentFailure::InsufficientFunds,
        "expired_card" => PaymentFailure::MethodExpired,
        "fraudulent" => PaymentFailure::SuspectedFraud,
        "charge_voided" => PaymentFailure::Abandoned,
        _ => PaymentFailure::Declined,
    }
}

fn granted<A, B>(ruling: Ruling<A>, read: impl FnOnce(A) -> Option<B>) -> Result<Ruling<B>, Refusal> {
    match ruling {
        Ruling::Declined(failure) => Ok(Ruling::Declined(failure)),
        Ruling::Granted(done) => {
            let unread = || Refusal::Later("the gateway answered with an amount that is none".to_owned());
            read(done).map(Ruling::Granted).ok_or_else(unread)
        }
    }
}

impl Rail for Card {
    fn authorise(&self, ask: Authorise) -> Asked<'_, Authorised> {
        Box::pin(async move {
            let body = json!({
                "account": ask.tenant.to_string(),
                "reference": ask.intent.to_string(),
                "instrument": ask.method.to_string(),
                "amount": Amount::of(ask.amount)?,
            });
            let ruling = self.ask::<Done>("/v2/charges", &ask.idempotency_key, &body).await?;
            granted(ruling, |done| Some(Authorised { gateway_ref: done.id }))
        })
    }

    fn capture(&self, ask: Capture) -> Asked<'_, Captured> {
        Box::pin(async move {
            let path = format!("/v2/charges/{}/capture", ask.gateway_ref);
            let body = json!({ "amount": Amount::of(ask.amount)? });
            let ruling = self.ask::<Done>(&path, &ask.idempotency_key, &body).await?;
            granted(ruling, |done| Some(Captured { gateway_ref: done.id, amount: done.amount.money()? }))
        })
    }

    fn refund(&self, ask: Refund) -> Asked<'_, Refunded> {
        Box::pin(async move {
            let path = format!("/v2/charges/{}/refunds", ask.gateway_ref);
            let body = json!({ "reference": ask.refund.to_string(), "amount": Amount::of(ask.amount)? });
            let ruling = self.ask::<Done>(&path, &ask.idempotency_key, &body).await?;
            granted(ruling, |done| Some(Refunded { gateway_ref: done.id, amount: done.amount.money()? }))
        })
    }

    fn void(&self, ask: Void) -> Asked<'_, Voided> {
        Box::pin(async move {
            let body = json!({ "charge_key": ask.charge_key });
            let ruling = self.ask::<Undone>("/v2/voids", &format!("void {}", ask.charge_key), &body).await?;
            granted(ruling, |undone| match undone.returned {
                None => Some(Voided { given_back: None }),
                Some(amount) => Some(Voided { given_back: Some(amount.money()?) }),
            })
        })
    }
}

#[derive(Deserialize)]
struct Hook {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    account: String,
    reference: String,
    data: HookData,
}

#[derive(Deserialize)]
struct HookData {
    charge: String,
    amount: Amount,
    #[serde(default)]
    refund: Option<String>,
    #[serde(default)]
    refund_reference: Option<String>,
}

/// What a webhook says, and to whom, once its signature was checked.
pub fn notice(
    secret: &str,
    clock: &dyn Clock,
    body: &[u8],
    signed: Option<&str>,
) -> Result<(TenantId, Notice), Rejected> {
    let hook: Hook = webhook::read(secret, clock, body, signed)?;
    read(hook).ok_or(Rejected::Unreadable)?
}

fn read(hook: Hook) -> Option<Result<(TenantId, Notice), Rejected>> {
    let Hook { id, kind, account, reference, data } = hook;
    let amount = data.amount.money()?;
    let told = match kind.as_str() {
        "charge.captured" => Told::Captured(Captured { gateway_ref: data.charge, amount }),
        "charge.refunded" => Told::Refunded {
            refund: data.refund_reference?.parse().ok()?,
            done: Refunded { gateway_ref: data.refund?, amount },
        },
        _ => return Some(Err(Rejected::Uninteresting)),
    };
    let notice = Notice { notice_id: id, intent: reference.parse().ok()?, told };
    Some(Ok((account.parse().ok()?, notice)))
}
