//! Requests and responses, whole.

use bytes::Bytes;
use hyper::http::{HeaderMap, Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What somebody asks.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, as it was sent.
    pub path: String,
    /// What follows the question mark; empty where nothing does.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
}

impl Request {
    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The parts of the path between its slashes.
    pub fn segments(&self) -> Vec<&str> {
        self.path.trim_matches('/').split('/').collect()
    }

    /// A parameter of the query, as it was sent: names and values here need no escapes.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, text)| text))
    }

    /// The body as JSON, or why it is none.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The token behind `Authorization: Bearer`.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// Of what kind the body is.
    pub content_type: &'static str,
    /// The body, whole.
    pub body: Bytes,
}

impl Response {
    /// A status alone.
    pub fn empty(status: StatusCode) -> Self {
        Self::text(status, "")
    }

    /// Plain text.
    pub fn text(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: Bytes::from(text.into()) }
    }

    /// JSON.
    pub fn json(status: StatusCode, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self { status, content_type: "application/json", body: Bytes::from(body) },
            Err(error) => {
                tracing::error!(error = %error, "an answer cannot be written as JSON");
                Self::empty(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}
