//! Questions before something that touches much, on a terminal: whoever says no has done nothing.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use karwan_testkit::Need;

use super::scene::{ASSIGNED, Mood, PAGER, Scene};

on_both! {
    an_action_on_many_letters_is_done_by_whoever_says_yes_and_by_nobody_else,
    a_consumer_is_moved_cleared_and_forgotten_by_whoever_says_yes_and_by_nobody_else,
    a_move_and_a_replay_are_undone_by_whoever_says_yes_and_by_nobody_else,
}

/// What a command on a terminal came to.
struct Shown {
    code: Option<i32>,
    /// All that was shown, the question among it.
    text: String,
}

/// Runs a command over a scene's store on a terminal, and types an answer when it asks.
fn answered(scene: &Scene, words: &[&str], answer: &str) -> Need<Shown> {
    // Util-linux's: others have no such flags.
    let known = Command::new("script").arg("--version").stdin(Stdio::null()).output();
    if !known.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("util-linux")) {
        return Need::Missing("no `script` of util-linux to play a terminal".to_owned());
    }
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let words = [&[env!("CARGO_BIN_EXE_karwan")], words, &["--reason", "INC-7", "--store", &scene.address]].concat();
    let command: Vec<String> = words.into_iter().map(quoted).collect();
    let mut terminal = Command::new("script")
        .args(["--quiet", "--return", "--command"])
        .arg(format!("exec {}", command.join(" ")))
        .arg("/dev/null")
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut keyboard = terminal.stdin.take().expect("it was piped");
    let mut screen = terminal.stdout.take().expect("it was piped");
    let (mut shown, mut typed, mut some) = (Vec::new(), false, [0; 4096]);
    // It ends with the command.
    while let Ok(count @ 1..) = screen.read(&mut some) {
        shown.extend_from_slice(&some[..count]);
        if !typed && String::from_utf8_lossy(&shown).contains("? [y/N]") {
            keyboard.write_all(answer.as_bytes()).expect("somebody waits for it");
            typed = true;
        }
    }
    let code = terminal.wait().expect("it ends").code();
    let text = String::from_utf8_lossy(&shown).into_owned();
    assert!(typed, "nobody was asked: {text}");
    Need::Met(Shown { code, text })
}

/// Each of them is a no.
const NO: [&str; 3] = ["n\n", "\n", "yea, but not now\n"];

fn an_action_on_many_letters_is_done_by_whoever_says_yes_and_by_nobody_else(scene: &mut Scene) {
    for task in 1..3 {
        scene.fails(task, Mood::Dead);
        scene.assign(task, &[1]);
    }
    // A process that runs would try them before they are mended.
    scene.stop();
    for no in NO {
        let Some(shown) = answered(scene, &["dlq", "retry", "--all"], no).or_skip() else { return };
        assert!(shown.text.contains("retry 2 letters? [y/N]") && shown.text.contains("impossible state"), "{no}");
        assert_eq!((shown.code, shown.text.contains("nothing was done")), (Some(0), true), "{}", shown.text);
        assert_eq!((scene.actions().len(), scene.letters(&["--state", "dead"]).len()), (0, 2), "{no}");
    }
    let Some(shown) = answered(scene, &["dlq", "retry", "--all"], "y\n").or_skip() else { return };
    assert_eq!((shown.code, shown.text.contains("retry: 2 done, 0 refused")), (Some(0), true), "{}", shown.text);
    let actions = scene.actions();
    assert!(actions.len() == 2 && actions.iter().all(|it| it["reason"] == "INC-7"), "{actions:?}");
    assert_eq!((scene.letters(&["--state", "dead"]).len(), scene.letters(&["--state", "parked"]).len()), (0, 2));
}

fn a_consumer_is_moved_cleared_and_forgotten_by_whoever_says_yes_and_by_nobody_else(scene: &mut Scene) {
    for task in 1..4 {
        scene.assign(task, &[1]);
    }
    scene.stop();
    let replay = ["replay", "--topic", ASSIGNED, "--since", "1h", "--idempotency-safe"];
    let commands = [
        (&["consumer", "seek", PAGER, "--to", "start"][..], "was moved: "),
        (&[&replay[..], &["--consumer", PAGER]].concat(), "3 events are given to"),
        (&replay, "reads again from"),
        (&["consumer", "seek", PAGER, "--to", "start", "--clear"], "claims taken back"),
        (&["consumer", "forget", PAGER], "is forgotten"),
    ];
    for (before, (command, done)) in commands.into_iter().enumerate() {
        for no in NO {
            let Some(shown) = answered(scene, command, no).or_skip() else { return };
            assert_eq!((shown.code, shown.text.contains("nothing was done")), (Some(1), true), "{}", shown.text);
            assert_eq!(scene.actions().len(), before, "{command:?}, and {no:?}");
        }
        let Some(shown) = answered(scene, command, "yes\n").or_skip() else { return };
        assert_eq!((shown.code, shown.text.contains(done)), (Some(0), true), "{}", shown.text);
        assert_eq!(scene.actions().len(), before + 1, "{command:?}");
    }
}

fn a_move_and_a_replay_are_undone_by_whoever_says_yes_and_by_nobody_else(scene: &mut Scene) {
    scene.assign(1, &[1, 2]);
    scene.assign(2, &[1]);
    scene.stop();
    let reason = ["--reason", "INC-7"];
    let act = |words: &[&str]| scene.karwan(&[words, &reason].concat());
    let show = ["consumer", "show", PAGER, "--format", "json"];
    let place = || scene.karwan(&show).exits(0).json()["lanes"][0]["position"].clone();
    let waiting = || scene.letters(&["--state", "parked"]).len();
    assert_eq!(place(), 3);
    act(&["consumer", "seek", PAGER, "--to", "1", "--yes"]).exits(0).prints("(action 1)");
    let replay = ["replay", "--topic", ASSIGNED, "--since", "1h", "--idempotency-safe", "--consumer", PAGER, "--yes"];
    act(&replay).exits(0).prints("3 events are given to");
    let sent = scene.actions()[0]["action"].to_string();
    let (back, taken) = (["consumer", "seek", PAGER, "--undo"], ["replay", "--undo", &sent]);
    let would = format!("{PAGER} would be put back to before action 1: 1 lanes from 1 to 3");
    act(&[&back[..], &["--dry-run"]].concat()).exits(0).prints(&would);
    let would = format!("3 events of 2 keys would be taken back from {PAGER}");
    act(&[&taken[..], &["--dry-run"]].concat()).exits(0).prints(&would);
    // What would be asked is said where nobody can be asked.
    let moved = format!("undo action 1 of {PAGER}: 1 lanes from 1 to 3?");
    let kept = format!("take 3 events of 2 keys back from {PAGER}?");
    act(&back).exits(64).says(&moved).says("--yes");
    act(&taken).exits(64).says(&kept).says("--yes");
    for no in NO {
        for (words, question) in [(&back[..], &moved), (&taken[..], &kept)] {
            let Some(shown) = answered(scene, words, no).or_skip() else { return };
            assert!(shown.code == Some(1) && shown.text.contains(question), "{}", shown.text);
        }
    }
    assert_eq!((place(), waiting(), scene.actions().len()), (1.into(), 3, 2), "nothing was done");
    for words in [&taken[..], &back[..]] {
        let Some(shown) = answered(scene, words, "y\n").or_skip() else { return };
        assert_eq!(shown.code, Some(0), "{}", shown.text);
    }
    assert_eq!((place(), waiting(), scene.actions().len()), (3.into(), 0, 4));
}
