use karwan_testkit::nats::{Options as NatsOptions, Server as Nats};
use karwan_testkit::postgres::{Options, Server};

use super::place::file;
use crate::folder::Folder;
use crate::karwan::karwan;

const FEW: [&str; 5] = ["--events", "600", "--pairs", "1", "--json"];

#[test]
fn appending_is_measured_against_its_bases_and_the_scratch_database_goes() {
    // A server of its own, because other tests measure on the shared one.
    let Some(server) = Server::start(Options::default()).or_skip() else { return };
    let database = server.database();
    let figures = karwan(&[&["bench", "append", "--store", &database.url()], &FEW[..]].concat()).exits(0).json();
    let lines = figures["lines"].as_array().expect("a list");
    let callers: Vec<u64> = lines.iter().filter_map(|line| line["callers"].as_u64()).collect();
    assert_eq!(callers, [1, 4, 16, 16]);
    for line in lines {
        let (rate, base, ratio) = (line["rate"].as_f64(), line["base"].as_f64(), line["ratio"].as_f64());
        assert!(rate.is_some_and(|rate| rate > 0.0), "{line}");
        match line["skipped"].as_str() {
            Some(reason) => assert!(reason.contains("pgbench") && base.is_none(), "{line}"),
            None => {
                let wanted = rate.expect("a rate") / base.expect("a base");
                assert!((ratio.expect("a ratio") - wanted).abs() < 1e-9, "one pair: {line}");
            }
        }
    }
    let bytes = figures["eventBytes"].as_u64().expect("a count");
    assert!((900..=1_500).contains(&bytes), "an event of about 1 KB, not {bytes} bytes");
    let left = "SELECT (SELECT count(*) FROM pg_database WHERE datname LIKE 'karwan_bench%'),
                       (SELECT count(*) FROM pg_roles WHERE rolname LIKE 'karwan_bench%')";
    assert_eq!(database.psql(left).as_deref(), Ok("0|0"), "nothing is left");
    assert_eq!(
        database.psql("SELECT to_regnamespace('karwan') IS NULL").as_deref(),
        Ok("t"),
        "the given one is untouched"
    );
}

#[test]
fn rounds_tell_the_size_of_every_table() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    let args = ["bench", "append", "--store", &database.url(), "--rounds", "2", "--events", "600", "--json"];
    let figures = karwan(&args).exits(0).json();
    let log = |round: usize| {
        let tables = figures["rounds"][round]["tables"].as_array().expect("tables");
        tables.iter().find(|table| table["table"] == "log").expect("the log").clone()
    };
    // 250 events warm up.
    assert_eq!((log(0)["rows"].as_i64(), log(1)["rows"].as_i64()), (Some(850), Some(1450)), "{figures}");
    assert_eq!((log(0)["dead"].as_i64(), log(1)["dead"].as_i64()), (Some(0), Some(0)), "the log has no dead rows");
    karwan(&args[..8]).exits(0).prints("round 2: ").prints("DEAD");
}

#[test]
fn a_login_that_may_not_make_databases_is_told_so() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    let login = format!("poor_{}", database.name());
    database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
    let poor = karwan(&["bench", "append", "--store", &database.url_as(&login)]).exits(1);
    poor.says("this login lacks CREATEDB");
    database.psql(&format!("ALTER ROLE {login} CREATEDB")).expect("a superuser may");
    let less_poor = karwan(&["bench", "append", "--store", &database.url_as(&login)]).exits(1);
    less_poor.says("this login lacks CREATEROLE");
    let owned = format!("SELECT count(*) FROM pg_database WHERE pg_get_userbyid(datdba) = '{login}'");
    assert_eq!(database.psql(&owned).as_deref(), Ok("0"), "what was made is dropped after an error");
}

