//! The binary `karwan`.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 in order, 1 a refusal, a breaking
//! change or an output that cannot be written, 2 a change that needs an audit, 64 bad usage, 65 bad input.

mod ask;
mod away;
mod backup;
mod bench;
mod catalog;
mod chaos;
mod chosen;
mod completions;
mod config;
mod confirm;
mod consumer;
mod dlq;
mod doctor;
mod envelope;
mod exit;
mod fact;
mod inbox;
mod input;
mod instant;
mod key;
mod load;
mod log;
mod lost;
mod migrate;
mod operator;
mod outbox;
mod output;
mod personal;
mod platforms;
mod progress;
mod relay;
mod replay;
mod restore;
mod retention;
mod runtime;
mod saga;
mod schema;
mod settings;
mod suggest;
mod telling;
mod tenant;
mod topology;
mod trace;
mod tree;
mod trying;
mod up;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use exit::Failure;

/// A third of a consumer's time went into the system's allocator: many small texts, freed by another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    Up(up::Args),
    /// Try something on a running node: a booking, a cancellation, and what can go wrong
    ///
    /// Example: karwan try booking --fault payment-declined
    #[command(subcommand)]
    Try(trying::Verb),
    Trace(trace::Args),
    /// Sagas: which run, which wait for a person, and trying again
    ///
    /// Example: karwan saga list --stuck
    #[command(subcommand)]
    Saga(saga::Verb),
    Load(load::Args),
    /// The catalogue of events: list, show, emit, check
    ///
    /// Example: karwan catalog show melmastoon.payment.intent.captured.v1
    #[command(subcommand)]
    Catalog(catalog::Verb),
    /// JSON Schemas: compare, gate, audit, bundle, hash
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
    /// Letters: events and calls that failed; what is wrong with them, and every remedy
    ///
    /// Example: karwan dlq list --store sqlite:karwan.db
    #[command(subcommand)]
    Dlq(dlq::Verb),
    /// Keys: the whole story of one, and stopping it for a consumer
    ///
    /// Example: karwan key show tnt_01J3K4M5N6P7Q8R9S0T1V2W3X4:rsv_1 --store sqlite:karwan.db
    #[command(subcommand)]
    Key(key::Verb),
    Outbox(outbox::Args),
    Relay(relay::Args),
    /// Streams and subjects of the broker: what a catalogue needs, made and checked
    ///
    /// Example: karwan topology show --platform melmastoon
    #[command(subcommand)]
    Topology(topology::Verb),
    /// What consumers have handled: clear
    ///
    /// Example: karwan inbox clear --consumer sales-service.secretary --since 2h --reason INC-7
    #[command(subcommand)]
    Inbox(inbox::Verb),
    Replay(replay::Args),
    /// What is dropped and forgotten with age: plan, run
    ///
    /// Example: karwan retention plan --store sqlite:karwan.db
    #[command(subcommand)]
    Retention(retention::Verb),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Lost(lost::Args),
    /// Measurements
    ///
    /// Example: karwan bench contract
    #[command(subcommand)]
    Bench(bench::Verb),
    Chaos(chaos::Args),
    #[command(hide = true)]
    ChaosActor(chaos::actor::Args),
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
        Noun::Up(args) => up::run(&args),
        Noun::Try(verb) => trying::run(&verb),
        Noun::Trace(args) => trace::run(&args),
        Noun::Saga(verb) => saga::run(&verb),
        Noun::Load(args) => load::run(&args),
        Noun::Catalog(verb) => catalog::run(verb),
        Noun::Schema(verb) => schema::run(verb),
        Noun::Envelope(verb) => envelope::run(verb),
        Noun::Migrate(args) => migrate::run(&args),
        Noun::Log(verb) => log::run(verb),
        Noun::Consumer(verb) => consumer::run(verb),
        Noun::Dlq(verb) => dlq::run(verb),
        Noun::Key(verb) => key::run(verb),
        Noun::Outbox(args) => outbox::run(&args),
        Noun::Relay(args) => relay::run(&args),
        Noun::Topology(verb) => topology::run(verb),
        Noun::Inbox(verb) => inbox::run(verb),
        Noun::Replay(args) => replay::run(&args),
        Noun::Retention(verb) => retention::run(verb),
        Noun::Doctor(args) => doctor::run(&args),
        Noun::Backup(args) => backup::run(&args),
        Noun::Restore(args) => restore::run(&args),
        Noun::Lost(args) => lost::run(&args),
        Noun::Bench(verb) => bench::run(verb),
        Noun::Chaos(args) => chaos::run(&args),
        Noun::ChaosActor(_) => chaos::actor::run(),
        Noun::Config(verb) => config::run(verb),
        Noun::Completions(args) => completions::run(&args, Cli::command()),
    };
    outcome.unwrap_or_else(Failure::report)
}
