//! `karwan envelope …`.

mod convert;
mod mend;
mod place;
mod validate;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Validate(validate::Args),
    Convert(convert::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Validate(args) => validate::run(&args),
        Verb::Convert(args) => convert::run(&args),
    }
}
