//! The figures that a house's manager opens after a booking.

use std::time::Duration;

use serde_json::Value;

use super::{Node, begin, until, until_within};
use crate::folder::Folder;

/// When the manager looks.
const LOOKS: Duration = Duration::from_secs(30);

/// Room-nights sold, as the figures that were told say, of the days that have any.
fn sold(node: &Node) -> Vec<u64> {
    let words = ["log", "tail", "--format", "json", "--subject", "melmastoon.analytics.snapshot.>"];
    let rows = node.karwan(&words).exits(0).stdout;
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row is JSON"));
    rows.filter_map(|row| row["envelope"]["payload"]["rooms"]["sold"].as_u64()).filter(|sold| *sold > 0).collect()
}

/// two nights of a double, in a house where nobody else books.
#[test]
fn a_booking_is_in_the_figures_that_are_opened_thirty_seconds_later() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    assert_eq!(sold(&node), Vec::<u64>::new());
    let booking = begin(&node, None);
    let text = |name: &str| booking[name].as_str().expect("a text");
    let status = format!("booking/{}/{}", text("tenant"), text("reservation"));
    until("the confirmation", || node.control(&status) == "confirmed");
    until_within(LOOKS, "its nights in the figures", || sold(&node).len() >= 2);
    assert_eq!(node.stop(), Some(0));
}
