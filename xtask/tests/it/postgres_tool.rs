use std::path::PathBuf;

use xtask::postgres_tool::{Postgres, major_of, newest_first, variables};

#[test]
fn the_major_version_is_read_from_what_the_server_prints() {
    assert_eq!(major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some(15));
    assert_eq!(major_of("postgres (PostgreSQL) 19beta1"), Some(19));
    assert_eq!(major_of("something else 15"), None);
}

#[test]
fn the_newest_version_comes_first_by_number_and_other_names_are_no_versions() {
    let place = std::env::temp_dir().join(format!("karwan-xtask-versions-{}", std::process::id()));
    for name in ["9", "15", "18", "common"] {
        std::fs::create_dir_all(place.join(name)).unwrap();
    }
    let found = newest_first(&place);
    std::fs::remove_dir_all(&place).unwrap();
    assert_eq!(found, ["18/bin", "15/bin", "9/bin"].map(|version| place.join(version)));
}

#[test]
fn the_tests_are_told_where_the_programs_are_or_why_there_are_none() {
    let [bin, missing] = variables(&Postgres::Found(PathBuf::from("pg/bin")));
    assert_eq!(bin, ("KARWAN_POSTGRES_BIN", Some("pg/bin".into())));
    assert_eq!(missing, ("KARWAN_POSTGRES_BIN_MISSING", None));
    let [bin, missing] = variables(&Postgres::Missing("no network".to_owned()));
    assert_eq!(bin, ("KARWAN_POSTGRES_BIN", None));
    assert_eq!(missing, ("KARWAN_POSTGRES_BIN_MISSING", Some("no network".into())));
}
