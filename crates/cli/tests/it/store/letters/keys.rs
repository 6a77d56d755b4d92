//! Keys and consumers: their stories, and stopping them.

use serde_json::json;

use super::scene::{ASSIGNED, Mood, PAGER, Scene, key};

on_both! {
    a_key_is_told_whole_and_in_order_of_time,
    an_event_is_told_to_be_published_by_the_relay_of_its_topic_alone,
    a_key_that_nobody_has_seen_is_paused_with_a_word_about_it,
    a_paused_key_waits_while_others_flow_and_goes_on_in_order,
    a_paused_consumer_waits_and_goes_on_with_the_reasons_recorded,
    a_consumer_that_fails_everywhere_is_shown_suspended_with_the_reason_until_it_is_resumed,
}

const WHY: [&str; 4] = ["--actor", "zarina", "--reason", "INC-7"];

fn a_key_is_told_whole_and_in_order_of_time(scene: &mut Scene) {
    scene.assign(1, &[1]);
    scene.fails(1, Mood::Park);
    scene.assign(1, &[2, 3]);
    let parked = scene.letters(&["--state", "parked"])[0]["event"].as_str().expect("an event").to_owned();
    scene.karwan(&[&["dlq", "note", &parked], &WHY[..]].concat()).exits(0);
    let story = scene.karwan(&["key", "show", &key(1), "--format", "json"]).exits(0).json();
    let entries = story["entries"].as_array().expect("a list");
    let what: Vec<&str> = entries.iter().map(|entry| entry["what"].as_str().expect("a word")).collect();
    assert_eq!(what.iter().filter(|it| **it == "logged").count(), 3, "{what:?}");
    assert!(what.contains(&"failed") && what.last() == Some(&"acted"), "{what:?}");
    let times: Vec<&str> = entries.iter().map(|entry| entry["at"].as_str().expect("an instant")).collect();
    assert!(times.is_sorted(), "{times:?}");
    let fate = |number: usize| {
        let fates =
            entries.iter().filter(|entry| entry["what"] == "logged").nth(number).expect("three")["fates"].clone();
        let pager = fates.as_array().expect("a list").iter().find(|fate| fate["consumer"] == PAGER).cloned();
        pager.expect("the pager")["fate"].as_str().expect("a word").to_owned()
    };
    assert_eq!((fate(0).as_str(), fate(1).as_str(), fate(2).as_str()), ("handled", "parked", "behind"));
    let text = scene.karwan(&["key", "show", &key(1)]).exits(0).prints(ASSIGNED).prints("no connection to the pager");
    text.prints("note by zarina: INC-7").prints("waits behind");
    scene.karwan(&["key", "show", &key(9)]).exits(0).says("nothing is known of this key");
    scene.karwan(&["key", "show", "somebody"]).exits(64).says("a key is <tenant>:<aggregate>");
}

fn an_event_is_told_to_be_published_by_the_relay_of_its_topic_alone(scene: &mut Scene) {
    scene.assign(1, &[1, 2]);
    scene.stop();
    // Lanes of others become those of relays: their rows are the same.
    for (relay, was, position) in [("HOUSEKEEPING", PAGER, 1), ("BILLING", "effect.page", 9)] {
        let set = format!("SET consumer = 'relay.{relay}', position = {position}");
        scene.sql(&format!("UPDATE karwan.lane {set} WHERE consumer = '{was}'"));
    }
    scene.karwan(&["consumer", "list"]).exits(0).prints("relay.HOUSEKEEPING").prints("relay.BILLING");
    let story = |more: &[&str]| {
        let story = scene.karwan(&[&["key", "show", &key(1), "--format", "json"], more].concat()).exits(0).json();
        let entries = story["entries"].as_array().expect("a list").clone();
        entries.iter().map(|entry| entry["fates"].clone()).collect::<Vec<_>>()
    };
    let carried = "relay.HOUSEKEEPING";
    let fates = ["published", "ahead"].map(|fate| json!([{ "consumer": carried, "fate": fate }]));
    assert_eq!((story(&[]), story(&["--consumer", carried])), (fates.to_vec(), fates.to_vec()));
    assert_eq!(story(&["--consumer", "relay.BILLING"]), [json!([]), json!([])]);
    scene.karwan(&["key", "show", &key(1)]).exits(0).prints("relay.HOUSEKEEPING: published");
}

