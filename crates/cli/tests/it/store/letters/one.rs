//! One letter at a time: retry, skip, undo, quarantine, delete, note.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::scene::{ASSIGNED, Mood, PAGER, Scene, key};

on_both! {
    a_retry_of_a_dead_letter_lets_the_handler_run_once,
    a_process_that_runs_obeys_without_a_restart,
    a_retry_of_a_parked_letter_lets_its_key_go_on_in_order,
    a_retry_after_later_events_ran_wants_out_of_order,
    a_skipped_letter_is_never_handled_and_its_key_goes_on,
    an_undone_skip_is_what_it_was_before,
    a_quarantined_letter_is_in_a_file_byte_for_byte_with_a_manifest,
    a_deletion_without_sign_off_is_refused,
    a_deleted_letter_is_told_as_deleted_and_no_replay_brings_it_back,
    what_is_undone_elsewhere_is_refused_with_the_command_that_does,
    a_reason_that_is_missing_is_refused,
    a_dry_run_changes_nothing,
    a_wrong_consumer_is_refused_with_the_one_that_was_meant,
    every_action_says_who_and_why,
    what_is_parked_is_shown_with_its_consumer,
}

const WHY: [&str; 4] = ["--actor", "zarina", "--reason", "INC-7"];

fn act(scene: &Scene, verb: &str, event: &str, rest: &[&str]) -> crate::karwan::Answer {
    scene.karwan(&[&["dlq", verb, event], rest, &WHY[..]].concat())
}

fn dead(scene: &Scene) -> String {
    scene.fails(1, Mood::Dead);
    scene.assign(1, &[1]);
    scene.only(&["--state", "dead"])
}

fn parked(scene: &Scene) -> String {
    scene.fails(1, Mood::Park);
    scene.assign(1, &[1, 2, 3]);
    scene.letters(&["--state", "parked"])[0]["event"].as_str().expect("an event").to_owned()
}

fn a_retry_of_a_dead_letter_lets_the_handler_run_once(scene: &mut Scene) {
    let event = dead(scene);
    scene.mended();
    assert_eq!(scene.handled(), []);
    act(scene, "retry", &event, &[]).exits(0).prints("action 1: retry").says("tries it within");
    scene.restart();
    assert_eq!(scene.handled(), [(1, 1)]);
    assert_eq!(scene.letters(&[]), [] as [serde_json::Value; 0]);
    act(scene, "retry", &event, &[]).exits(1).says("no consumer of this store has a letter");
    act(scene, "retry", &event, &["--consumer", PAGER]).exits(1);
    scene.restart();
    assert_eq!(scene.handled(), [(1, 1)], "and not a second time");
}

fn a_process_that_runs_obeys_without_a_restart(scene: &mut Scene) {
    let event = parked(scene);
    scene.mended();
    act(scene, "retry", &event, &[]).exits(0);
    while scene.handled().len() < 3 {
        scene.settle();
    }
    assert_eq!((scene.handled(), scene.letters(&[]).len()), (vec![(1, 1), (1, 2), (1, 3)], 0));
}

fn a_retry_of_a_parked_letter_lets_its_key_go_on_in_order(scene: &mut Scene) {
    let event = parked(scene);
    assert_eq!(scene.letters(&["--state", "parked"]).len(), 3, "those behind it wait with it");
    scene.mended();
    scene.restart();
    assert_eq!(scene.handled(), [], "it waits for a person");
    act(scene, "retry", &event, &[]).exits(0);
    scene.restart();
    assert_eq!(scene.handled(), [(1, 1), (1, 2), (1, 3)]);
}

fn a_retry_after_later_events_ran_wants_out_of_order(scene: &mut Scene) {
    let event = dead(scene);
    scene.mended();
    scene.assign(1, &[2]);
    assert_eq!(scene.handled(), [(1, 2)], "a dead event lets its key go on");
    act(scene, "retry", &event, &[]).exits(1).says("--out-of-order").says("docs/errors/store-out-of-order.md");
    assert_eq!(scene.only(&["--state", "dead"]), event);
    act(scene, "retry", &event, &["--out-of-order"]).exits(0);
    scene.restart();
    assert_eq!(scene.handled(), [(1, 2), (1, 1)]);
}

