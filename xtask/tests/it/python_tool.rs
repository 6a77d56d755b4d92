use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use xtask::python_tool::cache_directory;

fn check(environment: &[(&str, &str)], expected: PathBuf) {
    let environment: BTreeMap<&str, &str> = environment.iter().copied().collect();
    assert_eq!(cache_directory(|name| environment.get(name).map(OsString::from)), expected);
}

#[test]
fn the_cache_is_the_projects_own_then_that_of_the_desktop_then_that_of_the_user() {
    let all = [("KARWAN_CACHE", "own"), ("XDG_CACHE_HOME", "xdg"), ("HOME", "user")];
    check(&all, PathBuf::from("own"));
    check(&all[1..], PathBuf::from("xdg/karwan"));
    check(&all[2..], PathBuf::from("user/.cache/karwan"));
}

#[test]
fn without_a_home_the_cache_is_temporary() {
    check(&[("HOME", "")], std::env::temp_dir().join("karwan"));
}
