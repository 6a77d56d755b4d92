use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use xtask::cache::{self, Recipe};

fn check(environment: &[(&str, &str)], expected: PathBuf) {
    let environment: BTreeMap<&str, &str> = environment.iter().copied().collect();
    assert_eq!(cache::directory(|name| environment.get(name).map(OsString::from)), expected);
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

#[test]
fn a_tool_is_installed_once_anew_with_other_pins_and_never_by_half() {
    let cache = std::env::temp_dir().join(format!("karwan-xtask-cache-{}", std::process::id()));
    let made = std::cell::Cell::new(0);
    let install = |pins: &str, fails: bool| {
        let make = |place: &Path| {
            std::fs::write(place.join("tool"), pins)?;
            made.set(made.get() + 1);
            if fails { anyhow::bail!("no network") } else { Ok(()) }
        };
        let recipe = Recipe { name: "tool", pins, make: &make, works: &|place| place.join("tool").is_file() };
        cache::installed(&cache, &recipe).map(|place| std::fs::read_to_string(place.join("tool")).unwrap())
    };
    let outcomes = [install("1", true), install("1", false), install("1", false), install("2", false)];
    let left = std::fs::read_dir(cache.join("tools")).unwrap().count();
    std::fs::remove_dir_all(&cache).unwrap();
    let texts = outcomes.map(|outcome| outcome.unwrap_or_else(|error| cache::reason(&error)));
    assert_eq!(texts, ["no network: no network", "1", "1", "2"]);
    assert_eq!((made.get(), left), (3, 1));
}
