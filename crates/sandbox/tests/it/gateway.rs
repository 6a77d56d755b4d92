use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use karwan_http::signature::{is_signed, signature};
use karwan_http::{Client, Method, Response, Server, StatusCode};
use karwan_sandbox::gateway::{Fault, Gateway, MERCHANT, SECRET, WEBHOOK_HEADER, WEBHOOK_SECRET};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const NOW: (Duration, Duration) = (Duration::ZERO, Duration::ZERO);
const LONG: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "signatures are of the machine's time")]
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs()
}

async fn ask(url: &str, path: &str, key: &str, body: Value) -> (u16, Value) {
    let body = body.to_string();
    let signed = signature(SECRET, now(), format!("POST {path}\n{body}").as_bytes());
    let headers = [("x-merchant-key", MERCHANT), ("x-signature", &signed), ("idempotency-key", key)];
    let answer =
        Client::new(LONG).send(Method::POST, &format!("{url}{path}"), &headers, body).await.expect("it answers");
    (answer.status.as_u16(), answer.json().expect("JSON"))
}

fn charging(instrument: &str, micros: i64) -> Value {
    let amount = json!({ "micros": micros, "currency": "AFN" });
    json!({ "account": "acc", "reference": "pay_1", "instrument": instrument, "amount": amount })
}

async fn charge(url: &str, instrument: &str, key: &str) -> String {
    let (status, body) = ask(url, "/v2/charges", key, charging(instrument, 7_000_001)).await;
    assert_eq!(status, 200, "{body}");
    body["id"].as_str().expect("an id").to_owned()
}

fn amount(micros: i64) -> Value {
    json!({ "amount": { "micros": micros, "currency": "AFN" } })
}

fn refund(micros: i64) -> Value {
    json!({ "reference": "rfd_1", "amount": { "micros": micros, "currency": "AFN" } })
}

#[tokio::test]
async fn what_is_asked_twice_under_a_key_is_done_once_and_answered_the_same() {
    let gateway = Gateway::open(None, NOW).await.expect("it opens");
    let url = gateway.url();
    let id = charge(&url, "pmt_1", "k1").await;
    assert_eq!(charge(&url, "pmt_1", "k1").await, id);
    let capture = format!("/v2/charges/{id}/capture");
    let first = ask(&url, &capture, "k1", amount(7_000_001)).await;
    assert_eq!((first.0, first.1["status"].as_str()), (200, Some("captured")));
    assert_eq!(ask(&url, &capture, "k1", amount(7_000_001)).await, first);
    let other = ask(&url, "/v2/charges", "k1", charging("pmt_1", 1)).await;
    assert_eq!((other.0, other.1["error"]["code"].as_str()), (400, Some("idempotency_key_reused")));
    let refunds = format!("/v2/charges/{id}/refunds");
    for _ in 0..2 {
        assert_eq!(ask(&url, &refunds, "r1", refund(7_000_000)).await.0, 200);
    }
    let beyond = ask(&url, &refunds, "r2", refund(2)).await;
    assert_eq!((beyond.0, beyond.1["error"]["code"].as_str()), (402, Some("exceeds_captured")));
    let charges = gateway.charges();
    assert_eq!(charges.len(), 1);
    assert_eq!((charges[0].captured_micros, charges[0].refunded_micros), (7_000_001, 7_000_000));
}

#[tokio::test]
async fn who_does_not_sign_is_nobody() {
    let gateway = Gateway::open(None, NOW).await.expect("it opens");
    let url = format!("{}/v2/charges", gateway.url());
    let body = charging("pmt_1", 1).to_string();
    let good = signature(SECRET, now(), format!("POST /v2/charges\n{body}").as_bytes());
    let old = signature(SECRET, now() - 301, format!("POST /v2/charges\n{body}").as_bytes());
    for (merchant, signed) in [(MERCHANT, "t=1,v1=00"), ("mk_other", good.as_str()), (MERCHANT, old.as_str())] {
        let headers = [("x-merchant-key", merchant), ("x-signature", signed), ("idempotency-key", "k")];
        let answer = Client::new(LONG).send(Method::POST, &url, &headers, body.clone()).await.expect("it answers");
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    }
    assert!(gateway.charges().is_empty());
}

