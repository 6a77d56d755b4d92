//! The doctor: a good word where all is well, and a remedy where it is not.

use karwan_store::Address;
use karwan_store::consumer::Lane;
use karwan_store::doctor::{Check, Health, doctor};

use crate::fixture::{Fixture, Folder, START_MS, block_on, run, sqlite};

fn bad(checks: &[Check]) -> Vec<&'static str> {
    checks.iter().filter(|check| check.health != Health::Good).map(|check| check.name).collect()
}

#[test]
fn a_store_in_use_is_looked_at_and_in_order() {
    run(sqlite(), async |fixture: Fixture| {
        fixture.place(1, "o-1").await;
        let checks = doctor(&fixture.address, START_MS).await.expect("it can be looked at");
        assert_eq!(bad(&checks), Vec::<&str>::new(), "{checks:?}");
        assert!(checks.iter().any(|check| check.name == "integrity"), "{checks:?}");
    });
}

#[test]
fn a_clock_behind_the_log_and_lanes_past_their_lease_are_named() {
    run(sqlite(), async |fixture: Fixture| {
        fixture.place(1, "o-1").await;
        let lane = Lane { consumer: "mailer".to_owned(), number: 0, of: 1 };
        fixture.store.take_lane(&lane, "n-1", 5_000).await.expect("it can be asked for").expect("it is free");
        // Who holds the log back is told by the machine's clock, by which this test's lease is long over.
        let at = async |now_ms: i64| {
            let mut checks = doctor(&fixture.address, now_ms).await.expect("it can be looked at");
            checks.retain(|check| check.name != "retention");
            checks
        };
        let behind = at(START_MS - 3_600_000).await;
        assert_eq!(bad(&behind), ["clock"], "{behind:?}");
        let later = at(START_MS + 3_600_000).await;
        assert_eq!(bad(&later), ["lanes"], "{later:?}");
        assert!(later.iter().all(|check| check.health == Health::Good || !check.remedy.is_empty()));
    });
}

#[test]
fn a_path_where_no_store_is_is_bad_and_has_a_remedy() {
    let folder = Folder::new();
    let checks = block_on(doctor(&Address::Sqlite(folder.path().join("none.db")), 0)).expect("it can be looked at");
    assert_eq!(bad(&checks), ["file"]);
    assert!(!checks[0].remedy.is_empty());
}
