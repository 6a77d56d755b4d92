use super::{Node, facts};
use crate::folder::Folder;

/// How long the maker of locks takes for each key: as long as a slow one does where all is well.
const LOCK_MS: u64 = 8_000;

/// The two figures of a line such as `confirm        p50 12 ms, p99 34 ms`.
fn figures(shown: &str, name: &str) -> (u64, u64) {
    let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no `{name}`: {shown}"));
    let number = |after: &str| line.split(after).nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number("p50 ").zip(number("p99 ")).unwrap_or_else(|| panic!("two figures: {line}"))
}

/// Where a confirmation waited for a key, its own or another's, some key would be before the last confirmation.
#[test]
fn every_booking_of_a_load_is_confirmed_before_the_first_slow_key_is_issued() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &[]);
    let before = node.control("status")["position"].as_str().expect("a position").to_owned();
    let shown = node.karwan(&["load", "--bookings", "20", "--tenants", "2", "--lock-ms", &LOCK_MS.to_string()]);
    let shown = shown.exits(0).prints("19 confirmed, 1 refused or declined").prints("everything holds").stdout;
    let facts = facts(&node, &before);
    let places = |what: &str| -> Vec<i64> {
        let told = facts.iter().filter(|fact| fact["subject"].as_str().is_some_and(|subject| subject.contains(what)));
        told.map(|fact| fact["seq"].as_i64().expect("a number")).collect()
    };
    let (confirmed, issued) = (places(".booking.confirmed."), places(".key_credential.issued."));
    assert_eq!(confirmed.len(), 19, "{shown}");
    // One pays in cash and gets none, one is cancelled and may have had none.
    assert!(issued.len() >= 17, "{issued:?}");
    assert!(confirmed.iter().max() < issued.iter().min(), "confirmed {confirmed:?}, issued {issued:?}");
    // What is told of it: no key lags less behind its confirmation than the maker takes.
    let (half, most) = figures(&shown, "key behind it");
    assert!(LOCK_MS <= half && half <= most, "{shown}");
    assert!(figures(&shown, "confirm  ").0 > 0, "{shown}");
    assert_eq!(node.stop(), Some(0));
}
