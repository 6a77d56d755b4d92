//! `karwan key resume`.

use std::process::ExitCode;

use anyhow::anyhow;

use super::Chosen;
use crate::dlq::desk::Desk;
use crate::exit::{Failure, Outcome};
use crate::tenant::KeyName;
use crate::{output, runtime};

/// Let a paused key go on for a consumer: what waited is handled in order
///
/// Example:
///   karwan key resume tnt_01J3K4M5N6P7Q8R9S0T1V2W3X4:rsv_1 \
///       --consumer billing-service.clerk --reason INC-7
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
}

pub fn run(Args { chosen: Chosen { key: name, consumer, who, flags } }: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(flags).await?;
        desk.knows_consumer(consumer).await?;
        let KeyName { tenant, key } = name;
        if !desk.operator.resume_key(&who.recorded(), consumer, *tenant, key).await? {
            return Err(Failure::from(anyhow!("{name} is not paused for {consumer}")));
        }
        output::note(&format!("{name} goes on for {consumer}"));
        Ok(ExitCode::SUCCESS)
    })
}