fn a_key_that_nobody_has_seen_is_paused_with_a_word_about_it(scene: &mut Scene) {
    scene.assign(1, &[1]);
    let pause =
        |task: u64| scene.karwan(&[&["key", "pause", &key(task), "--consumer", PAGER], &WHY[..]].concat()).exits(0);
    let unknown = "nothing is known of this key yet";
    pause(9).says("waits for").says(unknown);
    let known = pause(1).says("waits for");
    assert!(!known.stderr.contains(unknown), "{}", known.stderr);
}

fn a_paused_key_waits_while_others_flow_and_goes_on_in_order(scene: &mut Scene) {
    scene.assign(1, &[1]);
    let change = |verb: &str| scene.karwan(&[&["key", verb, &key(1), "--consumer", PAGER], &WHY[..]].concat());
    change("resume").exits(1).says("is not paused");
    change("pause").exits(0).says("waits for");
    change("pause").exits(1).says("already");
    scene.karwan(&["key", "show", &key(1)]).exits(0).prints("paused for").prints("by zarina: INC-7");
    scene.restart();
    scene.assign(1, &[2, 3]);
    scene.assign(2, &[1]);
    assert_eq!(scene.handled(), [(1, 1), (2, 1)]);
    let change = |verb: &str| scene.karwan(&[&["key", verb, &key(1), "--consumer", PAGER], &WHY[..]].concat());
    change("resume").exits(0).says("goes on");
    scene.restart();
    assert_eq!(scene.handled(), [(1, 1), (2, 1), (1, 2), (1, 3)]);
}

fn a_paused_consumer_waits_and_goes_on_with_the_reasons_recorded(scene: &mut Scene) {
    scene.assign(1, &[1]);
    let change = |verb: &str| scene.karwan(&[&["consumer", verb, PAGER], &WHY[..]].concat());
    change("resume").exits(1).says("neither paused nor suspended");
    change("pause").exits(0);
    change("pause").exits(1).says("already");
    let shown = scene.karwan(&["consumer", "show", PAGER, "--format", "json"]).exits(0).json();
    assert!(shown["suspended"]["reason"].as_str().is_some_and(|reason| reason.contains("INC-7")), "{shown}");
    scene.restart();
    scene.assign(2, &[1]);
    assert_eq!(scene.handled(), [(1, 1)]);
    scene.karwan(&[&["consumer", "resume", PAGER], &WHY[..]].concat()).exits(0);
    scene.restart();
    assert_eq!(scene.handled(), [(1, 1), (2, 1)]);
    let verbs: Vec<String> = scene.actions().iter().map(|it| it["verb"].as_str().expect("a verb").to_owned()).collect();
    assert_eq!(verbs, ["resume-consumer", "pause-consumer"]);
}

fn a_consumer_that_fails_everywhere_is_shown_suspended_with_the_reason_until_it_is_resumed(scene: &mut Scene) {
    scene.stop();
    for task in 1..=120 {
        scene.fails(task, Mood::Park);
        scene.assign(task, &[1]);
    }
    scene.restart();
    let why = "50 of the last 50 keys failed";
    scene.karwan(&["consumer", "list"]).exits(0).prints("suspended").prints(why);
    let show = ["consumer", "show", PAGER, "--format", "json"];
    let shown = scene.karwan(&show).exits(0).json();
    assert!(shown["suspended"]["reason"].as_str().is_some_and(|reason| reason.contains(why)), "{shown}");
    scene.mended();
    scene.assign(500, &[1]);
    assert!(!scene.handled().contains(&(500, 1)), "it was to wait");
    scene.karwan(&[&["consumer", "resume", PAGER], &WHY[..]].concat()).exits(0);
    scene.restart();
    assert!(scene.handled().contains(&(500, 1)));
    assert_eq!(scene.karwan(&show).exits(0).json()["suspended"], serde_json::Value::Null);
}
