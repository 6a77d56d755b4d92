use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use karwan_testkit::Tool;

fn check(environment: &[(&str, &str)], expected: Tool) {
    let environment: BTreeMap<&str, &str> = environment.iter().copied().collect();
    let tool = Tool::from_environment("KARWAN_PYTHON", |name| environment.get(name).map(OsString::from));
    assert_eq!(tool, expected);
}

#[test]
fn a_tool_named_in_the_environment_is_found() {
    check(&[("KARWAN_PYTHON", "bin/python")], Tool::Found(PathBuf::from("bin/python")));
}

#[test]
fn the_reason_why_a_tool_is_missing_is_kept() {
    let reason = "no python3 on the PATH";
    check(&[("KARWAN_PYTHON", ""), ("KARWAN_PYTHON_MISSING", reason)], Tool::Missing(reason.to_owned()));
}

#[test]
fn without_the_test_command_the_reason_says_how_to_get_the_tool() {
    check(&[], Tool::Missing("KARWAN_PYTHON is not set; `cargo xtask test` installs and sets it".to_owned()));
}

#[test]
fn a_found_tool_skips_nothing() {
    let path = PathBuf::from("bin/python");
    assert_eq!(Tool::Found(path.clone()).or_skip(), Some(path));
}
