use std::time::Duration;

use karwan_http::{Client, Method};
use karwan_sandbox::messages::{Messages, TOKEN};
use serde_json::{Value, json};

const NOW: (Duration, Duration) = (Duration::ZERO, Duration::ZERO);

async fn send(url: &str, token: &str, body: &Value) -> u16 {
    let client = Client::new(Duration::from_secs(60));
    let url = format!("{url}/messages");
    let answer = client.send(Method::POST, &url, &[("x-api-token", token)], body.to_string()).await;
    answer.expect("it answers").status.as_u16()
}

fn message(key: &str, to: &str) -> Value {
    json!({
        "key": key, "account": "acc", "reference": "msg_1", "channel": "email", "to": to, "language": "ps",
        "subject": "s", "text": "t",
    })
}

#[tokio::test]
async fn a_message_is_taken_once_bounces_where_nobody_lives_and_its_text_is_in_no_file() {
    let folder = std::env::temp_dir().join(format!("karwan-sandbox-{}-messages", std::process::id()));
    let file = folder.join("messages.jsonl");
    let carrier = Messages::open(Some(&file), NOW).await.expect("it opens");
    let url = carrier.url();
    assert_eq!(send(&url, "guess", &message("k1", "gul@example.af")).await, 403);
    for _ in 0..2 {
        assert_eq!(send(&url, TOKEN, &message("k1", "gul@example.af")).await, 202);
    }
    assert_eq!(send(&url, TOKEN, &message("k2", "nobody@bounce.example")).await, 422);
    assert_eq!((carrier.count(), carrier.last().len()), (2, 2));
    assert!(!std::fs::read_to_string(&file).expect("it is there").contains("gul"), "no recipients");
    drop(carrier);
    let again = Messages::open(Some(&file), NOW).await.expect("it opens again");
    assert_eq!(send(&again.url(), TOKEN, &message("k1", "gul@example.af")).await, 202);
    assert_eq!(again.count(), 2);
    drop(again);
    std::fs::remove_dir_all(folder).expect("it goes");
}
