//! Streams of a broker, by the command line and a real server.

use karwan_envelope::time::{Clock as _, SystemClock, Timestamp};
use karwan_testkit::nats;
use serde_json::json;

use crate::jetstream;
use crate::karwan::{call, karwan};

const PLATFORM: [&str; 3] = ["--platform", "melmastoon", "--services=reservation-service"];

/// A verb of the topology, with these words behind it.
fn words<'a>(verb: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["topology", verb], &PLATFORM[..], more].concat()
}

#[test]
fn the_streams_of_a_catalogue_are_shown() {
    let shown = karwan(&words("show", &[])).exits(0);
    shown.prints("RESERVATION  fed by reservation-service, kept 7 days, dead letters in RESERVATION_DLQ");
    let all = karwan(&["topology", "show", "--platform", "melmastoon", "--format", "json"]).exits(0).json();
    let streams = all.as_array().unwrap();
    assert!(streams.len() > 10, "{all}");
    let locks = streams.iter().find(|stream| stream["stream"] == "LOCK_INTEGRATION").unwrap();
    assert_eq!(locks["service"], json!("lock-integration-service"));
}

#[test]
fn without_a_platform_the_choices_are_named() {
    let choices = "--platform <melmastoon|learning|panorama>";
    karwan(&["topology", "show"]).exits(64).says(choices);
    karwan(&["topology", "emit-nats"]).exits(64).says(choices);
    let answer = karwan(&["topology", "check", "--broker", "nats://127.0.0.1:1"]).exits(64);
    answer.says("which platform? neither it nor a store is named").says("--platform melmastoon or --platform learning");
}

#[test]
fn a_wrong_service_gets_a_suggestion() {
    let call = |name: &str| karwan(&["topology", "show", "--platform", "melmastoon", "--services", name]).exits(64);
    call("reservaton-service").says("did you mean `reservation-service`?");
    call("nothing-like-it").says("reservation-service");
}

#[test]
fn streams_are_checked_made_and_found_in_order() {
    let Some(server) = nats().or_skip() else { return };
    let url = server.url();
    karwan(&words("check", &["--broker", &url])).exits(1).prints("RESERVATION: is not there").says("topology apply");
    karwan(&words("apply", &["--broker", &url])).exits(0).prints("made    RESERVATION\nmade    RESERVATION_DLQ\n");
    karwan(&words("check", &["--broker", &url])).exits(0).says("everything is as it should be");
    call(&words("apply", &[])).variable("KARWAN_BROKER", &url).run().exits(0).says("everything is as it should be");
}

/// The last line says what the lines before it mean.
#[test]
fn a_check_that_lists_something_does_not_say_that_nothing_differs() {
    const FINE: &str = "everything is as it should be";
    let Some(server) = nats().or_skip() else { return };
    let url = server.url();
    karwan(&words("apply", &["--broker", &url])).exits(0);
    let longer = json!({ "max_age": 0 });
    jetstream::change(&server, "RESERVATION", &longer);
    let more = karwan(&words("check", &["--broker", &url])).exits(0).prints("max_age").says("nothing is missing");
    assert!(!more.stderr.contains(FINE), "{}", more.stderr);
    jetstream::delete(&server, "RESERVATION");
    jetstream::make(
        &server,
        "RESERVATION",
        &["melmastoon.reservation.booking.confirmed.v1"],
        &json!({ "storage": "memory" }),
    );
    let fixed = karwan(&words("check", &["--broker", &url])).exits(1).says("docs/errors/broker-topology.md");
    assert!(!fixed.stderr.contains(FINE) && !fixed.stderr.contains("makes it so"), "{}", fixed.stderr);
}

#[test]
fn of_two_platforms_on_one_broker_the_second_is_told_to_go_elsewhere() {
    let Some(server) = nats().or_skip() else { return };
    let url = server.url();
    karwan(&["topology", "apply", "--platform", "melmastoon", "--broker", &url]).exits(0).prints("made    ANALYTICS");
    let learning = |verb| karwan(&["topology", verb, "--platform", "learning", "--broker", &url]).exits(1);
    let refused = learning("apply").says("ANALYTICS is not of learning: it takes melmastoon.analytics.");
    refused.says("docs/errors/broker-other-platform.md").says("help: give each platform an account");
    let checked = learning("check").prints("ANALYTICS: takes melmastoon.analytics.").says("is left as it is");
    assert!(!checked.stderr.contains("makes it so"), "{}", checked.stderr);
    let (_folder, store) = crate::store::place::file();
    let relay = karwan(&["relay", "--platform", "learning", "--store", &store, "--broker", &url]).exits(1);
    let relay = relay.says("ANALYTICS is not of learning");
    assert!(!relay.stderr.contains("relaying to"), "{}", relay.stderr);
    let melmastoon = ["topology", "check", "--platform", "melmastoon", "--broker", &url];
    karwan(&melmastoon).exits(0).says("everything is as it should be");
}

