use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::nats_tool::{Nats, missing, on_path, refusal, variables, version_of};

#[test]
fn the_version_is_read_from_what_the_server_prints() {
    assert_eq!(version_of("nats-server: v2.15.1"), Some((2, 15)));
    assert_eq!(version_of("nats-server: v2.11.0-RC.1"), Some((2, 11)));
    assert_eq!(version_of("something else 2.15"), None);
}

#[test]
fn a_server_that_is_too_old_is_refused_with_the_reason() {
    assert_eq!(refusal("nats-server: v2.10.0"), None);
    let reason = refusal("nats-server: v2.9.10").unwrap();
    assert!(
        reason.contains("2.9") && reason.contains("filter_subjects") && reason.contains("2.10 or newer"),
        "{reason}"
    );
    assert!(refusal("hello").unwrap().contains("hello"));
}

#[test]
fn the_tests_are_told_where_the_program_is_or_why_there_is_none() {
    let [bin, missing] = variables(&Nats::Found(PathBuf::from("nats-server")));
    assert_eq!(bin, ("KARWAN_NATS_BIN", Some("nats-server".into())));
    assert_eq!(missing, ("KARWAN_NATS_BIN_MISSING", None));
    let [bin, missing] = variables(&Nats::Missing("no network".to_owned()));
    assert_eq!(bin, ("KARWAN_NATS_BIN", None));
    assert_eq!(missing, ("KARWAN_NATS_BIN_MISSING", Some("no network".into())));
}

/// A program that prints something, whatever it is asked; a script would be refused for being one.
fn program(place: &Path, printed: &str) {
    fs::create_dir_all(place).expect("a test needs it");
    let source = place.join("source.rs");
    fs::write(&source, format!("fn main() {{ println!(\"{printed}\"); }}")).expect("a test needs it");
    let compiled =
        Command::new("rustc").arg("-o").arg(place.join("nats-server")).arg(&source).status().expect("a test needs it");
    assert!(compiled.success());
}

#[test]
fn what_is_on_the_path_and_of_no_use_is_passed_over_and_told_where_no_other_can_be_had() {
    let folder = std::env::temp_dir().join(format!("karwan-xtask-nats-{}", std::process::id()));
    let [broken, old, new] = ["broken", "old", "new"].map(|name| folder.join(name));
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("nats-server"), "not a program").unwrap();
    program(&old, "nats-server: v2.9.25");
    program(&new, "nats-server: v2.10.0");
    let path = |places: &[&PathBuf]| std::env::join_paths(places).unwrap();
    assert_eq!(on_path(&path(&[&broken, &old, &new])), Ok(new.join("nats-server")));
    let refused = on_path(&path(&[&broken, &old])).unwrap_err();
    let told = missing(refused, "pip cannot install nats-server".to_owned());
    let lines = [broken.display().to_string(), format!("{}/nats-server: it is 2.9", old.display())];
    for text in lines.iter().map(String::as_str).chain(["filter_subjects", "2.10 or newer", "; pip cannot install"]) {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert_eq!(on_path(&path(&[])), Err(Vec::new()));
    fs::remove_dir_all(&folder).unwrap();
}
