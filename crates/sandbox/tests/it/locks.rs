use std::time::Duration;

use karwan_http::{Client, Method, StatusCode};
use karwan_sandbox::locks::{CLIENT, Fault, Locks, SECRET};
use serde_json::{Value, json};

const NOW: (Duration, Duration) = (Duration::ZERO, Duration::ZERO);
const LONG: Duration = Duration::from_secs(60);

async fn post(url: &str, path: &str, token: &str, body: Value) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let url = format!("{url}{path}");
    let answer = Client::new(LONG).send(Method::POST, &url, &[("authorization", &bearer)], body.to_string()).await;
    let answer = answer.expect("it answers");
    (answer.status.as_u16(), answer.json().expect("JSON"))
}

async fn token(locks: &Locks) -> String {
    let login = json!({ "client_id": CLIENT, "client_secret": SECRET });
    let (status, body) = post(&locks.url(), "/oauth/token", "", login).await;
    assert_eq!(status, 200);
    body["access_token"].as_str().expect("a token").to_owned()
}

fn issue(operation: &str) -> Value {
    json!({
        "operation": operation, "account": "acc", "credential": "key_1", "site": "ppt_1", "doors": ["rmu_1"],
        "kinds": ["mobile"], "opens_from": "2026-01-01", "opens_until": "2026-01-02",
    })
}

#[tokio::test]
async fn a_key_is_made_once_an_operation_and_none_after_its_revocation() {
    let locks = Locks::open(None, NOW).await.expect("it opens");
    let (url, token) = (locks.url(), token(&locks).await);
    let first = post(&url, "/api/keys", &token, issue("op1")).await;
    assert_eq!(first.0, 200);
    assert_eq!(post(&url, "/api/keys", &token, issue("op1")).await, first);
    let revoke = |operation: &str| json!({ "issueOperation": operation });
    assert_eq!(post(&url, "/api/keys/revoke", &token, revoke("op1")).await.1["existed"], true);
    assert_eq!(post(&url, "/api/keys/revoke", &token, revoke("op2")).await.1["existed"], false);
    let late = post(&url, "/api/keys", &token, issue("op2")).await;
    assert_eq!((late.0, late.1["fault"]["name"].as_str()), (422, Some("OPERATION_REVOKED")));
    let keys = locks.keys();
    assert_eq!(keys.len(), 1);
    assert!(!keys[0].live);
}

#[tokio::test]
async fn the_key_of_an_operation_goes_wrong_as_it_was_told_and_no_other_of_its_site_does() {
    let locks = Locks::open(None, NOW).await.expect("it opens");
    let (url, token) = (locks.url(), token(&locks).await);
    locks.fault("op1", Fault::FailTwice).expect("it is kept");
    locks.fault("op2", Fault::Reject).expect("it is kept");
    assert_eq!(post(&url, "/api/keys", &token, issue("op0")).await.0, 200, "asked for in between");
    for status in [503, 503, 200] {
        assert_eq!(post(&url, "/api/keys", &token, issue("op1")).await.0, status);
    }
    for _ in 0..2 {
        assert_eq!(post(&url, "/api/keys", &token, issue("op2")).await.0, 422);
    }
    assert_eq!(post(&url, "/api/keys", &token, issue("op3")).await.0, 200);
}

#[tokio::test]
async fn a_wrong_login_or_token_opens_nothing() {
    let locks = Locks::open(None, NOW).await.expect("it opens");
    let wrong = json!({ "client_id": CLIENT, "client_secret": "guess" });
    assert_eq!(post(&locks.url(), "/oauth/token", "", wrong).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(post(&locks.url(), "/api/keys", "t=1,v1=00", issue("op1")).await.0, StatusCode::UNAUTHORIZED);
    assert!(locks.keys().is_empty());
}

#[tokio::test]
async fn a_key_whose_answer_never_comes_was_made_once_and_its_repetition_says_which() {
    let locks = Locks::open(None, NOW).await.expect("it opens");
    let (url, token) = (locks.url(), token(&locks).await);
    locks.fault("op1", Fault::TimeoutAfterIssue).expect("it is kept");
    let (asked, bearer) = (url.clone(), token.clone());
    let silent = tokio::spawn(async move { post(&asked, "/api/keys", &bearer, issue("op1")).await });
    while locks.keys().is_empty() {
        tokio::task::yield_now().await;
    }
    let (status, made) = post(&url, "/api/keys", &token, issue("op1")).await;
    let keys = locks.keys();
    assert_eq!((status, made["keyRef"].as_str(), keys.len()), (200, Some(keys[0].reference.as_str()), 1));
    assert!(!silent.is_finished());
    silent.abort();
    // The fault was that one operation's.
    assert_eq!(post(&url, "/api/keys", &token, issue("op2")).await.0, 200);
}
