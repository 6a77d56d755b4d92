//! Calls that were given up are letters like any other.

use super::scene::Scene;

on_both! {
    a_dead_call_is_listed_shown_and_retried_by_the_same_commands,
    a_dead_call_can_be_skipped_and_brought_back,
}

const WHY: [&str; 2] = ["--reason", "the vendor is back"];

fn a_dead_call_is_listed_shown_and_retried_by_the_same_commands(scene: &mut Scene) {
    scene.call("staff-1");
    assert_eq!(scene.calls(), 1);
    let event = scene.only(&["--consumer", "effect.page"]);
    let shown =
        scene.karwan(&["dlq", "show", &event]).exits(0).prints("no such pager").prints("staff-1").prints("‹hidden›");
    assert!(!shown.stdout.contains("Zarina"), "what a call is told may be personal: {}", shown.stdout);
    scene.karwan(&["dlq", "show", &event, "--raw"]).exits(0).prints("\"Zarina\"");
    scene.mended();
    scene.karwan(&[&["dlq", "retry", &event], &WHY[..]].concat()).exits(0);
    scene.restart();
    assert_eq!((scene.calls(), scene.letters(&[]).len()), (2, 0));
    scene.karwan(&["dlq", "list", "--consumer", "effect.pge"]).exits(1).says("did you mean effect.page?");
}

fn a_dead_call_can_be_skipped_and_brought_back(scene: &mut Scene) {
    scene.call("staff-1");
    let event = scene.only(&[]);
    scene.karwan(&[&["dlq", "skip", &event], &WHY[..]].concat()).exits(0).prints("action 1");
    assert_eq!((scene.letters(&[]).len(), scene.only(&["--state", "skipped"])), (0, event.clone()));
    scene.karwan(&[&["dlq", "undo", "1"], &WHY[..]].concat()).exits(0);
    assert_eq!(scene.only(&["--consumer", "effect.page"]), event);
}
