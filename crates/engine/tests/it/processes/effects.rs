//! Calls to the outside of processes that are killed in the middle of them.

use tokio::time::{Duration, sleep};

use super::node::Program;
use super::vendor::Vendor;
use super::yard::until;
use super::{rounds, with_yard};

/// The vendor has charged, and nobody lives to record its answer.
#[test]
fn killed_between_call_and_recording_a_process_leaves_one_charge() {
    with_yard(async |yard| {
        let vendor = Vendor::default();
        let address = vendor.open();
        let programs = ["a", "b"].map(|name| Program { vendor: Some(address.clone()), ..yard.program(name) });
        let mut processes = programs.each_ref().map(|program| yard.start(program));
        for process in &processes {
            yard.at_work(process).await;
        }
        let producing = yard.produce(8, Duration::from_millis(40));
        let rounds = rounds(2);
        for _ in 0..rounds {
            sleep(Duration::from_millis(300)).await;
            let mut called = vendor.be_silent_once();
            called.recv().await.expect("it is called");
            let holder = yard.psql("SELECT holder FROM karwan.lane WHERE consumer = 'effect.charge'");
            let victim = usize::from(holder.starts_with("b#"));
            let heir = yard.start(&programs[victim]);
            std::mem::replace(&mut processes[victim], heir).kill();
        }
        producing.end().await;
        yard.unharmed().await;
        let open = "SELECT count(*) FROM karwan.effect WHERE state <> 'done'";
        until("every answer", async || (yard.psql(open) == "0").then_some(())).await;
        let (asked, charged) = (vendor.asked(), vendor.charged());
        println!("{} calls, {} charges", asked.len(), charged.len());
        assert_eq!(charged.len().to_string(), yard.psql("SELECT count(*) FROM karwan.effect"));
        assert!(asked.len() as u64 >= charged.len() as u64 + rounds, "no call was repeated");
        let mut last = std::collections::BTreeMap::new();
        for charge in &charged {
            let (key, amount) = charge.split_once(' ').expect("a key and an amount");
            let amount: i64 = amount.parse().expect("a number");
            let before = last.insert(key.to_owned(), amount).unwrap_or_default();
            assert_eq!(amount, before + 1, "{key} was charged twice, or out of order");
        }
    });
}
