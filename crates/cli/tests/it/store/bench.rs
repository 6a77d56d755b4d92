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
