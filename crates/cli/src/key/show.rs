//! `karwan key show`.

use std::process::ExitCode;

use karwan_store::operator::{Entry, Fate, Happened, KeyStory, Pause};
use serde_json::{Value, json};

use crate::consumer::one_line;
use crate::dlq::desk::Desk;
use crate::dlq::{Format, show};
use crate::exit::Outcome;
use crate::output::{self, Paint};
use crate::settings::Flags;
use crate::tenant::KeyName;
use crate::{instant, runtime};

/// Tell the whole story of a key, in order of time
///
/// Every event that is still in the log, what each consumer did with it, every attempt
/// that failed and why, and what operators did. Payloads are not printed; karwan dlq show
/// has those of letters.
///
/// Examples:
///   karwan key show tnt_01J3K4M5N6P7Q8R9S0T1V2W3X4:rsv_1 --store sqlite:karwan.db
///   karwan key show platform:rates --consumer billing-service.clerk --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The key: TENANT:AGGREGATE
    key: KeyName,
    /// Only what this consumer did
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    #[command(flatten)]
    flags: Flags,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

pub fn run(args: &Args) -> Outcome {
    runtime::block_on(async {
        let desk = Desk::open(&args.flags).await?;
        if let Some(consumer) = &args.consumer {
            desk.knows_consumer(consumer).await?;
        }
        let KeyName { tenant, key } = &args.key;
        let story = desk.operator.key_story(*tenant, key, args.consumer.as_deref()).await?;
        match args.format {
            Format::Json => output::json(&object(&args.key, &story))?,
            Format::Human => output::data(&text(&args.key, &story))?,
        }
        if story.entries.is_empty() {
            output::note("nothing is known of this key: no event of it is in the log, and nobody touched it");
        }
        if story.cut {
            output::note("earlier entries were left out; the latest are told");
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// A story; these names are stable.
fn object(key: &KeyName, story: &KeyStory) -> Value {
    let pause = |pause: &Pause| json!({ "consumer": pause.consumer, "actor": pause.actor, "reason": pause.reason, "at": instant::shown(pause.at) });
    json!({
        "key": key.to_string(),
        "pauses": story.pauses.iter().map(pause).collect::<Vec<_>>(),
        "entries": story.entries.iter().map(entry_object).collect::<Vec<_>>(),
        "cut": story.cut,
    })
}

fn entry_object(entry: &Entry) -> Value {
    let mut object = match &entry.what {
        Happened::Logged { seq, event, subject, fates } => {
            let fates: Vec<Value> = fates.iter().map(|(consumer, fate)| fate_object(consumer, fate)).collect();
            json!({ "what": "logged", "seq": seq, "event": event.to_string(), "topic": subject, "fates": fates })
        }
        Happened::Failed { consumer, event, number, error } => {
            json!({ "what": "failed", "consumer": consumer, "event": event.to_string(), "number": number, "error": error })
        }
        Happened::Acted(action) => json!({ "what": "acted", "action": show::action_object(action) }),
    };
    object["at"] = instant::shown(entry.at).into();
    object
}

fn fate_object(consumer: &str, fate: &Fate) -> Value {
    match fate {
        Fate::Handled => json!({ "consumer": consumer, "fate": "handled" }),
        Fate::Published => json!({ "consumer": consumer, "fate": "published" }),
        Fate::Deleted(action) => {
            json!({ "consumer": consumer, "fate": "deleted", "action": show::action_object(action) })
        }
        Fate::Letter { state, attempts, error, due } => {
            let due = due.map(instant::shown);
            json!({ "consumer": consumer, "fate": state.name(), "attempts": attempts, "error": error, "due": due })
        }
        Fate::Behind(event) => json!({ "consumer": consumer, "fate": "behind", "event": event.to_string() }),
        Fate::Ahead => json!({ "consumer": consumer, "fate": "ahead" }),
        Fate::Passed => json!({ "consumer": consumer, "fate": "passed" }),
    }
}

fn text(key: &KeyName, story: &KeyStory) -> String {
    let paint = Paint::stdout();
    let mut text = format!("{}\n", paint.bold(&one_line(&key.to_string())));
    for Pause { consumer, actor, reason, at } in &story.pauses {
        let (actor, reason) = (one_line(actor), one_line(reason));
        let line = format!("paused for {consumer} since {} by {actor}: {reason}", instant::shown(*at));
        text.push_str(&format!("{}\n", paint.yellow(&line)));
    }
    for entry in &story.entries {
        text.push_str(&format!("\n{}  {}", instant::shown(entry.at), line(&entry.what)));
        if let Happened::Logged { fates, .. } = &entry.what {
            for (consumer, fate) in fates {
                text.push_str(&format!("\n    {consumer}: {}", told(fate)));
            }
        }
    }
    text.push('\n');
    text
}

fn line(what: &Happened) -> String {
    match what {
        Happened::Logged { seq, event, subject, .. } => format!("logged {subject} {event}, number {seq}"),
        Happened::Failed { consumer, event, number, error } => {
            format!("{consumer} failed at {event}, attempt {number}: {}", one_line(error))
        }
        Happened::Acted(action) => {
            let on = action.consumer.as_deref().map(|consumer| format!(" [{consumer}]")).unwrap_or_default();
            format!("{}{on}", show::action_line(action))
        }
    }
}

fn told(fate: &Fate) -> String {
    match fate {
        Fate::Handled => "handled".to_owned(),
        Fate::Published => "published".to_owned(),
        Fate::Deleted(action) => format!("deleted; {}", show::action_line(action)),
        Fate::Letter { state, attempts, error, due } => {
            let next = due.map(|due| format!(", next attempt {}", instant::due(due))).unwrap_or_default();
            format!("{} after {attempts} attempts{next}: {}", state.name(), one_line(error))
        }
        Fate::Behind(event) => format!("waits behind {event}"),
        Fate::Ahead => "not reached yet".to_owned(),
        Fate::Passed => "passed: it has no handler for it".to_owned(),
    }
}
