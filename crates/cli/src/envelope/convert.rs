//! `karwan envelope convert`.

use std::path::PathBuf;
use std::process::ExitCode;

use karwan_envelope::wire;

use crate::exit::{Failure, Outcome};
use crate::platforms::{self, ProfileName};
use crate::{input, output};

/// Convert an envelope between profiles; what cannot be carried is said on standard error
///
/// Example: karwan envelope convert --from lock-ce --to melmastoon event.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The profile it is in
    #[arg(long)]
    from: ProfileName,
    /// The profile to print
    #[arg(long)]
    to: ProfileName,
    /// The envelope, or - for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let bytes = input::read(&args.file)?;
    let directory = platforms::directory(&platforms::catalogues(None)?);
    let (from, to) = (args.from.profile(), args.to.profile());
    let converted = wire::convert(&from, &to, &directory, &bytes).map_err(Failure::input)?;
    output::data(&converted.text)?;
    for fact in converted.lost {
        output::note(&format!("lost: {} has no place for this {fact}", to.name));
    }
    for fact in converted.derived {
        output::note(&format!("derived: {} does not carry {fact}", from.name));
    }
    Ok(ExitCode::SUCCESS)
}
