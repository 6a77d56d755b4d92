use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use karwan_http::server::BODY_BYTES_MAX;
use karwan_http::signature::{AGE_SECONDS_MAX, signature};
use karwan_sandbox::{gateway, locks, messages};
use serde_json::{Value, json};

use super::{Node, ask, begin, exposition, pause, signal, try_ask, until};
use crate::folder::Folder;
use crate::karwan::root;

#[test]
fn a_node_is_alive_and_ready_and_says_what_it_counts() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    assert_eq!(node.ask("GET", "/health", &[], "").0, 200);
    let (status, body) = node.ask("GET", "/ready", &[], "");
    assert_eq!((status, body.contains("\"ready\"")), (200, true), "{body}");
    assert_eq!(node.ask("GET", "/nothing", &[], "").0, 404);
    assert_eq!(node.ask("POST", "/health", &[], "").0, 405);
    let (status, metrics) = node.ask("GET", "/metrics", &[], "");
    assert_eq!(status, 200);
    // R-389: nine metrics. R-390: a tenant is a class, never a label.
    for name in [
        "events_published_total",
        "events_consumed_total",
        "events_dlq_total",
        "event_processing_duration_seconds",
        "outbox_unpublished_count",
        "outbox_oldest_unpublished_seconds",
        "inbox_dedup_skips_total",
        "saga_inflight_count",
        "saga_completed_total",
    ] {
        assert!(metrics.contains(&format!("# TYPE melmastoon_{name} ")), "{name}: {metrics}");
    }
    assert!(metrics.contains("tenant_id_class=\"small\"") && !metrics.contains("tnt_"), "{metrics}");
    // R-171: sagas are counted where they begin and end.
    node.karwan(&["try", "booking", "--fault", "cash-pending"]).exits(0);
    node.karwan(&["try", "booking", "--fault", "oversold"]).exits(0);
    let (_, metrics) = node.ask("GET", "/metrics", &[], "");
    let booking = "service=\"reservation-service\",saga_name=\"booking\"";
    for sample in [
        format!("melmastoon_saga_inflight_count{{{booking}}} 0\n"),
        format!("melmastoon_saga_completed_total{{{booking},outcome=\"success\"}} 1\n"),
        format!("melmastoon_saga_completed_total{{{booking},outcome=\"compensated\"}} 1\n"),
    ] {
        assert!(metrics.contains(&sample), "{sample}: {metrics}");
    }
    assert_eq!(exposition::problems(&metrics), Vec::<String>::new());
    checked_by_promtool(&metrics);
    assert_eq!(node.stop(), Some(0));
}

/// R-171, R-389: a booking that nobody gives rooms is under way, also for a node that comes after a kill, until it has ended.
#[test]
fn a_saga_under_way_is_counted_as_such_also_by_the_node_that_comes_back() {
    const SOME: &[&str] = &["--services", "reservation,pricing,payment"];
    let folder = Folder::new();
    let data = folder.at("data");
    // Everybody knows of rooms and prices; then nobody gives rooms.
    assert_eq!(Node::up(&data, &[]).stop(), Some(0));
    let booking = "service=\"reservation-service\",saga_name=\"booking\"";
    let counts = |node: &Node, count: u32| {
        let sample = format!("melmastoon_saga_inflight_count{{{booking}}} {count}\n");
        node.ask("GET", "/metrics", &[], "").1.contains(&sample)
    };
    let node = Node::up(&data, SOME);
    assert!(counts(&node, 0));
    let begun = begin(&node, None);
    assert!(counts(&node, 1));
    node.kill();
    let node = Node::up(&data, SOME);
    assert!(counts(&node, 1), "it was under way when the node was killed");
    assert_eq!(node.stop(), Some(0));
    let node = Node::up(&data, &[]);
    let text = |name: &str| begun[name].as_str().expect("a text");
    let status = || node.control(&format!("booking/{}/{}", text("tenant"), text("reservation")));
    until("its end", || status() != "held");
    assert!(counts(&node, 0));
    // On a busy machine it may be over before anybody has given rooms.
    let outcome = if status() == "confirmed" { "success" } else { "compensated" };
    let (_, metrics) = node.ask("GET", "/metrics", &[], "");
    let sample = format!("melmastoon_saga_completed_total{{{booking},outcome=\"{outcome}\"}} 1\n");
    assert!(metrics.contains(&sample), "{sample}: {metrics}");
    assert_eq!(exposition::problems(&metrics), Vec::<String>::new());
    assert_eq!(node.stop(), Some(0));
}

