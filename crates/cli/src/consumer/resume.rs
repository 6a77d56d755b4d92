//! `karwan consumer resume`.

use std::process::ExitCode;

use anyhow::anyhow;

use super::Named;
use crate::dlq::desk::Desk;
use crate::exit::{Failure, Outcome};
use crate::{output, runtime};

/// Let a paused or suspended consumer go on, after what broke it was mended
///
/// A consumer suspends itself when fifty of its last 100 keys fail. Its lanes go on within
/// a second or two, in whatever process they are; parked events are tried again when they
/// are due.
///
/// Example:
///   karwan consumer resume sales-service.secretary --reason 'INC-7 mended' --store sqlite:karwan.db
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
        if !desk.operator.resume_consumer(&who.recorded(), consumer).await? {
            return Err(Failure::from(anyhow!("{consumer} is neither paused nor suspended")));
        }
        output::note(&format!("{consumer} goes on"));
        Ok(ExitCode::SUCCESS)
    })
}
