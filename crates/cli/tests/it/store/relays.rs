//! `karwan relay` as a process of its own, over real servers; and consumers whose stream it fills, in the hands of operators.

mod lossy;
mod streams;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use karwan_broker::{Broker, Options};
use karwan_testkit::nats::{self, Server};
use serde_json::json;

use super::place::{Place, SERVICE, SUBJECT, TENANT, emit, file};
use crate::folder::Folder;
use crate::karwan::{Answer, karwan};
use crate::up::{pause, signal};

/// How long anything may take: two busy cores run all tests at once.
const LONG: Duration = Duration::from_secs(120);
const STREAM: &str = "PAYMENT_GATEWAY";
const CLERK: &str = "billing.clerk";

/// What the clerk has given up, by its rows of the log.
const DEAD: &str = "INSERT INTO dead (consumer, event, seq, logged, tenant, subject, key, attempts, error, envelope, at)
    SELECT 'billing.clerk', event, seq, at, tenant, 'melmastoon.payment.intent.captured.v1', key, 7, 'no room', envelope, at
    FROM log";

/// Changes a file behind everybody's back.
fn sql(store: &str, text: &str) {
    let path = store.strip_prefix("sqlite:").expect("a file");
    rusqlite::Connection::open(path).and_then(|it| it.execute_batch(text)).expect("nobody else has the file");
}

/// A relay that runs.
struct Running {
    child: Child,
    said: Receiver<String>,
}

impl Running {
    fn of(store: &str, broker: &str) -> Self {
        Self::of_service(SERVICE, store, broker)
    }

    fn of_service(service: &str, store: &str, broker: &str) -> Self {
        let words = ["relay", "--platform", "melmastoon", "--services", service, "--store", store, "--broker", broker];
        Self::started(&words)
    }

    /// A command that runs on, and what it says.
    fn started(words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_karwan"))
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let (tell, said) = channel();
        let stderr = child.stderr.take().expect("it was piped");
        std::thread::spawn(move || {
            // Nobody listens any more when the test is over.
            BufReader::new(stderr).lines().map_while(Result::ok).all(|line| tell.send(line).is_ok())
        });
        Self { child, said }
    }

    /// Waits until it says something.
    #[track_caller]
    fn says(&self, text: &str) -> String {
        let mut before = Vec::new();
        loop {
            let line = self.said.recv_timeout(LONG).unwrap_or_else(|_| panic!("no `{text}` in {before:?}"));
            if line.contains(text) {
                return line;
            }
            before.push(line);
        }
    }

