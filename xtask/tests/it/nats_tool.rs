use std::path::PathBuf;

use xtask::nats_tool::{Nats, refusal, variables, version_of};

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
