//! `karwan completions SHELL`.

use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::exit::Outcome;
use crate::output;

/// Print the completions of a shell
///
/// Example: karwan completions bash > ~/.local/share/bash-completion/completions/karwan
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args, mut command: Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "karwan", &mut script);
    output::data(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
