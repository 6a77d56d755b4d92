//! `karwan bench …`.

mod contract;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Contract(contract::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Contract(args) => contract::run(&args),
    }
}
