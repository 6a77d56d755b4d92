//! The asynchronous runtime, built by the commands that talk to a store; the others start without it.

use crate::exit::{Failure, Outcome};

/// Runs a command to its end.
pub fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
    ready(work)
}

/// Waits for something that a command needs before it begins.
pub fn ready<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(work);
    // Whatever still waits for a server waits for nobody any more.
    runtime.shutdown_background();
    outcome
}
