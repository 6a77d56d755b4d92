use crate::karwan::karwan;

#[track_caller]
fn check(shell: &str, marks: &[&str]) {
    let answer = karwan(&["completions", shell]).exits(0);
    for text in marks.iter().chain(&["catalog", "envelope", "override-ticket", "lock-ce", "migrate", "follow"]) {
        assert!(answer.stdout.contains(text), "{shell} lacks {text}");
    }
    assert_eq!(answer.stderr, "");
}

#[test]
fn bash_zsh_and_fish_complete_every_noun_and_option() {
    check("bash", &["_karwan()", "complete -F _karwan"]);
    check("zsh", &["#compdef karwan"]);
    check("fish", &["complete -c karwan"]);
}

#[test]
fn an_unknown_shell_is_bad_usage() {
    karwan(&["completions", "dos"]).exits(64).says("bash");
}
