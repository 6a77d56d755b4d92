//! What operators' commands ask a running node: on loopback, and only who can read its token.

use std::sync::Arc;

use karwan_http::{Method, Request, Response, StatusCode};
use karwan_store::Position;
use karwan_store::log::{Filter, PAGE_MAX};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::node::{Node, Phase};
use super::{invariants, load, sagas, tries};
use crate::fact::Fact;
use crate::saga::Story;

/// A part of the log, as facts of one trace.
#[derive(Debug, Serialize, Deserialize)]
pub struct Part {
    /// Where the next part begins.
    pub position: String,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// Answers a command.
pub async fn answer(node: Arc<Node>, request: Request) -> Response {
    if !request.bearer().is_some_and(|token| same(token, &node.token)) {
        return refusal(StatusCode::UNAUTHORIZED, "the token is not this node's");
    }
    let segments = request.segments();
    match (&request.method, segments.as_slice()) {
        (&Method::GET, ["control", "v1", "status"]) => status(&node).await,
        (&Method::GET, ["control", "v1", "facts"]) => said(facts(&node, &request).await),
        (&Method::POST, ["control", "v1", "try"]) => match request.json() {
            Ok(ask) => said(tries::start(&node, &ask).await),
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
        },
        (&Method::GET, ["control", "v1", "booking", tenant, reservation]) => {
            said(tries::status(&node, tenant, reservation).await)
        }
        (&Method::GET, ["control", "v1", "sagas"]) => {
            let limit = request.parameter("limit").and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
            let stuck = request.parameter("stuck") == Some("true");
            said(sagas::some(&node, stuck, limit).await.map_err(|error| error.to_string()))
        }
        (&Method::GET, ["control", "v1", "saga", reservation]) => said(story(&node, reservation).await),
        (&Method::POST, ["control", "v1", "saga-retry"]) => match request.json::<Retry>() {
            Ok(ask) => said(sagas::retry(&node, &ask.tenant, &ask.reservation).await),
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
        },
        (&Method::POST, ["control", "v1", "load"]) => match request.json() {
            Ok(ask) => said(load::start(&node, ask)),
            Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
        },
        (&Method::GET, ["control", "v1", "load"]) => said(Ok(load::progress(&node))),
        (&Method::GET, ["control", "v1", "drained"]) => {
            said(invariants::is_drained(&node).await.map_err(|error| error.to_string()))
        }
        (&Method::GET, ["control", "v1", "invariants"]) => {
            said(invariants::check(&node).await.map_err(|error| error.to_string()))
        }
        _ => refusal(StatusCode::NOT_FOUND, "this node does not know that; is it of an older release?"),
    }
}

/// What is tried again.
#[derive(Deserialize)]
struct Retry {
    tenant: String,
    reservation: String,
}

/// What is known of the saga of a reservation; its tenant and trace are told by the log.
async fn story(node: &Node, reservation: &str) -> Result<Story, String> {
    let told = |error: karwan_store::Error| error.to_string();
    let filter = Filter { key: Some(reservation.to_owned()), ..Filter::default() };
    let relay = node.store.relay();
    let rows = relay.rows(relay.start().await.map_err(told)?.seq, relay.safe().await.map_err(told)?, &filter, 1);
    let first = rows.await.map_err(told)?.pop();
    let first = first.ok_or_else(|| format!("no event of {reservation} is in the log"))?;
    let fact = Fact::read(&node.profiles, node.store.catalogue().directory(), &first);
    let tenant = crate::tenant::shown(first.tenant);
    let rows = sagas::list(node).await.map_err(|error| error.to_string())?;
    Ok(Story {
        status: tries::status(node, &tenant, reservation).await?,
        correlation: fact.map(|fact| fact.correlation).unwrap_or_default(),
        rows: rows.into_iter().filter(|row| row.reservation == reservation).collect(),
        tenant,
    })
}

fn said<A: Serialize>(answer: Result<A, String>) -> Response {
    match answer {
        Ok(answer) => Response::json(StatusCode::OK, &answer),
        Err(why) => refusal(StatusCode::CONFLICT, &why),
    }
}

fn refusal(status: StatusCode, why: &str) -> Response {
    Response::json(status, &json!({ "why": why }))
}

/// In the same time wherever they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Facts of a trace after a position; without a trace, all of them.
async fn facts(node: &Node, request: &Request) -> Result<Part, String> {
    let after = request.parameter("after").and_then(|text| text.parse::<Position>().ok());
    let after = after.ok_or_else(|| "after: a position such as 1-42".to_owned())?;
    let trace = request.parameter("correlation");
    let page = node.store.relay().page(after, &Filter::default(), PAGE_MAX).await.map_err(|error| error.to_string())?;
    let own = page.rows.iter().filter(|row| trace.is_none_or(|trace| row.envelope.contains(trace)));
    let facts = own.filter_map(|row| Fact::read(&node.profiles, node.store.catalogue().directory(), row));
    let facts = facts.filter(|fact| trace.is_none_or(|trace| fact.correlation == trace)).collect();
    Ok(Part { position: page.position.to_string(), facts })
}

async fn status(node: &Node) -> Response {
    let phase = match node.phase() {
        Phase::Starting => "starting",
        Phase::Working => "working",
        Phase::Draining => "draining",
    };
    match node.store.relay().end().await {
        Ok(end) => Response::json(StatusCode::OK, &json!({ "phase": phase, "position": end.to_string() })),
        Err(error) => refusal(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}
