//! `karwan key …`.

mod pause;
mod resume;
mod show;

use clap::Subcommand;

use crate::exit::Outcome;
use crate::operator::Who;
use crate::settings::Flags;
use crate::tenant::KeyName;

/// A key for a consumer, and who does something about it.
#[derive(clap::Args)]
struct Chosen {
    /// The key: TENANT:AGGREGATE
    key: KeyName,
    /// For which consumer
    #[arg(long, value_name = "NAME")]
    consumer: String,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Subcommand)]
pub enum Verb {
    Show(show::Args),
    Pause(pause::Args),
    Resume(resume::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Show(args) => show::run(&args),
        Verb::Pause(args) => pause::run(&args),
        Verb::Resume(args) => resume::run(&args),
    }
}
