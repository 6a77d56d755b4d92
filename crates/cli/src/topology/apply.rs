//! `karwan topology apply`.

use std::process::ExitCode;

use super::{Wanted, connect};
use crate::exit::Outcome;
use crate::{output, runtime};

/// Make the streams that a catalogue needs, and mend those that differ
///
/// Nothing is taken away: subjects that the catalogue does not have, and messages that
/// live longer than it asks, stay. What JetStream cannot change in place is refused.
///
/// Examples:
///   karwan topology apply --platform melmastoon --broker nats://localhost:4222
///   karwan topology apply --platform learning --services authoring-service --replicas 3
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
}

pub fn run(args: &Args) -> Outcome {
    let (topology, url) = (args.wanted.topology("apply")?, args.wanted.place.url()?);
    runtime::block_on(async {
        let changes = topology.apply(&connect(&url).await?).await?;
        for change in &changes {
            output::data(&change.to_string())?;
        }
        if changes.is_empty() {
            output::note("everything is as it should be");
        }
        Ok(ExitCode::SUCCESS)
    })
}
