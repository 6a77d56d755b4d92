use std::sync::Arc;
use std::time::Duration;

use karwan_http::server::BODY_BYTES_MAX;
use karwan_http::{Client, Error, Method, Request, Response, Server, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::Notify;

const LONG: Duration = Duration::from_secs(60);

async fn server<F: Future<Output = Response> + Send + 'static>(
    handler: impl Fn(Request) -> F + Send + Sync + 'static,
) -> (Server, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let server = Server::start(listener, handler).expect("it listens");
    let url = format!("http://{}", server.address());
    (server, url)
}

#[tokio::test]
async fn a_request_arrives_whole_and_its_answer_too() {
    let (server, url) = server(async |request: Request| {
        let said = format!(
            "{} {} {:?} {:?} {}",
            request.method,
            request.path,
            request.parameter("after"),
            request.bearer(),
            String::from_utf8_lossy(&request.body)
        );
        Response::text(StatusCode::CREATED, said)
    })
    .await;
    let headers = [("authorization", "Bearer abc")];
    let answer = Client::new(LONG).send(Method::PUT, &format!("{url}/a/b?x=1&after=7"), &headers, "body").await;
    let answer = answer.expect("it answers");
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.text(), r#"PUT /a/b Some("7") Some("abc") body"#);
    server.stop().await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_and_the_handler_never_sees_it() {
    let (_server, url) = server(async |_| Response::empty(StatusCode::OK)).await;
    let client = Client::new(LONG);
    let most = client.send(Method::POST, &url, &[], vec![b'x'; BODY_BYTES_MAX]).await.expect("it answers");
    assert_eq!(most.status, StatusCode::OK);
    match client.send(Method::POST, &url, &[], vec![b'x'; BODY_BYTES_MAX + 1]).await {
        Ok(answer) => assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE),
        // The server may close while the rest is still being sent.
        Err(error) => assert_eq!(error.code(), "http-broken"),
    }
}

#[tokio::test]
async fn a_stopped_server_answers_what_it_has_begun_and_takes_nothing_new() {
    let (began, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, goes) = (began.clone(), go.clone());
    let (server, url) = server(move |_| {
        let (begins, goes) = (begins.clone(), goes.clone());
        async move {
            begins.notify_one();
            goes.notified().await;
            Response::text(StatusCode::OK, "in the end")
        }
    })
    .await;
    let asked = url.clone();
    let asking = tokio::spawn(async move { Client::new(LONG).send(Method::GET, &asked, &[], "").await });
    began.notified().await;
    let stopping = tokio::spawn(server.stop());
    // Nothing is accepted any more as soon as the listener is gone.
    let Err(refused) = Client::new(LONG).send(Method::GET, &url, &[], "").await else {
        panic!("a stopped server answered somebody new");
    };
    assert!(["http-unreachable", "http-broken"].contains(&refused.code()), "{refused}");
    go.notify_waiters();
    go.notify_one();
    assert_eq!(asking.await.expect("no panic").expect("it is answered").text(), "in the end");
    stopping.await.expect("no panic");
}

#[tokio::test]
async fn a_client_tells_what_was_never_sent_from_what_may_have_been_done() {
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = free.local_addr().expect("it is bound");
    drop(free);
    let nobody = Client::new(LONG).send(Method::GET, &format!("http://{address}"), &[], "").await;
    assert!(matches!(nobody, Err(Error::Unreachable { .. })), "{nobody:?}");
    let (_server, url) = server(|_| std::future::pending()).await;
    let silent = Client::new(Duration::from_millis(50)).send(Method::GET, &url, &[], "").await;
    assert!(matches!(silent, Err(Error::NoAnswer { limit_ms: 50, .. })), "{silent:?}");
    for bad in ["https://localhost", "localhost/x", "http:///x", ""] {
        let refused = Client::new(LONG).send(Method::GET, bad, &[], "").await;
        assert!(matches!(refused, Err(Error::Address { .. })), "{bad}: {refused:?}");
    }
}

#[test]
fn every_code_has_a_page() {
    for code in ["http-address", "http-unreachable", "http-no-answer", "http-broken", "http-too-large"] {
        let page = format!("{}/../../docs/errors/{code}.md", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&page).is_file(), "{page}");
    }
}
