//! What a node says on a terminal when it is up: where it is, what is in it, what to try.

use karwan_store::Address;

use super::demo::houses;

/// Who is in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tenants {
    /// Those of the demo, whoever else is.
    Demo,
    /// Others.
    Others,
    /// Nobody.
    None,
}

/// Commands that find the node again.
pub struct Hints {
    /// The flags of a command that asks it.
    pub asking: String,
    /// The command that starts it with the demo.
    pub again: String,
}

/// The summary.
pub fn text(public: &str, address: &Address, tenants: Tenants, hints: &Hints) -> String {
    const DEMO: &[(&str, &str)] = &[
        ("try booking", "from hold to key, event by event"),
        ("try booking --fault payment-timeout", "the card is charged, and nobody hears of it"),
        ("try cancellation", "room, money and key go back"),
        ("consumer list", "who reads the log, and how far"),
    ];
    const OTHERS: &[(&str, &str)] = &[
        ("log tail --follow", "events as they are told"),
        ("saga list", "bookings under way, and what waits for a person"),
        ("consumer list", "who reads the log, and how far"),
    ];
    let mut text = format!("karwan is up at {public}, on {address}\n");
    if tenants == Tenants::Demo {
        text.push_str("\nTwo hotels to try things with:\n");
        for house in houses() {
            text.push_str(&format!("  {:<6} {} of {} ({})\n", house.name, house.property, house.title, house.tenant()));
        }
    }
    let commands = match tenants {
        Tenants::Demo => DEMO,
        Tenants::Others => OTHERS,
        Tenants::None => &[],
    };
    if commands.is_empty() {
        text.push_str("\nIt has no tenants yet. To have two to try things with, stop it, and start it so:\n");
        text.push_str(&format!("  {}\n", hints.again));
    } else {
        text.push_str("\nIn a second terminal:\n");
    }
    for (command, what) in commands {
        // However long the command is, it can be told from what it does.
        text.push_str(&format!("  {:<49}  {what}\n", format!("karwan {command}{}", hints.asking)));
    }
    text.push_str(&format!(
        "\nFor machines: {public}/health, /ready, /metrics. Ctrl-C stops; kill it, and it goes on where it was."
    ));
    text
}
