//! The log as it is printed, and as it is followed.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::place::{Place, SUBJECT, TENANT, append, emit, file, objects};
use crate::karwan::karwan;
use karwan_testkit::postgres::{Options, Server};

const OTHER: &str = "0190c2f0-0000-7000-8000-000000000002";

#[track_caller]
fn keys(url: &str, args: &[&str]) -> Vec<String> {
    let answer = karwan(&[&["log", "tail", "--store", url, "--format", "json"], args].concat()).exits(0);
    objects(&answer).iter().map(|row| row["key"].as_str().expect("a key").to_owned()).collect()
}

#[test]
fn rows_are_printed_in_order_from_the_beginning() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    assert_eq!(karwan(&["log", "tail", "--store", &place.url()]).exits(0).stdout, "");
    place.append(TENANT, &["pay_1", "pay_2"]);
    let human = karwan(&["log", "tail", "--store", &place.url()]).exits(0);
    let lines: Vec<Vec<&str>> = human.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0][0], lines[0][2]), ("1", "tnt_01J31F0000E008000000000001"), "{}", human.stdout);
    assert_eq!((lines[1][0], lines[1][3], lines[1][4]), ("2", SUBJECT, "pay_2"));
    let rows = objects(&karwan(&["log", "tail", "--store", &place.url(), "--format", "json"]).exits(0));
    assert_eq!(rows[1]["seq"], 2);
    assert_eq!(rows[1]["event"].as_str(), Some(lines[1][5]));
    assert_eq!(rows[0]["envelope"]["eventId"], rows[0]["event"]);
    // A superuser may look as well.
    assert_eq!(keys(&place.database.url(), &[]), ["pay_1", "pay_2"]);
}

#[test]
fn an_envelope_is_printed_number_by_number_on_one_line_or_as_text() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["pay_1"]);
    let answer = karwan(&["log", "tail", "--store", &place.url(), "--format", "json"]).exits(0);
    answer.prints("12345678901234567890.10");
    let rewrite = |envelope: &str| {
        let sql =
            format!("ALTER TABLE karwan.log NO FORCE ROW LEVEL SECURITY; UPDATE karwan.log SET envelope = {envelope}");
        place.database.psql(&sql).expect("a superuser may");
        objects(&karwan(&["log", "tail", "--store", &place.url(), "--format", "json"]).exits(0))
    };
    assert_eq!(rewrite("E'{\\n\"a\":\\r\\n1}'")[0]["envelope"]["a"], 1);
    assert_eq!(rewrite("E'not\\njson'")[0]["envelope"], "not\njson");
}

#[test]
fn a_key_cannot_steer_the_terminal() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.database.psql_as(&place.login, &append(TENANT, "a\u{1b}[31m")).expect("a key is any text");
    let answer = karwan(&["log", "tail", "--store", &place.url()]).exits(0);
    assert!(!answer.stdout.contains('\u{1b}') && answer.stdout.contains("a\\u{1b}[31m"), "{}", answer.stdout);
}

#[test]
fn rows_are_chosen_by_subject_tenant_key_and_position() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["a", "b"]);
    place.append(OTHER, &["a", "c"]);
    let url = place.url();
    for tenant in [OTHER, "01J31F0000E008000000000002", "tnt_01J31F0000E008000000000002"] {
        assert_eq!(keys(&url, &["--tenant", tenant]), ["a", "c"], "{tenant}");
    }
    assert_eq!(keys(&url, &["--tenant", "platform"]), [""; 0]);
    assert_eq!(keys(&url, &["--key", "a"]), ["a", "a"]);
    assert_eq!(keys(&url, &["--key", "a", "--tenant", OTHER]), ["a"]);
    assert_eq!(keys(&url, &["--subject", SUBJECT]).len(), 4);
    assert_eq!(keys(&url, &["--subject", "melmastoon.payment.>"]).len(), 4);
    assert_eq!(keys(&url, &["--subject", "melmastoon.payment.*.refunded.v1"]), [""; 0]);
    assert_eq!(keys(&url, &["--from", "1-3"]), ["c"]);
    assert_eq!(keys(&url, &["--from", "3"]), ["c"]);
    assert_eq!(keys(&url, &["--last", "2"]), ["a", "c"]);
    assert_eq!(keys(&url, &["--last", "2", "--tenant", TENANT]), ["a", "b"]);
    assert_eq!(keys(&url, &["--last", "10"]).len(), 4);
    for position in ["2-1", "9"] {
        karwan(&["log", "tail", "--store", &url, "--from", position]).exits(1).says("docs/errors/store-reset.md");
        karwan(&["log", "tail", "--store", &url, "--follow", "--from", position]).exits(1);
    }
}

/// More rows than a page, and more than the first window of `--last`.
#[test]
fn long_logs_are_printed_whole_and_searched_to_the_beginning() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["first"]);
    let many = format!(
        "SELECT karwan.append('{OTHER}', '{SUBJECT}', 'k' || n, 'i' || n, '{{}}') FROM generate_series(1, 9000) n"
    );
    place.database.psql_as(&place.login, &many).expect("the login speaks for the service");
    let all = keys(&place.url(), &[]);
    assert_eq!((all.len(), all[0].as_str(), all[9000].as_str()), (9001, "first", "k9000"));
    assert_eq!(keys(&place.url(), &["--last", "1", "--tenant", TENANT]), ["first"]);
    assert_eq!(keys(&place.url(), &["--last", "3"]), ["k8998", "k8999", "k9000"]);
}

