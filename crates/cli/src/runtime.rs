//! The asynchronous runtime, built by the commands that talk to a store; the others start without it.

use crate::exit::Outcome;

/// Runs a command to its end.
pub fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(work);
    // Whatever still waits for a server waits for nobody any more.
    runtime.shutdown_background();
    outcome
}
