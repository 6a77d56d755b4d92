//! The node's log: an object a line for machines, a line for people on a terminal.
//!
//! Invariant: every line for machines has `eventId`, `correlationId` and `tenantId`, null where it is about no event; no line has
//! a payload, and what looks like somebody's address or number is left out of texts.

use std::fmt::{Debug, Write as _};
use std::io::IsTerminal as _;
use std::sync::Arc;

use karwan_envelope::cause::Tenant;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::trace::{SpanRecord, Spans};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::tally::Tally;
use crate::output;

/// How lines are written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// An object a line
    Json,
    /// A line for people
    Human,
}

/// Writes what is said from now on; people where standard error is a terminal, machines elsewhere.
pub fn start(form: Option<Form>, verbose: bool) -> Form {
    let by_default = if std::io::stderr().is_terminal() { Form::Human } else { Form::Json };
    let form = form.unwrap_or(by_default);
    let most = if verbose || form == Form::Json { Level::INFO } else { Level::WARN };
    // A second one changes nothing: the first goes on.
    let _ = tracing::subscriber::set_global_default(Log { most, form });
    form
}

/// Hears of every event that is published or handled, failures always, the rest where it is asked for; and counts sagas.
pub fn spans(verbose: bool, tally: Arc<Tally>) -> Spans {
    Arc::new(move |span: SpanRecord| {
        tally.take(&span.service, &span.name);
        // Every event is a span or more, and most of them are told to nobody.
        if span.ok && !verbose {
            return;
        }
        let tenant = match span.tenant {
            Tenant::One(id) => id.to_string(),
            Tenant::Platform => "platform".to_owned(),
        };
        let took_ms = span.until.unix_ms() - span.from.unix_ms();
        let event = span.event.map_or_else(|| "none".to_owned(), |event| event.to_string());
        let (correlation, service) = (span.trace, span.service);
        if !span.ok {
            tracing::warn!(event, %correlation, tenant, service, took_ms, "failed: {}", span.name);
        } else {
            tracing::info!(event, %correlation, tenant, service, took_ms, "{}", span.name);
        }
    })
}

struct Log {
    most: Level,
    form: Form,
}

/// What is said, and what it is about.
#[derive(Default)]
struct Line {
    message: String,
    about: Map<String, Value>,
}

impl Line {
    fn add(&mut self, name: &str, value: Value) {
        let name = match name {
            "event" => "eventId",
            "correlation" => "correlationId",
            "tenant" => "tenantId",
            other => other,
        };
        self.about.insert(name.to_owned(), value);
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = without_persons(&format!("{value:?}"));
        if field.name() == "message" { self.message = text } else { self.add(field.name(), Value::String(text)) }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), Value::String(without_persons(value)));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value.into());
    }
}

impl Line {
    fn json(mut self, level: &str) -> String {
        let mut object = Map::new();
        object.insert("at".to_owned(), SystemClock.now().to_string().into());
        object.insert("level".to_owned(), level.into());
        object.insert("message".to_owned(), self.message.into());
        for name in ["eventId", "correlationId", "tenantId"] {
            object.insert(name.to_owned(), self.about.remove(name).unwrap_or(Value::Null));
        }
        object.extend(self.about);
        Value::Object(object).to_string()
    }

    fn human(self, level: &str) -> String {
        let mut text = format!("{level}: {}", self.message);
        for (name, value) in &self.about {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // A string takes any text.
            let _ = write!(text, " {name}={value}");
        }
        text
    }
}

impl Subscriber for Log {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        let ours = ["karwan", "melmastoon", "sandbox"].iter().any(|name| about.target().starts_with(name));
        about.is_event() && *about.level() <= self.most && ours
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = event.metadata().level().as_str().to_lowercase();
        output::note(&match self.form {
            Form::Json => line.json(&level),
            Form::Human => line.human(&level),
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A text without words that look like somebody's e-mail address or telephone number.
fn without_persons(text: &str) -> String {
    let words = text.split_inclusive(|it: char| it.is_whitespace() || "\"'<>,;()[]{}=".contains(it));
    words.map(hidden).collect()
}

fn hidden(word: &str) -> String {
    let end = word.chars().next_back().filter(|last| !last.is_alphanumeric());
    let bare = end.map_or(word, |end| &word[..word.len() - end.len_utf8()]);
    let is_mail = bare.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
        && !bare.contains("://");
    let digits = bare.chars().filter(char::is_ascii_digit).count();
    let is_number =
        bare.starts_with('+') && digits >= 7 && bare[1..].chars().all(|it| it.is_ascii_digit() || it == '-');
    if is_mail || is_number {
        format!("[personal]{}", end.map(String::from).unwrap_or_default())
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::without_persons;

    #[test]
    fn what_looks_like_a_person_is_left_out_and_ids_stay() {
        for (said, shown) in [
            ("no mail to gul@example.af today", "no mail to [personal] today"),
            ("\"to\":\"+93-700-123456\"", "\"to\":\"[personal]\""),
            ("rsv_01J3K4M5N6P7Q8R9S0T1V2W3X4 at 1767225600000", "rsv_01J3K4M5N6P7Q8R9S0T1V2W3X4 at 1767225600000"),
            ("postgres://node:***@db.example.com/app", "postgres://node:***@db.example.com/app"),
        ] {
            assert_eq!(without_persons(said), shown);
        }
    }
}
