//! A server: whole requests in, whole answers out, drained when it is stopped.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::http::header::CONTENT_TYPE;
use hyper::http::{HeaderValue, StatusCode};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::message::{Request, Response};

/// The longest body that is read.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// The most connections at once; more wait at the door.
pub const CONNECTIONS_MAX: usize = 512;
/// How long a client may take for the head of a request.
const HEAD_MAX: Duration = Duration::from_secs(15);
/// How long a client may take for a body.
const BODY_MAX: Duration = Duration::from_secs(30);
/// How long a stopped server waits for what it has begun.
const DRAIN_MAX: Duration = Duration::from_secs(15);

/// A server at work. Dropped, it ends at once; [`Server::stop`] answers what it has begun.
pub struct Server {
    address: SocketAddr,
    stopping: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers on a listener until it is stopped.
    pub fn start<H, F>(listener: TcpListener, handler: H) -> io::Result<Self>
    where
        H: Fn(Request) -> F + Send + Sync + 'static,
        F: Future<Output = Response> + Send + 'static,
    {
        let address = listener.local_addr()?;
        let (stopping, told) = watch::channel(false);
        let task = tokio::spawn(accept(listener, Arc::new(handler), told));
        Ok(Self { address, stopping, task })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes nothing new, and waits a while for what was begun.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        if tokio::time::timeout(DRAIN_MAX, &mut self.task).await.is_err() {
            tracing::warn!("requests took longer than {DRAIN_MAX:?} and were cut off");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept<H, F>(listener: TcpListener, handler: Arc<H>, mut told: watch::Receiver<bool>)
where
    H: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    let stopped = told.clone();
    loop {
        let next = async {
            let place = room.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            () = told_to_stop(&mut told) => break,
            Some(_) = connections.join_next() => {}
            (place, accepted) = next => match accepted {
                Ok((stream, _)) => {
                    let (handler, stopped) = (handler.clone(), stopped.clone());
                    connections.spawn(async move {
                        let _place = place;
                        connection(stream, handler, stopped).await;
                    });
                }
                Err(error) => {
                    // Out of descriptors, most of the time: what is open ends, and makes room.
                    tracing::warn!(error = %error, "a connection cannot be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection<H, F>(stream: TcpStream, handler: Arc<H>, mut stopped: watch::Receiver<bool>)
where
    H: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // Small answers go out at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let handler = handler.clone();
        async move {
            let response = match whole(request).await {
                Ok(request) => handler(request).await,
                Err(refused) => refused,
            };
            Ok::<_, Infallible>(sent(response))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = told_to_stop(&mut stopped) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = %error, "a connection broke");
    }
}

/// Ends when the server is stopped, or is not there any more.
async fn told_to_stop(told: &mut watch::Receiver<bool>) {
    let _ = told.wait_for(|stop| *stop).await;
}

/// Reads all of a request, or says why not.
async fn whole(request: hyper::Request<Incoming>) -> Result<Request, Response> {
    let (head, body) = request.into_parts();
    let body = tokio::time::timeout(BODY_MAX, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    let body = body.map_err(|_| Response::text(StatusCode::REQUEST_TIMEOUT, "the body took too long"))?;
    let body = body.map_err(|error| {
        if error.is::<LengthLimitError>() {
            let text = format!("a body has at most {BODY_BYTES_MAX} bytes (docs/errors/http-too-large.md)");
            Response::text(StatusCode::PAYLOAD_TOO_LARGE, text)
        } else {
            Response::text(StatusCode::BAD_REQUEST, "the body broke off")
        }
    })?;
    Ok(Request {
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: body.to_bytes(),
    })
}

fn sent(response: Response) -> hyper::Response<Full<Bytes>> {
    let mut sent = hyper::Response::new(Full::new(response.body));
    *sent.status_mut() = response.status;
    sent.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    sent
}
