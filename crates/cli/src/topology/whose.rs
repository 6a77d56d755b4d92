//! Which platform is meant, where nobody says it: the one whose events a store has.

use std::collections::BTreeSet;

use anyhow::anyhow;
use clap::ValueEnum as _;
use karwan_store::log::{Filter, PAGE_MAX};
use karwan_store::{Address, Observer, Position, Store};

use super::{Chosen, Services};
use crate::exit::Failure;
use crate::platforms::Name;
use crate::{output, runtime};

/// Whose streams; a store may say it.
#[derive(clap::Args)]
pub struct OfStore {
    /// The platform whose catalogue says which streams there are; else the one whose events the store has
    #[arg(long)]
    platform: Option<Name>,
    #[command(flatten)]
    services: Services,
}

impl OfStore {
    /// The platform that is named, else the only one that fits this store. `again` is the command, for whoever has to name one.
    pub fn chosen(&self, store: Option<&Address>, again: &str) -> Result<Chosen<'_>, Failure> {
        let services = self.services.names();
        if let Some(platform) = self.platform {
            return Ok(Chosen { platform, services });
        }
        let which = |why: &str, choices: &[Name]| which(why, choices, &format!("{again}{}", self.services.flag()));
        let Some(store) = store else { return Err(which("neither it nor a store is named", &Name::ALL)) };
        let (found, of) = runtime::ready(async { fitting(&Store::observe(store).await?).await })?;
        let mut fit = Vec::new();
        for platform in &found {
            // The services of an only one are judged where they are used, with a suggestion.
            if found.len() == 1 || (Chosen { platform: *platform, services }).has_services()? {
                fit.push(*platform);
            }
        }
        match fit[..] {
            [platform] => {
                output::note(&format!("the platform is {}, by what the store has (--platform)", name(platform)));
                Ok(Chosen { platform, services })
            }
            [] if found.is_empty() => Err(which(&format!("none has {of}"), &Name::ALL)),
            [] => Err(which(&format!("several have {of}, and none of them all these services"), &found)),
            _ => Err(which(&format!("several have {of}"), &fit)),
        }
    }
}

fn which(why: &str, choices: &[Name], again: &str) -> Failure {
    let choices: Vec<String> = choices.iter().map(|choice| format!("--platform {}", name(*choice))).collect();
    let asked = Failure::usage(anyhow!("which platform? {why}: say {} (see --help)", choices.join(" or ")));
    match choices.first() {
        Some(first) => asked.helped(format!("{again} {first}")),
        None => asked,
    }
}

fn name(platform: Name) -> String {
    platform.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The platforms that have events in the store; where there are none, those of its consumers, and those whose topics it knows.
/// And what was looked at.
async fn fitting(store: &Observer) -> Result<(Vec<Name>, &'static str), Failure> {
    let having = |subjects: &BTreeSet<String>| -> Result<Vec<Name>, Failure> {
        let has = |name: &Name| -> Result<bool, Failure> {
            let catalogue = name.catalogue()?;
            Ok(catalogue.directory().entries().iter().any(|entry| subjects.contains(&entry.row.subject)))
        };
        let found = Name::ALL.into_iter().map(|name| Ok(has(&name)?.then_some(name)));
        Ok(found.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect())
    };
    let by_events = having(&subjects(store).await?)?;
    if !by_events.is_empty() {
        return Ok((by_events, "events in this store"));
    }
    let declared = store.declared().await?.into_iter().flat_map(|declared| declared.subjects);
    let by_consumers = having(&declared.collect())?;
    if !by_consumers.is_empty() {
        return Ok((by_consumers, "consumers in this store, which has no events yet"));
    }
    Ok((having(&store.topic_names().await?.into_iter().collect())?, "topics in this store, which has no events yet"))
}

/// What is at the beginning of the log and at its end: a log may be too long to be read for this.
async fn subjects(store: &Observer) -> Result<BTreeSet<String>, Failure> {
    let relay = store.relay();
    let (start, end) = (relay.start().await?, relay.end().await?);
    let rows = i64::try_from(PAGE_MAX).unwrap_or(i64::MAX);
    let late = Position { seq: start.seq.max(end.seq - rows), ..start };
    let mut subjects = BTreeSet::new();
    for position in [start, late] {
        let page = relay.page(position, &Filter::default(), PAGE_MAX).await?;
        subjects.extend(page.rows.into_iter().map(|row| row.subject));
    }
    Ok(subjects)
}
