//! What a relay and `karwan outbox` say of a broker that has no room, and of one that has forgotten what it was given.

use karwan_broker::{Broker, Options, raw};
use karwan_testkit::nats;
use karwan_testkit::nats::Server;
use serde_json::{Value, json};

use super::{LONG, Running, STREAM, filled};
use crate::jetstream;
use crate::karwan::karwan;
use crate::store::place::{Place, SERVICE, SUBJECT, emit};
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
        // Small ones in the end: no event fits between them.
        for bytes in [4_096, 64] {
            loop {
                let before = broker.last_sequence("PROBE").await.expect("it can be asked");
                let ids = (0..20).map(|number| format!("{before}-{number}"));
                raw::publish(&broker, "probe", vec![0; bytes].into(), ids).await.expect("it answers");
                if broker.last_sequence("PROBE").await.expect("it can be asked") == before {
                    break;
                }
            }
        }
    });
}

/// Waits until the relay has nothing left to publish. It may not have saved that yet.
fn until_nothing_is_left(place: &Place<'_>, server: &Server) {
    let since = std::time::Instant::now();
    while relay_of(place, server)["unpublished"] != 0 {
        assert!(since.elapsed() < LONG, "{}", relay_of(place, server));
        pause();
    }
}

/// What `karwan outbox` prints.
fn outbox_of(place: &Place<'_>, server: &Server) -> String {
    karwan(&["outbox", "--store", &place.database.url(), "--broker", &server.url()]).exits(0).stdout
}

/// Waits until there is something to say about the relay, and its stream.
fn until_trouble(place: &Place<'_>, server: &Server) -> Value {
    let since = std::time::Instant::now();
    loop {
        let told = relay_of(place, server);
        if !told["trouble"].is_null() {
            return told;
        }
        assert!(since.elapsed() < LONG, "{told}");
        pause();
    }
}

/// A stream that has got three events, and a relay that has saved that and runs no more.
fn published(place: &Place<'_>, server: &Server) {
    emit(&place.url(), 1..4);
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 3);
    until_nothing_is_left(place, server);
    assert_eq!(relay.stop(), Some(0));
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

    let told = until_trouble(&place, &server);
    let counts = ["unpublished", "parked", "quarantined", "suspended"].map(|name| told[name].clone());
    assert_eq!(counts, [json!(5), json!(0), json!(0), json!(null)], "it is no event's fault: {told}");
    // The broker tells nobody but publishers that the server has no room: that is said, and who knows more.
    let text = outbox_of(&place, &server);
    let under = |column: &str| cell(&text, ("RELAY", column), RELAY);
    assert_eq!((under("UNPUBLISHED").as_str(), under("PARKED").as_str(), under("STATE").as_str()), ("5", "0", "stuck"));
    assert!(text.contains("5 events wait for ") && text.contains("no limit of the stream or of the account"), "{text}");
    assert!(text.contains("help: look at what relay") && text.contains("max_file_store"), "{text}");
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
    let text = outbox_of(&place, &server);
    let under = |column: &str| cell(&text, ("RELAY", column), RELAY);
    assert_eq!((under("HELD BY").as_str(), under("PUBLISHED LAST").as_str()), ("nobody", "-"), "{text}");
    assert_eq!((under("UNPUBLISHED").as_str(), under("STATE").as_str()), ("3", "stream gone"), "{text}");
    assert_eq!(cell(&text, ("TOPIC", "UNPUBLISHED"), SUBJECT), "3", "{text}");
    assert!(
        text.contains(&format!("{RELAY}: the stream {STREAM} is gone: the log still has 3 events for it")),
        "{text}"
    );
    assert!(text.contains("help: start `karwan relay`"), "{text}");
    let told = relay_of(&place, &server);
    assert_eq!((&told["standing"], &told["unpublished"]), (&json!("gone"), &json!(3)), "{told}");
    // Without its broker nobody can know that, and it is said.
    let alone =
        karwan(&["outbox", "--store", &place.database.url()]).exits(0).says("counted by what relays have saved");
    assert_eq!(cell(&alone.stdout, ("RELAY", "UNPUBLISHED"), RELAY), "0", "{}", alone.stdout);
    jetstream::make(&server, "LEGACY", &["melmastoon.payment.>"], &json!({}));
    let text = outbox_of(&place, &server);
    assert!(text.contains("help: LEGACY takes its subjects") && text.contains("broker-overlap.md"), "{text}");
    jetstream::delete(&server, "LEGACY");
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

