//! The pages that people follow: every command of them is run, in order, by a shell.

use super::scene::{Mood, Scene, key};
use crate::store::pages::{commands, environment, shell};

on_both! {
    the_guide_works_as_it_is_written,
    the_runbook_works_as_it_is_written,
}

fn follow(scene: &mut Scene, page: &str, broken: bool) {
    for task in 1..7 {
        scene.fails(task, Mood::Dead);
        scene.assign(task, &[1]);
    }
    // Nobody handles anything while the page is read, so that each letter is where the page says.
    scene.stop();
    let event = |task: u64| scene.only(&["--key", &key(task)]);
    let mut names = environment();
    names.extend([
        ("EVENT", event(1)),
        ("BROKEN", event(2)),
        ("OTHER", event(3)),
        ("WORTHLESS", event(4)),
        ("KEY", key(1)),
        ("KARWAN_STORE", scene.address.clone()),
    ]);
    let folder = scene.folder();
    if broken {
        let raw = scene.karwan(&["dlq", "show", &event(2), "--raw"]).exits(0).json();
        folder.write("payload.json", raw["payload"].to_string());
        scene.sql(&format!(
            r#"UPDATE karwan.dead SET envelope = replace(envelope, '"version":1', '"version":"one"') WHERE key = '{}'"#,
            key(2).split_once(':').expect("a tenant and a task").1
        ));
    }
    let commands = commands(page);
    assert!(commands.len() > 5, "{page} has no commands");
    for command in commands {
        let said = shell(&command, folder.path(), &names);
        if let Some(id) = said.split("selection ").nth(1) {
            names.push(("SELECTION", id.chars().take_while(char::is_ascii_digit).collect()));
        }
        if let Some(action) = scene.actions().first() {
            names.push(("ACTION", action["action"].to_string()));
        }
    }
    scene.mended();
}

fn the_guide_works_as_it_is_written(scene: &mut Scene) {
    follow(scene, "docs/guides/dead-letters.md", true);
    scene.restart();
    let mut handled = scene.handled();
    handled.sort_unstable();
    assert_eq!(handled, [(1, 1), (2, 1), (5, 1), (6, 1)], "those that were retried or repaired, and no others");
}

fn the_runbook_works_as_it_is_written(scene: &mut Scene) {
    follow(scene, "docs/runbooks/dead-letters.md", false);
    scene.restart();
    assert!(scene.handled().contains(&(1, 1)), "{:?}", scene.handled());
}
