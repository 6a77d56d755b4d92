//! `karwan config example`.

use std::process::ExitCode;

use crate::exit::Outcome;
use crate::output;
use crate::settings::KEYS;

/// Print a karwan.toml with every value, its meaning and its default
///
/// Example: karwan config example > karwan.toml
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

pub fn run(_: &Args) -> Outcome {
    let head = "# Read from the working directory. KARWAN_<NAME> wins over a value here, and a flag over both.\n";
    let values = KEYS.iter().map(|key| format!("\n# {}\n# {} = {}\n", key.meaning, key.name, key.example));
    output::data(&std::iter::once(head.to_owned()).chain(values).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