/// A follower, and the lines that it has printed.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn new(url: &str, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_karwan"))
            .args(["log", "tail", "--follow", "--format", "json", "--store", url])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
        Self { child, lines }
    }

    fn next_key(&mut self) -> String {
        let line = self.lines.next().expect("it goes on").expect("it is text");
        let row: Value = serde_json::from_str(&line).expect("an object a line");
        row["key"].as_str().expect("a key").to_owned()
    }

    /// Ctrl-C, and what it said and answered.
    fn interrupt(self) -> (Option<i32>, String) {
        let signalled = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(signalled.is_ok_and(|status| status.success()));
        let output = self.child.wait_with_output().expect("it ends");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn a_follower_goes_on_as_rows_commit_and_ends_well_on_an_interrupt() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["before"]);
    let mut follower = Follower::new(&place.url(), &[]);
    assert_eq!(follower.next_key(), "before");
    place.append(TENANT, &["after"]);
    assert_eq!(follower.next_key(), "after");
    assert_eq!(follower.interrupt(), (Some(0), String::new()));
}

#[test]
fn a_follower_of_the_last_rows_continues_behind_them() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["a", "b", "c"]);
    let mut follower = Follower::new(&place.url(), &["--last", "1"]);
    assert_eq!(follower.next_key(), "c");
    place.append(TENANT, &["d"]);
    assert_eq!(follower.next_key(), "d");
    assert_eq!(follower.interrupt().0, Some(0));
}

/// A subject that came with a later migration is known by its name, and a filter by name does not miss it.
#[test]
fn a_follower_learns_subjects_that_came_later() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["known"]);
    let mut follower = Follower::new(&place.url(), &["--subject", "melmastoon.payment.>"]);
    assert_eq!(follower.next_key(), "known");
    let later = format!(
        "INSERT INTO karwan.subject SELECT 9999, 'melmastoon.payment.intent.later.v1', '{{}}', producers, tenancy, retention,
             ai, local_only, carrier, tenant_forms FROM karwan.subject WHERE name = '{SUBJECT}';
         INSERT INTO karwan.template SELECT 9999, actor, caused, pieces FROM karwan.template
             WHERE subject = (SELECT id FROM karwan.subject WHERE name = '{SUBJECT}')"
    );
    place.database.psql(&later).expect("a superuser may");
    let sql = format!("SELECT karwan.append('{TENANT}', 'melmastoon.payment.intent.later.v1', 'later', 'i', '{{}}')");
    place.database.psql_as(&place.login, &sql).expect("the login speaks for the service");
    assert_eq!(follower.next_key(), "later");
    follower.interrupt();
}

#[test]
fn a_follower_survives_its_server_and_neither_skips_nor_repeats() {
    let Some(server) = Server::start(Options::default()).or_skip() else { return };
    let place = Place::new(&server);
    place.append(TENANT, &["k0"]);
    let mut follower = Follower::new(&place.url(), &[]);
    assert_eq!(follower.next_key(), "k0");
    for round in 1..=3 {
        server.kill();
        server.start_again();
        place.append(TENANT, &[&format!("k{round}")]);
        assert_eq!(follower.next_key(), format!("k{round}"));
    }
    let (code, said) = follower.interrupt();
    assert_eq!(code, Some(0));
    assert!(said.contains("nothing will be missed") && said.contains("connected again"), "{said}");
}

#[test]
fn a_reader_that_goes_away_ends_a_follower_quietly() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["a"]);
    let mut follower = Follower::new(&place.url(), &[]);
    assert_eq!(follower.next_key(), "a");
    let Follower { child, lines } = follower;
    drop(lines);
    place.append(TENANT, &["b"]);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn a_file_is_printed_filtered_and_followed_beside_its_writer() {
    let (_folder, address) = file();
    assert_eq!(keys(&address, &[]), [""; 0]);
    emit(&address, 1..4);
    let all = keys(&address, &[]);
    assert_eq!(all.len(), 3);
    assert_eq!(keys(&address, &["--last", "1", "--tenant", TENANT]), all[2..]);
    assert_eq!(keys(&address, &["--tenant", OTHER]), [""; 0]);
    let stats = karwan(&["log", "stats", "--store", &address, "--format", "json"]).exits(0).json();
    let life = stats["end"].as_str().and_then(|end| end.strip_suffix("-3")).expect("three rows");
    assert_eq!(keys(&address, &["--from", &format!("{life}-1")]), all[1..]);
    assert_eq!(keys(&address, &["--from", "1"]), all[1..]);
    assert_eq!(keys(&address, &["--key", &all[1], "--subject", "melmastoon.>"]), all[1..2]);
    let mut follower = Follower::new(&address, &["--last", "1"]);
    assert_eq!(follower.next_key(), all[2]);
    emit(&address, 4..5);
    assert_eq!(follower.next_key(), keys(&address, &[])[3]);
    assert_eq!(follower.interrupt(), (Some(0), String::new()));
}