    fn stop(mut self) -> Option<i32> {
        signal(&self.child, "TERM");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until a stream has so many messages.
#[track_caller]
fn filled(url: &str, stream: &str, count: u64) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let began = Instant::now();
    let broker = runtime.block_on(Broker::connect(url, Options::default())).expect("it can be reached");
    while runtime.block_on(broker.last_sequence(stream)).unwrap_or(0) < count {
        assert!(began.elapsed() < LONG, "{stream} does not get {count} messages");
        pause();
    }
}

#[test]
fn a_relay_that_is_started_while_its_broker_is_away_says_so_and_begins_when_it_is_there() {
    let Some(server) = Server::start(nats::Options::default()).or_skip() else { return };
    let (_folder, store) = file();
    emit(&store, 1..4);
    server.stop();
    let relay = Running::of(&store, &server.url());
    let said = relay.says("cannot be reached");
    assert!(said.contains("asked again until it answers"), "{said}");
    server.start_again();
    relay.says("relaying to 1 streams");
    filled(&server.url(), STREAM, 3);
    assert_eq!(relay.stop(), Some(0));
}

#[test]
fn a_relay_that_waits_for_its_broker_stops_when_it_is_told_and_one_with_a_wrong_address_ends_at_once() {
    let (_folder, store) = file();
    let relay = Running::of(&store, "nats://127.0.0.1:1");
    relay.says("asked again until it answers");
    assert_eq!(relay.stop(), Some(0));
    let wrong =
        ["relay", "--platform", "melmastoon", "--store", &store, "--broker", "nats://127.0.0.1:1?creds=/no/such/file"];
    karwan(&wrong).exits(1).says("broker-credentials").says("/no/such/file");
}

/// As it is written everywhere: a store and a broker.
#[test]
fn a_relay_is_of_the_platform_whose_events_its_store_has() {
    let Some(server) = Server::start(nats::Options::default()).or_skip() else { return };
    let (_folder, store) = file();
    let url = server.url();
    let words = ["relay", "--store", &store, "--broker", &url];
    let asked = karwan(&words).exits(64).says("which platform? several have topics in this store");
    let asked = asked.says("--platform melmastoon or --platform learning or --platform panorama");
    // What helps can be copied: with a service that several have it is what is missing, and no more.
    let help = asked.stderr.lines().find_map(|line| line.trim().strip_prefix("help: ")).expect("it says what helps");
    assert_eq!(help, format!("karwan relay --store {store} --broker {url} --platform melmastoon"));
    let copied: Vec<&str> = help.split(' ').skip(1).collect();
    let relay = Running::started(&copied);
    relay.says("relaying to ");
    assert_eq!(relay.stop(), Some(0));
    let secret = url.replace("nats://", "nats://me:hush-hush@");
    let asked = karwan(&["relay", "--services", "audit-service", "--durable", "--store", &store, "--broker", &secret]);
    let asked =
        asked.exits(64).says(&format!("--broker {url} --durable --services audit-service --platform melmastoon"));
    assert!(!asked.stderr.contains("hush-hush"), "{}", asked.stderr);
    // The only one that has the service.
    let relay = Running::started(&[&words[..], &["--services", SERVICE]].concat());
    relay.says("the platform is melmastoon");
    relay.says("relaying to 1 streams");
    assert_eq!(relay.stop(), Some(0));
    emit(&store, 1..4);
    let relay = Running::started(&words);
    relay.says("the platform is melmastoon, by what the store has");
    filled(&url, STREAM, 3);
    assert_eq!(relay.stop(), Some(0));
    karwan(&["lost", "--store", &store, "--broker", &url]).exits(0).says("the platform is melmastoon");
    karwan(&["topology", "check", "--store", &store, "--broker", &url]).exits(0).says("the platform is melmastoon");
    karwan(&[&words[..], &["--services", "payment-gatewy-service"]].concat()).exits(64).says("did you mean");
    sql(
        &store,
        "INSERT INTO log (tenant, subject, key, slot, event, at, envelope)
         SELECT tenant, (SELECT min(id) FROM subject WHERE name LIKE 'panorama.%'), key, slot, randomblob(16), at, envelope
         FROM log WHERE seq = 1",
    );
    let asked = karwan(&words).exits(64).says("several have events in this store");
    let asked = asked.says("--platform melmastoon or --platform panorama (see --help)");
    assert!(!asked.stderr.contains("learning"), "{}", asked.stderr);
}

/// What no client can learn of a server is said where somebody asks for it.
#[test]
fn what_durable_mode_rests_on_and_where_to_look_for_it_is_in_the_help() {
    let help = karwan(&["relay", "--help"]).exits(0);
    help.prints("sync_interval: always").prints("which is not checked").prints("/varz` has `\"sync_always\": true`");
}

#[test]
fn the_platform_of_a_database_is_told_by_its_events() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let check = ["topology", "check", "--store", &place.url(), "--broker", "nats://127.0.0.1:1"];
    karwan(&check).exits(64).says("several have topics in this store");
    place.append(TENANT, &["pay_1"]);
    karwan(&check).exits(1).says("the platform is melmastoon").says("cannot be reached");
}

/// The letters of a store are done by whoever relays anything of it.
#[test]
fn a_relay_of_some_services_publishes_the_dead_letters_of_others() {
    let Some(server) = Server::start(nats::Options::default()).or_skip() else { return };
    let (_folder, store) = file();
    emit(&store, 1..2);
    sql(&store, &format!("{DEAD} WHERE seq = 1"));
    let relay = Running::of_service("reservation-service", &store, &server.url());
    filled(&server.url(), "PAYMENT_GATEWAY_DLQ", 1);
    assert_eq!(relay.stop(), Some(0));
}

