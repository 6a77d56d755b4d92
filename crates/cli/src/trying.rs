//! `karwan try`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use tokio::time::{Instant, sleep};

use crate::ask::{Node, NodeFlag};
use crate::exit::{Failure, Outcome};
use crate::fact::{self, Fact};
use crate::output::{self, Paint};
use crate::runtime;
use crate::up::control::Part;
use crate::up::tries::{Ask, Fault, Started};

/// How often the node is asked what has happened.
const LOOK: Duration = Duration::from_millis(40);
/// How long stragglers are waited for behind the last fact that ends it.
const LINGER: Duration = Duration::from_millis(1_500);
/// How long anything may take: beyond the saga's deadline of half a minute and five tries of a vendor.
const ALL_MAX: Duration = Duration::from_secs(120);

/// What is tried.
#[derive(Subcommand)]
pub enum Verb {
    /// Book two nights: from hold to key, event by event
    ///
    /// Faults: hold-expired, oversold, payment-declined, payment-timeout, vendor-error,
    /// key-timeout, cash-pending; the first takes half a minute.
    ///
    /// Example: karwan try booking --fault payment-timeout
    Booking(Args),
    /// Book, and cancel: room, money and key go back
    ///
    /// Faults: payment-timeout, vendor-error, key-timeout, cash-pending, refund-failed; with
    /// any other there is no booking to cancel.
    ///
    /// Example: karwan try cancellation --tenant lodge --fault refund-failed
    Cancellation(Args),
}

/// How.
#[derive(clap::Args)]
pub struct Args {
    /// What goes wrong
    #[arg(long, value_enum, value_name = "NAME")]
    fault: Option<Fault>,
    /// The demo's tenant: serai or lodge
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Show also what audit writes about every event
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    node: NodeFlag,
}

/// What audit writes about every event: as many lines again.
const AUDIT: &str = "entry.appended";

pub fn run(verb: &Verb) -> Outcome {
    let (args, fitting) = match verb {
        Verb::Booking(args) => (args, Fault::OF_BOOKING.as_slice()),
        Verb::Cancellation(args) => (args, Fault::OF_CANCELLATION.as_slice()),
    };
    fits(args.fault, fitting)?;
    let node = args.node.node()?;
    runtime::block_on(async {
        let ask = Ask { tenant: args.tenant.clone(), fault: args.fault, cancel: None, to_its_end: true };
        let booked = tried(&node, &ask, ("booking", args.all)).await?;
        let Some(booked) = booked else { return Ok(ExitCode::FAILURE) };
        if matches!(verb, Verb::Booking(_)) {
            return Ok(ExitCode::SUCCESS);
        }
        output::data("")?;
        let ask = Ask { cancel: Some(booked.reservation), ..ask };
        let cancelled = tried(&node, &ask, ("cancellation", args.all)).await?;
        Ok(if cancelled.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// A fault must have something to go wrong with.
fn fits(fault: Option<Fault>, fitting: &[Fault]) -> Result<(), Failure> {
    let name = |fault: &Fault| fault.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    match fault {
        Some(fault) if !fitting.contains(&fault) => {
            let fitting: Vec<String> = fitting.iter().map(name).collect();
            let why = format!("the fault {} does not happen here; these do: {}", name(&fault), fitting.join(", "));
            Err(Failure::usage(anyhow::anyhow!(why)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Starts it, and prints every fact as it happens; none where it did not end.
async fn tried(node: &Node, ask: &Ask, (what, all): (&str, bool)) -> Result<Option<Started>, Failure> {
    let started: Started = node.post("try", ask).await?;
    let paint = Paint::stdout();
    let fault = ask.fault.and_then(|fault| fault.to_possible_value()).map(|fault| format!(", {}", fault.get_name()));
    let title = format!("{what} at {} ({}){}", started.property, started.title, fault.unwrap_or_default());
    output::data(&format!(
        "{}\nreservation {}  trace {}",
        paint.bold(&title),
        started.reservation,
        started.correlation
    ))?;
    if !started.without.is_empty() {
        output::note(&format!("nobody runs {}: what that would do is missing here", started.without.join(", ")));
    }
    let (facts, ended) = follow(node, &started, all, paint).await?;
    let status: String = node.get(&format!("booking/{}/{}", started.tenant, started.reservation)).await?;
    let took = facts.first().zip(facts.last()).map_or(0, |(first, last)| last.at - first.at);
    let verdict = format!("{status}: {} events in {}", facts.len(), &fact::elapsed(took)[1..]);
    if ended {
        output::data(&paint.bold(&verdict))?;
        output::note(&format!("the whole tree: karwan trace {}", started.correlation));
        return Ok(Some(started));
    }
    output::data(&verdict)?;
    let missing = started.expects.iter().filter(|what| facts.iter().all(|fact| fact.what() != **what));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    output::note(&format!(
        "it did not end in {ALL_MAX:?}: {} never came (karwan trace {}, karwan dlq list)",
        missing.join(", "),
        started.correlation
    ));
    Ok(None)
}

/// Prints facts until those that end it are there.
async fn follow(node: &Node, started: &Started, all: bool, paint: Paint) -> Result<(Vec<Fact>, bool), Failure> {
    let (mut position, mut facts) = (started.position.clone(), Vec::<Fact>::new());
    let (began, mut complete) = (Instant::now(), None::<Instant>);
    loop {
        let part: Part = node.get(&format!("facts?after={position}&correlation={}", started.correlation)).await?;
        position = part.position;
        for fact in part.facts {
            let from = facts.first().map_or(fact.at, |first| first.at);
            let cause = fact.cause.as_ref().and_then(|cause| facts.iter().find(|other| other.event == *cause));
            if all || fact.what() != AUDIT {
                output::data(&fact::line(&fact, from, cause, paint))?;
            }
            facts.push(fact);
            complete = None;
        }
        let ended = started.expects.iter().all(|what| facts.iter().any(|fact| fact.what() == *what));
        if ended && complete.get_or_insert_with(Instant::now).elapsed() >= LINGER {
            return Ok((facts, true));
        }
        if began.elapsed() >= ALL_MAX {
            return Ok((facts, false));
        }
        sleep(LOOK).await;
    }
}
