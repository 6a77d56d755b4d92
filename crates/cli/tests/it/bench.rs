use std::collections::BTreeSet;

use crate::karwan::karwan;

#[test]
fn the_bench_prints_its_figures_as_json() {
    let figures = karwan(&["bench", "contract", "--rounds", "1", "--events", "10", "--json"]).exits(0).json();
    let fields: BTreeSet<&str> = figures.as_object().expect("an object").keys().map(String::as_str).collect();
    let promised = ["baseEncodeNs", "buildValidateEncodeNs", "eventBytes", "events", "ratio", "rounds"];
    assert_eq!(fields, BTreeSet::from(promised));
    assert_eq!((figures["rounds"].as_u64(), figures["events"].as_u64()), (Some(1), Some(10)));
    let bytes = figures["eventBytes"].as_u64().expect("a count");
    assert!((900..=1_500).contains(&bytes), "an event of about 1 KB, not {bytes} bytes");
    for figure in ["ratio", "baseEncodeNs", "buildValidateEncodeNs"] {
        assert!(figures[figure].as_f64().is_some_and(|figure| figure > 0.0), "{figures}");
    }
}

#[test]
fn the_bench_prints_its_figures_for_people() {
    let answer = karwan(&["bench", "contract", "--rounds", "1", "--events", "10"]).exits(0);
    answer.prints("build + validate + encode").prints("base: serde_json encode").prints("aim: at most 5");
}

#[test]
fn a_round_of_nothing_is_bad_usage() {
    karwan(&["bench", "contract", "--events", "0"]).exits(64);
    karwan(&["bench", "contract", "--rounds", "0"]).exits(64);
}
