//! `karwan bench …`.

mod append;
mod contract;
mod event;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Contract(contract::Args),
    Append(append::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Contract(args) => contract::run(&args),
        Verb::Append(args) => append::run(&args),
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