#[test]
fn a_relay_and_a_check_go_over_tls_with_a_password() {
    let configuration = "authorization { user: relay, password: hush-hush }\n".to_owned();
    let options = nats::Options { configuration, tls: true, ..nats::Options::default() };
    let Some(server) = Server::start(options).or_skip() else { return };
    let (_folder, store) = file();
    emit(&store, 1..4);
    let url = server.tls_url_as("relay", "hush-hush");
    let check = ["topology", "check", "--platform", "melmastoon", "--services", SERVICE, "--broker", &url];
    karwan(&check).exits(1).prints("PAYMENT_GATEWAY: is not there");
    let relay = Running::of(&store, &url);
    filled(&url, STREAM, 3);
    let said = relay.says("relaying to 1 streams");
    assert!(!said.contains("hush-hush"), "{said}");
    assert_eq!(relay.stop(), Some(0));
    karwan(&check).exits(0).says("everything is as it should be");
}

/// A stream with three messages, all handled by a consumer that it feeds, in a store that nobody runs now.
struct Fed {
    server: Server,
    store: String,
    _folder: Folder,
}

impl Fed {
    fn new() -> Option<Self> {
        let server = Server::start(nats::Options::default()).or_skip()?;
        let (folder, store) = file();
        emit(&store, 1..4);
        let relay = Running::of(&store, &server.url());
        filled(&server.url(), STREAM, 3);
        assert_eq!(relay.stop(), Some(0));
        let fed = Self { server, store, _folder: folder };
        fed.sql(&format!(
            "INSERT INTO lane_count VALUES ('{CLERK}', 2);
             INSERT INTO lane (consumer, lane, position, epoch, holder, lease_from, lease_until)
                VALUES ('{CLERK}', 0, 3, 1, NULL, 0, 0), ('{CLERK}', 1, 3, 1, NULL, 0, 0);
             INSERT INTO inbox SELECT '{CLERK}', event, tenant, seq, at FROM log;
             INSERT INTO declared (consumer, forward_only, rebuildable, subjects, at, stream)
                VALUES ('{CLERK}', 0, 0, '{SUBJECT}', 0, '{STREAM}')"
        ));
        Some(fed)
    }

    fn sql(&self, text: &str) {
        sql(&self.store, text);
    }

    fn count(&self, sql: &str) -> i64 {
        let path = self.store.strip_prefix("sqlite:").expect("a file");
        let connection = rusqlite::Connection::open(path).expect("it opens");
        connection.query_row(sql, [], |row| row.get(0)).expect("a number")
    }

    /// Where the lanes are, how many claims there are, and how many events are given once more.
    fn state(&self) -> [i64; 3] {
        let lanes = format!("SELECT min(position) FROM lane WHERE consumer = '{CLERK}'");
        [self.count(&lanes), self.count("SELECT count(*) FROM inbox"), self.count("SELECT count(*) FROM parked")]
    }

    fn karwan(&self, args: &[&str]) -> Answer {
        karwan(&[args, &["--store", &self.store, "--reason", "INC-7", "--yes"]].concat())
    }

    fn with_broker(&self, args: &[&str]) -> Answer {
        self.karwan(&[args, &["--broker", &self.server.url()]].concat())
    }
}

/// R-140 … R-142: places are the stream's, times its broker's, and claims those of its messages.
#[test]
fn a_consumer_of_a_stream_is_moved_cleared_and_rebuilt_by_what_its_broker_says() {
    let Some(fed) = Fed::new() else { return };
    fed.with_broker(&["consumer", "seek", CLERK, "--to", "1"]).exits(0).prints("2 lanes from 3 to 1");
    fed.with_broker(&["consumer", "seek", CLERK, "--undo"]).exits(0).prints("2 lanes from 1 to 3");
    fed.with_broker(&["consumer", "seek", CLERK, "--to", "4"]).exits(1).says("has no place");
    fed.with_broker(&["consumer", "seek", CLERK, "--time", "1h"]).exits(0).prints("2 lanes from 3 to 0");
    assert_eq!(fed.state(), [0, 3, 0], "what is handled stays handled");
    let clear = ["inbox", "clear", "--consumer", CLERK, "--since", "1h"];
    fed.karwan(&clear).exits(1).says("fed by the stream PAYMENT_GATEWAY");
    fed.with_broker(&[&clear[..], &["--tenant", "platform"]].concat()).exits(0).prints("nothing to take back");
    fed.with_broker(&clear).exits(0).prints("3 claims of billing.clerk were taken back");
    assert_eq!(fed.state(), [0, 0, 0]);
    fed.sql(&format!("INSERT INTO inbox SELECT '{CLERK}', event, tenant, seq, at FROM log"));
    let rebuilt = fed.with_broker(&["consumer", "rebuild", CLERK, "--json"]).exits(0).json();
    assert_eq!(rebuilt["events"], json!(3), "{rebuilt}");
    assert_eq!(fed.state(), [0, 0, 0]);
}

