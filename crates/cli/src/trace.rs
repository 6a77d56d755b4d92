//! `karwan trace`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::ValueEnum;
use karwan_envelope::ids::{CorrelationId, Form};
use karwan_store::Store;
use karwan_store::log::{Filter, PAGE_MAX};

use crate::exit::{Failure, Outcome};
use crate::fact::{self, Fact};
use crate::output::{self, Paint};
use crate::progress::Progress;
use crate::settings::{Flags, Settings};
use crate::{platforms, runtime};

/// The most facts of one trace that are shown.
const FACTS_MAX: usize = 10_000;

/// Show what a request has led to: the tree of causes, with times, service by service
///
/// The correlation id is what `karwan try` prints, what every envelope carries, and the
/// trace id of its spans. The log is read from its beginning; payloads are not printed.
///
/// Examples:
///   karwan trace 06EB1F00003G08000000000001
///   karwan trace 06EB1F00003G08000000000001 --store postgres://node@localhost/app --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The trace: a ULID, a UUID, or the 32 digits of a trace id
    #[arg(value_parser = correlation)]
    correlation: CorrelationId,
    #[command(flatten)]
    flags: Flags,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A tree
    Human,
    /// An array of facts, in the order of the log
    Json,
}

fn correlation(text: &str) -> Result<CorrelationId, String> {
    let hex = || (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok()).flatten();
    let bits = [Form::Ulid, Form::Uuid].into_iter().find_map(|form| form.parse(text).ok()).or_else(hex);
    bits.map(CorrelationId::from_bits).ok_or_else(|| "a trace is a ULID, a UUID in lower case, or 32 digits".to_owned())
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let relay = Store::observe(&address).await?.relay();
        let facts = read(&relay, args.correlation).await?;
        match args.format {
            Format::Json => output::json(&facts)?,
            Format::Human if facts.is_empty() => {}
            Format::Human => output::data(&format!("{}\n{}", head(args, &facts), fact::tree(&facts, Paint::stdout())))?,
        }
        if facts.is_empty() {
            return Err(anyhow!("no event in the log belongs to trace {}", args.correlation).into());
        }
        if facts.len() == FACTS_MAX {
            output::note(&format!("only the first {FACTS_MAX} are shown"));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn head(args: &Args, facts: &[Fact]) -> String {
    let services: BTreeSet<&str> = facts.iter().map(|fact| fact.service.as_str()).collect();
    let (first, last) = (facts.first().map_or(0, |fact| fact.at), facts.last().map_or(0, |fact| fact.at));
    let took = fact::elapsed(last - first);
    format!("trace {}: {} events, {} services, {}", args.correlation, facts.len(), services.len(), &took[1..])
}

async fn read(relay: &karwan_store::RelayTx, correlation: CorrelationId) -> Result<Vec<Fact>, Failure> {
    let catalogues = platforms::catalogues(None)?;
    let (profiles, directory) = (platforms::profiles(), platforms::directory(&catalogues));
    let (mut position, end) = (relay.start().await?, relay.safe().await?);
    let (progress, mut facts) = (Progress::new(), Vec::new());
    while position.seq < end && facts.len() < FACTS_MAX {
        let page = relay.page(position, &Filter::default(), PAGE_MAX).await?;
        position = page.position;
        progress.tell("reading the log", position.seq.unsigned_abs(), end.unsigned_abs());
        let own = page.rows.iter().filter(|row| fact::may_be_of(row, correlation));
        let own = own.filter_map(|row| Fact::read(&profiles, &directory, row));
        facts.extend(own.filter(|fact| fact.correlation == correlation.to_string()));
    }
    facts.truncate(FACTS_MAX);
    Ok(facts)
}
