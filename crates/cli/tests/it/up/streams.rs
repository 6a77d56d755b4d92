//! A node whose broker has a stream that cannot become what it should be.

use std::time::Instant;

use karwan_testkit::nats;
use serde_json::{Value, json};

use super::{LONG, Node, pause};
use crate::folder::Folder;
use crate::jetstream;
use crate::karwan::karwan;

const STREAM: &str = "RESERVATION";
const SUBJECT: &str = "melmastoon.reservation.booking.confirmed.v1";
const WRONG: &str = "RESERVATION: retention is workqueue, and should be limits";

fn told(node: &Node) -> Value {
    let (status, body) = node.ask("GET", "/ready", &[], "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Value>(&body).expect("JSON")["broker"].clone()
}

fn until_told(node: &Node, what: impl Fn(&Value) -> bool) {
    let since = Instant::now();
    while !what(&told(node)) {
        assert!(since.elapsed() < LONG, "{}", told(node));
        pause();
    }
}

/// Waiting does not mend it, and nobody would see it in a log.
#[test]
fn a_node_whose_stream_cannot_become_what_it_should_be_does_not_start_and_publishes_nothing() {
    let Some(server) = nats().or_skip() else { return };
    let folder = Folder::new();
    let data = folder.at("data");
    jetstream::make(&server, STREAM, &[SUBJECT], &json!({ "retention": "workqueue" }));
    let up = ["up", "--data", data.to_str().expect("a path"), "--port", "0", "--broker", &server.url()];
    let refused = karwan(&up).exits(1).says(WRONG).says("cannot be changed in place");
    refused.says("docs/errors/broker-topology.md").says("help: ").says("delete it");
    assert!(!data.join("node.json").exists(), "nobody can find a node that did not start");
    assert_eq!(jetstream::last(&server, STREAM), 0, "something was published");
    jetstream::delete(&server, STREAM);
    let node = Node::up(&data, &["--empty", "--broker", &server.url()]);
    assert_eq!(told(&node)["status"], "connected");
    assert_eq!(node.stop(), Some(0));
}

/// A node that works does not end by what its broker says: whoever looks after it mends that meanwhile.
#[test]
fn a_node_that_works_says_what_is_wrong_with_a_stream_of_a_broker_that_came_later() {
    let Some(server) = nats().or_skip() else { return };
    jetstream::make(&server, STREAM, &[SUBJECT], &json!({ "retention": "workqueue" }));
    server.stop();
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--broker", &server.url()]);
    node.karwan(&["try", "booking"]).exits(0);
    server.start_again();
    until_told(&node, |told| told["why"].as_str().is_some_and(|why| why.contains(WRONG)));
    let broker = told(&node);
    assert_eq!(broker["status"], "wrong", "it is there");
    assert!(broker["why"].as_str().is_some_and(|why| why.contains("docs/errors/broker-topology.md")), "{broker}");
    assert!(broker["remedy"].as_str().is_some_and(|remedy| remedy.contains("delete it")), "{broker}");
    let said = node.log.try_iter().find(|line| line.contains(WRONG)).expect("it is logged");
    assert!(said.contains("\"level\":\"warn\"") && said.contains("cannot be changed in place"), "{said}");
    assert!(said.contains("the broker is there") && said.contains("delete it"), "what helps is said: {said}");
    assert!(!said.contains("away"), "{said}");
    node.karwan(&["try", "booking"]).exits(0);
    assert_eq!(jetstream::last(&server, STREAM), 0, "something was published");
    jetstream::delete(&server, STREAM);
    until_told(&node, |told| told["status"] == "connected");
    node.karwan(&["outbox", "--wait", "--broker", &server.url()]).exits(0);
    assert!(jetstream::last(&server, STREAM) > 0);
    assert_eq!(node.violations(), Value::Array(Vec::new()));
    assert_eq!(node.stop(), Some(0));
}
