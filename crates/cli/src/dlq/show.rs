//! `karwan dlq show`.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::anyhow;
use karwan_store::operator::{Action, Letter, LetterStory, State};
use serde_json::{Value, json};

use super::desk::{Desk, Graveyard};
use super::filter::EventName;
use super::{Format, list, runbook};
use crate::consumer::one_line;
use crate::exit::{Failure, Outcome};
use crate::output::{self, Paint};
use crate::personal::{self, Sight};
use crate::settings::{Flags, word};
use crate::{instant, runtime, tenant};

/// Show one letter: what failed, how often, what kind of failure it is, and what helps
///
/// Values that its schema marks as personal are masked; --show-personal shows them. With
/// --raw the stored envelope is printed byte for byte and nothing else. What a repaired
/// event was before, --original prints also after it was handled.
///
/// Examples:
///   karwan dlq show 0190c2f0-0000-7000-8000-000000000001 --store sqlite:karwan.db
///   karwan dlq show 0190c2f0-0000-7000-8000-000000000001 --raw > envelope.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The event (or the id of the call), as `karwan dlq list` prints it
    event: EventName,
    #[command(flatten)]
    flags: Flags,
    /// Whose letter it is; only needed where several consumers have one of the event
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Print the stored envelope, byte for byte; nothing is masked
    #[arg(long)]
    raw: bool,
    /// Print the envelope as it was before it was repaired; with --raw, byte for byte
    #[arg(long)]
    original: bool,
    /// Show personal values too
    #[arg(long)]
    show_personal: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

