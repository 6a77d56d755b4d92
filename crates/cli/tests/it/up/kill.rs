use std::time::Instant;

use serde_json::{Value, json};

use super::{LONG, Node, begin, pause};
use crate::folder::Folder;

/// What goes wrong with the bookings of a round; none where nothing does. The first takes more than a second to begin, so that the
/// others are young when the kill comes; the last is cancelled, and its refund declined.
const FAULTS: [Option<&str>; 8] = [
    Some("hold-expired"),
    None,
    Some("payment-timeout"),
    Some("payment-declined"),
    Some("cash-pending"),
    Some("oversold"),
    Some("vendor-error"),
    Some("refund-failed"),
];
/// Kills with the tests; `cargo xtask slow processes --rounds N` has more.
const ROUNDS: u64 = 2;

/// Another moment each time, from the test's own seed.
fn moment(seed: u64) -> u32 {
    let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    u32::try_from((mixed >> 33) % 60).expect("it is small")
}

/// A booking that was begun.
struct Begun {
    fault: Option<&'static str>,
    tenant: String,
    reservation: String,
}

impl Begun {
    fn new(node: &Node, fault: Option<&'static str>) -> Self {
        let started = begin(node, fault);
        let text = |name: &str| started[name].as_str().expect("a text").to_owned();
        Self { fault, tenant: text("tenant"), reservation: text("reservation") }
    }

    fn status(&self, node: &Node) -> String {
        let status = node.control(&format!("booking/{}/{}", self.tenant, self.reservation));
        status.as_str().expect("a status").to_owned()
    }

    /// Cancels it, where it is confirmed and to be cancelled; waits for the confirmation.
    fn cancel(&self, node: &Node) {
        if self.fault != Some("refund-failed") || self.status(node) == "cancelled" {
            return;
        }
        let since = Instant::now();
        while self.status(node) != "confirmed" {
            assert!(since.elapsed() < LONG, "{} is {}", self.reservation, self.status(node));
            pause();
        }
        let cancel = json!({ "tenant": null, "fault": "refund-failed", "cancel": self.reservation });
        node.tell("try", &cancel);
    }
}

/// Bookings of every kind, in rounds, each ended by a kill where that is wanted; how everything has ended, and what is left for
/// a person, of one round.
fn run(rounds: u64, kills: bool) -> Vec<(Option<&'static str>, String, Vec<Value>)> {
    let folder = Folder::new();
    let mut begun: Vec<Begun> = Vec::new();
    for round in 0..rounds {
        let node = Node::up(&folder.at("data"), &[]);
        let new: Vec<Begun> = FAULTS.into_iter().map(|fault| Begun::new(&node, fault)).collect();
        // The one of the round before: it was confirmed, or goes on to be.
        begun.iter().for_each(|booking| booking.cancel(&node));
        begun.extend(new);
        if kills {
            (0..moment(round)).for_each(|_| pause());
            node.kill();
        } else {
            begun.iter().for_each(|booking| booking.cancel(&node));
            assert_eq!(node.violations(), json!([]));
            assert_eq!(node.stop(), Some(0));
        }
    }
    let node = Node::up(&folder.at("data"), &[]);
    begun.iter().for_each(|booking| booking.cancel(&node));
    assert_eq!(node.violations(), json!([]));
    let rows = node.karwan(&["saga", "list", "--format", "json"]).exits(0).json();
    let rows = rows.as_array().expect("rows");
    assert_eq!(std::fs::read_dir(folder.at("data").join("stalls")).map_or(0, Iterator::count), 0, "nothing is stalled");
    let ends = begun.iter().map(|booking| {
        let left = rows.iter().filter(|row| row["reservation"] == booking.reservation.as_str());
        let left: Vec<Value> = left.map(|row| json!([row["saga"], row["state"], row["stuck"]])).collect();
        (booking.fault, booking.status(&node), left)
    });
    let ends = ends.collect();
    assert_eq!(node.stop(), Some(0));
    ends
}

/// Kill −9 at several moments of bookings and cancellations under way: the node goes on where it was, nobody pays twice, and
/// everything ends as it does where nobody kills it.
#[test]
fn a_killed_node_goes_on_where_it_was() {
    let rounds = std::env::var("KARWAN_PROCESS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let undisturbed = std::thread::spawn(|| run(1, false));
    let ends = run(rounds, true);
    let undisturbed = undisturbed.join().expect("it ends without a kill");
    assert_eq!(undisturbed.len(), FAULTS.len());
    for end in &ends {
        assert!(undisturbed.contains(end), "{end:?}, and without a kill {undisturbed:?}");
    }
}
