//! `karwan doctor`.

use std::process::ExitCode;

use clap::ValueEnum;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::doctor::{Check, Health, doctor};
use serde_json::json;

use crate::exit::Outcome;
use crate::output::{self, Paint};
use crate::runtime;
use crate::settings::{Flags, Settings};

/// Look at a store from all sides: exit 0, or 1 when something is bad
///
/// Does row-level security bite for this login? Who holds readers back? Server and
/// schema, clocks, roles, room ahead in the log, size. Run it with the login of the node.
///
/// Examples:
///   karwan doctor --store postgres://node@localhost/app
///   karwan doctor --store sqlite:karwan.db --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A line a check
    Human,
    /// An array of objects
    Json,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let checks = doctor(&address, SystemClock.now().unix_ms()).await?;
        match args.format {
            Format::Json => output::json(&checks.iter().map(object).collect::<Vec<_>>())?,
            Format::Human => {
                let lines: Vec<String> = checks.iter().map(|check| line(check, Paint::stdout())).collect();
                output::data(&lines.join("\n"))?;
            }
        }
        let bad = checks.iter().any(|check| check.health == Health::Bad);
        Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    })
}

fn word(health: Health) -> &'static str {
    match health {
        Health::Good => "ok",
        Health::Warning => "warn",
        Health::Bad => "bad",
    }
}

fn object(check: &Check) -> serde_json::Value {
    let remedy = (!check.remedy.is_empty()).then_some(&check.remedy);
    json!({ "name": check.name, "health": word(check.health), "found": check.found, "remedy": remedy })
}

fn line(check: &Check, paint: Paint) -> String {
    let padded = format!("{:<4}", word(check.health));
    let health = match check.health {
        Health::Good => paint.green(&padded),
        Health::Warning => paint.yellow(&padded),
        Health::Bad => paint.red(&padded),
    };
    let remedy = if check.remedy.is_empty() { String::new() } else { format!(" — {}", check.remedy) };
    format!("{health} {}: {}{remedy}", check.name, check.found)
}
