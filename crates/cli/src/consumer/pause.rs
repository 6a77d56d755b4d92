//! `karwan consumer pause`.

use std::process::ExitCode;

use anyhow::anyhow;

use super::Named;
use crate::dlq::desk::Desk;
use crate::exit::{Failure, Outcome};
use crate::{output, runtime};

/// Stop a consumer, or a relay: nothing of it is handled until it is resumed
///
/// Its lanes obey within a second or two, in whatever process they are; what is being
/// handled is finished. Nothing is lost: it goes on where it stopped.
///
/// Example:
///   karwan consumer pause sales-service.secretary --reason 'INC-7' --store sqlite:karwan.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    named: Named,
}

pub fn run(Args { named: Named { consumer, who, flags } }: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(flags).await?;
        desk.knows_consumer(consumer).await?;
        if !desk.operator.pause_consumer(&who.recorded(), consumer).await? {
            return Err(Failure::from(anyhow!("{consumer} is paused or suspended already")));
        }
        output::note(&format!("{consumer} waits from now on; karwan consumer resume lets it go on"));
        Ok(ExitCode::SUCCESS)
    })
}
