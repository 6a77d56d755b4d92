//! `karwan consumer forget`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan_store::Operator;

use super::place;
use crate::confirm::Asked;
use crate::exit::{Failure, Outcome};
use crate::settings::{Flags, Settings};
use crate::{output, runtime};

/// Forget a consumer that nobody will run again, so that it holds the log back no more
///
/// Its positions go; its letters stay. Started again, it begins where the log begins.
/// `karwan consumer seek NAME --undo` brings its positions back, while the log still has
/// the rows behind them. Refused while a process runs it.
///
/// With --subject the consumer stays, and no release of it will handle that subject again:
/// its events are passed by. Without it they wait for a release that handles them, because
/// an earlier one did. Refused while a process that handles it lives.
///
/// Examples:
///   karwan consumer forget sales-service.secretary --reason 'retired' --store sqlite:karwan.db
///   karwan consumer forget sales-service.secretary --subject shop.sales.order.placed.v1 \
///       --reason 'release 7 is not coming back' --store sqlite:karwan.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Its name, as `karwan consumer list` prints it
    consumer: String,
    /// Forget one subject that it handled, and not the consumer
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    asked: Asked,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    let operator = Operator::new(&address, Vec::new());
    runtime::block_on(async {
        if let Some(subject) = &args.subject {
            return forget_subject(args, &operator, subject).await;
        }
        let places = operator.places(&args.consumer).await.map_err(place::named)?;
        let lowest = places.iter().min().copied().unwrap_or_default();
        let question =
            format!("forget {} with its {} lanes, the furthest behind at {lowest}?", args.consumer, places.len());
        args.asked.agreed(&question)?;
        let moved = operator.forget(&args.asked.recorded(), &args.consumer).await.map_err(place::named)?;
        output::data(&format!("{} is forgotten (action {})", args.consumer, moved.action))?;
        Ok(ExitCode::SUCCESS)
    })
}

async fn forget_subject(args: &Args, operator: &Operator, subject: &str) -> Outcome {
    operator.places(&args.consumer).await.map_err(place::named)?;
    args.asked.agreed(&format!("pass all events of {subject} by in {} from now on?", args.consumer))?;
    let forgotten = operator.forget_subject(&args.asked.recorded(), &args.consumer, subject).await?;
    let Some(action) = forgotten else {
        return Err(Failure::from(anyhow!("no release of {} has handled `{subject}`", args.consumer)));
    };
    output::data(&format!("{} without {subject} (action {action})", args.consumer))?;
    Ok(ExitCode::SUCCESS)
}
