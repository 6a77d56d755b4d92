//! Moving consumers, giving events again and retention, from the command line.

use serde_json::json;

use super::place::{Place, SUBJECT, TENANT, emit, file};
use crate::folder::Folder;
use crate::karwan::{Answer, karwan};

const CLERK: &str = "billing.clerk";

/// A file with three events, all handled by a consumer that nobody runs now.
struct Scene {
    _folder: Folder,
    store: String,
}

impl Scene {
    fn new() -> Self {
        let (folder, store) = file();
        emit(&store, 1..4);
        let scene = Self { _folder: folder, store };
        scene.sql(&format!(
            "INSERT INTO lane_count VALUES ('{CLERK}', 2);
             INSERT INTO lane (consumer, lane, position, epoch, holder, lease_from, lease_until)
                VALUES ('{CLERK}', 0, 3, 1, NULL, 0, 0), ('{CLERK}', 1, 3, 1, NULL, 0, 0);
             INSERT INTO inbox SELECT '{CLERK}', event, tenant, seq, at FROM log;
             INSERT INTO declared (consumer, forward_only, rebuildable, subjects, at) VALUES ('{CLERK}', 0, 0, '{SUBJECT}', 0)"
        ));
        scene
    }

    fn sql(&self, sql: &str) {
        let path = self.store.strip_prefix("sqlite:").expect("a file");
        rusqlite::Connection::open(path).and_then(|it| it.execute_batch(sql)).expect("nobody else has the file");
    }

    fn count(&self, sql: &str) -> i64 {
        let path = self.store.strip_prefix("sqlite:").expect("a file");
        let connection = rusqlite::Connection::open(path).expect("it opens");
        connection.query_row(sql, [], |row| row.get(0)).expect("a number")
    }

    fn karwan(&self, args: &[&str]) -> Answer {
        karwan(&[args, &["--store", &self.store]].concat())
    }

    /// Where the lanes of the consumer are.
    fn places(&self) -> (i64, i64) {
        let place = |lane| self.count(&format!("SELECT position FROM lane WHERE lane = {lane}"));
        (place(0), place(1))
    }
}

#[test]
fn a_consumer_is_moved_by_position_and_by_time_and_back() {
    let scene = Scene::new();
    let seek =
        |args: &[&str]| scene.karwan(&[&["consumer", "seek", CLERK, "--reason", "INC-7", "--yes"], args].concat());
    seek(&["--to", "1", "--dry-run"]).exits(0).prints("would be moved: 2 lanes from 3 to 1");
    assert_eq!(scene.places(), (3, 3));
    seek(&["--to", "1"]).exits(0).prints("was moved: 2 lanes from 3 to 1 (action 1)");
    assert_eq!(scene.places(), (1, 1));
    seek(&["--undo"]).exits(0).prints("is back: 2 lanes from 1 to 3");
    assert_eq!(scene.places(), (3, 3));
    seek(&["--time", "1h", "--clear"]).exits(0).prints("2 lanes from 3 to 0; 3 claims taken back");
    assert_eq!(scene.count("SELECT count(*) FROM inbox"), 0);
    let told = seek(&["--to", "end", "--json"]).exits(0).json();
    assert_eq!((&told["now"], &told["was"]), (&json!([3, 3]), &json!([0, 0])));
    assert_eq!(scene.count("SELECT count(*) FROM action WHERE actor <> '' AND reason = 'INC-7'"), 4);
}