#[tokio::test]
async fn a_voided_key_never_charges_and_what_was_taken_comes_back() {
    let gateway = Gateway::open(None, NOW).await.expect("it opens");
    let url = gateway.url();
    let id = charge(&url, "pmt_1", "k1").await;
    ask(&url, &format!("/v2/charges/{id}/capture"), "k1", amount(7_000_001)).await;
    let voided = ask(&url, "/v2/voids", "v1", json!({ "charge_key": "k1" })).await;
    assert_eq!(voided.1["returned"]["micros"], 7_000_001);
    assert_eq!(gateway.charges()[0].refunded_micros, 7_000_001);
    let never = ask(&url, "/v2/voids", "v2", json!({ "charge_key": "k2" })).await;
    assert_eq!(never.1["returned"], Value::Null);
    let late = ask(&url, "/v2/charges", "k2", charging("pmt_1", 5)).await;
    assert_eq!((late.0, late.1["error"]["code"].as_str()), (402, Some("charge_voided")));
}

#[tokio::test]
async fn a_capture_whose_answer_never_comes_was_made_and_its_repetition_says_so() {
    let gateway = Gateway::open(None, NOW).await.expect("it opens");
    gateway.fault("pmt_1", Fault::TimeoutAfterCharge).expect("it is kept");
    let url = gateway.url();
    let id = charge(&url, "pmt_1", "k1").await;
    let path = format!("/v2/charges/{id}/capture");
    let (asked, first) = (path.clone(), url.clone());
    let silent = tokio::spawn(async move { ask(&first, &asked, "k1", amount(7_000_001)).await });
    while gateway.charges()[0].captured_micros == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&url, &path, "k1", amount(7_000_001)).await.0, 200);
    assert!(!silent.is_finished());
    silent.abort();
    assert_eq!(gateway.charges()[0].captured_micros, 7_000_001);
}

#[tokio::test]
async fn the_books_survive_the_end_of_the_process_with_a_line_cut_off() {
    let folder: PathBuf = std::env::temp_dir().join(format!("karwan-sandbox-{}-books", std::process::id()));
    let file = folder.join("gateway.jsonl");
    let before = {
        let gateway = Gateway::open(Some(&file), NOW).await.expect("it opens");
        gateway.fault("pmt_9", Fault::Decline).expect("it is kept");
        let id = charge(&gateway.url(), "pmt_1", "k1").await;
        ask(&gateway.url(), &format!("/v2/charges/{id}/capture"), "k1", amount(7_000_001)).await;
        gateway.charges()
    };
    let mut text = std::fs::read_to_string(&file).expect("it is there");
    text.push_str("{\"authorise\":{\"key\":\"k7");
    std::fs::write(&file, text).expect("it is written");
    let gateway = Gateway::open(Some(&file), NOW).await.expect("it opens again");
    assert_eq!(gateway.charges(), before);
    assert_eq!(ask(&gateway.url(), "/v2/charges", "k8", charging("pmt_9", 1)).await.0, 402, "faults, too");
    assert_eq!(charge(&gateway.url(), "pmt_1", "k1").await, before[0].id);
    drop(gateway);
    std::fs::remove_dir_all(folder).expect("it goes");
}

#[tokio::test]
async fn captures_and_refunds_are_told_signed_again_until_taken_and_three_times_if_it_must_be() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let first = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let listening = Server::start(listener, move |request: karwan_http::Request| {
        let refuses = first.swap(false, std::sync::atomic::Ordering::Relaxed);
        if !refuses {
            tell.send(request).expect("the test listens");
        }
        let status = if refuses { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        async move { Response::empty(status) }
    });
    let listening = listening.expect("it listens");
    let gateway = Gateway::open(None, NOW).await.expect("it opens");
    gateway.notify(format!("http://{}/hooks", listening.address())).await;
    gateway.fault("pmt_1", Fault::DuplicateNotices).expect("it is kept");
    let id = charge(&gateway.url(), "pmt_1", "k1").await;
    ask(&gateway.url(), &format!("/v2/charges/{id}/capture"), "k1", amount(7_000_001)).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let request = told.recv().await.expect("it is told");
        let given = request.header(WEBHOOK_HEADER).expect("it is signed");
        assert!(is_signed(WEBHOOK_SECRET, now(), &request.body, given));
        let body: Value = request.json().expect("JSON");
        assert_eq!(body["type"], "charge.captured");
        assert_eq!(body["data"]["amount"]["micros"], 7_000_001);
        ids.push(body["id"].clone());
    }
    assert_eq!(ids[0], ids[2]);
}
