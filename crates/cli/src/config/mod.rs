//! `karwan config …`.

mod example;
mod show;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Show(show::Args),
    Example(example::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Show(args) => show::run(&args),
        Verb::Example(args) => example::run(&args),
    }
}
