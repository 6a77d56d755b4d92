//! `karwan key pause`.

use std::process::ExitCode;

use anyhow::anyhow;

use super::Chosen;
use crate::dlq::desk::Desk;
use crate::exit::{Failure, Outcome};
use crate::tenant::KeyName;
use crate::{output, runtime};

/// Stop a key for a consumer: its events wait in order, every other key flows on
///
/// The holder of its lane obeys within a second or two; an event that is being handled is
/// finished. karwan key resume lets it go on.
///
/// Example:
///   karwan key pause tnt_01J3K4M5N6P7Q8R9S0T1V2W3X4:rsv_1 \
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
        let known = !desk.operator.key_story(*tenant, key, None).await?.entries.is_empty();
        if !desk.operator.pause_key(&who.recorded(), consumer, *tenant, key).await? {
            return Err(Failure::from(anyhow!("{name} is paused for {consumer} already")));
        }
        output::note(&format!("{name} waits for {consumer} from now on"));
        if !known {
            output::note("nothing is known of this key yet: no event of it is in the log; is it the one you mean?");
        }
        Ok(ExitCode::SUCCESS)
    })
}