/// R-171, R-389: also the parts of it that are lock-integration's, which makes and ends keys slowly.
#[test]
fn a_key_under_way_is_counted_as_such_also_by_the_node_that_comes_back() {
    const WITHOUT_LOCKS: &[&str] = &["--services", "reservation,pricing,payment,inventory"];
    let folder = Folder::new();
    let data = folder.at("data");
    let lock = |saga: &str| format!("service=\"lock-integration-service\",saga_name=\"{saga}\"");
    let counts = |node: &Node, saga: &str, count: u32| {
        let sample = format!("melmastoon_saga_inflight_count{{{}}} {count}\n", lock(saga));
        node.ask("GET", "/metrics", &[], "").1.contains(&sample)
    };
    let ended_well = |node: &Node, saga: &str| {
        let sample = format!("melmastoon_saga_completed_total{{{},outcome=\"success\"}} 1\n", lock(saga));
        let (_, metrics) = node.ask("GET", "/metrics", &[], "");
        assert!(metrics.contains(&sample), "{sample}: {metrics}");
        assert!(counts(node, "booking", 0) && counts(node, "cancellation", 0), "{metrics}");
    };
    // It is killed while the maker of locks is asked; then nobody asks, and then somebody does.
    let killed_and_back = |node: Node, saga: &str| {
        until("a key under way", || counts(&node, saga, 1));
        node.kill();
        let node = Node::up(&data, WITHOUT_LOCKS);
        assert!(counts(&node, saga, 1), "{saga}: it was under way when the node was killed");
        assert_eq!(node.stop(), Some(0));
        let node = Node::up(&data, &[]);
        assert_eq!(node.violations(), json!([]));
        ended_well(&node, saga);
        node
    };
    let node = Node::up(&data, &[]);
    let begun = begin(&node, None);
    let node = killed_and_back(node, "booking");
    node.tell("try", &json!({ "tenant": null, "fault": null, "cancel": begun["reservation"] }));
    let node = killed_and_back(node, "cancellation");
    assert_eq!(node.stop(), Some(0));
}

/// Prometheus's own check, where it can be had.
fn checked_by_promtool(metrics: &str) {
    let Some(promtool) = karwan_testkit::promtool().or_skip() else { return };
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("it is piped").write_all(metrics.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(beyond_the_names(&said), Vec::<&str>::new());
}

/// What is wrong besides the two names that are asked for (R-389) and that promtool keeps for histograms.
fn beyond_the_names(said: &str) -> Vec<&str> {
    let asked_for = |line: &&str| {
        let named = ["melmastoon_outbox_unpublished_count ", "melmastoon_saga_inflight_count "];
        named.iter().any(|name| line.starts_with(name)) && line.contains("\"_count\" suffix")
    };
    said.lines().filter(|line| !line.trim().is_empty() && !asked_for(line)).collect()
}

#[test]
fn only_the_two_names_that_are_asked_for_are_let_through() {
    let suffix = "non-histogram and non-summary metrics should not have \"_count\" suffix";
    let said = format!("melmastoon_saga_inflight_count {suffix}\nmelmastoon_other_count {suffix}\n");
    assert_eq!(beyond_the_names(&said), [format!("melmastoon_other_count {suffix}")]);
    assert_eq!(beyond_the_names("melmastoon_saga_inflight_count no help text").len(), 1);
}

#[test]
fn a_draining_node_is_not_ready() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty"]);
    let card: Value =
        serde_json::from_slice(&std::fs::read(folder.at("data").join("node.json")).expect("a card")).expect("JSON");
    let control = format!("{}/control/v1/status", card["control"].as_str().expect("an address"));
    assert_eq!(ask(&control, "GET", &[], "").0, 401, "nobody asks without the token");
    assert_eq!(ask(&control, "GET", &[("authorization", "Bearer guess")], "").0, 401);
    assert_eq!(node.control("status")["phase"], "working");
    assert_eq!(node.stop(), Some(0));
}

/// While the maker of locks is at it, which takes seconds, the node waits for it and says so.
#[test]
fn a_node_that_drains_says_so_until_it_ends() {
    let folder = Folder::new();
    let mut node = Node::up(&folder.at("data"), &[]);
    let before = node.control("status")["position"].as_str().expect("a position").to_owned();
    begin(&node, None);
    while !node.control(&format!("facts?after={before}")).to_string().contains("key_credential.requested") {
        pause();
    }
    let ready = format!("{}/ready", node.public());
    signal(&node.child, "TERM");
    let mut said = String::new();
    while node.child.try_wait().expect("it can be asked").is_none() && !said.contains("draining") {
        said = try_ask(&ready).unwrap_or_default();
        pause();
    }
    assert!(said.contains("draining"), "{said}");
    assert_eq!(node.child.wait().expect("it ends").code(), Some(0));
}

/// R-268
#[test]
fn a_webhook_that_nobody_signed_is_refused_with_its_code() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty"]);
    let body = r#"{"id":"ev_1","type":"charge.captured","account":"a","reference":"r","data":{}}"#;
    for headers in [&[][..], &[("sandpay-signature", "t=1,v1=00")][..]] {
        let (status, said) = node.ask("POST", "/webhooks/v1/sandpay", headers, body);
        assert_eq!(status, 401, "{said}");
        assert!(said.contains("MELMASTOON.PAYMENT.WEBHOOK_SIGNATURE_INVALID"), "{said}");
    }
    let signed = signature("sandbox-gateway-webhooks", now(), body.as_bytes());
    let (status, said) = node.ask("POST", "/webhooks/v1/sandpay", &[("sandpay-signature", &signed)], body);
    assert_eq!(status, 400, "signed, and nonsense: {said}");
    assert_eq!(node.ask("POST", "/webhooks/v1/nobody", &[], body).0, 404);
    assert_eq!(node.ask("POST", "/webhooks/v2/sandpay", &[], body).0, 404);
}

