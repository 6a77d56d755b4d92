use xtask::slow::{Suite, parse};

#[test]
fn the_number_of_cases_is_read() {
    assert_eq!(parse(&["proptest", "--cases", "5000"]), Ok(Suite::Proptest { cases: 5000 }));
}

#[test]
fn the_suite_over_the_versions_of_postgres_has_no_size() {
    assert_eq!(parse(&["postgres"]), Ok(Suite::Postgres));
    assert_eq!(parse(&["postgres", "17"]), Err("slow postgres takes no more words".to_owned()));
}

#[test]
fn cases_outside_the_bounds_are_refused() {
    for cases in ["0", "-1", "many", "4000000000"] {
        let refused = format!("--cases takes a number from 1 to 10000000, not `{cases}`");
        assert_eq!(parse(&["proptest", "--cases", cases]), Err(refused));
    }
}

#[test]
fn an_unknown_suite_is_refused() {
    assert_eq!(parse(&["chaos"]), Err("no such slow suite: `chaos`".to_owned()));
    assert_eq!(parse(&[]), Err("slow needs the name of a suite".to_owned()));
    assert_eq!(parse(&["proptest"]), Err("slow proptest needs `--cases N`".to_owned()));
}
