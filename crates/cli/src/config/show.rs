//! `karwan config show`.

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use crate::exit::Outcome;
use crate::output::{self, Paint};
use crate::settings::{Flags, Settings};

/// Print every value with its origin: a flag, KARWAN_*, karwan.toml or the default
///
/// Passwords are masked.
///
/// Examples:
///   karwan config show
///   KARWAN_STORE=sqlite:karwan.db karwan config show --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Columns for people
    Table,
    /// An array of objects
    Json,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    match args.format {
        Format::Json => {
            let values = settings.all().iter().map(|setting| {
                json!({ "name": setting.key.name, "value": setting.shown(), "origin": setting.origin.to_string() })
            });
            output::json(&values.collect::<Vec<_>>())?;
        }
        Format::Table => {
            let rows: Vec<Vec<String>> = settings
                .all()
                .iter()
                .map(|setting| {
                    let value = setting.shown().unwrap_or_else(|| "-".to_owned());
                    vec![setting.key.name.to_owned(), value, setting.origin.to_string()]
                })
                .collect();
            output::data(&output::table(&["NAME", "VALUE", "ORIGIN"], &rows, Paint::stdout()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
