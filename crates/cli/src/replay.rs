//! `karwan replay`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan::engine::fed_consumer::Error as FedError;
use karwan_store::log::SubjectPattern;
use karwan_store::operator::{Moved, Place, Who as Actor};
use karwan_store::{Error, Operator, Store};

use crate::chosen::{Choice, knows_topic};
use crate::confirm::Asked;
use crate::consumer::moving::Moving;
use crate::consumer::place;
use crate::exit::{Failure, Outcome};
use crate::instant::Instant;
use crate::operator::action;
use crate::progress::Progress;
use crate::settings::{BrokerFlags, Flags, Settings};
use crate::{output, runtime};

/// Give events of a topic once more, with their ids and keys, in order per key
///
/// With --consumer it alone handles again what it has handled; nothing else of it moves, and no
/// other consumer sees it. Without, every consumer of the topic reads again from there, and what
/// it has handled is passed over. --idempotency-safe says that you know that handlers and calls
/// stand a repetition. --undo takes back what nobody has tried yet. Where streams feed consumers,
/// --broker names whom to ask for their events.
///
/// Examples:
///   karwan replay --topic shop.order.paid.v1 --since 2h --idempotency-safe --consumer books.clerk \
///       --reason INC-7
///   karwan replay --undo 12 --reason 'wrong topic' --yes --store sqlite:karwan.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    broker: BrokerFlags,
    /// The subject whose events are given again
    #[arg(long, value_name = "SUBJECT", required_unless_present = "undo")]
    topic: Option<SubjectPattern>,
    /// Those that were logged since then: 2026-04-22T10:00:00Z, or how long ago: 90s, 2h, 7d
    #[arg(long, value_name = "INSTANT", required_unless_present = "undo")]
    since: Option<Instant>,
    /// Handlers and calls stand a repetition; without it nothing is replayed
    #[arg(long)]
    idempotency_safe: bool,
    /// Only to this consumer, which handles them again
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    #[command(flatten)]
    choice: Choice,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Take back what this replay has sent and nobody has tried yet
    #[arg(long, value_name = "ACTION", value_parser = action, conflicts_with_all = ["topic", "since", "consumer"])]
    undo: Option<i64>,
    #[command(flatten)]
    asked: Asked,
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, broker) = (settings.store()?, args.broker.given(&settings)?);
    let operator = Operator::new(&address, Vec::new());
    let who = args.asked.recorded();
    runtime::block_on(async {
        if let Some(action) = args.undo {
            return take_back(&operator, args, &who, action).await;
        }
        let (Some(topic), Some(since)) = (&args.topic, args.since) else {
            return Err(Failure::usage(anyhow!("which events? --topic and --since (see --help)")));
        };
        if !args.idempotency_safe {
            let why = "a replay runs handlers again: say --idempotency-safe where they and their calls stand it";
            return Err(Failure::usage(anyhow!("{why} (see --help)")));
        }
        knows_topic(&Store::observe(&address).await?, topic).await?;
        let since = Place::Time(since.unix_ms());
        match &args.consumer {
            Some(consumer) => {
                let moving = Moving::of(&operator, consumer, broker.as_deref()).await?;
                to_one(&moving, args, &who, (consumer, topic, since)).await
            }
            None => to_all(&operator, args, &who, (topic, since, broker.as_deref())).await,
        }
    })
}

/// What nobody has tried yet is shown and asked about; what is tried meanwhile stays.
async fn take_back(operator: &Operator, args: &Args, who: &Actor, action: i64) -> Outcome {
    let (consumer, would) = operator.would_undo_replay(action).await?;
    let (events, keys) = (would.events, would.keys);
    let nothing = format!("nothing to take back: all of action {action} was tried already");
    if events == 0 {
        output::data(&nothing)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        output::data(&format!("{events} events of {keys} keys would be taken back from {consumer}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    args.asked.agreed(&format!("take {events} events of {keys} keys back from {consumer}?"))?;
    let taken = operator.undo_replay(who, action).await?;
    output::data(&match taken.events {
        // Somebody has tried them while it was asked.
        0 => nothing,
        events => format!("{events} events of action {action} were taken back"),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn to_one(
    moving: &Moving,
    args: &Args,
    who: &Actor,
    (consumer, topic, since): (&str, &SubjectPattern, Place),
) -> Outcome {
    let chosen = args.choice.chosen(Some(topic.clone()));
    let would = moving.would_replay(since, &chosen).await?;
    let (events, keys) = (would.events, would.keys);
    if args.dry_run {
        output::data(&format!("{events} events of {keys} keys would be given to {consumer} once more"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if events == 0 {
        output::data(&format!("nothing to replay: {consumer} has handled none of these events since then"))?;
        return Ok(ExitCode::SUCCESS);
    }
    args.asked.agreed(&format!("give {events} events of {keys} keys to {consumer} once more?"))?;
    let progress = Progress::new();
    let steps = |done, total| progress.tell("sending", done, total);
    let sent = moving.replay(who, since, &chosen, &steps).await?;
    drop(progress);
    let (events, action) = (sent.events, sent.action);
    output::data(&format!("{events} events are given to {consumer} once more (action {action})"))?;
    Ok(ExitCode::SUCCESS)
}

/// Every consumer of the topic goes back; those that never do are passed over, and told of.
async fn to_all(
    operator: &Operator,
    args: &Args,
    who: &Actor,
    (topic, since, broker): (&SubjectPattern, Place, Option<&str>),
) -> Outcome {
    let consumers = operator.consumers_of(topic).await?;
    if consumers.is_empty() {
        return Err(Failure::from(anyhow!("no consumer of this topic has run on this store")));
    }
    let names: Vec<String> = consumers.into_iter().map(|declared| declared.consumer).collect();
    let mut moves = Vec::new();
    for name in names {
        match would_seek(operator, &name, (since, broker)).await {
            Ok((moving, moved)) => moves.push((name, moving, moved)),
            Err(FedError::Store(error @ (Error::ForwardOnly { .. } | Error::ConsumerUnknown { .. }))) => {
                output::note(&format!("{name} is passed over: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    for (name, _, moved) in &moves {
        output::note(&format!("{name}: {}", place::told(moved)));
    }
    if args.dry_run {
        output::data(&format!("{} consumers would read again", moves.len()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if moves.is_empty() {
        output::data("nothing to replay: no consumer of this topic goes back")?;
        return Ok(ExitCode::SUCCESS);
    }
    args.asked.agreed(&format!("let {} consumers read again?", moves.len()))?;
    for (name, moving, _) in &moves {
        let moved = moving.seek(who, since).await?;
        output::data(&format!(
            "{name} reads again from {} (action {})",
            moved.now.first().unwrap_or(&0),
            moved.action
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn would_seek(
    operator: &Operator,
    name: &str,
    (since, broker): (Place, Option<&str>),
) -> Result<(Moving, Moved), FedError> {
    let moving = Moving::of(operator, name, broker).await?;
    let moved = moving.would_seek(since).await?;
    Ok((moving, moved))
}
