//! `karwan topology check`.

use std::process::ExitCode;

use super::{Wanted, connect};
use crate::exit::Outcome;
use crate::{output, runtime};

/// Compare the broker's streams with what a catalogue needs; nothing is changed
///
/// Exit code 1 when something is missing. What is there beyond it is told, and no fault.
///
/// Example: karwan topology check --platform melmastoon --broker nats://localhost:4222
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
}

pub fn run(args: &Args) -> Outcome {
    let (topology, url) = (args.wanted.topology()?, args.wanted.place.url()?);
    runtime::block_on(async {
        let differences = topology.check(&connect(&url).await?).await?;
        for difference in &differences {
            output::data(&difference.to_string())?;
        }
        let lacks = differences.iter().any(karwan_broker::topology::Difference::matters);
        output::note(if lacks { "`karwan topology apply` makes it so" } else { "everything is as it should be" });
        Ok(if lacks { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    })
}
