//! `karwan up` as anybody runs it: a process of its own, asked over its sockets, stopped and killed.

mod alerts;
mod bind;
mod broker;
mod edge;
mod exposition;
mod faults;
mod furnishing;
mod guide;
mod kill;
mod kpis;
mod load;
mod notices;
mod outside;
mod place;
mod sagas;
mod start;
mod streams;
mod summary;
mod terminal;
mod tries;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::karwan::{Answer, karwan};

/// How long anything may take: two busy cores run all tests at once.
pub const LONG: Duration = Duration::from_secs(120);

/// A running node.
pub struct Node {
    pub child: Child,
    data: PathBuf,
    /// What it logs, line by line.
    pub log: Receiver<String>,
}

impl Node {
    /// Starts one, and waits until it is ready.
    pub fn up(data: &Path, more: &[&str]) -> Self {
        let mut node = Self::begun(data, more);
        let since = Instant::now();
        // One that was killed has left its card.
        while !node.has_announced() {
            assert!(since.elapsed() < LONG, "it is not ready");
            if let Some(ended) = node.child.try_wait().expect("it can be asked") {
                panic!("it ended: {ended}: {:?}", node.log.try_iter().collect::<Vec<_>>());
            }
            pause();
        }
        node
    }

    fn has_announced(&self) -> bool {
        let text = fs::read(self.data.join("node.json")).unwrap_or_default();
        serde_json::from_slice::<Value>(&text).is_ok_and(|card| card["pid"] == self.child.id())
    }

    /// Starts one, and does not wait.
    pub fn begun(data: &Path, more: &[&str]) -> Self {
        // A port that a test names is the one.
        let port: &[&str] = if more.contains(&"--port") { &[] } else { &["--port", "0"] };
        Self::told(data, &[port, &["--log", "json"], more].concat())
    }

    /// Starts one with these words and no others, and does not wait.
    pub fn told(data: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_karwan"))
            .args(["up", "--data"])
            .arg(data)
            .args(words)
            .env_remove("KARWAN_STORE")
            .env_remove("KARWAN_BROKER")
            .current_dir(data.parent().expect("it stands in a folder"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let (tell, log) = channel();
        let stderr = child.stderr.take().expect("it was piped");
        std::thread::spawn(move || {
            // Nobody listens any more when the test is over.
            BufReader::new(stderr).lines().map_while(Result::ok).all(|line| tell.send(line).is_ok())
        });
        Self { child, data: data.to_owned(), log }
    }

    fn card(&self) -> Value {
        let text = fs::read(self.data.join("node.json")).expect("a node has a card");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Where everybody finds it.
    pub fn public(&self) -> String {
        self.card()["public"].as_str().expect("an address").to_owned()
    }

    /// Asks over its socket: status and body.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        ask(&format!("{}{path}", self.public()), method, headers, body)
    }

    /// Asks over the control API.
    pub fn control(&self, path: &str) -> Value {
        let card = self.card();
        let bearer = format!("Bearer {}", card["token"].as_str().expect("a token"));
        let url = format!("{}/control/v1/{path}", card["control"].as_str().expect("an address"));
        let (status, body) = ask(&url, "GET", &[("authorization", &bearer)], "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Has something done over the control API.
    pub fn tell(&self, path: &str, body: &Value) -> Value {
        let card = self.card();
        let bearer = format!("Bearer {}", card["token"].as_str().expect("a token"));
        let url = format!("{}/control/v1/{path}", card["control"].as_str().expect("an address"));
        let (status, said) = ask(&url, "POST", &[("authorization", &bearer)], &body.to_string());
        assert_eq!(status, 200, "{path}: {said}");
        serde_json::from_str(&said).expect("JSON")
    }

    /// Waits until nothing is under way, and then answers what does not hold.
    pub fn violations(&self) -> Value {
        let since = Instant::now();
        while self.control("drained") != Value::Bool(true) {
            assert!(since.elapsed() < LONG, "it does not drain");
            pause();
        }
        self.control("invariants")
    }

    /// Runs a command that asks it.
    pub fn karwan(&self, words: &[&str]) -> Answer {
        let data = self.data.to_str().expect("a path").to_owned();
        let words = words.iter().map(|word| (*word).to_owned()).chain(["--data".to_owned(), data]);
        karwan(&words.collect::<Vec<String>>())
    }

    /// Tells it to stop, as a supervisor does, and waits: its exit code.
    pub fn stop(mut self) -> Option<i32> {
        signal(&self.child, "TERM");
        self.child.wait().expect("it ends").code()
    }

    /// Kills it, as a power cut does.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Puts another document for one that a stopped node keeps in its own directory, or beside it: for what its own vendors never do.
pub fn change<D: karwan::Document>(data: &Path, tenant: &str, id: &str, change: impl Fn(D, &karwan::TenantTx) -> D) {
    let tenant = karwan::Tenant::One(tenant.parse().expect("a tenant"));
    let context = karwan::Context { tenant, ..karwan::context("platform", 1) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let catalogue = karwan::Catalogue::of(&melmastoon::platform::PLATFORM).expect("it is sound");
        let options = karwan_store::Options::new(Arc::new(catalogue), melmastoon::hotel::kinds());
        let address = karwan_store::Address::Sqlite(data.join("karwan.db"));
        let store = karwan_store::Store::open(&address, options).await.expect("it opens");
        let unit = async |tx: karwan::TenantTx| {
            let changed = change(tx.get::<D>(id).await?, &tx);
            tx.put(changed);
            Ok::<_, karwan::Error>(())
        };
        store.unit(&context, unit).await.expect("it is changed");
    });
}

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// Between two looks at another process, which tells nobody when it is ready.
#[expect(clippy::disallowed_methods, reason = "another process gives no signal that could be waited for")]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

/// Looks until it is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    until_within(LONG, what, is_so);
}

/// The same, where somebody does not wait for long.
pub fn until_within(bound: Duration, what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < bound, "waited in vain for {what}");
        pause();
    }
}

/// Everything that the log has after a position.
pub fn facts(node: &Node, after: &str) -> Vec<Value> {
    let (mut position, mut facts) = (after.to_owned(), Vec::new());
    loop {
        let part = node.control(&format!("facts?after={position}"));
        facts.extend(part["facts"].as_array().expect("facts").iter().cloned());
        let next = part["position"].as_str().expect("a position").to_owned();
        if next == position {
            return facts;
        }
        position = next;
    }
}

/// Starts a booking and does not wait for it.
pub fn begin(node: &Node, fault: Option<&str>) -> Value {
    node.tell("try", &serde_json::json!({ "tenant": null, "fault": fault, "cancel": null }))
}

/// What somebody says who may be gone.
pub fn try_ask(url: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = karwan_http::Client::new(LONG);
    let get = "GET".parse().expect("a method");
    runtime.block_on(async { client.send(get, url, &[], String::new()).await.ok().map(|answer| answer.text()) })
}

/// One request over a socket.
pub fn ask(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = karwan_http::Client::new(LONG);
        let method = method.parse().expect("a method");
        let answer = client.send(method, url, headers, body.to_owned()).await.expect("it answers");
        (answer.status.as_u16(), answer.text())
    })
}
