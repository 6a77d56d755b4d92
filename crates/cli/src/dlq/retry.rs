//! `karwan dlq retry`.

use karwan_store::operator::Deed;

use super::choice::Choice;
use super::desk::Desk;
use crate::exit::Outcome;
use crate::operator::Who;
use crate::runtime;
use crate::settings::Flags;

/// Try letters now, each once more by the consumer that has them
///
/// A dead event is parked again and handled by whoever holds its lane; what was handled
/// before is not handled twice. Refused where it breaks its schema (repair it), and where
/// later events of its key were handled since, unless --out-of-order accepts that.
///
/// Examples:
///   karwan dlq retry 0190c2f0-0000-7000-8000-000000000001 --reason 'the vendor is back'
///   karwan dlq retry --consumer billing-service.clerk --error timeout --dry-run --reason INC-7
///   karwan dlq retry --select 12 --rate 50 --yes --reason 'INC-7: the vendor is back'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
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
        args.choice.act(&desk, &args.who, &Deed::Retry { out_of_order: args.out_of_order }).await
    })
}
