//! What is printed of a letter, and what is not.

use karwan_envelope::ids::{Id, Kind};
use serde_json::Value;

use super::scene::{ASSIGNED, ASSIGNEE, Mood, PAGER, Scene, key};

on_both! {
    a_letter_is_told_with_its_error_its_history_its_class_and_what_helps,
    a_letter_is_told_with_both_names_of_where_it_goes_when_it_is_dead,
    the_raw_envelope_is_the_stored_one_byte_for_byte,
    personal_values_are_masked_unless_they_are_asked_for,
    an_event_that_is_nobodys_letter_is_told_so,
    a_password_in_the_address_is_printed_nowhere,
}

enum Staff {}

impl Kind for Staff {
    const PREFIX: &'static str = "stf";
}

fn dead(scene: &Scene) -> String {
    scene.fails(1, Mood::Dead);
    scene.assign(1, &[1]);
    scene.only(&["--state", "dead"])
}

fn a_letter_is_told_with_its_error_its_history_its_class_and_what_helps(scene: &mut Scene) {
    let event = dead(scene);
    let shown = scene.karwan(&["dlq", "show", &event]).exits(0);
    for text in ["dead", ASSIGNED, &event, PAGER, &key(1), "impossible state", "attempts that failed", "what helps"] {
        assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
    }
    // Every remedy can be pasted: it names the letter and the store.
    let remedies: Vec<&str> =
        shown.stdout.lines().filter(|line| line.trim_start().starts_with("karwan dlq ")).collect();
    assert!(remedies.len() >= 3, "{remedies:?}");
    for remedy in remedies {
        assert!(remedy.contains(&event) && remedy.contains("--reason") && remedy.contains("--store"), "{remedy}");
    }
    let json = scene.karwan(&["dlq", "show", &event, "--format", "json"]).exits(0).json();
    assert_eq!((&json["state"], &json["attempts"]), (&"dead".into(), &1.into()));
    assert_eq!(json["history"][0]["error"], "impossible state");
    assert!(json["class"].is_string() && json["advice"].is_string(), "{json}");
}

/// and C-11: `<topic>.dlq`, and `{stream}.dlq` as JetStream can name it.
fn a_letter_is_told_with_both_names_of_where_it_goes_when_it_is_dead(scene: &mut Scene) {
    let event = dead(scene);
    let topic = format!("{ASSIGNED}.dlq");
    let told = format!("{topic}, in the stream HOUSEKEEPING_DLQ");
    scene.karwan(&["dlq", "show", &event]).exits(0).prints(&told);
    scene.karwan(&["dlq", "list"]).exits(0).says(&told);
    let show = scene.karwan(&["dlq", "show", &event, "--format", "json"]).exits(0).json();
    for letter in [&show, &scene.letters(&[])[0]] {
        assert_eq!(letter["deadLetterTopic"], topic, "{letter}");
        assert_eq!(letter["deadLetterStream"], "HOUSEKEEPING_DLQ", "{letter}");
    }
    // A call has no topic.
    scene.call("page:1");
    let call = &scene.letters(&["--consumer", "effect.page"])[0];
    assert_eq!((&call["deadLetterTopic"], &call["deadLetterStream"]), (&Value::Null, &Value::Null), "{call}");
}

fn the_raw_envelope_is_the_stored_one_byte_for_byte(scene: &mut Scene) {
    let event = dead(scene);
    let raw = scene.karwan(&["dlq", "show", &event, "--raw"]).exits(0);
    assert_eq!(raw.stderr, "");
    let row = scene.karwan(&["log", "tail", "--format", "json"]).exits(0);
    let logged: Value = serde_json::from_str(row.stdout.lines().next().expect("one row")).expect("JSON");
    assert_eq!(logged["envelope"], raw.json());
    assert!(row.stdout.contains(&raw.stdout), "the same bytes");
}

fn personal_values_are_masked_unless_they_are_asked_for(scene: &mut Scene) {
    let event = dead(scene);
    let assignee = Id::<Staff>::from_bits(ASSIGNEE).to_string();
    let shown = scene.karwan(&["dlq", "show", &event]).exits(0).prints("‹personal: identifier›").prints("assigneeId");
    assert!(!shown.stdout.contains(&assignee), "{}", shown.stdout);
    let json = scene.karwan(&["dlq", "show", &event, "--format", "json"]).exits(0);
    assert!(!json.stdout.contains(&assignee), "{}", json.stdout);
    scene.karwan(&["dlq", "show", &event, "--show-personal"]).exits(0).prints(&assignee);
    let list = scene.karwan(&["dlq", "list", "--format", "json"]).exits(0);
    assert!(!list.stdout.contains(&assignee), "{}", list.stdout);
}

fn an_event_that_is_nobodys_letter_is_told_so(scene: &mut Scene) {
    let event = "0190c2f0-0000-7000-8000-000000000099";
    scene.karwan(&["dlq", "show", event]).exits(1).says("no consumer of this store has a letter");
    scene.karwan(&["dlq", "show", event, "--consumer", PAGER]).exits(1).says("docs/errors/store-no-letter.md");
    scene.karwan(&["dlq", "show", "somebody"]).exits(64).says("an event is a UUID");
    scene.karwan(&["dlq", "list"]).exits(0).says("no letter");
}

fn a_password_in_the_address_is_printed_nowhere(scene: &mut Scene) {
    let event = dead(scene);
    // A file has none.
    let address = scene.address.replacen('@', ":hunter2@", 1);
    let calls: [&[&str]; 4] = [
        &["dlq", "show", &event],
        &["dlq", "skip", "--all", "--dry-run", "--reason", "x"],
        &["dlq", "skip", "--all", "--reason", "x"],
        &["dlq", "list", "--consumer", "nobody"],
    ];
    for call in calls {
        let answer = crate::karwan::karwan(&[call, &["--store", &address]].concat());
        assert!(!format!("{}{}", answer.stdout, answer.stderr).contains("hunter2"), "{answer:?}");
    }
}
