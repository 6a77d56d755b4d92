//! `karwan retention run`.

use std::path::PathBuf;
use std::process::ExitCode;

use karwan_store::Operator;
use karwan_store::retention::{Export, Nothing, Ran};
use serde_json::json;

use super::{Kept, forgotten_line, forgotten_object, holder_line};
use crate::exit::Outcome;
use crate::operator::Who;
use crate::settings::{Flags, Settings};
use crate::{output, runtime};

/// Drop rows of the log that are old enough and that nobody needs, and forget the rest of their age
///
/// Meant for a timer, once a day; it asks nothing. Rows go only below every saved position. With
/// --export every stretch is written to a folder first, as JSON lines with a manifest, and stays
/// where that fails.
///
/// Examples:
///   karwan retention run --store postgres://admin@localhost/app --reason daily
///   karwan retention run --days 7 --export /var/backups/karwan --reason daily
///   karwan retention run --dry-run --reason 'a look'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    kept: Kept,
    /// Write rows here before they go
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Only say what would be done, as `karwan retention plan` does
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    who: Who,
    /// Print an object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    let operator = Operator::new(&address, Vec::new());
    let (days, who) = (args.kept.days(), args.who.recorded());
    runtime::block_on(async {
        let plan = operator.would_retain(&days).await?;
        if args.dry_run {
            super::plan::print(&plan, args.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let told = |what: &str, gone: u64| {
            if gone > 0 {
                output::note(&format!("{gone} {what} gone"));
            }
        };
        let ran = match &args.export {
            Some(folder) => operator.retain(&who, &days, &mut Export::new(folder), &told).await?,
            None => operator.retain(&who, &days, &mut Nothing, &told).await?,
        };
        plan.holders.iter().for_each(|holder| output::note(&holder_line(holder)));
        print(&ran, args.json)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// These names are stable.
fn print(ran: &Ran, as_json: bool) -> std::io::Result<()> {
    let Ran { action, floor_before, floor, forgotten } = ran;
    if as_json {
        let forgot = forgotten_object(forgotten);
        return output::json(
            &json!({ "action": action, "floorBefore": floor_before, "floor": floor, "forgot": forgot }),
        );
    }
    let rows = match floor > floor_before {
        true => format!("rows {} to {floor} are gone", floor_before + 1),
        false => "no rows went".to_owned(),
    };
    output::data(&format!("{rows}; {}", forgotten_line(forgotten)))
}
