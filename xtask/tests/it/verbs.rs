use std::process::Command;

/// Runs the binary with these words.
fn check(words: &[&str], code: i32, on_stdout: &str, on_stderr: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(words).output().expect("the binary was built");
    let stdout = String::from_utf8(output.stdout).expect("it prints text");
    let stderr = String::from_utf8(output.stderr).expect("it prints text");
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stdout.contains(on_stdout) && stdout.is_empty() == on_stdout.is_empty(), "{stdout}");
    assert!(stderr.contains(on_stderr), "{stderr}");
}

#[test]
fn an_unknown_verb_is_bad_usage_and_shows_the_verbs() {
    check(&["frobnicate"], 64, "", "no such command: `frobnicate`");
    check(&["lint", "twice"], 64, "", "Usage: cargo xtask VERB");
    check(&[], 64, "", "a verb is needed");
    check(&["slow", "proptest"], 64, "", "slow proptest needs `--cases N`");
}

#[test]
fn help_is_a_result_and_goes_to_stdout() {
    check(&["help"], 0, "Usage: cargo xtask VERB", "");
}