/// What a vendor is called, how it signs, and what it is told whose signature is none.
const VENDORS: [(&str, &str, &str, &str); 3] = [
    ("sandpay", gateway::WEBHOOK_HEADER, gateway::WEBHOOK_SECRET, "MELMASTOON.PAYMENT.WEBHOOK_SIGNATURE_INVALID"),
    ("latch", locks::WEBHOOK_HEADER, locks::WEBHOOK_SECRET, "MELMASTOON.LOCK.WEBHOOK_SIGNATURE_INVALID"),
    (
        "sandbox",
        messages::WEBHOOK_HEADER,
        messages::WEBHOOK_SECRET,
        "MELMASTOON.NOTIFICATION.WEBHOOK_SIGNATURE_INVALID",
    ),
];

/// R-268: unsigned, forged, kept by somebody, unreadable, too long, for nobody: each has a code with a page, and leaves nothing.
#[test]
fn a_webhook_that_is_refused_is_told_why_and_leaves_nothing() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty"]);
    let before = node.control("status")["position"].clone();
    let check = |path: &str, headers: &[(&str, &str)], body: &str, expected: (u16, &str)| {
        let (status, said) = node.ask("POST", path, headers, body);
        assert_eq!((status, said.contains(expected.1)), (expected.0, true), "{path} {headers:?}: {said}");
        let page = std::fs::read_to_string(root().join(format!("docs/errors/{}.md", expected.1)));
        assert!(page.is_ok_and(|page| page.starts_with(&format!("# {}\n", expected.1))), "{} has a page", expected.1);
    };
    let long = "x".repeat(BODY_BYTES_MAX + 1);
    for (provider, header, secret, unsigned) in VENDORS {
        let (path, body) = (format!("/webhooks/v1/{provider}"), r#"{"id":"n-1"}"#);
        let signed = |secret: &str, at: u64, body: &str| signature(secret, at, body.as_bytes());
        let kept = signed(secret, now() - AGE_SECONDS_MAX - 60, body);
        for forged in [signed("another secret", now(), body), signed(secret, now(), "another body"), kept] {
            check(&path, &[(header, &forged)], body, (401, unsigned));
        }
        check(&path, &[], body, (401, unsigned));
        check(&path, &[("x-signature", &signed(secret, now(), body))], body, (401, unsigned));
        let good = signed(secret, now(), body);
        check(&path, &[(header, &good)], body, (400, "MELMASTOON.GENERAL.VALIDATION_FAILED"));
        check(&path, &[(header, &signed(secret, now(), &long))], &long, (413, "http-too-large"));
        check("/webhooks/v1/nobody", &[(header, &good)], body, (404, "MELMASTOON.EDGE.PROVIDER_UNKNOWN"));
        check(&format!("/webhooks/v2/{provider}"), &[(header, &good)], body, (404, "MELMASTOON.EDGE.NOT_FOUND"));
    }
    assert_eq!(node.control("status")["position"], before, "something was written");
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn every_code_of_the_edge_has_a_page_and_a_row() {
    let read =
        |path: &str| std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let source = ["edge", "webhooks"].map(|name| read(&format!("crates/cli/src/up/{name}.rs"))).concat();
    let codes: BTreeSet<&str> = source.split('"').filter(|text| text.starts_with("MELMASTOON.")).collect();
    assert!(codes.len() >= 8, "{codes:?}");
    let index = read("docs/errors/README.md");
    for code in codes {
        assert!(read(&format!("docs/errors/{code}.md")).starts_with(&format!("# {code}\n")), "{code}");
        assert!(index.contains(&format!("[{code}]({code}.md)")), "{code}");
    }
}

#[expect(clippy::disallowed_methods, reason = "signatures are of the machine's time")]
pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs()
}

/// R-396
#[test]
fn every_line_of_the_log_is_an_object_with_event_correlation_and_tenant_and_nobodys_data() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--verbose"]);
    node.karwan(&["try", "booking", "--fault", "cash-pending"]).exits(0);
    let mut lines: Vec<String> = Vec::new();
    while !lines.iter().any(|line| line.contains("booking.confirmed")) {
        lines.extend(node.log.try_iter());
        pause();
    }
    assert_eq!(node.stop(), Some(0));
    let mut about_events = 0;
    for line in &lines {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for name in ["at", "level", "message", "eventId", "correlationId", "tenantId"] {
            assert!(object.get(name).is_some(), "{name}: {line}");
        }
        about_events += usize::from(object["eventId"].is_string() && object["tenantId"].is_string());
        assert!(!line.contains("Zarghuna") && !line.contains("example.af") && !line.contains("+93700"), "{line}");
    }
    assert!(about_events > 10, "{lines:?}");
}
