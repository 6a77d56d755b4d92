use xtask::rust_source::test_functions;
use xtask::slow::{Chaos, HOTEL_TESTS, Hotel, Kills, Sim, Suite, parse};
use xtask::trials::Trials;

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
fn the_number_of_rounds_is_read() {
    assert_eq!(parse(&["processes"]), Ok(Suite::Processes { rounds: 15 }));
    assert_eq!(parse(&["processes", "--rounds", "200"]), Ok(Suite::Processes { rounds: 200 }));
    assert_eq!(parse(&["processes", "200"]), Err("slow processes takes `--rounds N` or nothing".to_owned()));
    for rounds in ["0", "-1", "many", "10001"] {
        let refused = format!("--rounds takes a number from 1 to 10000, not `{rounds}`");
        assert_eq!(parse(&["processes", "--rounds", rounds]), Err(refused));
    }
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
    assert_eq!(parse(&["mayhem"]), Err("no such slow suite: `mayhem`".to_owned()));
    assert_eq!(parse(&[]), Err("slow needs the name of a suite".to_owned()));
    assert_eq!(parse(&["proptest"]), Err("slow proptest needs `--cases N`".to_owned()));
}

#[test]
fn simulations_have_a_number_or_a_seed() {
    let sim =
        |seeds, seed, without: Option<&str>| Ok(Suite::Sim(Sim { seeds, seed, without: without.map(str::to_owned) }));
    assert_eq!(parse(&["sim", "--seeds", "500"]), sim(Some(500), None, None));
    assert_eq!(parse(&["sim", "--seed", "7"]), sim(None, Some(7), None));
    assert_eq!(parse(&["sim", "--seed", "7", "--seeds", "2"]), sim(Some(2), Some(7), None));
    assert_eq!(parse(&["sim", "--seed", "7", "--without", "epoch"]), sim(None, Some(7), Some("epoch")));
}

#[test]
fn simulations_without_a_size_or_with_other_words_are_refused() {
    let check = |words: &[&str], reason: &str| assert_eq!(parse(words), Err(reason.to_owned()));
    check(&["sim"], "slow sim needs `--seeds N` or `--seed S`");
    check(&["sim", "--without", "claim"], "slow sim needs `--seeds N` or `--seed S`");
    check(&["sim", "--seeds", "many"], "--seeds takes a number, not `many`");
    check(&["sim", "--seeds"], "slow sim does not know `--seeds`, or it needs a value");
    check(&["sim", "--luck", "7"], "slow sim does not know `--luck`");
    check(&["sim", "--seed", "7", "--without", "mercy"], "--without takes one of claim, version, epoch, not `mercy`");
}

#[test]
fn chaos_has_two_hundred_kills_unless_told_otherwise() {
    let chaos = |kills, seed, without: Option<&str>| {
        Ok(Suite::Chaos(Chaos { kills, seed, without: without.map(str::to_owned) }))
    };
    assert_eq!(parse(&["chaos"]), chaos(200, None, None));
    assert_eq!(parse(&["chaos", "--kills", "20", "--seed", "7"]), chaos(20, Some(7), None));
    assert_eq!(parse(&["chaos", "--without", "ack"]), chaos(200, None, Some("ack")));
    let refused = |words: &[&str], reason: &str| assert_eq!(parse(words), Err(reason.to_owned()));
    refused(&["chaos", "--kills", "many"], "--kills takes a number, not `many`");
    refused(&["chaos", "--kills"], "slow chaos does not know `--kills`, or it needs a value");
    refused(&["chaos", "--without", "mercy"], "--without takes one of ack, park, sequence, epoch, not `mercy`");
}

#[test]
fn trials_are_bounded() {
    let usual = Trials::default();
    assert_eq!(parse(&["chaos", "--trials"]), Ok(Suite::Trials(usual.clone())));
    let without = Some("park".to_owned());
    assert_eq!(
        parse(&["chaos", "--trials", "--kills", "9", "--seeds", "2", "--seed", "7", "--without", "park"]),
        Ok(Suite::Trials(Trials { kills: 9, seeds: 2, seed: 7, without }))
    );
    let refused = |words: &[&str], reason: &str| assert_eq!(parse(words), Err(reason.to_owned()));
    refused(&["chaos", "--trials", "--seeds", "0"], "--seeds takes a number from 1 on, not `0`");
    refused(&["chaos", "--trials", "--minutes", "3"], "slow chaos --trials does not know `--minutes`");
}

#[test]
fn hotels_have_a_number_or_a_seed() {
    let hotel = |seeds, seed| Ok(Suite::Hotel(Hotel { seeds, seed }));
    assert_eq!(parse(&["hotel", "--seeds", "500"]), hotel(500, None));
    assert_eq!(parse(&["hotel", "--seed", "7"]), hotel(1, Some(7)));
    assert_eq!(parse(&["hotel", "--seeds", "2", "--seed", "7"]), hotel(2, Some(7)));
    let refused = |words: &[&str], reason: &str| assert_eq!(parse(words), Err(reason.to_owned()));
    refused(&["hotel"], "slow hotel takes `--seeds N`, `--seed S`, or both");
    refused(&["hotel", "--seeds", "many"], "--seeds takes a number, not `many`");
}

/// A name that no test has would be left out without a word.
#[test]
fn all_tests_with_seeds_of_hotels_are_played() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/melmastoon/tests/it");
    let mut played = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the platform has tests") {
        let path = entry.expect("it can be read").path();
        let module = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let plays = text.contains("desk::each_seed(") || text.contains("desk::Seeds::asked(");
        let listed: Vec<String> = test_functions(&text)
            .into_iter()
            .map(|test| format!("{module}::{test}"))
            .filter(|test| HOTEL_TESTS.contains(&test.as_str()))
            .collect();
        assert_eq!(listed.len(), usize::from(plays), "{}", path.display());
        played.extend(listed);
    }
    assert_eq!(played.len(), HOTEL_TESTS.len(), "{played:?}");
}

#[test]
fn kills_have_three_moments_unless_told_otherwise() {
    let kills = |moments, seed| Ok(Suite::Kills(Kills { moments, seed }));
    assert_eq!(parse(&["kills"]), kills(3, None));
    assert_eq!(parse(&["kills", "--seed", "7", "--moments", "1"]), kills(1, Some(7)));
    let refused = |words: &[&str], reason: &str| assert_eq!(parse(words), Err(reason.to_owned()));
    refused(&["kills", "--moments", "many"], "--moments takes a number, not `many`");
    refused(&["kills", "--moments"], "slow kills does not know `--moments`, or it needs a value");
    refused(&["kills", "--fault", "none"], "slow kills does not know `--fault`");
}

#[test]
fn an_upgrade_may_name_the_commit_that_it_comes_from() {
    assert_eq!(parse(&["upgrade"]), Ok(Suite::Upgrade { from: None }));
    assert_eq!(parse(&["upgrade", "--from", "v1"]), Ok(Suite::Upgrade { from: Some("v1".to_owned()) }));
    assert_eq!(parse(&["upgrade", "v1"]), Err("slow upgrade takes `--from COMMIT` or nothing".to_owned()));
}

#[test]
fn the_older_program_is_found_in_what_cargo_prints() {
    let printed = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"karwan_engine\"},\"executable\":null}\n\
                   {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"it\"},\"executable\":\"/a/it-1\"}\n\
                   {\"reason\":\"build-finished\",\"success\":true}";
    assert_eq!(xtask::upgrade::program(printed), Some("/a/it-1".into()));
    assert_eq!(xtask::upgrade::program("{\"reason\":\"build-finished\"}"), None);
}
