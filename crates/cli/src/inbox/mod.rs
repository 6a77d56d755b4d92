//! `karwan inbox …`.

mod clear;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Clear(clear::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Clear(args) => clear::run(&args),
    }
}
