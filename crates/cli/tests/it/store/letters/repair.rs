//! Letters that break their schema: refused for replay until they are valid.

use super::scene::{Mood, PAGER, Scene};

on_both! {
    a_schema_invalid_letter_is_refused_for_replay_and_classified_as_drift,
    a_repair_keeps_the_original_and_the_events_identity,
    what_was_before_a_repair_is_shown_after_the_event_was_handled,
    a_repair_that_breaks_the_schema_is_refused_with_every_violation,
}

const WHY: [&str; 2] = ["--reason", "DEF-12"];

/// A dead letter whose stored envelope has a version that is no number.
fn drifted(scene: &Scene) -> String {
    scene.fails(1, Mood::Dead);
    scene.assign(1, &[1]);
    scene.sql(r#"UPDATE karwan.dead SET envelope = replace(envelope, '"version":1', '"version":"one"')"#);
    scene.mended();
    scene.only(&["--state", "dead"])
}

fn payload(scene: &Scene, event: &str) -> serde_json::Value {
    let raw = scene.karwan(&["dlq", "show", event, "--raw"]).exits(0);
    raw.json()["payload"].clone()
}

fn a_schema_invalid_letter_is_refused_for_replay_and_classified_as_drift(scene: &mut Scene) {
    let event = drifted(scene);
    scene
        .karwan(&[&["dlq", "retry", &event], &WHY[..]].concat())
        .exits(1)
        .says("docs/errors/store-drift.md")
        .says("version");
    let judged = scene.karwan(&["dlq", "classify", &event, "--format", "json"]).exits(0).json();
    assert_eq!(judged[0]["class"], "schema drift");
    assert!(judged[0]["violations"][0].as_str().is_some_and(|it| it.contains("version")), "{judged}");
    scene.karwan(&["dlq", "classify"]).exits(0).prints("schema drift (1): ").prints("do not retry until it validates");
    let shown = scene.karwan(&["dlq", "show", &event]).exits(0).prints("broken rules").prints("karwan dlq repair");
    assert!(!shown.stdout.contains("karwan dlq retry"), "a retry would be refused: {}", shown.stdout);
    assert_eq!((scene.letters(&["--state", "dead"]).len(), scene.actions().len()), (1, 0));
}

fn a_repair_keeps_the_original_and_the_events_identity(scene: &mut Scene) {
    let event = drifted(scene);
    // Else it would be handled before it can be looked at.
    scene.stop();
    let before = scene.karwan(&["dlq", "show", &event, "--raw"]).exits(0).stdout;
    let mut mended = payload(scene, &event);
    mended["version"] = 7.into();
    let folder = scene.folder();
    let file = folder.write("payload.json", mended.to_string());
    let repair = [&["dlq", "repair", &event, "--payload", &file], &WHY[..]].concat();
    scene.karwan(&[&repair[..], &["--dry-run"]].concat()).exits(0).prints("would repair");
    assert_eq!(scene.actions().len(), 0);
    scene.karwan(&repair).exits(0).prints("repair").says("the original is kept");
    let shown = |flags: &[&str]| scene.karwan(&[&["dlq", "show", &event], flags].concat()).exits(0);
    assert_eq!(shown(&["--raw", "--original"]).stdout, before);
    let (old, new): (serde_json::Value, _) = (serde_json::from_str(&before).expect("JSON"), shown(&["--raw"]).json());
    assert_eq!(new["payload"]["version"], 7);
    for same in ["eventId", "eventType", "idempotencyKey", "orderingKey"] {
        assert_eq!(new.get(same), old.get(same), "{same}");
    }
    shown(&[]).prints("repaired").prints("DEF-12");
    scene.restart();
    assert_eq!(scene.handled(), [(1, 7)]);
}

fn what_was_before_a_repair_is_shown_after_the_event_was_handled(scene: &mut Scene) {
    let event = drifted(scene);
    let before = scene.karwan(&["dlq", "show", &event, "--raw"]).exits(0).stdout;
    let mut mended = payload(scene, &event);
    mended["version"] = 7.into();
    let folder = scene.folder();
    let file = folder.write("payload.json", mended.to_string());
    scene.karwan(&[&["dlq", "repair", &event, "--payload", &file], &WHY[..]].concat()).exits(0);
    scene.restart();
    assert_eq!(scene.handled(), [(1, 7)]);
    let show = |flags: &[&str]| scene.karwan(&[&["dlq", "show", &event], flags].concat());
    show(&["--consumer", PAGER]).exits(1).says("has already handled");
    for consumer in [&[][..], &["--consumer", PAGER]] {
        assert_eq!(show(&[&["--original", "--raw"], consumer].concat()).exits(0).stdout, before);
    }
    let text = show(&["--original"]).exits(0).prints("‹personal: identifier›").says("before its repair");
    assert!(text.stdout.contains("\"one\""), "{}", text.stdout);
    let json = show(&["--original", "--format", "json"]).exits(0).json();
    assert_eq!((&json["consumer"], &json["envelope"]["payload"]["version"]), (&PAGER.into(), &"one".into()));
    show(&["--original", "--consumer", "notification-service.pagr"]).exits(1).says("did you mean");
}

fn a_repair_that_breaks_the_schema_is_refused_with_every_violation(scene: &mut Scene) {
    let event = drifted(scene);
    let folder = scene.folder();
    let mut wrong = payload(scene, &event);
    wrong["roomId"] = 7.into();
    let cases = [
        (folder.write("wrong.json", wrong.to_string()), 1, "roomId"),
        (folder.write("none.json", "not JSON"), 1, "docs/errors/store-bad-repair.md"),
        (folder.name("missing.json"), 65, "missing.json"),
    ];
    for (file, code, said) in cases {
        scene.karwan(&[&["dlq", "repair", &event, "--payload", &file], &WHY[..]].concat()).exits(code).says(said);
    }
    assert_eq!((scene.only(&["--state", "dead"]), scene.actions().len()), (event, 0));
}