#[test]
fn what_cannot_be_done_is_refused_with_what_helps() {
    let scene = Scene::new();
    let seek = |args: &[&str]| scene.karwan(&[&["consumer", "seek"], args, &["--reason", "x"]].concat());
    seek(&["billing.clark", "--to", "1", "--yes"]).exits(1).says("did you mean `billing.clerk`?");
    seek(&[CLERK, "--to", "4", "--yes"]).exits(1).says("the log ends at 3");
    seek(&[CLERK, "--to", "1"]).exits(64).says("--yes");
    seek(&[CLERK, "--to", "somewhere"]).exits(64).says("start or end");
    seek(&[CLERK, "--undo", "last"]).exits(64).says("karwan dlq actions");
    scene.sql("DELETE FROM log WHERE seq = 1; UPDATE meta SET floor = 1");
    seek(&[CLERK, "--to", "0", "--yes"]).exits(1).says("rows up to 1 were dropped");
    seek(&[CLERK, "--time", "7d", "--yes"]).exits(1).says("the log begins behind 1");
    scene.sql("UPDATE declared SET forward_only = 1");
    seek(&[CLERK, "--to", "2", "--yes"]).exits(1).says("only goes forward");
    scene.sql("UPDATE declared SET forward_only = 0, stream = 'BILLING'");
    seek(&[CLERK, "--time", "7d", "--yes"]).exits(1).says("fed by the stream BILLING");
    seek(&[CLERK, "--to", "2", "--clear", "--yes"]).exits(1).says("fed by the stream BILLING");
    assert_eq!(scene.places(), (3, 3));
    assert_eq!(scene.count("SELECT count(*) FROM action"), 0);
}

#[test]
fn events_are_given_to_one_consumer_again_and_taken_back() {
    let scene = Scene::new();
    let replay = |args: &[&str]| scene.karwan(&[&["replay", "--reason", "INC-7"], args].concat());
    let topic = ["--topic", SUBJECT, "--since", "1h"];
    replay(&[&topic[..], &["--consumer", CLERK]].concat()).exits(64).says("--idempotency-safe");
    let safe = [&topic[..], &["--idempotency-safe", "--consumer", CLERK]].concat();
    replay(&[&safe[..], &["--dry-run"]].concat()).exits(0).prints("3 events of 3 keys would be given");
    replay(&safe).exits(64).says("--yes");
    replay(&[&safe[..], &["--yes"]].concat())
        .exits(0)
        .prints("3 events are given to billing.clerk once more (action 1)");
    assert_eq!((scene.count("SELECT count(*) FROM parked"), scene.count("SELECT count(*) FROM inbox")), (3, 0));
    replay(&["--undo", "1", "--yes"]).exits(0).prints("3 events of action 1 were taken back");
    assert_eq!((scene.count("SELECT count(*) FROM parked"), scene.count("SELECT count(*) FROM inbox")), (0, 3));
    assert_eq!(scene.places(), (3, 3), "nothing of it moved");
    replay(&["--undo", "1", "--yes"]).exits(1).says("it was undone before");
}

#[test]
fn taking_back_a_replay_of_which_nothing_is_left_is_no_action() {
    let scene = Scene::new();
    let sent = ["--topic", SUBJECT, "--since", "1h", "--idempotency-safe", "--consumer", CLERK, "--yes"];
    let replay = |args: &[&str]| scene.karwan(&[&["replay", "--reason", "INC-7"], args].concat());
    replay(&sent).exits(0).prints("(action 1)");
    // The consumer has tried them, and all failed.
    scene.sql("UPDATE parked SET attempts = 1, error = 'no room'");
    let nothing = "nothing to take back: all of action 1 was tried already";
    for _ in 0..2 {
        replay(&["--undo", "1", "--yes"]).exits(0).prints(nothing);
    }
    assert_eq!(scene.count("SELECT count(*) FROM action"), 1);
    assert_eq!(scene.count("SELECT count(*) FROM action WHERE undone_by IS NOT NULL"), 0);
    assert_eq!((scene.count("SELECT count(*) FROM parked"), scene.places()), (3, (3, 3)));
    replay(&["--undo", "7"]).exits(1).says("there is no such action");
}

#[test]
fn without_a_consumer_everybody_of_the_topic_reads_again() {
    let scene = Scene::new();
    let replay = ["replay", "--topic", SUBJECT, "--since", "1h", "--idempotency-safe", "--reason", "x", "--yes"];
    scene.karwan(&replay).exits(0).prints("billing.clerk reads again from 0");
    assert_eq!(
        (scene.places(), scene.count("SELECT count(*) FROM inbox")),
        ((0, 0), 3),
        "what is handled stays handled"
    );
    let other = ["replay", "--topic", "a.b", "--since", "1h", "--idempotency-safe", "--reason", "x", "--yes"];
    scene.karwan(&other).exits(1).says("no topic of this store is called `a.b`");
}