/// A server that is alone keeps no copies, and says so.
#[test]
fn a_relay_asks_for_as_many_copies_of_a_stream_as_it_is_told() {
    let Some(server) = nats().or_skip() else { return };
    let (_folder, store) = crate::store::place::file();
    let place = ["--platform", "melmastoon", "--store", &store, "--broker", &server.url()];
    let of = [&["relay", "--services", "reservation-service"], &place[..]].concat();
    karwan(&[&of[..], &["--replicas", "3"]].concat()).exits(1).says("replicas");
    karwan(&[&of[..], &["--replicas", "6"]].concat()).exits(64).says("--replicas");
    let data = crate::folder::Folder::new();
    let data = data.at("data").to_str().expect("a path").to_owned();
    let up = ["up", "--data", &data, "--port", "0", "--empty", "--broker", &server.url(), "--replicas", "3"];
    karwan(&up).exits(1).says("replicas");
}

#[test]
fn without_a_broker_the_ways_to_name_it_are_said() {
    karwan(&words("check", &[])).exits(64).says("which broker?").says("KARWAN_BROKER");
    karwan(&words("check", &["--broker", "http://x:s3cret@y"])).exits(64).says("docs/errors/broker-address.md");
    let answer = karwan(&words("check", &["--broker", "nats://x:s3cret@127.0.0.1:1"])).exits(1);
    let answer = answer.says("nats://127.0.0.1:1 cannot be reached").says("docs/errors/broker-unreachable.md");
    assert!(!format!("{answer:?}").contains("s3cret"), "{answer:?}");
    let shown = call(&["config", "show"]).variable("KARWAN_BROKER", "nats://x:s3cret@y:1").run().exits(0);
    assert!(!format!("{shown:?}").contains("s3cret"), "{shown:?}");
    shown.prints("nats://y:1");
}

#[test]
fn a_servers_permissions_are_printed_without_a_secret_and_a_server_takes_them() {
    let printed = karwan(&words("emit-nats", &[])).exits(0).stdout;
    let variables = ["RESERVATION_SERVICE_PASSWORD", "KARWAN_TOPOLOGY_PASSWORD", "AUDIT_SERVICE_PASSWORD"];
    for variable in variables {
        assert!(printed.contains(&format!("password: ${variable}")), "{printed}");
    }
    let environment = variables.map(|name| (name.to_owned(), "hush".to_owned())).to_vec();
    let options = nats::Options { configuration: printed, environment, ..nats::Options::default() };
    let Some(server) = nats::Server::start(options).or_skip() else { return };
    let keeper = server.url_as("karwan-topology", "hush");
    karwan(&words("apply", &["--broker", &keeper])).exits(0).prints("made    RESERVATION");
    let service = server.url_as("reservation-service", "hush");
    karwan(&words("apply", &["--broker", &service, "--replicas", "3"])).exits(1).says("may not do that");
    karwan(&words("check", &["--broker", &server.url_as("nobody", "hush")])).exits(1).says("broker-denied");
}

/// a relay has its own login, for all services of the file or for some of them.
#[test]
fn a_relay_of_several_services_is_given_a_login_that_nobody_else_has() {
    let emit = |relays: &[&str]| {
        let of =
            ["topology", "emit-nats", "--platform", "melmastoon", "--services", "reservation-service,billing-service"];
        karwan(&of.iter().copied().chain(relays.iter().flat_map(|relay| ["--relay", relay])).collect::<Vec<_>>())
    };
    let printed = emit(&["main", "books=billing-service"]).exits(0).stdout;
    let of = |user: &str| {
        let name = format!("\"{user}\"");
        printed.split("user: ").find(|part| part.starts_with(&name)).unwrap().to_owned()
    };
    let (confirmed, posted) = ("\"melmastoon.reservation.booking.confirmed.v1\"", "$JS.API.STREAM.INFO.BILLING_DLQ");
    assert!(of("main").contains(confirmed) && of("main").contains(posted), "{printed}");
    assert!(!of("books").contains(confirmed) && of("books").contains(posted), "{printed}");
    assert!(printed.contains("password: $MAIN_PASSWORD") && printed.contains("password: $BOOKS_PASSWORD"), "{printed}");
    for taken in ["billing-service", "karwan-topology", "audit-service", "a b", ""] {
        emit(&[taken]).exits(64).says("cannot be a relay");
    }
    emit(&["main", "main=billing-service"]).exits(64).says("cannot be a relay");
    emit(&["books=biling-service"]).exits(64).says("did you mean `billing-service`?");
    emit(&["books=pricing-service"]).exits(64).says("no service");
}