/// one subscriber, and back again.
#[test]
fn events_of_a_stream_are_given_to_its_consumer_again_and_taken_back() {
    let Some(fed) = Fed::new() else { return };
    let replay = ["replay", "--topic", SUBJECT, "--since", "1h", "--idempotency-safe", "--consumer", CLERK];
    fed.karwan(&replay).exits(1).says("fed by the stream PAYMENT_GATEWAY");
    fed.with_broker(&replay).exits(0).prints("3 events are given to billing.clerk once more (action 1)");
    assert_eq!(fed.state(), [3, 0, 3]);
    karwan(&["replay", "--undo", "1", "--yes", "--reason", "x", "--store", &fed.store])
        .exits(0)
        .prints("3 events of action 1");
    assert_eq!(fed.state(), [3, 3, 0]);
    filled(&fed.server.url(), STREAM, 3);
}

/// Without a broker nobody goes back: neither the one that a stream feeds, nor the other, whose name comes first.
#[test]
fn a_replay_to_all_moves_nobody_where_one_of_them_needs_a_broker_that_is_not_named() {
    let Some(fed) = Fed::new() else { return };
    fed.sql(&format!(
        "INSERT INTO lane_count VALUES ('a.reader', 1);
         INSERT INTO lane (consumer, lane, position, epoch, holder, lease_from, lease_until)
            VALUES ('a.reader', 0, 3, 1, NULL, 0, 0);
         INSERT INTO declared (consumer, forward_only, rebuildable, subjects, at) VALUES ('a.reader', 0, 0, '{SUBJECT}', 0)"
    ));
    let replay = ["replay", "--topic", SUBJECT, "--since", "1h", "--idempotency-safe"];
    fed.karwan(&replay).exits(1).says("fed by the stream PAYMENT_GATEWAY");
    assert_eq!(fed.count("SELECT min(position) FROM lane WHERE consumer IN ('a.reader', 'billing.clerk')"), 3);
    assert_eq!(fed.count("SELECT count(*) FROM action"), 0);
    let told = fed.with_broker(&replay).exits(0);
    told.prints("a.reader reads again from 0").prints("billing.clerk reads again from 0");
}

/// Its store has no log to compare with: what ran behind a dead event is not known there (`docs/guides/dead-letters.md`).
#[test]
fn a_dead_event_of_a_stream_is_retried_by_whoever_says_that_order_does_not_matter() {
    let Some(fed) = Fed::new() else { return };
    fed.sql(&format!("{DEAD} WHERE seq = 1; DELETE FROM log"));
    let listed = karwan(&["dlq", "list", "--format", "json", "--store", &fed.store]).exits(0).json();
    let event = listed[0]["event"].as_str().expect("an event");
    let key = format!("{TENANT}:{}", listed[0]["key"].as_str().expect("a key"));
    let story = karwan(&["key", "show", &key, "--store", &fed.store]).exits(0).prints(CLERK).prints("no room");
    assert!(!story.stdout.contains("handled"), "{}", story.stdout);
    let retry = ["dlq", "retry", event, "--consumer", CLERK];
    fed.karwan(&retry).exits(1).says("another database's").says("docs/errors/store-out-of-order.md");
    assert_eq!(fed.state(), [3, 3, 0]);
    fed.karwan(&[&retry[..], &["--out-of-order"]].concat()).exits(0);
    assert_eq!(fed.state(), [3, 2, 1], "it waits for whoever runs the consumer, and is claimed no more");
}
