//! `karwan outbox`.

mod wait;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::ValueEnum;
use karwan_broker::Broker;
use karwan_store::Store;
use karwan_store::outbox::{Outbox, RelayReport, TopicReport};
use serde_json::{Value, json};

use crate::consumer::{one_line, span};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::{platforms, runtime};

/// Show what has not reached the broker yet, by relay and by topic
///
/// Unpublished events are those behind a relay's position and those that the broker
/// refused: these are parked, are tried again, and hold back their own key alone. After 50
/// attempts over at least 6 hours an event is put into quarantine; its remedies are those
/// of every dead letter: karwan dlq list --consumer relay.STREAM
///
/// With --broker it is told when each stream got its last message.
///
/// --wait ends when the broker's streams have what the log had when it began, and says how
/// long that took; streams that were made anew are waited for.
///
/// Examples:
///   karwan outbox --store postgres://node@localhost/app
///   karwan outbox --store postgres://node@localhost/app --broker nats://localhost --wait
///   karwan outbox --store sqlite:karwan.db --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// First wait until everything is published that the log has now
    #[arg(long)]
    wait: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Columns for people
    Table,
    /// JSON
    Json,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let address = settings.store()?;
    let url = if args.wait { Some(args.broker.url(&settings)?) } else { args.broker.given(&settings)? };
    let catalogues = platforms::catalogues(None)?;
    let owner = |topic: &str| {
        let entry = catalogues.iter().find_map(|catalogue| catalogue.directory().resolve(topic));
        entry.map(|entry| entry.row.owner.clone())
    };
    runtime::block_on(async {
        let store = Store::observe(&address).await?;
        let broker = match &url {
            Some(url) => connect(url, args.wait).await?,
            None => None,
        };
        if let Some(broker) = broker.as_ref().filter(|_| args.wait) {
            wait::until_published(&store, broker).await?;
        }
        let outbox = store.outbox(owner).await?;
        let published = published(&outbox, broker.as_ref()).await;
        match args.format {
            Format::Json => output::json(&object(&outbox, &published))?,
            Format::Table => table(&outbox, &published)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// When each stream got its last message, where its broker says so.
type Published = BTreeMap<String, String>;

/// A broker that is away is no failure, unless it is waited for: who looks here may do so because of it.
async fn connect(url: &str, must: bool) -> Result<Option<Broker>, Failure> {
    let options = karwan_broker::Options { name: "karwan outbox".to_owned(), ..karwan_broker::Options::default() };
    match Broker::connect(url, options).await {
        Ok(broker) => Ok(Some(broker)),
        Err(error) if must => Err(error.into()),
        Err(error) => {
            output::note(&format!("when something was published last is not known: {error}"));
            Ok(None)
        }
    }
}

async fn published(outbox: &Outbox, broker: Option<&Broker>) -> Published {
    let mut published = Published::new();
    let Some(broker) = broker else { return published };
    for relay in &outbox.relays {
        // A stream that is not there has nothing to tell; its relay says so.
        let Ok(end) = broker.stream_end(relay.stream()).await else { continue };
        if let Some(at) = end.last_at {
            published.insert(relay.relay.consumer.clone(), at);
        }
    }
    published
}

/// What is not published; these names are stable.
fn object(outbox: &Outbox, published: &Published) -> Value {
    let relay = |report: &RelayReport| {
        json!({
            "relay": report.relay.consumer,
            "stream": report.stream(),
            "position": report.relay.position(),
            "publishedAt": published.get(&report.relay.consumer),
            "holder": report.relay.lanes.first().and_then(|lane| lane.holder.as_ref()),
            "suspended": report.relay.suspended.as_ref().map(|(reason, _)| reason),
            "unpublished": report.sum(TopicReport::unpublished),
            "parked": report.sum(|topic| topic.parked),
            "quarantined": report.sum(|topic| topic.quarantined),
            "oldestMs": oldest(report),
            "topics": report.topics.iter().map(topic).collect::<Vec<_>>(),
        })
    };
    json!({ "relays": outbox.relays.iter().map(relay).collect::<Vec<_>>(), "uncarried": outbox.uncarried })
}

fn topic(report: &TopicReport) -> Value {
    json!({
        "topic": report.topic,
        "unpublished": report.unpublished(),
        "parked": report.parked,
        "quarantined": report.quarantined,
        "oldestMs": report.oldest_ms,
        "attempts": report.attempts,
        "error": report.error,
    })
}

fn oldest(report: &RelayReport) -> i64 {
    report.topics.iter().map(|topic| topic.oldest_ms).max().unwrap_or_default()
}

fn table(outbox: &Outbox, published: &Published) -> Result<(), Failure> {
    if outbox.relays.is_empty() {
        output::note("no relay has run on this store: nothing is published from it");
        return Ok(());
    }
    let header =
        ["RELAY", "HELD BY", "POSITION", "PUBLISHED LAST", "UNPUBLISHED", "OLDEST", "PARKED", "QUARANTINED", "STATE"];
    let relays: Vec<Vec<String>> = outbox.relays.iter().map(|report| relay_cells(report, published)).collect();
    output::data(&output::table(&header, &relays, Paint::stdout()))?;
    let topics: Vec<Vec<String>> = outbox.relays.iter().flat_map(|report| &report.topics).map(topic_cells).collect();
    if !topics.is_empty() {
        let header = ["TOPIC", "UNPUBLISHED", "OLDEST", "PARKED", "QUARANTINED", "ATTEMPTS", "LAST ERROR"];
        output::data(&format!("\n{}", output::table(&header, &topics, Paint::stdout())))?;
    }
    if !outbox.uncarried.is_empty() {
        output::note(&format!("{} topics are carried by no relay of this store", outbox.uncarried.len()));
    }
    Ok(())
}

fn relay_cells(report: &RelayReport, published: &Published) -> Vec<String> {
    let last = published.get(&report.relay.consumer);
    let holder = report.relay.lanes.first().and_then(|lane| lane.holder.clone());
    vec![
        report.relay.consumer.clone(),
        holder.unwrap_or_else(|| "nobody".to_owned()),
        report.relay.position().to_string(),
        last.map_or("-", |at| at.get(..19).unwrap_or(at)).to_owned(),
        report.sum(TopicReport::unpublished).to_string(),
        span(oldest(report)),
        report.sum(|topic| topic.parked).to_string(),
        report.sum(|topic| topic.quarantined).to_string(),
        if report.relay.suspended.is_some() { "suspended" } else { "runs" }.to_owned(),
    ]
}

fn topic_cells(report: &TopicReport) -> Vec<String> {
    vec![
        report.topic.clone(),
        report.unpublished().to_string(),
        span(report.oldest_ms),
        report.parked.to_string(),
        report.quarantined.to_string(),
        report.attempts.to_string(),
        report.error.as_deref().map_or_else(|| "-".to_owned(), one_line),
    ]
}
