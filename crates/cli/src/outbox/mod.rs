//! `karwan outbox`.

mod stand;
mod trouble;
mod wait;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::ValueEnum;
use karwan_broker::Broker;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::log::Seq;
use karwan_store::outbox::{Outbox, RELAYS, RelayReport, TopicReport};
use karwan_store::{Observer, Store};
use serde_json::{Value, json};

use crate::consumer::{NOT_RUN, one_line, span};
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::{platforms, runtime};
use stand::{Seen, Stand};
use trouble::{Known, Trouble};

/// Show what has not reached the broker yet, by relay and by topic
///
/// Unpublished events are those behind a relay's position and those that the broker
/// refused: these are parked, are tried again, and hold back their own key alone. After 50
/// attempts over at least 6 hours an event is put into quarantine; its remedies are those
/// of every dead letter: karwan dlq list --consumer relay.STREAM
///
/// With --broker the streams are asked, too: when each got its last message, whether it is
/// still the one that was published to (what it has lost counts as unpublished, as far as
/// the log has it), and why it takes nothing, as far as a broker tells that.
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
        let view = view(&store, broker.as_ref(), owner).await?;
        match args.format {
            Format::Json => output::json(&object(&view))?,
            Format::Table => table(&view)?,
        }
        if broker.is_none() && url.is_none() && !view.outbox.relays.is_empty() {
            output::note("counted by what relays have saved: whether their streams still have it, --broker tells");
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What is not published, and what brokers and streams have to do with it.
struct View {
    outbox: Outbox,
    /// Of the streams that a broker was asked for, by relay.
    seen: BTreeMap<String, Seen>,
    troubles: BTreeMap<String, Trouble>,
}

impl View {
    /// When a stream got its last message, where its broker says so.
    fn published_at(&self, relay: &str) -> Option<&str> {
        self.seen.get(relay)?.end.as_ref()?.last_at.as_deref()
    }
}

/// A broker that is away is no failure, unless it is waited for: who looks here may do so because of it.
async fn connect(url: &str, must: bool) -> Result<Option<Broker>, Failure> {
    let options = karwan_broker::Options { name: "karwan outbox".to_owned(), ..karwan_broker::Options::default() };
    match Broker::connect(url, options).await {
        Ok(broker) => Ok(Some(broker)),
        Err(error) if must => Err(error.into()),
        Err(error) => {
            output::note(&format!(
                "when something was published last, and whether the streams still have it, is not known: {error}"
            ));
            Ok(None)
        }
    }
}

async fn view(
    store: &Observer,
    broker: Option<&Broker>,
    owner: impl Fn(&str) -> Option<String>,
) -> Result<View, Failure> {
    let seen = match broker {
        Some(broker) => look(store, broker).await?,
        None => BTreeMap::new(),
    };
    let mut from: BTreeMap<String, Seq> = BTreeMap::new();
    for (relay, seen) in &seen {
        from.extend(seen.goes_on(store).await?.map(|seq| (relay.clone(), seq)));
    }
    let outbox = store.outbox(&owner, &from).await?;
    let emptied = |seen: &Seen| seen.stand == Stand::Emptied;
    let mut logged = Outbox::default();
    if seen.values().any(emptied) {
        // Counting a whole log takes a while: it is done where there is something to say about it.
        let start = store.relay().start().await?.seq;
        let all = seen.iter().filter(|(_, seen)| emptied(seen)).map(|(relay, _)| (relay.clone(), start));
        logged = store.outbox(&owner, &all.collect()).await?;
    }
    let mut troubles = BTreeMap::new();
    for report in &outbox.relays {
        let relay = &report.relay.consumer;
        let Some(seen) = seen.get(relay) else { continue };
        let takers = match broker {
            Some(broker) if seen.stand == Stand::Gone => takers(broker, report).await,
            Some(_) | None => Vec::new(),
        };
        let all = logged.relays.iter().find(|report| report.relay.consumer == *relay);
        let logged = all.map_or(0, |report| report.sum(|topic| topic.waiting));
        let known = Known { now: SystemClock.now(), takers: &takers, logged };
        troubles.extend(trouble::of(report, seen, &known).map(|trouble| (relay.clone(), trouble)));
    }
    Ok(View { outbox, seen, troubles })
}

/// What the broker says of each relay's stream; one that it says nothing of is told of, and keeps no other from being shown.
async fn look(store: &Observer, broker: &Broker) -> Result<BTreeMap<String, Seen>, Failure> {
    let mut all = BTreeMap::new();
    for report in store.consumers().await? {
        let Some(stream) = report.consumer.strip_prefix(RELAYS) else { continue };
        match Seen::of(store, broker, &report.consumer, stream).await {
            Ok(seen) => drop(all.insert(report.consumer.clone(), seen)),
            Err(failure) => output::note(&format!("how the stream {stream} stands is not known: {}", failure.text())),
        }
    }
    Ok(all)
}

/// Streams of others that take a topic of one that is gone; a login that may not ask knows none.
async fn takers(broker: &Broker, report: &RelayReport) -> Vec<String> {
    let mut all = Vec::new();
    for topic in &report.topics {
        all.extend(broker.takers(&topic.topic).await.unwrap_or_default());
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// What is not published; these names are stable.
fn object(view: &View) -> Value {
    let relay = |report: &RelayReport| {
        let name = &report.relay.consumer;
        let trouble = view.troubles.get(name);
        json!({
            "relay": report.relay.consumer,
            "stream": report.stream(),
            "position": report.relay.position(),
            "publishedAt": view.published_at(name),
            "standing": view.seen.get(name).map(|seen| seen.stand.word()),
            "holder": report.relay.run_by(),
            "suspended": report.relay.suspended.as_ref().map(|(reason, _)| reason),
            "trouble": trouble.map(|trouble| &trouble.what),
            "remedy": trouble.map(|trouble| &trouble.remedy),
            "unpublished": report.sum(TopicReport::unpublished),
            "parked": report.sum(|topic| topic.parked),
            "quarantined": report.sum(|topic| topic.quarantined),
            "oldestMs": oldest(report),
            "topics": report.topics.iter().map(topic).collect::<Vec<_>>(),
        })
    };
    let relays: Vec<Value> = view.outbox.relays.iter().map(relay).collect();
    json!({ "relays": relays, "uncarried": view.outbox.uncarried })
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

fn table(view: &View) -> Result<(), Failure> {
    let outbox = &view.outbox;
    if outbox.relays.is_empty() {
        output::note(
            "no relay has run on this store: nothing is published from it until one does (karwan relay --help)",
        );
        return Ok(());
    }
    let header =
        ["RELAY", "HELD BY", "POSITION", "PUBLISHED LAST", "UNPUBLISHED", "OLDEST", "PARKED", "QUARANTINED", "STATE"];
    let relays: Vec<Vec<String>> = outbox.relays.iter().map(|report| relay_cells(report, view)).collect();
    output::data(&output::table(&header, &relays, Paint::stdout()))?;
    let topics: Vec<Vec<String>> = outbox.relays.iter().flat_map(|report| &report.topics).map(topic_cells).collect();
    if !topics.is_empty() {
        let header = ["TOPIC", "UNPUBLISHED", "OLDEST", "PARKED", "QUARANTINED", "ATTEMPTS", "LAST ERROR"];
        output::data(&format!("\n{}", output::table(&header, &topics, Paint::stdout())))?;
    }
    for (relay, Trouble { what, remedy, .. }) in &view.troubles {
        output::data(&format!("\n{relay}: {what}\n  help: {remedy}"))?;
    }
    if !outbox.uncarried.is_empty() {
        output::note(&format!("{} topics are carried by no relay of this store", outbox.uncarried.len()));
    }
    Ok(())
}

fn relay_cells(report: &RelayReport, view: &View) -> Vec<String> {
    let last = view.published_at(&report.relay.consumer);
    let holder = report.relay.run_by();
    let state = match view.troubles.get(&report.relay.consumer) {
        _ if report.relay.suspended.is_some() => "suspended",
        Some(trouble) => trouble.state,
        None if holder.is_some() => "runs",
        None => NOT_RUN,
    };
    vec![
        report.relay.consumer.clone(),
        holder.unwrap_or("nobody").to_owned(),
        report.relay.position().to_string(),
        last.map_or("-", |at| at.get(..19).unwrap_or(at)).to_owned(),
        report.sum(TopicReport::unpublished).to_string(),
        span(oldest(report)),
        report.sum(|topic| topic.parked).to_string(),
        report.sum(|topic| topic.quarantined).to_string(),
        state.to_owned(),
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
