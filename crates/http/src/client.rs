//! A client: connections are kept and used again, an answer is read whole, and silence has an end.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;

/// The longest answer that is read.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Connections to one host that are kept for later.
const IDLE_MAX: usize = 64;
/// How long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Why a request has no answer. `Display` omits the source; print the chain.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an address, or a header that cannot be sent.
    #[error("`{url}` cannot be asked: {why}")]
    Address {
        /// What was to be asked.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// No connection: nothing was sent.
    #[error("{url} cannot be reached")]
    Unreachable {
        /// Who.
        url: String,
        /// Why.
        #[source]
        cause: hyper_util::client::legacy::Error,
    },
    /// Sent, perhaps, and no answer came in time: it may have been done or not.
    #[error("{url} gave no answer in {limit_ms} ms: it may have done what was asked")]
    NoAnswer {
        /// Who.
        url: String,
        /// How long it had.
        limit_ms: u64,
    },
    /// The connection broke on the way: it may have been done or not.
    #[error("the connection to {url} broke: it may have done what was asked")]
    Broken {
        /// Who.
        url: String,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Its name, which has a page under `docs/errors/`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "http-address",
            Self::Unreachable { .. } => "http-unreachable",
            Self::NoAnswer { .. } => "http-no-answer",
            Self::Broken { .. } => "http-broken",
        }
    }
}

/// What was answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The body as text, whatever was wrong with it replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Asks others. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    inner: hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>,
    limit: Duration,
}

impl Client {
    /// A client that waits so long for an answer.
    pub fn new(limit: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_MAX));
        let inner = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        Self { inner, limit }
    }

    /// Asks, and reads the whole answer, whatever its status.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Error> {
        let request = request(method, url, headers, body.into())?;
        let limit_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
        match tokio::time::timeout(self.limit, self.answer(url, request)).await {
            Ok(answered) => answered,
            Err(_) => Err(Error::NoAnswer { url: url.to_owned(), limit_ms }),
        }
    }

    async fn answer(&self, url: &str, request: hyper::Request<Full<Bytes>>) -> Result<Answer, Error> {
        let url = || url.to_owned();
        let response = self.inner.request(request).await.map_err(|cause| {
            if cause.is_connect() {
                Error::Unreachable { url: url(), cause }
            } else {
                Error::Broken { url: url(), cause: cause.into() }
            }
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|cause| Error::Broken { url: url(), cause })?.to_bytes();
        Ok(Answer { status: head.status, headers: head.headers, body })
    }
}

fn request(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<hyper::Request<Full<Bytes>>, Error> {
    let wrong = |why: String| Error::Address { url: url.to_owned(), why };
    let uri: Uri = url.parse().map_err(|error| wrong(format!("{error}")))?;
    if uri.scheme_str() != Some("http") || uri.host().is_none() {
        return Err(wrong("only http://HOST… is spoken here".to_owned()));
    }
    let mut request = hyper::Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    for (name, value) in headers {
        let name: HeaderName = name.parse().map_err(|error| wrong(format!("header `{name}`: {error}")))?;
        let value = HeaderValue::from_str(value).map_err(|error| wrong(format!("header `{name}`: {error}")))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}