#[test]
fn units_on_a_file_are_measured_and_the_scratch_file_goes() {
    let (folder, address) = file();
    let figures = karwan(&[&["bench", "append", "--store", &address], &FEW[..]].concat()).exits(0).json();
    let callers: Vec<u64> =
        figures["lines"].as_array().expect("a list").iter().filter_map(|line| line["callers"].as_u64()).collect();
    assert_eq!(callers, [1, 64]);
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).expect("it is ours").flatten().map(|it| it.file_name()).collect();
    assert!(files.iter().all(|name| !name.to_string_lossy().contains("bench")), "{files:?}");
    let stats = karwan(&["log", "stats", "--store", &address, "--format", "json"]).exits(0).json();
    assert!(stats["end"].as_str().is_some_and(|end| end.ends_with("-0")), "the given file is untouched: {stats}");
    let elsewhere = Folder::new();
    let new = format!("sqlite:{}", elsewhere.name("new.db"));
    karwan(&[&["bench", "append", "--store", &new], &FEW[..]].concat()).exits(0);
    assert_eq!(std::fs::read_dir(elsewhere.path()).expect("it is ours").count(), 0, "nothing is left");
}

/// Every figure that is promised is there, and is a number.
#[track_caller]
fn has_figures(figures: &serde_json::Value, promised: &[&str]) {
    for figure in promised {
        assert!(figures[figure].as_f64().is_some_and(|figure| figure >= 0.0), "no {figure} in {figures}");
    }
}

const RATES: [&str; 3] = ["rate", "base", "ratio"];
const SPREAD: [&str; 3] = ["p50_ms", "p99_ms", "max_ms"];

fn measures_consuming(address: &str) {
    let few = ["--events", "64", "--pairs", "1", "--json"];
    let figures = karwan(&[&["bench", "consume", "--store", address], &few[..]].concat()).exits(0).json();
    has_figures(&figures, &RATES);
    let [rate, base, ratio] = RATES.map(|figure| figures[figure].as_f64().expect("a number"));
    assert!((ratio - rate / base).abs() < 1e-9, "one pair: {figures}");
    assert_eq!((figures["events"].as_u64(), figures["pairs"].as_u64()), (Some(64), Some(1)));
    karwan(&["bench", "consume", "--store", address, "--events", "64", "--pairs", "1"]).exits(0).prints("ratio: ");
}

fn measures_latency(address: &str) {
    let few = ["--events", "20", "--rate", "1000", "--json"];
    let figures = karwan(&[&["bench", "latency", "--store", address], &few[..]].concat()).exits(0).json();
    has_figures(&figures, &SPREAD);
    let [p50, p99, max] = SPREAD.map(|figure| figures[figure].as_f64().expect("a number"));
    assert!(p50 <= p99 && p99 <= max, "{figures}");
}

fn measures_fairness(address: &str, processes: &str) {
    let few = ["--events", "200", "--tenants", "3", "--processes", processes, "--json"];
    let figures = karwan(&[&["bench", "fairness", "--store", address], &few[..]].concat()).exits(0).json();
    has_figures(&figures, &RATES);
    has_figures(&figures, &SPREAD);
    let told = (figures["events"].as_u64(), figures["tenants"].as_u64());
    assert_eq!(told, (Some(200), Some(3)), "{figures}");
}

#[test]
fn consuming_latency_and_fairness_are_measured_on_a_file() {
    let (_folder, address) = file();
    measures_consuming(&address);
    measures_latency(&address);
    measures_fairness(&address, "1");
    karwan(&["bench", "fairness", "--store", &address, "--processes", "2"]).exits(64).says("SQLite");
    karwan(&["bench", "takeover", "--store", &address]).exits(64).says("a SQLite file belongs to one process");
}

#[test]
fn consuming_latency_and_fairness_are_measured_on_a_server() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    measures_consuming(&database.url());
    measures_latency(&database.url());
    measures_fairness(&database.url(), "1");
    measures_fairness(&database.url(), "2");
}