#[test]
fn a_wrong_topic_gets_a_suggestion_and_where_nothing_is_meant_nothing_is_recorded() {
    let scene = Scene::new();
    let (wrong, meant) = ("melmastoon.payment.intent.captred.v1", format!("did you mean {SUBJECT}?"));
    let other = "melmastoon.payment.intent.failed.v1";
    let asked = ["--reason", "INC-7", "--yes"];
    let replay = |args: &[&str]| {
        let replay = ["replay", "--since", "1h", "--idempotency-safe"];
        scene.karwan(&[&replay, &asked[..], args].concat())
    };
    replay(&["--topic", wrong]).exits(1).says(&meant);
    replay(&["--topic", wrong, "--consumer", CLERK]).exits(1).says(&meant);
    replay(&["--topic", other]).exits(1).says("no consumer of this topic has run");
    replay(&["--topic", other, "--consumer", CLERK])
        .exits(0)
        .prints("nothing to replay: billing.clerk has handled none");
    let clear = ["inbox", "clear", "--consumer", CLERK, "--since", "1h"];
    scene.karwan(&[&clear, &asked[..], &["--subject", wrong]].concat()).exits(1).says(&meant);
    scene.karwan(&[&clear, &asked[..], &["--subject", other]].concat()).exits(0).prints("nothing to take back");
    let seek = ["consumer", "seek", CLERK, "--to", "1", "--clear", "--subject", wrong];
    scene.karwan(&[&seek, &asked[..]].concat()).exits(1).says(&meant);
    scene.sql("UPDATE declared SET forward_only = 1");
    replay(&["--topic", SUBJECT]).exits(0).prints("nothing to replay: no consumer of this topic goes back");
    scene.karwan(&[&clear, &asked[..]].concat()).exits(1).says("only goes forward");
    assert_eq!((scene.places(), scene.count("SELECT count(*) FROM action")), ((3, 3), 0));
}

#[test]
fn claims_are_taken_back_by_time_subject_and_tenant() {
    let scene = Scene::new();
    let clear = |args: &[&str]| {
        let clear = ["inbox", "clear", "--consumer", CLERK, "--since", "1h", "--reason", "INC-7", "--yes"];
        scene.karwan(&[&clear, args].concat())
    };
    clear(&["--dry-run"]).exits(0).prints("3 claims of billing.clerk would be taken back");
    clear(&["--tenant", "platform"]).exits(0).prints("nothing to take back");
    clear(&["--tenant", TENANT, "--subject", SUBJECT]).exits(0).prints("3 claims of billing.clerk were taken back");
    assert_eq!(scene.count("SELECT count(*) FROM inbox"), 0);
}

#[test]
fn a_rebuild_begins_where_the_log_begins() {
    let scene = Scene::new();
    let rebuild = ["consumer", "rebuild", CLERK, "--reason", "game day", "--yes", "--json"];
    let told = scene.karwan(&rebuild).exits(0).json();
    assert_eq!((&told["events"], &told["rebuiltSeconds"]), (&json!(3), &json!(null)));
    assert_eq!(scene.places(), (0, 0));
}

/// Whoever runs the consumer is played by the test.
#[test]
fn a_rebuild_is_measured_until_the_consumer_is_at_the_end() {
    let scene = Scene::new();
    let rebuild = ["consumer", "rebuild", CLERK, "--measure", "--reason", "game day", "--yes", "--json"];
    let told = std::thread::scope(|scope| {
        let measured = scope.spawn(|| scene.karwan(&rebuild));
        while scene.places() != (0, 0) || scene.count("SELECT count(holder) FROM lane") > 0 {
            assert!(!measured.is_finished(), "it ended before anything was handled");
            std::thread::yield_now();
        }
        scene.sql("UPDATE lane SET position = 3 WHERE lane = 0");
        scene.sql("UPDATE lane SET position = 3 WHERE lane = 1");
        measured.join().expect("it ends")
    });
    let told = told.exits(0).json();
    assert!(told["rebuiltSeconds"].as_f64() >= told["clearedSeconds"].as_f64() && told["events"] == 3, "{told}");
}

