//! One letter, or many: what an action is done to. Many are frozen, shown and asked about before anything happens.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use anyhow::anyhow;
use karwan_store::operator::{Bulk, Deed, Judged, Selection, Target, Who as Actor};

use super::desk::Desk;
use super::filter::{EventName, Narrow};
use crate::consumer::one_line;
use crate::exit::{Failure, Outcome};
use crate::operator::Who;
use crate::output;
use crate::progress::Progress;

/// So many letters of a selection are shown with what is wrong with them.
const SHOWN_MAX: usize = 10;

/// What an action is done to.
#[derive(clap::Args, Clone)]
pub struct Choice {
    /// One letter: its event (or the id of the call), as `karwan dlq list` prints it
    #[arg(conflicts_with_all = ["select", "all"])]
    event: Option<EventName>,
    /// The letters of a selection that was shown before, and no others
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "consumer", "tenant", "topic", "key", "state", "error", "since", "until"])]
    select: Option<i64>,
    #[command(flatten)]
    narrow: Narrow,
    /// Every letter of the store that needs somebody
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Say what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// At most so many letters a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: Option<u32>,
}

impl Choice {
    /// Does it to the chosen letters, or says what would become of them.
    pub async fn act(&self, desk: &Desk, who: &Who, deed: &Deed) -> Outcome {
        let actor = who.recorded();
        if let Some(EventName(event)) = self.event {
            let target = desk.find(event, self.narrow.consumer.as_deref()).await?;
            return self.act_on_one(desk, &actor, &target, deed).await;
        }
        let selection = self.selection(desk, &actor).await?;
        if selection.members.is_empty() {
            output::note("no letter is meant by that; nothing was done");
            return Ok(ExitCode::SUCCESS);
        }
        show(desk, &selection, deed).await?;
        if self.dry_run {
            return dry_run(desk, &actor, &selection, deed).await;
        }
        if !self.yes && !agreed(desk, &selection, deed)? {
            output::note("nothing was done");
            return Ok(ExitCode::SUCCESS);
        }
        let verb = deed.verb().name();
        let bar = Progress::new();
        let progress = |done: usize, of: usize, _: &Judged| bar.tell(verb, done as u64, of as u64);
        let bulk = Bulk { per_second: self.rate, told: &progress };
        let judged = desk.operator.act_on_all(&actor, selection.id, deed, bulk).await?;
        drop(bar);
        report(deed, &judged)
    }

    async fn act_on_one(&self, desk: &Desk, who: &Actor, target: &Target, deed: &Deed) -> Outcome {
        let (verb, Target { consumer, event }) = (deed.verb().name(), target);
        if self.dry_run {
            desk.operator.would(who, target, deed).await?;
            output::data(&format!("would {verb} {event} of {consumer}"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let action = desk.operator.act(who, target, deed).await?;
        output::data(&format!("action {action}: {verb} {event} of {consumer}"))?;
        after(deed);
        Ok(ExitCode::SUCCESS)
    }

    async fn selection(&self, desk: &Desk, who: &Actor) -> Result<Selection, Failure> {
        if let Some(id) = self.select {
            return Ok(desk.operator.selection(id).await?);
        }
        if self.narrow.is_empty() && !self.all {
            let ways = "an event, a filter such as --consumer NAME, --select ID, or --all";
            return Err(Failure::usage(anyhow!("which letters? name {ways} (see --help)")));
        }
        let filter = self.narrow.filter(desk).await?;
        Ok(desk.operator.select(who, &filter, self.all).await?)
    }
}

/// What would be touched.
async fn show(desk: &Desk, selection: &Selection, deed: &Deed) -> Result<(), Failure> {
    let Selection { id, members, .. } = selection;
    let mut consumers: BTreeMap<&str, usize> = BTreeMap::new();
    members.iter().for_each(|target| *consumers.entry(&target.consumer).or_default() += 1);
    let verb = deed.verb().name();
    output::note(&format!(
        "{verb}: {} letters, selection {id}, frozen: what fails later is not among them",
        members.len()
    ));
    for (consumer, count) in consumers {
        output::note(&format!("  {count} of {consumer}"));
    }
    for target in members.iter().take(SHOWN_MAX) {
        let line = match desk.operator.letter(target).await {
            Ok(story) => {
                let letter = story.letter;
                format!("{}  {}  {}", letter.subject, one_line(&letter.key), one_line(&letter.error))
            }
            Err(error) => error.to_string(),
        };
        output::note(&format!("  {}  {line}", target.event));
    }
    if members.len() > SHOWN_MAX {
        output::note(&format!("  and {} more", members.len() - SHOWN_MAX));
    }
    Ok(())
}

/// Asks on a terminal; elsewhere nobody can be asked.
fn agreed(desk: &Desk, selection: &Selection, deed: &Deed) -> Result<bool, Failure> {
    let verb = deed.verb().name();
    if !io::stdin().is_terminal() {
        let again = desk.any_command(&format!("dlq {verb} --select {} --yes …", selection.id));
        return Err(Failure::usage(anyhow!("nobody can be asked here: to do it, say --yes ({again}; see --help)")));
    }
    output::note(&format!("{verb} {} letters? [y/N]", selection.members.len()));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

async fn dry_run(desk: &Desk, who: &Actor, selection: &Selection, deed: &Deed) -> Outcome {
    let judged = desk.operator.dry_run(who, selection.id, deed).await?;
    let verb = deed.verb().name();
    for Judged { target: Target { consumer, event }, outcome } in &judged {
        match outcome {
            Ok(_) => output::data(&format!("would {verb} {event} of {consumer}"))?,
            Err(error) => output::data(&format!("would refuse {event} of {consumer}: {error}"))?,
        }
    }
    let again = desk.any_command(&format!("dlq {verb} --select {} …", selection.id));
    output::note(&format!("nothing was changed; to do it to exactly these: {again}"));
    Ok(ExitCode::SUCCESS)
}

/// What became of each; a refusal is a refusal.
fn report(deed: &Deed, judged: &[Judged]) -> Outcome {
    let verb = deed.verb().name();
    let mut refused = 0;
    for Judged { target: Target { consumer, event }, outcome } in judged {
        match outcome {
            Ok(action) => output::data(&format!("action {action}: {verb} {event} of {consumer}"))?,
            Err(error) => {
                refused += 1;
                let page = error.code();
                output::note(&format!("refused: {event} of {consumer}: {error} (docs/errors/{page}.md)"));
            }
        }
    }
    output::note(&format!("{verb}: {} done, {refused} refused", judged.len() - refused));
    if refused < judged.len() {
        after(deed);
    }
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What happens next, elsewhere.
fn after(deed: &Deed) {
    match deed {
        Deed::Retry { .. } | Deed::Repair { .. } => {
            output::note("whoever holds its lane tries it within a second or two; karwan dlq show tells how it went");
        }
        Deed::Skip | Deed::Quarantine { .. } => output::note("its key goes on; karwan dlq undo ACTION brings it back"),
        Deed::Delete { .. } => {}
    }
}