fn a_skipped_letter_is_never_handled_and_its_key_goes_on(scene: &mut Scene) {
    let event = parked(scene);
    scene.mended();
    act(scene, "skip", &event, &[]).exits(0).prints("skip").says("karwan dlq undo");
    assert_eq!(scene.only(&["--state", "skipped"]), event);
    scene.restart();
    assert_eq!(scene.handled(), [(1, 2), (1, 3)]);
}

fn an_undone_skip_is_what_it_was_before(scene: &mut Scene) {
    let event = dead(scene);
    act(scene, "skip", &event, &[]).exits(0).prints("action 1");
    assert_eq!(scene.letters(&["--state", "dead"]), [] as [serde_json::Value; 0]);
    let undo = |action: &str| scene.karwan(&[&["dlq", "undo", action], &WHY[..]].concat());
    undo("1").exits(0).prints("undid action 1");
    assert_eq!(scene.only(&["--state", "dead"]), event);
    undo("1").exits(1).says("docs/errors/store-cannot-undo.md");
    undo("99").exits(1).says("there is no action 99");
    let actions = scene.actions();
    assert_eq!((&actions[1]["verb"], &actions[1]["undoneBy"]), (&"skip".into(), &2.into()));
}

fn a_quarantined_letter_is_in_a_file_byte_for_byte_with_a_manifest(scene: &mut Scene) {
    let event = dead(scene);
    let raw = scene.karwan(&["dlq", "show", &event, "--raw"]).exits(0).stdout;
    let folder = scene.folder();
    let cold = folder.name("cold");
    act(scene, "quarantine", &event, &["--dir", &cold]).exits(0);
    assert_eq!(scene.only(&["--state", "quarantined"]), event);
    assert_eq!(scene.letters(&[]), [] as [serde_json::Value; 0]);
    let mut texts = Vec::new();
    let mut open = vec![folder.at("cold")];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).expect("it was made") {
            let entry = entry.expect("it can be read");
            let mode = entry.metadata().expect("it is there").permissions().mode();
            assert_eq!(
                mode & 0o077,
                0,
                "an envelope has personal data, and {:?} is not its owner's alone",
                entry.path()
            );
            let path = entry.path();
            if path.is_dir() { open.push(path) } else { texts.push(std::fs::read_to_string(path).expect("text")) }
        }
    }
    assert!(texts.contains(&raw), "the envelope as it is stored: {texts:?}");
    let manifest = texts.iter().find(|text| text.contains("zarina")).expect("a manifest");
    assert!(manifest.contains(&event) && manifest.contains("INC-7") && manifest.contains(PAGER), "{manifest}");
    scene.karwan(&["dlq", "show", &event]).exits(0).prints("quarantined").prints("cold").prints("karwan dlq undo 1");
}

fn a_deletion_without_sign_off_is_refused(scene: &mut Scene) {
    let event = dead(scene);
    act(scene, "delete", &event, &[]).exits(64).says("--sign-off");
    act(scene, "delete", &event, &["--sign-off", "zarina"]).exits(1).says("docs/errors/store-sign-off.md");
    assert_eq!(scene.only(&["--state", "dead"]), event);
    act(scene, "delete", &event, &["--sign-off", "omid"]).exits(0);
    scene.mended();
    scene.restart();
    assert_eq!((scene.letters(&[]).len(), scene.handled().len()), (0, 0));
    act(scene, "delete", &event, &["--sign-off", "omid", "--consumer", PAGER]).exits(1);
    scene.karwan(&["dlq", "actions", "--verb", "delete"]).exits(0).prints("zarina").prints("INC-7");
}

