//! Many letters at once: frozen, shown, asked about.

use super::scene::{Mood, PAGER, Scene, key};

on_both! {
    a_selection_touches_exactly_what_was_shown_although_new_letters_arrive,
    an_action_on_many_asks_and_where_nobody_can_be_asked_wants_yes,
    an_action_on_everything_must_say_so,
    filters_mean_what_they_say,
    a_rate_is_kept_and_refusals_are_told_one_by_one,
    a_command_that_is_killed_half_way_loses_and_doubles_nothing_and_is_finished_by_another,
}

const WHY: [&str; 2] = ["--reason", "INC-7"];

fn fail(scene: &Scene, tasks: std::ops::Range<u64>, mood: Mood) {
    for task in tasks {
        scene.fails(task, mood);
        scene.assign(task, &[1]);
    }
}

/// The selection that a command spoke of.
#[track_caller]
fn selection(said: &str) -> String {
    let after = said.split("selection ").nth(1).expect("a selection is named");
    after.chars().take_while(char::is_ascii_digit).collect()
}

fn a_selection_touches_exactly_what_was_shown_although_new_letters_arrive(scene: &mut Scene) {
    fail(scene, 1..4, Mood::Dead);
    let shown = scene.karwan(&[&["dlq", "skip", "--consumer", PAGER, "--dry-run"], &WHY[..]].concat()).exits(0);
    assert_eq!(shown.stdout.lines().count(), 3);
    fail(scene, 4..6, Mood::Dead);
    let id = selection(&shown.stderr);
    let done = scene.karwan(&[&["dlq", "skip", "--select", &id, "--yes"], &WHY[..]].concat()).exits(0);
    assert_eq!(done.stdout.lines().count(), 3);
    let done = done.says("skip: 3 done, 0 refused");
    for letter in scene.letters(&["--state", "skipped"]) {
        let event = letter["event"].as_str().expect("an event");
        assert!(shown.stdout.contains(event) && done.stdout.contains(event), "{event}");
    }
    assert_eq!((scene.letters(&["--state", "skipped"]).len(), scene.letters(&["--state", "dead"]).len()), (3, 2));
    // Once more finds nothing of it to do.
    scene.karwan(&[&["dlq", "skip", "--select", &id, "--yes"], &WHY[..]].concat()).exits(1).says("0 done, 3 refused");
    scene.karwan(&[&["dlq", "skip", "--select", "999", "--yes"], &WHY[..]].concat()).exits(1).says("selection 999");
}

fn an_action_on_many_asks_and_where_nobody_can_be_asked_wants_yes(scene: &mut Scene) {
    fail(scene, 1..3, Mood::Dead);
    // A process that runs would try them before they are mended.
    scene.stop();
    let asked = scene.karwan(&[&["dlq", "retry", "--state", "dead"], &WHY[..]].concat()).exits(64);
    let asked =
        asked.says("retry: 2 letters").says(&format!("2 of {PAGER}")).says("impossible state").says("say --yes");
    assert_eq!((asked.stdout.as_str(), scene.actions().len(), scene.letters(&[]).len()), ("", 0, 2));
    let again = scene.karwan(&[&["dlq", "retry", "--select", &selection(&asked.stderr), "--yes"], &WHY[..]].concat());
    again.exits(0).says("retry: 2 done");
    scene.mended();
    scene.restart();
    assert_eq!(scene.handled(), [(1, 1), (2, 1)]);
}

fn an_action_on_everything_must_say_so(scene: &mut Scene) {
    fail(scene, 1..3, Mood::Dead);
    scene.karwan(&[&["dlq", "skip", "--yes"], &WHY[..]].concat()).exits(64).says("--all");
    scene.karwan(&[&["dlq", "skip", "--all", "--select", "1"], &WHY[..]].concat()).exits(64);
    assert_eq!(scene.letters(&[]).len(), 2);
    scene.karwan(&[&["dlq", "skip", "--all", "--yes"], &WHY[..]].concat()).exits(0).says("skip: 2 done");
    scene.karwan(&[&["dlq", "skip", "--all", "--yes"], &WHY[..]].concat()).exits(0).says("no letter is meant");
}

fn filters_mean_what_they_say(scene: &mut Scene) {
    fail(scene, 1..3, Mood::Dead);
    fail(scene, 3..4, Mood::Park);
    let count = |flags: &[&str]| scene.letters(flags).len();
    assert_eq!(count(&[]), 3);
    assert_eq!((count(&["--state", "dead"]), count(&["--state", "parked"]), count(&["--state", "skipped"])), (2, 1, 0));
    assert_eq!((count(&["--error", "no connection"]), count(&["--error", "IMPOSSIBLE%"])), (1, 0));
    assert_eq!((count(&["--key", &key(2)]), count(&["--key", &key(2), "--state", "parked"])), (1, 0));
    let bare = key(3);
    let bare = bare.split_once(':').expect("a tenant and a task").1;
    assert_eq!(count(&["--key", bare]), 1);
    assert_eq!((count(&["--topic", "melmastoon.housekeeping.>"]), count(&["--topic", "melmastoon.payment.>"])), (3, 0));
    assert_eq!((count(&["--tenant", "platform"]), count(&["--consumer", PAGER])), (0, 3));
    assert_eq!((count(&["--since", "1h"]), count(&["--until", "1h"])), (3, 0));
    assert_eq!(count(&["--limit", "2"]), 2);
    scene
        .karwan(&["dlq", "list", "--limit", "2"])
        .exits(0)
        .says("more than 2")
        .prints("STATE")
        .prints("impossible state");
}

fn a_rate_is_kept_and_refusals_are_told_one_by_one(scene: &mut Scene) {
    fail(scene, 1..4, Mood::Dead);
    scene.mended();
    scene.assign(2, &[2]);
    // A lane that is taken away while its event is handled has it handled again, and only one of the two is committed.
    scene.stop();
    let answer = scene.karwan(&[&["dlq", "retry", "--all", "--yes", "--rate", "1000"], &WHY[..]].concat()).exits(1);
    answer.says("retry: 2 done, 1 refused").says("refused: ").says("docs/errors/store-out-of-order.md");
    scene.karwan(&["dlq", "retry", "--all", "--rate", "0", "--reason", "x"]).exits(64);
    scene.restart();
    assert_eq!(scene.handled(), [(2, 2), (1, 1), (3, 1)]);
}

fn a_command_that_is_killed_half_way_loses_and_doubles_nothing_and_is_finished_by_another(scene: &mut Scene) {
    fail(scene, 1..9, Mood::Dead);
    scene.mended();
    scene.stop();
    let slowly = [&["dlq", "retry", "--all", "--yes", "--rate", "1"], &WHY[..]].concat();
    let mut killed = scene.spawn(&slowly);
    // One a second: whoever sees the first is in time.
    while scene.letters(&["--state", "parked"]).is_empty() {
        assert!(killed.try_wait().expect("it is our child").is_none(), "it has ended before");
    }
    killed.kill().expect("it runs");
    killed.wait().expect("it is our child");
    let left = scene.letters(&["--state", "dead"]).len();
    assert!((1..8).contains(&left), "{left} are left");
    let again = [&["dlq", "retry", "--state", "dead", "--yes"], &WHY[..]].concat();
    scene.karwan(&again).exits(0).says(&format!("retry: {left} done, 0 refused"));
    assert_eq!(scene.actions().len(), 8, "every letter was retried once");
    scene.restart();
    let mut handled = scene.handled();
    handled.sort_unstable();
    assert_eq!(handled, (1..9).map(|task| (task, 1)).collect::<Vec<_>>());
}