const NO_JSON: &str = "it is no JSON; --raw prints it as it is";

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        let mut story = match story(&desk, args).await {
            Err(failure) if args.original => return original(&desk, args, failure).await,
            found => found?,
        };
        if let Some(original) = story.original.clone().filter(|_| args.original) {
            story.envelope = original;
        }
        if args.raw {
            return raw(&story.envelope);
        }
        let sight = desk.sight(&story, args.show_personal).await?;
        let envelope = envelope(&story, &sight);
        match args.format {
            Format::Json => output::json(&object(&desk, &story, &envelope))?,
            Format::Human => output::data(&text(&desk, &story, &envelope))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn story(desk: &Desk, args: &Args) -> Result<LetterStory, Failure> {
    let target = desk.find(args.event.0, args.consumer.as_deref()).await?;
    Ok(desk.operator.letter(&target).await?)
}

/// Byte for byte: not even a line break is added.
fn raw(envelope: &str) -> Outcome {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(envelope.as_bytes())?;
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What an event was before its repair, where it is no letter any more; else why it is none.
async fn original(desk: &Desk, args: &Args, why: Failure) -> Outcome {
    let mut kept = desk.operator.originals(args.event.0).await?;
    kept.retain(|(target, _)| args.consumer.as_ref().is_none_or(|name| *name == target.consumer));
    let (target, original) = match kept.as_slice() {
        [] => return Err(why),
        [(target, original)] => (target, original),
        several => {
            let names: Vec<&str> = several.iter().map(|(target, _)| target.consumer.as_str()).collect();
            let text = format!("{} consumers had it repaired: name one with --consumer", names.len());
            return Err(Failure::usage(anyhow!("{text} ({}; see --help)", names.join(", "))));
        }
    };
    if args.raw {
        return raw(original);
    }
    let named: Value = serde_json::from_str(original).unwrap_or_default();
    let subject = named["eventType"].as_str().unwrap_or_default();
    let sight = desk.sight_of(subject, original, args.show_personal).await?;
    let envelope = personal::envelope(original, &sight).unwrap_or_else(|| NO_JSON.to_owned());
    match args.format {
        Format::Json => {
            let shown = serde_json::from_str::<Value>(&envelope).unwrap_or_else(|_| envelope.as_str().into());
            let event = target.event.to_string();
            output::json(&json!({ "consumer": target.consumer, "event": event, "repaired": true, "envelope": shown }))?;
        }
        Format::Human => output::data(&envelope)?,
    }
    output::note(&format!("{} has no letter of it any more: this is what it was before its repair", target.consumer));
    Ok(ExitCode::SUCCESS)
}

/// The envelope, or the body of a call, as it may be seen.
fn envelope(story: &LetterStory, sight: &Sight) -> String {
    let shown = if story.letter.target.is_effect() {
        personal::body(&story.envelope, sight)
    } else {
        personal::envelope(&story.envelope, sight)
    };
    shown.unwrap_or_else(|| NO_JSON.to_owned())
}

/// A letter with its story; these names are stable.
fn object(desk: &Desk, story: &LetterStory, envelope: &str) -> Value {
    let mut object = list::placed(desk, &story.letter);
    let attempt = |it: &karwan_store::operator::Attempt| json!({ "number": it.number, "at": instant::shown(it.at), "error": it.error });
    let more = json!({
        "class": story.class.name(),
        "advice": story.class.advice(),
        "violations": story.violations,
        "repaired": story.original.is_some(),
        "folder": story.folder,
        "history": story.history.iter().map(attempt).collect::<Vec<_>>(),
        "actions": story.actions.iter().map(action_object).collect::<Vec<_>>(),
        "envelope": serde_json::from_str::<Value>(envelope).unwrap_or_else(|_| envelope.into()),
    });
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// An action; these names are stable.
pub fn action_object(action: &Action) -> Value {
    json!({
        "action": action.id,
        "at": instant::shown(action.at),
        "actor": action.who.actor,
        "reason": action.who.reason,
        "verb": action.verb.name(),
        "consumer": action.consumer,
        "tenant": action.tenant.map(tenant::shown),
        "key": action.key,
        "event": action.event.map(|event| event.to_string()),
        "undoneBy": action.undone_by,
        "note": detail(action, "note"),
        "signOff": detail(action, "sign_off"),
    })
}

/// What else is recorded of an action, besides its reason.
fn detail(action: &Action, name: &str) -> Option<String> {
    let detail: Value = serde_json::from_str(&action.detail).ok()?;
    detail[name].as_str().filter(|text| *text != action.who.reason).map(str::to_owned)
}

/// An action in a line.
pub fn action_line(action: &Action) -> String {
    let undone = action.undone_by.map(|by| format!(" (undone by action {by})")).unwrap_or_default();
    let (actor, reason) = (one_line(&action.who.actor), one_line(&action.who.reason));
    let note = detail(action, "note").map(|note| format!(" — {}", one_line(&note))).unwrap_or_default();
    let agreed = detail(action, "sign_off").map(|name| format!(" (agreed: {})", one_line(&name))).unwrap_or_default();
    format!("action {}: {} by {actor}: {reason}{note}{agreed}{undone}", action.id, action.verb.name())
}

fn text(desk: &Desk, story: &LetterStory, envelope: &str) -> String {
    let paint = Paint::stdout();
    let letter = &story.letter;
    let mut text = format!("{}\n", paint.bold(&format!("{} {}", letter.state.name(), letter.subject)));
    text.push_str(&facts(desk, story));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{}\n", paint.bold(title)));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
    };
    let attempt = |it: &karwan_store::operator::Attempt| {
        format!("{:>3}  {}  {}", it.number, instant::shown(it.at), one_line(&it.error))
    };
    section("attempts that failed", story.history.iter().map(attempt).collect());
    section("broken rules", story.violations.iter().map(|violation| one_line(violation)).collect());
    let acted = |action: &Action| format!("{}  {}", instant::shown(action.at), action_line(action));
    section("what operators did", story.actions.iter().map(acted).collect());
    let remedy = |(what, command): (&'static str, String)| format!("{command}   # {what}");
    section("what helps", runbook::remedies(desk, story).into_iter().map(remedy).collect());
    let what = if letter.target.is_effect() { "what was to be called with" } else { "envelope" };
    let masks = if envelope.contains('‹') { " (personal values are masked; --show-personal shows them)" } else { "" };
    text.push_str(&format!("\n{}\n{envelope}\n", paint.bold(&format!("{what}{masks}"))));
    text
}

/// What it is, a line a fact.
fn facts(desk: &Desk, story: &LetterStory) -> String {
    let letter = &story.letter;
    let key = format!("{}:{}", tenant::shown(letter.tenant), letter.key);
    let mut text = String::new();
    let mut fact = |name: &str, value: String| text.push_str(&format!("{name:<11}{value}\n"));
    fact("event", letter.target.event.to_string());
    fact("consumer", letter.target.consumer.clone());
    fact("key", format!("{}   # {}", one_line(&key), desk.any_command(&format!("key show {}", word(&key)))));
    fact("logged", format!("{}, number {}", instant::shown(letter.logged), letter.seq));
    if let Some(Graveyard { topic, stream }) = desk.graveyard(letter) {
        fact("dead in", format!("{topic}, in the stream {stream}, where a relay publishes"));
    }
    fact("attempts", format!("{}; {}", letter.attempts, next(letter)));
    fact("error", one_line(&letter.error));
    fact("class", format!("{}: {}", story.class.name(), story.class.advice()));
    if story.original.is_some() {
        fact("repaired", "yes; --original shows it as it was".to_owned());
    }
    if let Some(folder) = &story.folder {
        fact("folder", one_line(folder));
    }
    text
}

/// What it waits for.
fn next(letter: &Letter) -> String {
    match (letter.state, letter.due) {
        (State::Parked, Some(due)) => format!("the next one: {}", instant::due(due)),
        (State::Parked, None) => "it waits for a person".to_owned(),
        (State::Dead, _) => "it was given up".to_owned(),
        (State::Skipped, _) => "an operator passed it over".to_owned(),
        (State::Quarantined, _) => "an operator locked it away".to_owned(),
    }
}
