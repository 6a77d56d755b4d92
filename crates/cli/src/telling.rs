//! What the engine has to say, on standard error: one line each, with its facts behind it.
//!
//! Warnings and errors always; what merely goes on with `--verbose`. Not here: logs for machines, which come with a node.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::output;

/// Whoever listens to our crates.
struct Telling {
    most: Level,
}

/// Prints what is said from now on.
pub fn start(verbose: bool) {
    let most = if verbose { Level::INFO } else { Level::WARN };
    // A second one changes nothing: the first goes on.
    let _ = tracing::subscriber::set_global_default(Telling { most });
}

/// The line of an event: what is said, then what it is about.
#[derive(Default)]
struct Line {
    message: String,
    facts: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // A string takes any text.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.facts, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Telling {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.is_event() && *about.level() <= self.most && about.target().starts_with("karwan")
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
        output::note(&format!("{level}: {}{}", line.message, line.facts));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