fn a_deleted_letter_is_told_as_deleted_and_no_replay_brings_it_back(scene: &mut Scene) {
    let event = dead(scene);
    let chosen = scene.karwan(&[&["dlq", "skip", "--all", "--dry-run"], &WHY[..]].concat()).exits(0);
    assert!(chosen.stderr.contains("selection 1"), "{}", chosen.stderr);
    act(scene, "delete", &event, &["--sign-off", "omid"]).exits(0);
    // The dry run may have used up a number.
    let action = scene.actions()[0]["action"].clone();
    let gone = &format!("was deleted by action {action}");
    scene.karwan(&["dlq", "show", &event]).exits(1).says(gone).says("docs/errors/store-deleted.md");
    scene.karwan(&["dlq", "show", &event, "--consumer", PAGER]).exits(1).says(gone);
    scene.karwan(&[&["dlq", "skip", "--select", "1", "--yes"], &WHY[..]].concat()).exits(1).says(gone);
    scene.mended();
    let replay = ["replay", "--topic", ASSIGNED, "--since", "1h", "--idempotency-safe", "--consumer", PAGER, "--yes"];
    scene.karwan(&[&replay[..], &WHY[..]].concat()).exits(0);
    scene.restart();
    assert_eq!(scene.handled(), [], "it is gone for good");
    let story = scene.karwan(&["key", "show", &key(1), "--format", "json"]).exits(0).json();
    let entries = story["entries"].as_array().expect("a list");
    let fate = entries[0]["fates"].as_array().expect("a list").iter().find(|fate| fate["consumer"] == PAGER);
    let fate = fate.expect("the pager's");
    assert_eq!((&fate["fate"], &fate["action"]["signOff"]), (&json!("deleted"), &json!("omid")), "{story}");
    assert!(entries.iter().any(|entry| entry["what"] == "failed"), "why it failed is still told: {story}");
    let told = format!("{PAGER}: deleted; action {action}: delete by zarina: INC-7 (agreed: omid)");
    scene.karwan(&["key", "show", &key(1)]).exits(0).prints(&told);
}

fn what_is_undone_elsewhere_is_refused_with_the_command_that_does(scene: &mut Scene) {
    scene.assign(1, &[1]);
    scene.stop();
    let undo = |action: &str| scene.karwan(&[&["dlq", "undo", action], &WHY[..]].concat()).exits(1);
    let seek = |to: &[&str]| scene.karwan(&[&["consumer", "seek", PAGER], to, &WHY[..]].concat());
    seek(&["--to", "start", "--yes"]).exits(0);
    undo("1").says(&format!("karwan consumer seek {PAGER} --undo 1"));
    seek(&["--undo", "--yes"]).exits(0);
    let none = seek(&["--undo", "--yes"]).exits(1).says(&format!("{PAGER} has no seek left to undo"));
    assert!(!none.stderr.contains("action 0"), "{}", none.stderr);
    let replay = ["replay", "--topic", ASSIGNED, "--since", "1h", "--idempotency-safe", "--consumer", PAGER, "--yes"];
    scene.karwan(&[&replay[..], &WHY[..]].concat()).exits(0);
    undo("3").says("karwan replay --undo 3");
    // What was sent once more is due since ever; 1970 says nothing to anybody.
    let key = key(1);
    let event = scene.only(&["--state", "parked"]);
    let shown: [&[&str]; 4] =
        [&["consumer", "show", PAGER], &["dlq", "list"], &["dlq", "show", &event], &["key", "show", &key]];
    for args in shown {
        let shown = scene.karwan(args).exits(0).prints("now");
        assert!(!shown.stdout.contains("1970"), "{}", shown.stdout);
    }
}

fn a_reason_that_is_missing_is_refused(scene: &mut Scene) {
    let event = dead(scene);
    let folder = scene.folder();
    let payload = folder.write("payload.json", "{}");
    let cold = folder.name("cold");
    let changes: [&[&str]; 9] = [
        &["dlq", "retry", &event],
        &["dlq", "skip", &event],
        &["dlq", "repair", &event, "--payload", &payload],
        &["dlq", "quarantine", &event, "--dir", &cold],
        &["dlq", "delete", &event, "--sign-off", "omid"],
        &["dlq", "note", &event],
        &["dlq", "undo", "1"],
        &["key", "pause", &key(1), "--consumer", PAGER],
        &["consumer", "pause", PAGER],
    ];
    for change in changes {
        scene.karwan(change).exits(64).says("--reason");
        scene.karwan(&[change, &["--reason", "  "]].concat()).exits(64).says("it must say something");
    }
    assert_eq!((scene.only(&["--state", "dead"]), scene.actions().len()), (event, 0));
}

