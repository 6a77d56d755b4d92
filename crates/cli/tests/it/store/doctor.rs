use std::io::Write as _;
use std::process::{Command, Stdio};

use super::place::{Place, TENANT, append, file};
use crate::karwan::karwan;

#[test]
fn a_store_in_order_is_all_ok() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let answer = karwan(&["doctor", "--store", &place.url()]).exits(0);
    for line in answer.stdout.lines() {
        assert!(line.starts_with("ok   "), "{line}");
    }
    for name in
        ["server", "schema", "roles", "row-level security", "horizon", "clock", "partitions", "incarnation", "disk"]
    {
        assert!(answer.stdout.contains(&format!("ok   {name}: ")), "{name}: {}", answer.stdout);
    }
    let checks = karwan(&["doctor", "--store", &place.url(), "--format", "json"]).exits(0).json();
    assert_eq!(checks[0]["health"], "ok");
    assert_eq!(checks[0]["remedy"], serde_json::Value::Null);
    assert_eq!(checks.as_array().map(Vec::len), Some(answer.stdout.lines().count()));
}

#[test]
fn a_superuser_is_bad_because_no_policy_binds_it() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let answer = karwan(&["doctor", "--store", &place.database.url()]).exits(1);
    answer
        .prints("bad  roles: login")
        .prints("is a superuser, which no policy binds — use a login of the application's own");
}

#[test]
fn a_table_without_forced_security_is_bad_and_its_remedy_heals_it() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.database.psql("ALTER TABLE karwan.intent NO FORCE ROW LEVEL SECURITY").expect("a superuser may");
    let checks = karwan(&["doctor", "--store", &place.url(), "--format", "json"]).exits(1).json();
    let bad = checks.as_array().and_then(|all| all.iter().find(|check| check["health"] == "bad")).expect("one is bad");
    assert_eq!(bad["name"], "row-level security");
    place.database.psql(bad["remedy"].as_str().expect("a remedy")).expect("the remedy is SQL that works");
    karwan(&["doctor", "--store", &place.url()]).exits(0);
}

/// Appends in a transaction that stays open until this is dropped.
struct Holder(std::process::Child);

impl Holder {
    fn new(place: &Place<'_>) -> Self {
        let server = place.database.server();
        let mut child = Command::new(server.bin("psql"))
            .arg("-X")
            .arg(format!("{}?application_name=slow_writer", place.url()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("psql starts");
        let stdin = child.stdin.as_mut().expect("it was piped");
        writeln!(stdin, "BEGIN;\n{}", append(TENANT, "held")).expect("psql reads");
        stdin.flush().expect("psql reads");
        let held =
            "SELECT count(*) FROM pg_locks WHERE relation = 'karwan.log'::regclass AND mode = 'RowExclusiveLock'";
        while place.database.psql(held).as_deref() != Ok("1") {}
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn whoever_holds_readers_back_is_named() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let holder = Holder::new(&place);
    let answer = karwan(&["doctor", "--store", &place.url()]).exits(0);
    answer
        .prints("horizon: held by")
        .prints(&format!("login {}, slow_writer", place.login))
        .prints("idle in transaction");
    // Another login is not told since when, and says so instead of calling it new.
    let other = format!("other_{}", place.database.name());
    place.database.psql(&format!("CREATE ROLE {other} LOGIN; GRANT karwan_app, karwan_relay TO {other}")).expect("may");
    let hidden = karwan(&["doctor", "--store", &place.database.url_as(&other)]).exits(0);
    hidden.prints("warn horizon: held by process").prints("GRANT pg_read_all_stats");
    // And a reader that wants the end says whom it does not wait for.
    place.append(TENANT, &["later"]);
    let tail = karwan(&["log", "tail", "--store", &place.url()]).exits(0);
    assert_eq!(tail.stdout, "");
    tail.says("held back").says("slow_writer");
    let stats = karwan(&["log", "stats", "--store", &place.url(), "--format", "json"]).exits(0).json();
    let who = stats["holders"][0]["who"].as_str().expect("a holder");
    assert!(who.contains("slow_writer"), "{stats}");
    let what = stats["holders"][0]["what"].as_str().expect("what it does");
    assert!(what.starts_with("idle in transaction") && stats["holders"][0]["heldMs"].as_i64() > Some(0), "{stats}");
    drop(holder);
    let checks = karwan(&["doctor", "--store", &place.url()]).exits(0);
    checks.prints("ok   horizon: nobody holds readers back");
}

#[test]
fn a_file_in_order_is_all_ok() {
    let (_folder, address) = file();
    let answer = karwan(&["doctor", "--store", &address]).exits(0);
    assert!(answer.stdout.lines().all(|line| line.starts_with("ok   ")), "{}", answer.stdout);
}
