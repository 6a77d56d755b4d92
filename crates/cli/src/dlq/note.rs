//! `karwan dlq note`.

use std::process::ExitCode;

use super::desk::Desk;
use super::filter::EventName;
use crate::exit::Outcome;
use crate::operator::{Who, said};
use crate::settings::Flags;
use crate::{output, runtime};

/// Write something down about a letter: the note of an incident, the number of a defect
///
/// Notes are told by karwan dlq show and karwan key show, for as long as the store keeps
/// its actions.
///
/// Example:
///   karwan dlq note 0190c2f0-0000-7000-8000-000000000001 --text 'DEF-12 opened' --reason INC-7
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The event (or the id of the call), as `karwan dlq list` prints it
    event: EventName,
    /// Whose letter it is; only needed where several consumers have one of the event
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// What to write down; otherwise the reason alone
    #[arg(long, value_name = "TEXT", value_parser = said)]
    text: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        let target = desk.find(args.event.0, args.consumer.as_deref()).await?;
        let who = args.who.recorded();
        let text = args.text.as_deref().unwrap_or(&who.reason);
        let action = desk.operator.note(&who, &target, text).await?;
        output::data(&format!("action {action}: note on {} of {}", target.event, target.consumer))?;
        Ok(ExitCode::SUCCESS)
    })
}
