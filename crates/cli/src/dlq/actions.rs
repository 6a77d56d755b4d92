//! `karwan dlq actions`.

use std::process::ExitCode;

use anyhow::anyhow;
use karwan_store::operator::{Action, ActionFilter, Verb};

use super::desk::Desk;
use super::filter::EventName;
use super::{Format, show};
use crate::consumer::one_line;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::settings::Flags;
use crate::tenant::{self, TenantName};
use crate::{instant, runtime, suggest};

/// List what operators did: who, when, what, why, and what was undone; latest first
///
/// Examples:
///   karwan dlq actions --store sqlite:karwan.db
///   karwan dlq actions --actor zarina --verb skip --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Only by this operator
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only of this kind: retry, skip, delete, pause-key …
    #[arg(long)]
    verb: Option<String>,
    /// Only on this consumer
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Only on this tenant: tnt_…, a ULID, a UUID, or platform
    #[arg(long)]
    tenant: Option<TenantName>,
    /// Only on this key (the aggregate's id)
    #[arg(long)]
    key: Option<String>,
    /// Only on this event or call
    #[arg(long)]
    event: Option<EventName>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    let verb = args.verb.as_deref().map(verb).transpose()?;
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        if let Some(consumer) = &args.consumer {
            desk.knows_consumer(consumer).await?;
        }
        let filter = ActionFilter {
            actor: args.actor.clone(),
            verb,
            consumer: args.consumer.clone(),
            tenant: args.tenant.map(|tenant| tenant.0),
            key: args.key.clone(),
            event: args.event.map(|event| event.0),
        };
        let limit = args.limit as usize;
        let (mut actions, mut before) = (Vec::new(), None);
        loop {
            let page = desk.operator.actions(&filter, before, limit - actions.len()).await?;
            actions.extend(page.actions);
            before = page.next;
            if before.is_none() || actions.len() >= limit {
                break;
            }
        }
        match args.format {
            Format::Json => output::json(&actions.iter().map(show::action_object).collect::<Vec<_>>())?,
            Format::Human => table(&actions)?,
        }
        if before.is_some() {
            output::note(&format!("there are more than {limit}; --limit shows more"));
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn verb(name: &str) -> Result<Verb, Failure> {
    Verb::named(name).ok_or_else(|| {
        let known: Vec<&str> = Verb::ALL.into_iter().map(Verb::name).collect();
        let near = suggest::nearest(known.iter().copied(), name);
        let hint = near.map_or_else(|| format!("known: {}", known.join(", ")), |near| format!("did you mean {near}?"));
        Failure::usage(anyhow!("no action is called {}; {hint} (see --help)", suggest::quoted(name)))
    })
}

fn table(actions: &[Action]) -> Result<(), Failure> {
    if actions.is_empty() {
        output::note("no operator has done anything");
        return Ok(());
    }
    let header = ["ACTION", "AT", "ACTOR", "VERB", "CONSUMER", "EVENT", "KEY", "UNDONE BY", "REASON"];
    let dash = || "-".to_owned();
    let cells = |action: &Action| {
        let key = action
            .key
            .as_deref()
            .map(|key| format!("{}:{}", action.tenant.map(tenant::shown).unwrap_or_default(), one_line(key)));
        vec![
            action.id.to_string(),
            instant::shown(action.at),
            one_line(&action.who.actor),
            action.verb.name().to_owned(),
            action.consumer.clone().unwrap_or_else(dash),
            action.event.map_or_else(dash, |event| event.to_string()),
            key.unwrap_or_else(dash),
            action.undone_by.map_or_else(dash, |by| by.to_string()),
            one_line(&action.who.reason),
        ]
    };
    let rows: Vec<Vec<String>> = actions.iter().map(cells).collect();
    Ok(output::data(&output::table(&header, &rows, Paint::stdout()))?)
}
