//! Asking a running node: over loopback, with the token that its data directory has.

use std::path::PathBuf;
use std::time::Duration;

use karwan_http::{Client, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::exit::Failure;
use crate::up::error::Error;
use crate::up::place::{self, Card};

/// How long a node may take to answer; following a load takes longer than this in many answers.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// The flag of commands that ask a node.
#[derive(clap::Args, Clone)]
pub struct NodeFlag {
    /// Where the node has its data
    #[arg(long, value_name = "DIR", default_value = place::DEFAULT)]
    data: PathBuf,
}

/// A node that is asked.
pub struct Node {
    card: Card,
    client: Client,
}

impl NodeFlag {
    /// The node that runs there.
    pub fn node(&self) -> Result<Node, Failure> {
        Ok(Node { card: place::card(&self.data)?, client: Client::new(ANSWER_MAX) })
    }
}

impl Node {
    /// Reads something.
    pub async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        self.send(Method::GET, path, String::new()).await
    }

    /// Has something done.
    pub async fn post<A: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<A, Failure> {
        let body = serde_json::to_string(body).map_err(anyhow::Error::from)?;
        self.send(Method::POST, path, body).await
    }

    async fn send<A: DeserializeOwned>(&self, method: Method, path: &str, body: String) -> Result<A, Failure> {
        let url = format!("{}/control/v1/{path}", self.card.control);
        let bearer = format!("Bearer {}", self.card.token);
        let answer = self.client.send(method, &url, &[("authorization", &bearer)], body).await?;
        if answer.status.is_success() {
            return Ok(answer.json().map_err(anyhow::Error::from)?);
        }
        let why = answer.json::<Value>().ok().and_then(|body| body["why"].as_str().map(str::to_owned));
        Err(Error::Refused { why: why.unwrap_or_else(|| format!("it answered {}", answer.status)) }.into())
    }
}
