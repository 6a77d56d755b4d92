//! `karwan dlq repair`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use karwan_store::operator::Deed;

use super::desk::Desk;
use super::filter::EventName;
use crate::exit::{Failure, Outcome};
use crate::operator::Who;
use crate::settings::Flags;
use crate::{input, output, runtime};

/// Replace the payload of an event, judge it anew, and try it
///
/// Its id, key and idempotency key stay, and so does the original: karwan dlq show
/// --original. A payload that breaks the schema is refused, with every violation.
///
/// Examples:
///   karwan dlq show 0190c2f0-0000-7000-8000-000000000001 --raw | jq .payload > payload.json
///   karwan dlq repair 0190c2f0-0000-7000-8000-000000000001 --payload payload.json --reason DEF-12
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The event, as `karwan dlq list` prints it
    event: EventName,
    /// Whose letter it is; only needed where several consumers have one of the event
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// The new payload as JSON, or - for standard input
    #[arg(long, value_name = "FILE")]
    payload: PathBuf,
    #[command(flatten)]
    who: Who,
    /// Also where later events of its key were handled since
    #[arg(long)]
    out_of_order: bool,
    /// Say whether it would be taken, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(args: &Args) -> Outcome {
    let name = args.payload.display();
    let payload =
        String::from_utf8(input::read(&args.payload)?).map_err(|_| Failure::input(anyhow!("{name} is not UTF-8")))?;
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        let target = desk.find(args.event.0, args.consumer.as_deref()).await?;
        let who = args.who.recorded();
        let deed = Deed::Repair { payload, out_of_order: args.out_of_order };
        let of = &target.consumer;
        if args.dry_run {
            desk.operator.would(&who, &target, &deed).await?;
            output::data(&format!("would repair {} of {of}", target.event))?;
            return Ok(ExitCode::SUCCESS);
        }
        let action = desk.operator.act(&who, &target, &deed).await?;
        output::data(&format!("action {action}: repair {} of {of}", target.event))?;
        output::note("the original is kept; whoever holds its lane tries it within a second or two");
        Ok(ExitCode::SUCCESS)
    })
}
