//! What has not reached the broker: over positions and parked keys of relays.

use serde_json::json;

use super::scene::{ASSIGNED, Mood, PAGER, Scene};

on_both! {
    a_store_without_a_relay_publishes_nothing_and_says_so,
    what_is_not_published_is_told_by_relay_and_topic,
}

const RELAY: &str = "relay.HOUSEKEEPING";

fn a_store_without_a_relay_publishes_nothing_and_says_so(scene: &mut Scene) {
    scene.assign(1, &[1]);
    scene.karwan(&["outbox"]).exits(0).says("no relay has run");
    let json = scene.karwan(&["outbox", "--format", "json"]).exits(0).json();
    assert_eq!(json, json!({ "relays": [], "uncarried": [] }));
}

fn what_is_not_published_is_told_by_relay_and_topic(scene: &mut Scene) {
    // The letters of a consumer become those of a relay: their rows are the same.
    scene.fails(1, Mood::Park);
    scene.fails(2, Mood::Dead);
    scene.assign(1, &[1]);
    scene.assign(2, &[1]);
    scene.assign(3, &[1, 2]);
    scene.stop();
    for table in ["parked", "dead"] {
        scene.sql(&format!("UPDATE karwan.{table} SET consumer = '{RELAY}' WHERE consumer = '{PAGER}'"));
    }
    scene.sql(&format!("UPDATE karwan.lane SET consumer = '{RELAY}', position = 3 WHERE consumer = '{PAGER}'"));
    let json = scene.karwan(&["outbox", "--format", "json"]).exits(0).json();
    let relay = &json["relays"][0];
    assert_eq!(
        (&relay["relay"], &relay["stream"], &relay["position"]),
        (&json!(RELAY), &json!("HOUSEKEEPING"), &json!(3))
    );
    assert_eq!((&relay["unpublished"], &relay["parked"], &relay["quarantined"]), (&json!(2), &json!(1), &json!(1)));
    let topic = &relay["topics"][0];
    assert_eq!((&topic["topic"], &topic["unpublished"], &topic["attempts"]), (&json!(ASSIGNED), &json!(2), &json!(1)));
    assert!(topic["oldestMs"].as_i64() > Some(0), "{topic}");
    assert!(json["uncarried"].as_array().is_some_and(|it| !it.iter().any(|topic| topic == ASSIGNED)), "{json}");
    let text =
        scene.karwan(&["outbox"]).exits(0).prints(RELAY).prints("QUARANTINED").prints("no connection to the pager");
    text.prints(ASSIGNED).says("carried by no relay");
    scene.karwan(&["dlq", "list", "--consumer", RELAY]).exits(0).prints("dead").prints("parked");
    let told = "1|no connection to the pager|f\n1|impossible state|f\n0||t\n0||f";
    scene.view_agrees(told);
    // Whatever an operator has passed over or deleted is not published either.
    let all = |verb, more: &[&str]| {
        let words = ["dlq", verb, "--consumer", RELAY, "--reason", "INC-7", "--yes"];
        scene.karwan(&[&words, more].concat()).exits(0);
    };
    all("skip", &[]);
    scene.view_agrees(told);
    all("delete", &["--state", "skipped", "--sign-off", "omid"]);
    scene.view_agrees("0||f\n0||f\n0||t\n0||f");
}
