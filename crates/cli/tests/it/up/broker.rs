//! A node whose broker comes later, and goes and comes again.

use std::time::Instant;

use karwan_envelope::time::Timestamp;
use karwan_testkit::nats;
use serde_json::Value;

use super::{LONG, Node, pause};
use crate::folder::Folder;
use crate::karwan::karwan;

/// What a node says of its broker, to whoever asks whether it is ready or alive.
fn told(node: &Node, path: &str) -> Value {
    let (status, body) = node.ask("GET", path, &[], "");
    assert_eq!(status, 200, "{body}");
    assert!(!body.contains("s3cret"), "{body}");
    let told: Value = serde_json::from_str(&body).expect("JSON");
    told["broker"].clone()
}

fn until_told(node: &Node, status: &str) -> Value {
    let since = Instant::now();
    loop {
        let told = told(node, "/ready");
        if told["status"] == status {
            return told;
        }
        assert!(since.elapsed() < LONG, "the broker is not {status}: {told}");
        pause();
    }
}

/// nobody who commits waits for the broker; what the log holds is published when it comes.
#[test]
fn a_node_works_while_its_broker_is_away_and_publishes_by_itself_when_it_comes() {
    let Some(server) = nats().or_skip() else { return };
    let url = server.url_as("node", "s3cret");
    server.stop();
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--broker", &url]);
    for path in ["/ready", "/health"] {
        let told = told(&node, path);
        assert_eq!(told["status"], "away");
        assert!(told["why"].as_str().is_some_and(|why| why.contains("cannot be reached")), "{told}");
    }
    let said = node.log.try_iter().find(|line| line.contains("the broker is away"));
    let said = said.expect("it is logged");
    assert!(said.contains("the log holds everything") && !said.contains("s3cret"), "{said}");
    node.karwan(&["try", "booking"]).exits(0);
    server.start_again();
    until_told(&node, "connected");
    let wait = ["outbox", "--wait", "--broker", &url];
    node.karwan(&wait).exits(0);
    let check = ["topology", "check", "--platform", "melmastoon", "--broker", &url];
    karwan(&check).exits(0);
    // It goes once more, under a node that works.
    server.kill();
    until_told(&node, "away");
    node.karwan(&["try", "booking"]).exits(0);
    server.start_again();
    until_told(&node, "connected");
    node.karwan(&wait).exits(0);
    assert_eq!(node.violations(), Value::Array(Vec::new()));
    assert_eq!(node.stop(), Some(0));
}

/// A server that stands still keeps its connections: only what it does not say tells of it.
#[test]
fn a_broker_that_is_connected_and_does_not_answer_is_told_of_with_why_and_since_and_the_node_stays_ready() {
    let Some(server) = nats().or_skip() else { return };
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--broker", &server.url()]);
    until_told(&node, "connected");
    let wait = ["outbox", "--wait", "--broker", &server.url()];
    node.karwan(&wait).exits(0);
    server.freeze();
    node.karwan(&["try", "booking"]).exits(0);
    let told = until_told(&node, "stuck");
    assert!(told["why"].as_str().is_some_and(|why| why.contains("docs/errors/broker-no-answer.md")), "{told}");
    assert!(told["since"].as_str().is_some_and(|since| since.parse::<Timestamp>().is_ok()), "{told}");
    assert!(told["remedy"].is_string(), "{told}");
    assert!(told["streams"].as_array().is_some_and(|streams| !streams.is_empty()), "{told}");
    // Nobody who commits waits for it.
    node.karwan(&["try", "booking"]).exits(0);
    server.thaw();
    until_told(&node, "connected");
    node.karwan(&wait).exits(0);
    assert_eq!(node.violations(), Value::Array(Vec::new()));
    assert_eq!(node.stop(), Some(0));
}

/// Waiting does not mend it, and nobody would see it in a log.
#[test]
fn a_node_whose_login_is_wrong_does_not_start() {
    let configuration = "authorization { user: relay, password: hush-hush }\n".to_owned();
    let options = nats::Options { configuration, ..nats::Options::default() };
    let Some(server) = nats::Server::start(options).or_skip() else { return };
    let folder = Folder::new();
    let data = folder.at("data").to_str().expect("a path").to_owned();
    let up = |url: &str| karwan(&["up", "--data", &data, "--port", "0", "--empty", "--broker", url]).exits(1);
    up(&server.url_as("relay", "s3cret")).says("docs/errors/broker-denied.md");
    up(&format!("{}?creds=/no/such/file", server.url()))
        .says("docs/errors/broker-credentials.md")
        .says("/no/such/file");
}

#[test]
fn a_node_that_waits_for_its_broker_stops_when_it_is_told() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty", "--broker", "nats://127.0.0.1:1"]);
    assert_eq!(told(&node, "/ready")["status"], "away");
    assert_eq!(node.stop(), Some(0));
}