/// It has the name of the one that was published to, and nothing of what was.
#[test]
fn of_a_stream_that_was_made_anew_it_is_said_what_it_lacks_until_its_relay_has_published_that() {
    let (Some(server), Some(place)) = (nats().or_skip(), place()) else { return };
    published(&place, &server);
    jetstream::delete(&server, STREAM);
    let of = ["--platform", "melmastoon", "--services", SERVICE, "--broker", &server.url()];
    karwan(&[&["topology", "apply"], &of[..]].concat()).exits(0);
    emit(&place.url(), 4..5);
    let text = outbox_of(&place, &server);
    let under = |column: &str| cell(&text, ("RELAY", column), RELAY);
    assert_eq!((under("UNPUBLISHED").as_str(), under("STATE").as_str()), ("4", "made anew"), "{text}");
    assert!(text.contains("the log still has 4 events for it"), "{text}");
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 4);
    until_nothing_is_left(&place, &server);
    // Until it has saved how far it is, all that is known of it is of the stream before.
    let since = std::time::Instant::now();
    while relay_of(&place, &server)["standing"] != "keeps" {
        assert!(since.elapsed() < LONG, "{}", relay_of(&place, &server));
        pause();
    }
    let told = relay_of(&place, &server);
    assert_eq!((&told["unpublished"], &told["trouble"]), (&json!(0), &json!(null)), "{told}");
    assert_eq!(relay.stop(), Some(0));
}

/// What was published is too old to be sent to anybody twice; what never was has been handled by nobody.
#[test]
fn of_events_that_were_never_published_it_is_said_that_they_wait_however_old_they_are() {
    let (Some(server), Some(place)) = (nats().or_skip(), place()) else { return };
    published(&place, &server);
    emit(&place.url(), 4..6);
    place.database.psql("UPDATE karwan.log SET at = at - interval '31 days'").expect("a superuser may");
    jetstream::delete(&server, STREAM);
    let told = relay_of(&place, &server);
    assert_eq!((&told["standing"], &told["unpublished"]), (&json!("gone"), &json!(2)), "{told}");
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 2);
    until_nothing_is_left(&place, &server);
    assert_eq!(relay.stop(), Some(0));
    assert_eq!(jetstream::last(&server, STREAM), 2);
}

/// Its messages may have been handled before they went: they are not unpublished, and whoever misses them learns what helps.
#[test]
fn of_a_stream_that_was_emptied_it_is_said_how_many_events_the_log_has_and_how_they_come_back() {
    let (Some(server), Some(place)) = (nats().or_skip(), place()) else { return };
    published(&place, &server);
    jetstream::purge(&server, STREAM);
    let text = outbox_of(&place, &server);
    let under = |column: &str| cell(&text, ("RELAY", column), RELAY);
    assert_eq!((under("UNPUBLISHED").as_str(), under("STATE").as_str()), ("0", "emptied"), "{text}");
    let said = "was emptied, by hand or by age, up to message 3: the log still has 3 events for it";
    assert!(text.contains(said) && text.contains("else delete it"), "{text}");
    jetstream::delete(&server, STREAM);
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 3);
    assert_eq!(relay.stop(), Some(0));
}

/// What bounds a stream is asked for: its own limits, and those of its account.
#[test]
fn of_a_stream_that_has_reached_a_limit_it_is_said_which() {
    let configuration = "no_auth_user: node
        accounts { A { jetstream: { max_mem: 1M, max_file: 1M }, users: [ { user: node, password: x } ] } }\n";
    let options = nats::Options { configuration: configuration.to_owned(), ..nats::Options::default() };
    let (Some(server), Some(place)) = (Server::start(options).or_skip(), place()) else { return };
    published(&place, &server);
    jetstream::change(&server, STREAM, &json!({ "max_msgs": 3 }));
    emit(&place.url(), 4..6);
    let check = |limit: &str| {
        let told = relay_of(&place, &server);
        assert!(told["trouble"].as_str().is_some_and(|what| what.contains(limit)), "no {limit}: {told}");
        assert!(told["remedy"].as_str().is_some_and(|remedy| remedy.contains("raise that limit")), "{told}");
        let text = outbox_of(&place, &server);
        assert_eq!(cell(&text, ("RELAY", "STATE"), RELAY), "full", "{text}");
        assert!(text.contains(limit) && text.contains("2 events wait in the log"), "{text}");
    };
    check("3 of 3 messages are used (max_msgs)");
    jetstream::change(&server, STREAM, &json!({ "max_msgs": -1 }));
    fill(&server);
    check("of 1000000 bytes are used (max_storage of the account)");
    jetstream::delete(&server, "PROBE");
    let relay = Running::of(&place.url(), &server.url());
    filled(&server.url(), STREAM, 5);
    assert_eq!(relay.stop(), Some(0));
}