#[test]
fn a_consumer_is_forgotten_and_the_doctor_said_so_before() {
    let scene = Scene::new();
    scene.sql("UPDATE lane SET position = 1");
    scene
        .karwan(&["doctor"])
        .exits(0)
        .prints("billing.clerk needs the log behind 1")
        .prints("karwan consumer forget billing.clerk");
    let forget = ["consumer", "forget", CLERK, "--reason", "retired", "--yes"];
    scene.karwan(&forget).exits(0).prints("billing.clerk is forgotten");
    assert_eq!(scene.count("SELECT count(*) FROM lane"), 0);
    scene.karwan(&["doctor"]).exits(0).prints("nobody holds the log back");
    scene.karwan(&forget).exits(1).says("none has run yet");
}

/// A process of the release before runs it, after the release that handles one subject more was taken back.
#[test]
fn a_subject_that_nobody_handles_any_more_is_shown_and_forgotten() {
    let scene = Scene::new();
    let show = ["consumer", "show", CLERK];
    scene.karwan(&[&show[..], &["--format", "json"]].concat()).exits(0).prints("\"unhandled\": []");
    scene.sql(&format!(
        "UPDATE declared SET subjects = subjects || char(10) || 'billing.payment.undone.v1';
         INSERT INTO node (name, lease_from, lease_until, runs) VALUES ('n-1', 0, 99999999999999,
             '[{{\"consumer\":\"{CLERK}\",\"lanes\":2,\"subjects\":[\"{SUBJECT}\"]}}]')"
    ));
    let forget = |subject: &str| {
        scene.karwan(&["consumer", "forget", CLERK, "--subject", subject, "--reason", "no release 7", "--yes"])
    };
    let told = "karwan consumer forget billing.clerk --subject billing.payment.undone.v1";
    scene.karwan(&show).exits(0).prints("nobody who runs it handles billing.payment.undone.v1").prints(told);
    forget(SUBJECT).exits(1).says("billing.clerk is run by n-1");
    forget("billing.payment.undone.v1").exits(0).prints("billing.clerk without billing.payment.undone.v1");
    forget("billing.payment.undone.v1").exits(1).says("no release of billing.clerk has handled");
    let shown = scene.karwan(&show).exits(0);
    assert!(!shown.stdout.contains("nobody who runs it"), "{}", shown.stdout);
    assert_eq!(scene.places(), (3, 3), "the consumer stays where it is");
}

#[test]
fn what_a_consumer_would_pass_over_is_said_before_it_is_moved() {
    let scene = Scene::new();
    scene.sql("UPDATE lane SET position = 1");
    let seek = |to: &str, more: &[&str]| {
        scene.karwan(&[&["consumer", "seek", CLERK, "--to", to, "--reason", "INC-7"], more].concat())
    };
    let passed = "which passes over 2 of its events";
    seek("end", &["--dry-run"]).exits(0).says(passed);
    // Nobody can be asked here, and still it is said what would be asked.
    seek("end", &[]).exits(64).says(passed).says("--yes");
    assert_eq!(scene.places(), (1, 1), "nothing was done");
    scene.karwan(&["consumer", "list"]).exits(0).prints("stands still");
    scene.sql("UPDATE lane SET holder = 'n-1', lease_until = 9000000000000000 WHERE lane = 0");
    scene.karwan(&["consumer", "list"]).exits(0).prints("n-1").prints("runs");
    scene.sql("UPDATE lane SET holder = 'n-1', lease_until = 1 WHERE lane = 0");
    scene.karwan(&["consumer", "list"]).exits(0).prints("nobody").prints("stands still");
    assert!(!seek("start", &["--dry-run"]).exits(0).stderr.contains("passes over"));
    let relay = scene.karwan(&["consumer", "seek", "relay.PAYMENT", "--to", "end", "--reason", "INC-7", "--yes"]);
    relay.exits(1).says("is a relay");
}

