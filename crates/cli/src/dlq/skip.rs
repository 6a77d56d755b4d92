//! `karwan dlq skip`.

use karwan_store::operator::Deed;

use super::choice::Choice;
use super::desk::Desk;
use crate::exit::Outcome;
use crate::operator::Who;
use crate::runtime;
use crate::settings::Flags;

/// Pass letters over: their consumer never handles them, and their keys go on
///
/// A skip can be undone until retention takes the letter away.
///
/// Examples:
///   karwan dlq skip 0190c2f0-0000-7000-8000-000000000001 --reason 'the booking was cancelled'
///   karwan dlq skip --key tnt_01J3K4M5N6P7Q8R9S0T1V2W3X4:rsv_1 --reason INC-7 --yes
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        args.choice.act(&desk, &args.who, &Deed::Skip).await
    })
}
