//! The binary `karwan`.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 in order, 1 a refusal, a breaking
//! change or an output that cannot be written, 2 a change that needs an audit, 64 bad usage, 65 bad input.

mod backup;
mod bench;
mod catalog;
mod completions;
mod config;
mod consumer;
mod doctor;
mod envelope;
mod exit;
mod input;
mod log;
mod migrate;
mod output;
mod platforms;
mod progress;
mod restore;
mod runtime;
mod schema;
mod settings;
mod tree;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use exit::Failure;

/// Commits your data and its events together, and delivers each event once, in order, tenant by tenant
///
/// Example: karwan catalog list --platform melmastoon
#[derive(Parser)]
#[command(name = "karwan", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    noun: Noun,
}

#[derive(Subcommand)]
enum Noun {
    /// The catalogue of events: list, show, emit, check
    ///
    /// Example: karwan catalog show melmastoon.payment.intent.captured.v1
    #[command(subcommand)]
    Catalog(catalog::Verb),
    /// JSON Schemas: compare, gate, bundle, hash
    ///
    /// Example: karwan schema diff old.json new.json
    #[command(subcommand)]
    Schema(schema::Verb),
    /// Envelopes: validate, convert
    ///
    /// Example: karwan envelope validate event.json
    #[command(subcommand)]
    Envelope(envelope::Verb),
    Migrate(migrate::Args),
    /// The log of a store: tail, stats
    ///
    /// Example: karwan log tail --store sqlite:karwan.db --follow
    #[command(subcommand)]
    Log(log::Verb),
    /// Consumers: how far they are, who holds their lanes
    ///
    /// Example: karwan consumer list --store sqlite:karwan.db
    #[command(subcommand)]
    Consumer(consumer::Verb),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    /// Measurements
    ///
    /// Example: karwan bench contract
    #[command(subcommand)]
    Bench(bench::Verb),
    /// What commands are configured with: show, example
    ///
    /// Example: karwan config show
    #[command(subcommand)]
    Config(config::Verb),
    Completions(completions::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, anything else is bad usage; a closed pipe changes neither.
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    let outcome = match cli.noun {
        Noun::Catalog(verb) => catalog::run(verb),
        Noun::Schema(verb) => schema::run(verb),
        Noun::Envelope(verb) => envelope::run(verb),
        Noun::Migrate(args) => migrate::run(&args),
        Noun::Log(verb) => log::run(verb),
        Noun::Consumer(verb) => consumer::run(verb),
        Noun::Doctor(args) => doctor::run(&args),
        Noun::Backup(args) => backup::run(&args),
        Noun::Restore(args) => restore::run(&args),
        Noun::Bench(verb) => bench::run(verb),
        Noun::Config(verb) => config::run(verb),
        Noun::Completions(args) => completions::run(&args, Cli::command()),
    };
    outcome.unwrap_or_else(Failure::report)
}
