//! What a relay and `karwan outbox` say of a broker that has no room, and of one that has forgotten what it was given.

use karwan_broker::{Broker, Options, raw};
use karwan_testkit::nats;
use karwan_testkit::nats::Server;
use serde_json::{Value, json};

use super::{LONG, Running, STREAM, filled};
use crate::jetstream;
use crate::karwan::karwan;
use crate::store::place::{Place, SUBJECT, emit};
use crate::up::pause;

const RELAY: &str = "relay.PAYMENT_GATEWAY";

/// A database, whose events a relay publishes while others commit: a file has one process.
fn place() -> Option<Place<'static>> {
    Some(Place::new(karwan_testkit::postgres().or_skip()?))
}

/// `karwan outbox --wait`, which runs until everything is published.
fn waiting(place: &Place<'_>, server: &Server) -> Running {
    let (store, broker) = (place.database.url(), server.url());
    Running::started(&["outbox", "--wait", "--store", &store, "--broker", &broker])
}

/// What `karwan outbox` says of the relay, as JSON.
fn relay_of(place: &Place<'_>, server: &Server) -> Value {
    let outbox = ["outbox", "--store", &place.database.url(), "--broker", &server.url(), "--format", "json"];
    let told = karwan(&outbox).exits(0).json();
    let relays = told["relays"].as_array().expect("a list");
    relays.iter().find(|relay| relay["relay"] == RELAY).unwrap_or_else(|| panic!("{told}")).clone()
}

/// What stands under a heading of the table that begins with another one, in the row of this name.
#[track_caller]
fn cell(text: &str, (table, column): (&str, &str), row: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(table));
    let head = lines.next().unwrap_or_else(|| panic!("no {table} in {text}"));
    let place = head.find(column).unwrap_or_else(|| panic!("no {column} in {text}"));
    let line = lines.find(|line| line.starts_with(row)).unwrap_or_else(|| panic!("no {row} in {text}"));
    line.get(place..).and_then(|rest| rest.split("  ").next()).unwrap_or_default().trim().to_owned()
}

/// Fills what the server may store with messages of somebody else, until it takes none.
fn fill(server: &Server) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let broker = Broker::connect(&server.url(), Options::default()).await.expect("it can be reached");
        broker.make_plain_stream("PROBE", "probe").await.expect("there is room for a stream");
        loop {
            let before = broker.last_sequence("PROBE").await.expect("it can be asked");
            let ids = (0..20).map(|number| format!("{before}-{number}"));
            raw::publish(&broker, "probe", vec![0; 4_096].into(), ids).await.expect("it answers");
            if broker.last_sequence("PROBE").await.expect("it can be asked") == before {
                break;
            }
        }
    });
}

/// Waits until the relay has nothing left to publish, and has saved that.
fn until_nothing_is_left(place: &Place<'_>, server: &Server) {
    let since = std::time::Instant::now();
    while relay_of(place, server)["unpublished"] != 0 {
        assert!(since.elapsed() < LONG, "{}", relay_of(place, server));
        pause();
    }
}

