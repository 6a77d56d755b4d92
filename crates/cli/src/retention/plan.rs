//! `karwan retention plan`.

use std::process::ExitCode;

use karwan_store::Operator;
use karwan_store::retention::Plan;
use serde_json::json;

use super::{Kept, forgotten_line, forgotten_object, holder_line, holder_object};
use crate::exit::Outcome;
use crate::settings::{Flags, Settings};
use crate::{output, runtime};

/// Say what a retention run would drop and forget, and who holds the log back
///
/// Rows go only below every saved position, in whole stretches; parked and dead events carry
/// their envelopes and hold nothing.
///
/// Examples:
///   karwan retention plan --store postgres://admin@localhost/app
///   karwan retention plan --days 7 --store sqlite:karwan.db --json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    kept: Kept,
    /// Print an object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let plan = Operator::new(&address, Vec::new()).would_retain(&args.kept.days()).await?;
        print(&plan, args.json)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// These names are stable.
pub fn print(plan: &Plan, as_json: bool) -> std::io::Result<()> {
    let Plan { floor, end, old, goes, holders, forgotten } = plan;
    if as_json {
        return output::json(&json!({
            "floor": floor,
            "end": end.to_string(),
            "old": old,
            "goes": goes,
            "holders": holders.iter().map(holder_object).collect::<Vec<_>>(),
            "forgets": forgotten_object(forgotten),
        }));
    }
    let mut text = match goes > floor {
        true => format!("rows {} to {goes} go", floor + 1),
        false => "no rows go".to_owned(),
    };
    let rest = old - goes.max(floor);
    if rest > 0 {
        text.push_str(&format!("; {rest} more are old enough, and are held back or share a stretch with younger ones"));
    }
    text.push_str(&format!("\n{}\n", forgotten_line(forgotten)));
    holders.iter().for_each(|holder| text.push_str(&format!("{}\n", holder_line(holder))));
    output::data(&text)
}