fn a_dry_run_changes_nothing(scene: &mut Scene) {
    let event = dead(scene);
    let before = scene.letters(&[]);
    let cold = scene.folder().name("cold");
    act(scene, "retry", &event, &["--dry-run"]).exits(0).prints("would retry");
    act(scene, "skip", &event, &["--dry-run"]).exits(0).prints("would skip");
    act(scene, "delete", &event, &["--dry-run", "--sign-off", "omid"]).exits(0).prints("would delete");
    act(scene, "quarantine", &event, &["--dry-run", "--dir", &cold]).exits(0).prints("would quarantine");
    for verb in ["retry", "skip"] {
        let many = scene.karwan(&[&["dlq", verb, "--all", "--dry-run"], &WHY[..]].concat()).exits(0);
        many.prints(&format!("would {verb} {event}")).says("nothing was changed").says("--select");
    }
    scene.mended();
    scene.restart();
    assert_eq!((scene.letters(&[]), scene.actions().len(), scene.handled().len()), (before, 0, 0));
    assert!(!std::path::Path::new(&cold).join(&event).exists());
}

fn a_wrong_consumer_is_refused_with_the_one_that_was_meant(scene: &mut Scene) {
    let event = dead(scene);
    let wrong = "notification-service.pagr";
    let calls: [&[&str]; 5] = [
        &["dlq", "list", "--consumer", wrong],
        &["dlq", "show", &event, "--consumer", wrong],
        &["dlq", "retry", "--consumer", wrong, "--reason", "x"],
        &["key", "pause", &key(1), "--consumer", wrong, "--reason", "x"],
        &["consumer", "pause", wrong, "--reason", "x"],
    ];
    for call in calls {
        scene.karwan(call).exits(1).says(&format!("did you mean {PAGER}?"));
    }
    let topic = "melmastoon.housekeeping.task.asigned.v1";
    scene
        .karwan(&["dlq", "list", "--topic", topic])
        .exits(1)
        .says("did you mean melmastoon.housekeeping.task.assigned.v1?");
    scene.karwan(&["dlq", "actions", "--verb", "skp"]).exits(64).says("did you mean skip?");
}

fn every_action_says_who_and_why(scene: &mut Scene) {
    let event = dead(scene);
    act(scene, "note", &event, &["--text", "DEF-12 opened"]).exits(0);
    act(scene, "skip", &event, &[]).exits(0);
    let actions = scene.actions();
    assert_eq!((actions.len(), &actions[1]["note"]), (2, &"DEF-12 opened".into()));
    scene.karwan(&["dlq", "show", &event]).exits(0).prints("note by zarina: INC-7 — DEF-12 opened");
    for action in &actions {
        assert_eq!((&action["actor"], &action["reason"]), (&"zarina".into(), &"INC-7".into()));
        assert_eq!((&action["consumer"], &action["event"]), (&PAGER.into(), &event.as_str().into()));
    }
    // Without a name it is the user who runs it.
    scene.karwan(&["dlq", "note", &event, "--reason", "who am I"]).exits(0);
    let me = std::process::Command::new("id").arg("-un").output().expect("id runs");
    let me = String::from_utf8(me.stdout).expect("a name is text");
    assert_eq!(scene.actions()[0]["actor"], me.trim());
}

fn what_is_parked_is_shown_with_its_consumer(scene: &mut Scene) {
    let event = parked(scene);
    scene.stop();
    scene.assign(2, &[1, 2]);
    let told = scene.karwan(&["consumer", "show", PAGER, "--format", "json"]).exits(0).json();
    assert_eq!(told["behindEvents"], json!(2), "{told}");
    let parked = told["parkedEvents"].as_array().expect("a list").clone();
    assert_eq!((parked.len(), told["parked"].as_i64()), (3, Some(3)), "{told}");
    let of = |place: usize, field: &str| parked[place][field].clone();
    assert_eq!((of(0, "event"), of(0, "attempts"), of(0, "due")), (json!(event), json!(1), json!(null)), "{told}");
    assert_eq!(of(0, "error"), json!("no connection to the pager"), "{told}");
    assert!(of(0, "key").as_str().is_some_and(|id| key(1).ends_with(id)), "{told}");
    // Those behind it may go as soon as they are first.
    assert_eq!((of(1, "attempts"), of(1, "error")), (json!(0), json!("behind another event of its key")), "{told}");
    assert!(of(1, "due").is_string(), "{told}");
    let few = scene.karwan(&["consumer", "show", PAGER, "--parked", "1"]).exits(0);
    few.prints("NEXT ATTEMPT")
        .prints(&key(1))
        .prints(&event)
        .prints("no connection to the pager")
        .prints("and 2 more: karwan dlq list");
    let none = scene.karwan(&["consumer", "show", PAGER, "--parked", "0", "--format", "json"]).exits(0).json();
    assert_eq!(none["parkedEvents"], json!([]));
}
