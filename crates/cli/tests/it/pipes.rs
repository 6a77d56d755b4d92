//! Who reads the output: a program, a terminal, or nobody any more.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::karwan::{karwan, root};

#[test]
fn nothing_that_is_piped_has_colours() {
    let verbs: &[&[&str]] = &[
        &["catalog", "list"],
        &["catalog", "show", "panorama.reservation.approved"],
        &["catalog", "show", "nothing"],
        &["catalog", "check", "--catalog", "crates"],
        &["schema", "gate", "--base", "catalog"],
        &["envelope", "validate", "Cargo.toml"],
        &["catalog", "--help"],
        &["catalog", "--wrong"],
    ];
    for verb in verbs {
        let answer = karwan(verb);
        assert!(!answer.stdout.contains('\u{1b}') && !answer.stderr.contains('\u{1b}'), "{verb:?}: {answer:?}");
    }
}

/// Reads one line of the output and goes away, as `head -1` does.
#[track_caller]
fn check(args: &[&str]) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_karwan"))
        .args(args)
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut line = String::new();
    let mut stdout = BufReader::with_capacity(1, child.stdout.take().expect("it was piped"));
    stdout.read_line(&mut line).expect("there is a first line");
    drop(stdout);
    let output = child.wait_with_output().expect("the binary ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!line.is_empty() && !stderr.contains("error") && !stderr.contains("panicked"), "{args:?}: {stderr}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    check(&["catalog", "list", "--format", "json"]);
    check(&["catalog", "list"]);
    check(&["catalog", "show", "melmastoon.reservation.booking.confirmed.v1", "--format", "json"]);
    check(&["completions", "zsh"]);
    check(&["--help"]);
}
