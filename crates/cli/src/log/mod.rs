//! `karwan log …`.

mod follow;
pub mod row;
mod stats;
mod tail;

pub use follow::Reader;
pub use stats::{size_cells, size_object};

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Tail(tail::Args),
    Stats(stats::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Tail(args) => tail::run(&args),
        Verb::Stats(args) => stats::run(&args),
    }
}
