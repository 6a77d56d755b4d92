//! `karwan schema …`.

mod audit;
mod bundle;
mod diff;
mod gate;
mod hash;
mod named;
mod render;
mod tally;

use clap::{Subcommand, ValueEnum};

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    Diff(diff::Args),
    Gate(gate::Args),
    Audit(audit::Args),
    Bundle(bundle::Args),
    Hash(hash::Args),
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::Diff(args) => diff::run(&args),
        Verb::Gate(args) => gate::run(&args),
        Verb::Audit(args) => audit::run(&args),
        Verb::Bundle(args) => bundle::run(&args),
        Verb::Hash(args) => hash::run(&args),
    }
}

/// How findings are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// For programs; stable
    Json,
    /// Annotations of a pull request
    Github,
}

/// An incident ticket that lets a change pass.
#[derive(Clone)]
pub struct Ticket(String);

impl std::str::FromStr for Ticket {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |char: char| char.is_ascii_alphanumeric() || "-_#/.:".contains(char);
        if (3..=64).contains(&text.len()) && text.chars().all(allowed) && text.contains(|it: char| it.is_ascii_digit())
        {
            Ok(Self(text.to_owned()))
        } else {
            Err("an incident ticket such as INC-1234: 3 to 64 letters, digits and -_#/.: with a number".to_owned())
        }
    }
}
