//! `karwan bench …`.

mod append;
mod consume;
mod contract;
mod environment;
mod event;
mod fairness;
mod growth;
mod held;
mod latency;
mod node;
mod relay;
mod sample;
pub mod scratch;
mod spread;
mod streams;
mod sustained;
mod takeover;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Contract(contract::Args),
    Append(append::Args),
    Consume(consume::Args),
    Latency(latency::Args),
    Fairness(fairness::Args),
    Takeover(takeover::Args),
    Relay(relay::Args),
    Growth(growth::Args),
    #[command(hide = true)]
    Node(node::Args),
    #[command(hide = true)]
    Drain(growth::drain::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Contract(args) => contract::run(&args),
        Verb::Append(args) => append::run(&args),
        Verb::Consume(args) => consume::run(&args),
        Verb::Latency(args) => latency::run(&args),
        Verb::Fairness(args) => fairness::run(&args),
        Verb::Takeover(args) => takeover::run(&args),
        Verb::Relay(args) => relay::run(&args),
        Verb::Growth(args) => growth::run(&args),
        Verb::Drain(args) => growth::drain::run(&args),
        Verb::Node(args) => node::run(&args),
    }
}

/// Prints what was measured.
fn print<F: serde::Serialize + std::fmt::Display>(figures: &F, json: bool) -> Outcome {
    if json {
        crate::output::json(figures)?;
    } else {
        crate::output::data(&figures.to_string())?;
    }
    Ok(std::process::ExitCode::SUCCESS)
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
