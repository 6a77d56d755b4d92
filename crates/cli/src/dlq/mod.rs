//! `karwan dlq …`: letters, which are events that a consumer has not handled and calls that were given up.

mod actions;
mod choice;
mod classify;
mod delete;
pub mod desk;
pub mod filter;
pub mod list;
mod note;
mod quarantine;
mod repair;
mod retry;
mod runbook;
pub mod show;
mod skip;
mod undo;

use clap::{Subcommand, ValueEnum};

use crate::exit::Outcome;

#[derive(Subcommand)]
pub enum Verb {
    List(list::Args),
    Show(show::Args),
    Classify(classify::Args),
    Retry(retry::Args),
    Repair(repair::Args),
    Skip(skip::Args),
    Quarantine(quarantine::Args),
    Delete(delete::Args),
    Undo(undo::Args),
    Note(note::Args),
    Actions(actions::Args),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// JSON
    Json,
}

pub fn run(verb: Verb) -> Outcome {
    match verb {
        Verb::List(args) => list::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Classify(args) => classify::run(&args),
        Verb::Retry(args) => retry::run(&args),
        Verb::Repair(args) => repair::run(&args),
        Verb::Skip(args) => skip::run(&args),
        Verb::Quarantine(args) => quarantine::run(&args),
        Verb::Delete(args) => delete::run(&args),
        Verb::Undo(args) => undo::run(&args),
        Verb::Note(args) => note::run(&args),
        Verb::Actions(args) => actions::run(&args),
    }
}
