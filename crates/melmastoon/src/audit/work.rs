//! What audit does with events: it enters every one of them into its tenant's chain.
//!
//! Invariant: its own events are not consumed, or it would go on for ever (C-43); they are their own record. An event is entered
//! once, in the order of the log, and nothing is ever entered again: the consumer goes forward only.

use std::sync::Arc;

use karwan::envelope::Envelope;
use karwan::{Consumer, Error, TenantTx, Verdict, Work};

use super::SERVICE;
use super::decide::{append, entries};
use super::state::Chain;

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::audit::kinds(),
    trail => crate::told::a_booking_is_confirmed_and_cancelled,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    consumers().into_iter().fold(work, Work::consumer)
}

/// One lane in large batches, and not the documents' eight: all entries of a tenant follow one another, so lanes would only
/// take the end of the chain from each other.
fn trail() -> Consumer {
    Consumer::new(SERVICE, "trail").lanes(1).batch(256).forward_only().background().on_each(subjects(), enter)
}

/// Every subject of the platform that is published, but audit's own.
fn subjects() -> impl Iterator<Item = &'static str> {
    let foreign = |row: &karwan::registry::Row| row.owner != SERVICE && !row.local_only;
    crate::events().into_iter().filter(move |event| foreign(&(event.row)())).map(|event| event.subject)
}

async fn enter(tx: TenantTx, envelope: Arc<Envelope>) -> Result<Verdict, Error> {
    let mut chain: Chain = tx.find(Chain::ID).await?.unwrap_or_default();
    for entry in entries(&envelope) {
        tx.emit(append(&mut chain, tx.fresh(), entry, tx.now()));
    }
    tx.put(chain);
    Ok(Verdict::Done)
}