#[test]
fn retention_drops_what_is_old_and_says_who_holds_the_rest() {
    let scene = Scene::new();
    scene.sql("UPDATE log SET at = at - 31 * 86400000 WHERE seq < 3; UPDATE lane SET position = 1 WHERE lane = 0");
    let plan = scene.karwan(&["retention", "plan"]).exits(0);
    let plan = plan.prints("rows 1 to 1 go").prints("karwan consumer forget billing.clerk");
    assert!(plan.stdout.contains("is at 1"), "{}", plan.stdout);
    let told = scene.karwan(&["retention", "run", "--dry-run", "--json", "--reason", "x"]).exits(0).json();
    assert_eq!((&told["goes"], &told["old"]), (&json!(1), &json!(2)));
    let cold = Folder::new();
    let run = ["retention", "run", "--reason", "daily", "--export", &cold.name("cold")];
    scene.karwan(&run).exits(0).prints("rows 1 to 1 are gone");
    assert_eq!(scene.count("SELECT min(seq) FROM log"), 2);
    assert!(cold.at("cold").is_dir());
    scene.karwan(&["retention", "run", "--reason", "daily"]).exits(0).prints("no rows went");
}

#[test]
fn everything_that_operators_do_in_a_database_a_login_of_theirs_may_and_a_nodes_may_not() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let operator = format!("operator_{}", place.database.name());
    place.database.psql(&format!("CREATE ROLE {operator} LOGIN")).expect("a superuser can do that");
    let migrate = ["migrate", "--store", &place.database.url(), "--grant-operator", &operator];
    karwan(&migrate).exits(0).prints(&format!("granted: {operator} for operators"));
    place.append(TENANT, &["pay_1", "pay_2", "pay_3"]);
    let lanes = format!(
        "INSERT INTO karwan.lane_count VALUES ('{CLERK}', 1);
         INSERT INTO karwan.lane (consumer, lane, position, epoch) VALUES ('{CLERK}', 0, 3, 1)"
    );
    place.database.psql(&lanes).expect("a superuser can do that");
    let url = place.database.url_as(&operator);
    let seek = ["consumer", "seek", CLERK, "--to", "1", "--reason", "INC-7", "--yes"];
    karwan(&[&seek[..], &["--store", &url]].concat()).exits(0).prints("1 lanes from 3 to 1");
    // A node's login does not act.
    karwan(&[&seek[..], &["--store", &place.url()]].concat()).exits(1).says("karwan_maintenance");
    karwan(&["retention", "plan", "--store", &url]).exits(0).prints("no rows go");
    karwan(&["retention", "run", "--reason", "daily", "--store", &url]).exits(0).prints("no rows went");
    let asked = |verb: &[&str], code: i32| karwan(&[verb, &["--store", &url]].concat()).exits(code);
    for look in [
        &["consumer", "list"][..],
        &["consumer", "show", CLERK],
        &["dlq", "list"],
        &["dlq", "actions"],
        &["outbox"],
        &["log", "tail"],
        &["log", "stats"],
        &["key", "show", &format!("{TENANT}:pay_1")],
    ] {
        asked(look, 0);
    }
    let letter = format!(
        "INSERT INTO karwan.dead (consumer, event_id, seq, logged, tenant_id, subject, key, attempts, error, envelope)
         SELECT '{CLERK}', event_id, seq, at, tenant_id, subject, key, 7, 'broken', envelope FROM karwan.log WHERE seq = 1
         RETURNING event_id"
    );
    let event = place.database.psql(&letter).expect("a superuser can do that");
    let event = event.split_whitespace().next().expect("an event");
    asked(&["dlq", "show", event], 0).prints("broken");
    asked(&["dlq", "skip", event, "--reason", "INC-8", "--yes"], 0);
    let skipped = place.database.psql("SELECT max(id) FROM karwan.action").expect("a superuser can do that");
    for act in [
        &["dlq", "undo", skipped.trim(), "--reason", "INC-8"][..],
        &["consumer", "pause", CLERK, "--reason", "INC-8"],
        &["consumer", "resume", CLERK, "--reason", "INC-8"],
        &["key", "pause", &format!("{TENANT}:pay_2"), "--consumer", CLERK, "--reason", "INC-8"],
        &["key", "resume", &format!("{TENANT}:pay_2"), "--consumer", CLERK, "--reason", "INC-8"],
        &["inbox", "clear", "--consumer", CLERK, "--since", "2h", "--reason", "INC-8", "--yes"],
        &["consumer", "forget", CLERK, "--reason", "INC-8", "--yes"],
    ] {
        asked(act, 0);
    }
}