#[test]
fn a_take_over_is_measured() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    // Long enough for a lease to run out on a busy machine.
    let few = ["--events", "300", "--rate", "20", "--json"];
    let figures = karwan(&[&["bench", "takeover", "--store", &database.url()], &few[..]].concat()).exits(0).json();
    has_figures(&figures, &SPREAD);
    assert_eq!(figures["kills"].as_u64(), Some(1));
}

#[test]
fn growth_is_measured_by_rounds_with_no_dead_row_in_the_log_and_streams_go_again() {
    let (Some(server), Some(broker)) = (karwan_testkit::postgres().or_skip(), karwan_testkit::nats().or_skip()) else {
        return;
    };
    let database = server.database();
    let args = ["bench", "growth", "--store", &database.url(), "--broker", &broker.url(), "--events", "2000"];
    let figures = karwan(&[&args[..], &["--json"]].concat()).exits(0).json();
    let rounds = figures["rounds"].as_array().expect("rounds");
    let log = |round: &serde_json::Value| {
        round["tables"].as_array().and_then(|it| it.iter().find(|it| it["table"] == "log").cloned()).expect("the log")
    };
    // A session that tells the statistics late is counted once more, never less (`sizes.sql`).
    let rows: Vec<i64> = rounds.iter().filter_map(|round| log(round)["rows"].as_i64()).collect();
    assert!(rows.len() == 10 && (1..).zip(&rows).all(|(round, rows)| *rows >= 200 * round), "{figures}");
    assert_eq!((&figures["logDead"], &figures["mode"]), (&0.into(), &"pipelined".into()));
    assert!(figures["drain"]["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{figures}");
    let number = |name: &str| figures[name].as_f64().expect("a number");
    assert!((number("ratio") - number("rate") / number("base")).abs() < 1e-9, "{figures}");
    assert_eq!(figures["ratio"], figures["drain"]["ratio"]);
    assert!(figures["residentMib"].as_f64().is_some_and(|mib| mib > 1.0), "{figures}");
    // The streams have gone: it can be measured again, and is told for people.
    karwan(&args).exits(0).prints("dead rows in the log: 0").prints("ratio: ");
    let (_folder, file) = file();
    karwan(&["bench", "growth", "--store", &file, "--broker", &broker.url()]).exits(64).says("use Postgres");
}

#[test]
fn growth_is_measured_in_atomic_batches_too() {
    let options = NatsOptions { sync_always: true, ..NatsOptions::default() };
    let (Some(server), Some(broker)) = (karwan_testkit::postgres().or_skip(), Nats::start(options).or_skip()) else {
        return;
    };
    let database = server.database();
    let args = ["bench", "growth", "--store", &database.url(), "--broker", &broker.url(), "--events", "1000"];
    let figures = karwan(&[&args[..], &["--durable", "--json"]].concat()).exits(0).json();
    assert_eq!((&figures["mode"], &figures["events"]), (&"durable".into(), &1000.into()), "{figures}");
}

#[test]
fn consuming_from_a_stream_is_measured_against_consuming_from_the_log() {
    let (Some(server), Some(broker)) = (karwan_testkit::postgres().or_skip(), karwan_testkit::nats().or_skip()) else {
        return;
    };
    let database = server.database();
    let args = ["bench", "consume", "--store", &database.url(), "--broker", &broker.url()];
    let figures = karwan(&[&args[..], &FEW[..]].concat()).exits(0).json();
    let number = |name: &str| figures[name].as_f64().expect("a number");
    assert!((number("ratio") - number("rate") / number("base")).abs() < 1e-9, "one pair: {figures}");
    assert_eq!(figures["against"], "the same consumer fed from the log");
}

#[test]
fn consuming_beside_keys_that_wait_is_measured_against_none() {
    let (_folder, address) = file();
    let args = ["bench", "consume", "--store", &address, "--parked", "300"];
    let figures = karwan(&[&args[..], &FEW[..]].concat()).exits(0).json();
    assert_eq!(figures["against"], "the same with no key that waits");
    assert!(figures["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{figures}");
    karwan(&["bench", "consume", "--store", &address, "--parked", "20000"]).exits(64);
}

#[test]
fn relaying_is_measured_against_publishing_and_held_beside_producers() {
    let Some(broker) = karwan_testkit::nats().or_skip() else { return };
    let (_folder, address) = file();
    let args = ["bench", "relay", "--store", &address, "--broker", &broker.url()];
    let figures = karwan(&[&args[..], &FEW[..]].concat()).exits(0).json();
    let number = |name: &str| figures[name].as_f64().expect("a number");
    assert!((number("ratio") - number("rate") / number("base")).abs() < 1e-9, "one pair: {figures}");
    assert_eq!((&figures["mode"], &figures["events"]), (&"pipelined".into(), &600.into()));
    let on = &figures["environment"];
    assert_eq!(on["commits"], "synchronous = full", "{figures}");
    assert!(on["nats"].as_str().is_some_and(|version| version.starts_with("2.")), "{figures}");
    // The streams have gone: it can be measured again. Three seconds, and a rate that any machine holds.
    let held = karwan(&[&args[..], &["--minutes", "0.05", "--rate", "100", "--json"]].concat()).exits(0).json();
    let number = |name: &str| held[name].as_f64().expect("a number");
    assert!(number("heldRate") > 0.0 && number("minRate") <= number("heldRate"), "{held}");
    assert!(number("lagMax") >= 0.0 && (100.0..=320.0).contains(&number("events")), "{held}");
    assert_eq!((&held["rate"], &held["base"]), (&held["heldRate"], &100.0.into()));
    karwan(&[&args[..], &["--minutes", "0.05", "--rate", "100"]].concat())
        .exits(0)
        .prints("held: ")
        .prints("at least: ")
        .prints("on: SQLite ");
    karwan(&[&args[..], &["--minutes", "no"]].concat()).exits(64).says("0.01 to 1440");
    karwan(&[&args[..], &["--rate", "100"]].concat()).exits(64).says("--minutes");
}

/// On the server that it is meant for.
#[test]
fn relaying_in_batches_is_measured_on_a_server_that_synchronises_before_it_answers() {
    let Some(broker) = Nats::start(NatsOptions { sync_always: true, ..NatsOptions::default() }).or_skip() else {
        return;
    };
    let (_folder, address) = file();
    let args = ["bench", "relay", "--durable", "--store", &address, "--broker", &broker.url()];
    let figures = karwan(&[&args[..], &FEW[..]].concat()).exits(0).json();
    has_figures(&figures, &RATES);
    let [rate, base, ratio] = RATES.map(|figure| figures[figure].as_f64().expect("a number"));
    assert!(rate > 0.0 && (ratio - rate / base).abs() < 1e-9, "one pair: {figures}");
    assert_eq!((&figures["mode"], &figures["events"]), (&"durable".into(), &600.into()));
    assert!(figures["aim"].as_str().is_some_and(|aim| aim.contains("at least 5")), "{figures}");
}

/// a rate says little without what it was measured on, and what a commit waited for.
#[test]
fn relaying_is_told_with_what_a_commit_of_the_database_waits_for() {
    let (Some(broker), Some(postgres)) = (karwan_testkit::nats().or_skip(), karwan_testkit::postgres().or_skip())
    else {
        return;
    };
    let database = postgres.database();
    let url = database.url();
    let args = ["bench", "relay", "--store", &url, "--broker", &broker.url(), "--events", "64", "--pairs", "1"];
    let figures = karwan(&[&args[..], &["--json"]].concat()).exits(0).json();
    let on = &figures["environment"];
    assert_eq!(on["commits"], "synchronous_commit = on", "{figures}");
    assert!(on["store"].as_str().is_some_and(|store| store.starts_with("PostgreSQL ")), "{figures}");
    assert!(on["cores"].as_u64().is_some_and(|cores| cores > 0), "{figures}");
    karwan(&args).exits(0).prints("on: PostgreSQL ").prints("with synchronous_commit = on, NATS 2.");
}