/// R-101 and `docs/errors/broker-full.md`: no event is to blame, and what helps is room alone.
#[test]
fn of_a_full_broker_it_is_said_that_the_log_holds_what_it_does_not_take_and_how_much_that_is() {
    let options = nats::Options { store_bytes_max: Some(1 << 20), ..nats::Options::default() };
    let (Some(server), Some(place)) = (Server::start(options).or_skip(), place()) else { return };
    emit(&place.url(), 1..4);
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 3);
    until_nothing_is_left(&place, &server);
    fill(&server);
    emit(&place.url(), 4..9);
    let said = relay.says("the broker takes nothing; the log holds it");
    assert!(said.starts_with("warn: ") && said.contains(&format!("stream={STREAM}")), "{said}");
    assert!(said.contains(&format!("{STREAM} takes nothing more: ")), "{said}");

    let told = relay_of(&place, &server);
    let counts = ["unpublished", "parked", "quarantined", "suspended"].map(|name| told[name].clone());
    assert_eq!(counts, [json!(5), json!(0), json!(0), json!(null)], "it is no event's fault: {told}");
    let outbox = ["outbox", "--store", &place.database.url(), "--broker", &server.url()];
    let text = karwan(&outbox).exits(0).stdout;
    let under = |column: &str| cell(&text, ("RELAY", column), RELAY);
    assert_eq!((under("UNPUBLISHED").as_str(), under("PARKED").as_str(), under("STATE").as_str()), ("5", "0", "runs"));
    assert!(under("PUBLISHED LAST").starts_with("20") && under("HELD BY").starts_with("relay"), "{text}");
    assert_eq!(cell(&text, ("TOPIC", "UNPUBLISHED"), SUBJECT), "5", "{text}");
    let wait = waiting(&place, &server);
    wait.says(&format!("{RELAY} is behind"));

    // Room, and nothing else: the relay goes on by itself.
    jetstream::delete(&server, "PROBE");
    wait.says("is published; waited");
    until_nothing_is_left(&place, &server);
    assert_eq!(jetstream::last(&server, STREAM), 8, "each once");
    assert_eq!(relay.stop(), Some(0));
}

/// Its relay runs: nobody has to do anything.
#[test]
fn of_a_stream_that_was_deleted_it_is_said_that_it_is_made_anew_and_gets_what_the_log_has() {
    let (Some(server), Some(place)) = (nats().or_skip(), place()) else { return };
    emit(&place.url(), 1..4);
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 3);
    until_nothing_is_left(&place, &server);
    jetstream::delete(&server, STREAM);
    emit(&place.url(), 4..6);
    let said = relay.says("there is no such stream: it is made, and gets what the log still has");
    assert!(said.starts_with("error: ") && said.contains(&format!("stream={STREAM}")), "{said}");
    let said = relay.says("a stream has lost messages, or was made anew: what the log still has is published again");
    assert!(said.starts_with("error: ") && said.contains(&format!("stream={STREAM}")), "{said}");
    karwan(&["outbox", "--wait", "--store", &place.database.url(), "--broker", &server.url()])
        .exits(0)
        .says("is published; waited");
    assert_eq!(jetstream::last(&server, STREAM), 5, "everything that the log has, each once");
    assert_eq!(relay.stop(), Some(0));
}

/// Its relay does not run, and its position is that of a stream that is gone.
#[test]
fn of_a_broker_that_came_back_empty_it_is_said_who_is_missing_and_what_is_published_again() {
    let (Some(server), Some(place)) = (nats().or_skip(), place()) else { return };
    emit(&place.url(), 1..4);
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 3);
    until_nothing_is_left(&place, &server);
    assert_eq!(relay.stop(), Some(0));
    server.stop();
    server.start_again_empty();
    let outbox = ["outbox", "--store", &place.database.url(), "--broker", &server.url()];
    let text = karwan(&outbox).exits(0).stdout;
    let under = |column: &str| cell(&text, ("RELAY", column), RELAY);
    assert_eq!((under("HELD BY").as_str(), under("PUBLISHED LAST").as_str()), ("nobody", "-"), "{text}");
    let wait = waiting(&place, &server);
    let said = wait.says(&format!("{RELAY} is run by nobody"));
    assert!(said.contains("start `karwan relay`"), "{said}");
    let relay = Running::of(&place.url(), &server.url());
    relay.says(&format!("made    {STREAM}"));
    let said = relay.says("a stream has lost messages, or was made anew: what the log still has is published again");
    assert!(said.starts_with("error: ") && said.contains(&format!("stream={STREAM} from=0")), "{said}");
    wait.says("everything up to 3 is published; waited");
    assert_eq!(jetstream::last(&server, STREAM), 3);
    assert_eq!(relay.stop(), Some(0));
}
