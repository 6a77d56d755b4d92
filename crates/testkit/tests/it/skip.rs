use karwan_testkit::skip;

#[test]
fn a_skip_is_one_line_whatever_the_reason_holds() {
    let line = skip::line("judge::accepts", "tests/it/judge.rs", "pip failed:\n\tno network");
    assert_eq!(line, "judge::accepts (tests/it/judge.rs)\tpip failed: no network");
}

#[test]
fn skips_of_several_tests_are_appended() {
    let file = std::env::temp_dir().join(format!("karwan-testkit-skips-{}", std::process::id()));
    for line in ["one\treason", "two\treason"] {
        skip::append(&file, line).expect("the temporary directory can be written");
    }
    let written = std::fs::read_to_string(&file).expect("it was just written");
    std::fs::remove_file(&file).expect("it was just written");
    assert_eq!(written, "one\treason\ntwo\treason\n");
}
