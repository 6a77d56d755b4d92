//! `karwan topology show`.

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use super::{Followers, Selection};
use crate::exit::Outcome;
use crate::output;

/// Print the streams that a catalogue needs, with their subjects and who follows them
///
/// A consumer has a durable, and a subscription for each of its topics.
///
/// Examples:
///   karwan topology show --platform melmastoon
///   karwan topology show --platform learning --services authoring-service --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    followers: Followers,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A line for each stream and subject
    Text,
    /// An array of objects
    Json,
}

pub fn run(args: &Args) -> Outcome {
    let topology = args.followers.added(&args.selection.chosen(), true)?;
    match args.format {
        Format::Text => output::data(&topology.to_string())?,
        Format::Json => {
            let streams = topology.streams().iter().map(|stream| {
                let consumers = topology.consumers().iter().filter(|consumer| consumer.stream == stream.name);
                let consumers = consumers.map(|consumer| {
                    json!({
                        "consumer": consumer.name,
                        "service": consumer.service,
                        "durable": consumer.durable,
                        "subscriptions": consumer.subscriptions,
                    })
                });
                json!({
                    "stream": stream.name,
                    "service": stream.service,
                    "days": stream.days,
                    "deadLetters": stream.letters(),
                    "subjects": stream.subjects,
                    "consumers": consumers.collect::<Vec<_>>(),
                })
            });
            output::json(&streams.collect::<Vec<_>>())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
