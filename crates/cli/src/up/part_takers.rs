//! Who takes part in what is tried: services of this node, and those that other processes run on its store.

use std::collections::BTreeSet;

use karwan_store::Store;
use melmastoon::{inventory, lock_integration, payment, reservation};

use super::node::Node;
use super::tries::{Ask, Fault};

/// Who takes part in a booking and its end: as `--services` has it, and as its consumers are called.
pub const TAKE_PART: [(&str, &str); 4] = [
    ("reservation", reservation::SERVICE),
    ("inventory", inventory::SERVICE),
    ("payment", payment::SERVICE),
    ("lock_integration", lock_integration::SERVICE),
];

/// Those that are run: by this node, or by another process on the same store.
pub async fn running(node: &Node) -> Result<BTreeSet<&'static str>, String> {
    let told = |error: karwan_store::Error| error.to_string();
    let consumers = Store::observe(&node.address).await.map_err(told)?.consumers().await.map_err(told)?;
    let beside = |service: &str| {
        let of = |consumer: &str| consumer.split_once('.').is_some_and(|(of, _)| of == service);
        consumers.iter().any(|it| of(&it.consumer) && it.run_by().is_some())
    };
    let here = |part: &str| node.services.is_empty() || node.services.iter().any(|name| name == part);
    Ok(TAKE_PART.into_iter().filter(|(part, service)| here(part) || beside(service)).map(|(part, _)| part).collect())
}

impl Ask {
    /// Without whom it would be waited for in vain.
    fn needs(&self) -> &'static [&'static str] {
        match self.fault {
            // Nobody is asked for money.
            Some(Fault::HoldExpired | Fault::Oversold) => &["reservation", "inventory"],
            Some(Fault::VendorError | Fault::KeyTimeout) => {
                &["reservation", "inventory", "payment", "lock_integration"]
            }
            None | Some(Fault::PaymentDeclined | Fault::PaymentTimeout | Fault::CashPending | Fault::RefundFailed) => {
                &["reservation", "inventory", "payment"]
            }
        }
    }

    /// Refuses where somebody is missing without whom it does not end.
    pub fn can_end(&self, runs: &BTreeSet<&'static str>) -> Result<(), String> {
        let missing: Vec<&str> = self.needs().iter().filter(|part| !runs.contains(*part)).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("nobody runs {}, and without that this does not end: start a node with it", missing.join(", ")))
    }
}
