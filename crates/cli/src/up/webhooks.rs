//! What vendors tell by themselves, at `/webhooks/v<n>/<provider>`.
//!
//! Who speaks is known by the signature. What is said is a command of the service that it is about, which takes it once however
//! often and in whatever order it comes; where the store is away, the vendor is asked to say it again.

use karwan::TenantId;
use karwan_envelope::ids::CorrelationId;
use karwan_envelope::time::SystemClock;
use karwan_http::{Request, Response, StatusCode};
use karwan_sandbox::{gateway, locks, messages};
use melmastoon::lock_integration::{self, latch};
use melmastoon::notification::{self, carrier};
use melmastoon::payment::{self, card};
use melmastoon::refusal::Refusal;
use melmastoon::webhook::Rejected;

use super::demo::{context, fresh};
use super::edge::problem;
use super::node::Node;

/// Checks who speaks, and hands on what is said.
pub async fn answer(node: &Node, version: &str, provider: &str, request: &Request) -> Response {
    let body = &request.body;
    let correlation = CorrelationId::from_bits(fresh());
    let taken = match (version, provider) {
        ("v1", card::PROVIDER) => {
            match card::notice(gateway::WEBHOOK_SECRET, &SystemClock, body, request.header(card::SIGNATURE)) {
                Ok((tenant, notice)) => {
                    let context = context(tenant, payment::SERVICE, correlation);
                    told(tenant, payment::commands::notice(&node.store, &context, &notice).await)
                }
                Err(rejected) => refused(rejected, "MELMASTOON.PAYMENT.WEBHOOK_SIGNATURE_INVALID"),
            }
        }
        ("v1", latch::PROVIDER) => {
            match latch::notice(locks::WEBHOOK_SECRET, &SystemClock, body, request.header(latch::SIGNATURE)) {
                Ok((tenant, notice)) => {
                    let context = context(tenant, lock_integration::SERVICE, correlation);
                    told(tenant, lock_integration::commands::hear(&node.store, &context, &notice).await.map(drop))
                }
                Err(rejected) => refused(rejected, "MELMASTOON.LOCK.WEBHOOK_SIGNATURE_INVALID"),
            }
        }
        ("v1", carrier::PROVIDER) => {
            match carrier::notice(messages::WEBHOOK_SECRET, &SystemClock, body, request.header(carrier::SIGNATURE)) {
                Ok((tenant, notice)) => {
                    let context = context(tenant, notification::SERVICE, correlation);
                    told(tenant, notification::commands::hear(&node.store, &context, &notice).await.map(drop))
                }
                Err(rejected) => refused(rejected, "MELMASTOON.NOTIFICATION.WEBHOOK_SIGNATURE_INVALID"),
            }
        }
        ("v1", _) => Err(problem(StatusCode::NOT_FOUND, "MELMASTOON.EDGE.PROVIDER_UNKNOWN")),
        _ => Err(problem(StatusCode::NOT_FOUND, "MELMASTOON.EDGE.NOT_FOUND")),
    };
    taken.map_or_else(|problem| problem, |()| Response::empty(StatusCode::NO_CONTENT))
}

fn refused(rejected: Rejected, unsigned: &str) -> Result<(), Response> {
    match rejected {
        Rejected::Unsigned => Err(problem(StatusCode::UNAUTHORIZED, unsigned)),
        Rejected::Unreadable => Err(problem(StatusCode::BAD_REQUEST, "MELMASTOON.GENERAL.VALIDATION_FAILED")),
        // Taken, and of no use.
        Rejected::Uninteresting => Ok(()),
    }
}

fn told(tenant: TenantId, taken: Result<(), Refusal>) -> Result<(), Response> {
    taken.map_err(|refused| match refused {
        Refusal::NotFound { .. } => problem(StatusCode::NOT_FOUND, refused.code()),
        _ => {
            tracing::warn!(tenant = %tenant, error = %refused, "a webhook is not taken; its vendor says it again");
            problem(StatusCode::SERVICE_UNAVAILABLE, refused.code())
        }
    })
}
