//! Processes that are replaced one by one under load: by the same program, by the next release, and back.

use std::time::Duration;

use karwan_store::kind::KindType;
use karwan_store::{Address, migrate};
use tokio::time::sleep;

use super::node::Program;
use super::shapes::OrderOfNext;
use super::yard::{Process, Yard, until};
use super::{EVERY, KEYS, rounds, with_yard};
use crate::shop;

const NAMES: [&str; 3] = ["a", "b", "c"];

async fn started(yard: &Yard) -> [Process; 3] {
    let processes = NAMES.map(|name| yard.start(&yard.program(name)));
    for process in &processes {
        yard.at_work(process).await;
    }
    processes
}

/// Replaces all of them, one by one, each when the one before is at work.
async fn replaced(yard: &Yard, processes: &mut [Process; 3], with: impl Fn(Program) -> Program) {
    for (process, name) in processes.iter_mut().zip(NAMES) {
        let heir = yard.start(&with(yard.program(name)));
        std::mem::replace(process, heir).stop().await;
        yard.at_work(process).await;
        sleep(Duration::from_millis(200)).await;
    }
}

#[test]
fn a_rolling_restart_under_load_loses_doubles_and_reorders_nothing() {
    with_yard(async |yard| {
        let mut processes = started(&yard).await;
        let producing = yard.produce(KEYS, EVERY);
        for _ in 0..rounds(1) {
            replaced(&yard, &mut processes, |program| program).await;
        }
        producing.end().await;
        yard.unharmed().await;
    });
}

#[test]
fn a_rolling_upgrade_and_downgrade_under_load_loses_doubles_and_reorders_nothing() {
    with_yard(async |yard| {
        let mut processes = started(&yard).await;
        let producing = yard.produce(KEYS, EVERY);
        sleep(Duration::from_millis(300)).await;
        let database = yard.fixture.database.as_ref().expect("it is Postgres");
        let owner: Address = database.url().parse().expect("a URL is an address");
        let kinds = [KindType::of::<OrderOfNext>(), KindType::of::<shop::Counter>()];
        for _ in 0..rounds(1) {
            // First the store, beside processes of the release before.
            migrate(&owner, &[&shop::catalogue()], &kinds, &|_, _, _| {}).await.expect("it can be migrated");
            replaced(&yard, &mut processes, |program| Program { version: 2, ..program }).await;
            assert_ne!(yard.psql("SELECT count(*) FROM karwan.doc_order WHERE f_noted > 0"), "0", "no newer one wrote");
            replaced(&yard, &mut processes, |program| program).await;
        }
        producing.end().await;
        yard.unharmed().await;
        assert_eq!(yard.psql("SELECT count(*) FROM karwan.doc_order WHERE shape <> 1"), "0");
    });
}

/// A release that handles a subject more: from when the store knows of it, no event of it is passed by, and none overtaken,
/// whatever is killed; also while the release is taken back, and comes again.
#[test]
fn a_rolling_upgrade_that_adds_a_subject_loses_doubles_and_reorders_nothing() {
    let next = |program: Program| Program { version: 3, ..program };
    with_yard(async |yard| {
        let mut processes = started(&yard).await;
        let producing = yard.produce(KEYS, EVERY);
        let newer = yard.start(&next(yard.program("d")));
        let sql = "SELECT count(*) FROM karwan.declared WHERE 'shop.sales.order.placed.v1' = ANY (subjects)";
        until("the newer release", async || (yard.psql(sql) != "0").then_some(())).await;
        let placing = yard.place(EVERY * 2);
        yard.at_work(&newer).await;
        // The only one that handles all of it, and all others are of the release before.
        newer.kill();
        for process in &processes {
            yard.at_work(process).await;
        }
        let handled = "SELECT count(*) FROM karwan.doc_order WHERE id LIKE 'notes-p-%'";
        for _ in 0..rounds(1) {
            replaced(&yard, &mut processes, next).await;
            until("what was placed", async || (yard.psql(handled) != "0").then_some(())).await;
            // Back at once: others that live handle more than the heirs, who get their lanes when all of those are gone.
            let heirs = NAMES.map(|name| yard.start(&yard.program(name)));
            for process in std::mem::replace(&mut processes, heirs) {
                process.stop().await;
            }
            for process in &processes {
                yard.at_work(process).await;
            }
            let waits = "SELECT count(*) FROM karwan.parked WHERE error LIKE 'another release handles it%'";
            until("what waits", async || (yard.psql(waits) != "0").then_some(())).await;
        }
        replaced(&yard, &mut processes, next).await;
        producing.end().await;
        placing.end().await;
        yard.unharmed().await;
    });
}

/// A release that parts the keys otherwise: its processes wait until the last one of the release before has stopped.
#[test]
fn a_rolling_restart_with_another_number_of_lanes_loses_doubles_and_reorders_nothing() {
    with_yard(async |yard| {
        let mut processes = started(&yard).await;
        let producing = yard.produce(KEYS, EVERY);
        for round in 0..rounds(1) {
            let lanes = if round % 2 == 0 { 5 } else { 8 };
            for (process, name) in processes.iter_mut().zip(NAMES) {
                let heir = yard.start(&Program { lanes, ..yard.program(name) });
                sleep(Duration::from_millis(300)).await;
                std::mem::replace(process, heir).stop().await;
            }
            for process in &processes {
                yard.at_work(process).await;
            }
            let sql = format!("SELECT count(*) FROM karwan.lane WHERE consumer = '{}'", super::node::CONSUMER);
            assert_eq!(yard.psql(&sql), lanes.to_string());
        }
        producing.end().await;
        yard.unharmed().await;
    });
}
