//! `karwan dlq delete`.

use karwan_store::operator::Deed;

use super::choice::Choice;
use super::desk::Desk;
use crate::exit::Outcome;
use crate::operator::{Who, said};
use crate::runtime;
use crate::settings::Flags;

/// Delete letters for good; somebody else must have signed it off
///
/// The consumer never handles them, no replay brings them back, and only the record of the
/// deletion and why they failed stay. It cannot be undone: skip and quarantine can.
///
/// Example:
///   karwan dlq delete 0190c2f0-0000-7000-8000-000000000001 --sign-off zarina --reason DEF-12
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    who: Who,
    /// Who agreed; somebody else than who does it
    #[arg(long, value_name = "NAME", value_parser = said)]
    sign_off: String,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        args.choice.act(&desk, &args.who, &Deed::Delete { sign_off: args.sign_off.clone() }).await
    })
}
