//! What everybody may ask a node: does it live, is it ready, what does it count. And what vendors tell it.
//!
//! Not here: the public API of the platform; what operators ask (`control`).

use std::sync::Arc;
use std::time::Duration;

use karwan_http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::node::{Node, Phase};

/// How long the store may take to answer before the node is not ready.
const READY_MAX: Duration = Duration::from_secs(2);

/// Answers a request.
pub async fn answer(node: Arc<Node>, request: Request) -> Response {
    let segments = request.segments();
    match (&request.method, segments.as_slice()) {
        (&Method::GET, ["health"]) => Response::json(StatusCode::OK, &with_broker(&node, json!({ "status": "alive" }))),
        (&Method::GET, ["ready"]) => ready(&node).await,
        (&Method::GET, ["metrics"]) => {
            node.tally.pour(node.store.metrics());
            count_letters(&node).await;
            Response {
                content_type: "text/plain; version=0.0.4; charset=utf-8",
                ..Response::text(StatusCode::OK, node.store.metrics().text())
            }
        }
        // Nothing new is taken; its vendor says it again, to whoever is there then.
        (&Method::POST, ["webhooks", _, _]) if node.phase() == Phase::Draining => {
            problem(StatusCode::SERVICE_UNAVAILABLE, "MELMASTOON.EDGE.DRAINING")
        }
        (&Method::POST, ["webhooks", version, provider]) => {
            super::webhooks::answer(&node, version, provider, &request).await
        }
        (_, ["health" | "ready" | "metrics"] | ["webhooks", _, _]) => {
            problem(StatusCode::METHOD_NOT_ALLOWED, "MELMASTOON.EDGE.METHOD_NOT_ALLOWED")
        }
        _ => problem(StatusCode::NOT_FOUND, "MELMASTOON.EDGE.NOT_FOUND"),
    }
}

/// Where the store does not answer, what was counted last is told again: an alert is not to end by that.
async fn count_letters(node: &Node) {
    match tokio::time::timeout(READY_MAX, node.store.count_letters()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(code = error.code(), error = %error, "letters cannot be counted"),
        Err(_) => tracing::warn!("letters cannot be counted in time"),
    }
}

/// A refusal, with its code.
pub fn problem(status: StatusCode, code: &str) -> Response {
    Response::json(status, &json!({ "error": { "code": code } }))
}

/// How it is with the broker, where the node has one.
fn with_broker(node: &Node, mut told: Value) -> Value {
    if let Some(broker) = &node.broker {
        told["broker"] = broker.told();
    }
    told
}

async fn ready(node: &Node) -> Response {
    let not =
        |why: &str| Response::json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": "not ready", "why": why }));
    match node.phase() {
        Phase::Starting => return not("starting"),
        Phase::Draining => return not("draining"),
        Phase::Working => {}
    }
    match tokio::time::timeout(READY_MAX, node.store.relay().end()).await {
        // Also while the broker is away: nobody who commits waits for it.
        Ok(Ok(position)) => {
            let ready = json!({ "status": "ready", "position": position.to_string() });
            Response::json(StatusCode::OK, &with_broker(node, ready))
        }
        Ok(Err(error)) => not(error.code()),
        Err(_) => not("the store does not answer"),
    }
}
