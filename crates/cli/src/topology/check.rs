//! `karwan topology check`.

use std::process::ExitCode;

use karwan_broker::topology::{Difference, Remedy, What};

use super::{Wanted, connect};
use crate::exit::Outcome;
use crate::{output, runtime};

/// Compare the broker's streams with what a catalogue needs; nothing is changed
///
/// Exit code 1 when something is missing or cannot be used. What is there beyond it is told,
/// and no fault.
///
/// Example: karwan topology check --platform melmastoon --broker nats://localhost:4222
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
}

pub fn run(args: &Args) -> Outcome {
    let (topology, url) = (args.wanted.topology("check")?, args.wanted.place.url()?);
    runtime::block_on(async {
        let differences = topology.check(&connect(&url).await?).await?;
        for difference in &differences {
            output::data(&difference.to_string())?;
        }
        output::note(summed_up(&differences));
        let lacks = differences.iter().any(Difference::matters);
        Ok(if lacks { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    })
}

fn summed_up(differences: &[Difference]) -> &'static str {
    let is_of_another = |one: &Difference| matches!(one.what, What::OtherPlatform(_));
    if differences.iter().any(is_of_another) {
        "a stream is another platform's, and is left as it is: give each platform an account or a broker of its own (docs/errors/broker-other-platform.md)"
    } else if differences.iter().any(|one| one.remedy == Remedy::Impossible) {
        "something cannot be changed in place (docs/errors/broker-topology.md)"
    } else if differences.iter().any(Difference::matters) {
        "`karwan topology apply` makes it so"
    } else if !differences.is_empty() {
        "nothing is missing; what is there beyond what was asked for stays"
    } else {
        "everything is as it should be"
    }
}
