//! What a node says on a terminal when it is up: where it is, what is in it, what to try.

use std::path::Path;

use karwan_store::Address;

use super::demo::houses;
use super::place;
use crate::settings::word;

/// The summary.
pub fn text(public: &str, address: &Address, demo: bool, data: &Path) -> String {
    let flag = match data.to_str() {
        Some(place::DEFAULT) | None => String::new(),
        Some(data) => format!(" --data {}", word(data)),
    };
    let mut text = format!("karwan is up at {public}, on {address}\n");
    if demo {
        text.push_str("\nTwo hotels to try things with:\n");
        for house in houses() {
            text.push_str(&format!("  {:<6} {} of {} ({})\n", house.name, house.property, house.title, house.tenant()));
        }
        text.push_str("\nIn a second terminal:\n");
        for (command, what) in [
            ("try booking", "from hold to key, event by event"),
            ("try booking --fault payment-timeout", "the card is charged, and nobody hears of it"),
            ("try cancellation", "room, money and key go back"),
            ("consumer list", "who reads the log, and how far"),
        ] {
            text.push_str(&format!("  {:<50} {what}\n", format!("karwan {command}{flag}")));
        }
    } else {
        text.push_str("\nIt has no tenants yet; `karwan up --demo` brings two to try things with.\n");
    }
    text.push_str(&format!(
        "\nFor machines: {public}/health, /ready, /metrics. Ctrl-C stops; kill it, and it goes on where it was."
    ));
    text
}