/// until a time that is said, and that the same command has passed by itself when it is run again.
#[test]
fn who_is_on_call_is_so_until_a_time() {
    let printed = |until: &str| karwan(&words("emit-nats", &["--on-call", "ann,bob", "--on-call-until", until]));
    let hours = |count: i64| Timestamp::from_unix_ms(SystemClock.now().unix_ms() + count * 3_600_000).to_string();
    let now = printed(&hours(8)).exits(0);
    let now = now.prints("password: $ANN_PASSWORD").prints("password: $BOB_PASSWORD").prints("# On call until ");
    assert!(!now.stderr.contains("nobody is on call"), "{}", now.stderr);
    let later = printed("2026-04-22T06:00:00Z").exits(0).says("nobody is on call: the time of ann, bob was over");
    assert!(!later.stdout.contains("ANN_PASSWORD"), "{}", later.stdout);
    assert_eq!(later.stdout.lines().filter(|line| line.contains("user: ")).count(), 3, "{}", later.stdout);
    printed(&hours(8 * 24)).exits(64).says("nobody is on call for more than 7 days");
    printed("8h").exits(64).says("2026-11-18T06:00:00Z");
    karwan(&words("emit-nats", &["--on-call", "ann"])).exits(64).says("--on-call-until");
    karwan(&words("emit-nats", &["--on-call-until", &hours(1)])).exits(64).says("--on-call");
}

/// the platform's own consumers, where one stream has all of their topics.
#[test]
fn who_follows_a_stream_is_shown_with_durables_and_subscriptions() {
    let shown = karwan(&["topology", "show", "--platform", "melmastoon", "--format", "json"]).exits(0);
    let shown = shown.says("can be fed from no stream").json();
    let streams = shown.as_array().unwrap();
    let consumers = streams.iter().flat_map(|stream| stream["consumers"].as_array().unwrap());
    let consumers: Vec<_> = consumers.collect();
    assert!(!consumers.is_empty(), "{shown}");
    for consumer in &consumers {
        let (name, service) = (consumer["consumer"].as_str().unwrap(), consumer["service"].as_str().unwrap());
        assert!(name.starts_with(&format!("{service}.")), "{consumer}");
        assert_eq!(consumer["durable"], json!(name.replace('.', "-")));
        let subscriptions = consumer["subscriptions"].as_array().unwrap();
        let own =
            |it: &serde_json::Value| it.as_str().is_some_and(|it| it.starts_with(service) && it.ends_with(".sub"));
        assert!(!subscriptions.is_empty() && subscriptions.iter().all(own), "{consumer}");
    }
}

/// each service may pull what its own consumers follow, and nobody else's durable.
#[test]
fn services_may_pull_the_durables_of_their_own_consumers() {
    let shown = karwan(&["topology", "show", "--platform", "melmastoon", "--format", "json"]).exits(0).json();
    let printed = karwan(&["topology", "emit-nats", "--platform", "melmastoon"]).exits(0).stdout;
    let mut pulled = 0;
    for stream in shown.as_array().unwrap() {
        for consumer in stream["consumers"].as_array().unwrap() {
            let (name, durable) = (stream["stream"].as_str().unwrap(), consumer["durable"].as_str().unwrap());
            let grant = format!("\"$JS.API.CONSUMER.MSG.NEXT.{name}.{durable}\"");
            let users: Vec<&str> = printed.split("user: ").filter(|user| user.contains(&grant)).collect();
            let service = consumer["service"].as_str().unwrap();
            assert!(matches!(users[..], [user] if user.starts_with(&format!("\"{service}\""))), "{grant}: {users:?}");
            pulled += 1;
        }
    }
    assert!(pulled > 0, "{shown}");
}

/// What has run over a store, and is fed from a stream, has its durable, too.
#[test]
fn consumers_that_have_run_over_a_store_are_added() {
    let (_folder, store) = crate::store::place::file();
    let path = store.strip_prefix("sqlite:").unwrap();
    let sql = "INSERT INTO declared (consumer, forward_only, rebuildable, subjects, at, stream) VALUES
        ('books-service.clerk', 0, 0, 'melmastoon.payment.intent.captured.v1', 0, 'PAYMENT_GATEWAY'),
        ('books-service.reader', 0, 0, 'melmastoon.payment.intent.captured.v1', 0, NULL)";
    rusqlite::Connection::open(path).and_then(|it| it.execute_batch(sql)).unwrap();
    let shown = karwan(&["topology", "show", "--platform", "melmastoon", "--consumers-of", &store]).exits(0);
    let shown = shown.prints("  > books-service.clerk  durable books-service-clerk");
    assert!(!shown.stdout.contains("books-service.reader"), "{}", shown.stdout);
    let printed = karwan(&["topology", "emit-nats", "--platform", "melmastoon", "--consumers-of", &store]).exits(0);
    printed.prints("password: $BOOKS_SERVICE_PASSWORD").prints("$JS.ACK.PAYMENT_GATEWAY.books-service-clerk.>");
    let Some(server) = nats().or_skip() else { return };
    let url = server.url();
    let of = ["--platform", "melmastoon", "--broker", &url, "--consumers-of", &store];
    karwan(&[&["topology", "check"], &of[..]].concat()).exits(1).prints("PAYMENT_GATEWAY books-service-clerk");
    karwan(&[&["topology", "apply"], &of[..]].concat()).exits(0).prints("made    PAYMENT_GATEWAY books-service-clerk");
    karwan(&[&["topology", "check"], &of[..]].concat()).exits(0);
    karwan(&["topology", "show", "--platform", "melmastoon", "--consumers-of", "postgres://x:s3cret@"]).exits(1);
}
