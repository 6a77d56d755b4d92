//! `karwan dlq undo`.

use std::process::ExitCode;

use super::desk::Desk;
use crate::exit::Outcome;
use crate::operator::{self, Who};
use crate::settings::Flags;
use crate::{output, runtime};

/// Undo a skip, a quarantine, a pause or a retry, by the number of its action
///
/// What was skipped or locked away becomes what it was before, and so does what was to be
/// tried and was not yet. Refused where later events of its key were handled since, unless
/// --out-of-order accepts that. A seek and a replay are undone by their own commands.
///
/// Examples:
///   karwan dlq undo 12 --reason 'skipped by mistake'
///   karwan dlq undo 12 --out-of-order --reason 'order does not matter to the report'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The action, as `karwan dlq actions` prints it
    #[arg(value_parser = operator::action)]
    action: i64,
    #[command(flatten)]
    who: Who,
    /// Also where later events of its key were handled since
    #[arg(long)]
    out_of_order: bool,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        let who = args.who.recorded();
        let action = desk.operator.undo(&who, args.action, args.out_of_order).await?;
        output::data(&format!("action {action}: undid action {}", args.action))?;
        Ok(ExitCode::SUCCESS)
    })
}
