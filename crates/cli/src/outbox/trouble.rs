//! Why a relay does not go on, or what its stream has lost: for people, each with what helps. Pure.

use karwan_envelope::time::Timestamp;
use karwan_store::outbox::{RelayReport, TopicReport};

use super::stand::{Seen, Stand};
use crate::consumer::span;

/// A relay that is at work asks a broker again that takes nothing within this time.
const PATIENCE_MS: i64 = 5_000;

/// Something that an operator should know.
pub struct Trouble {
    /// In a word, for a column.
    pub state: &'static str,
    pub what: String,
    pub remedy: String,
}

/// What else is known, beside the report and what the broker says of the stream.
pub struct Known<'a> {
    pub now: Timestamp,
    /// Streams that take a topic of this one, where it is gone.
    pub takers: &'a [String],
    /// What the log has for the stream, published or not; asked for where the stream was emptied.
    pub logged: i64,
}

/// What is wrong with a stream, the worst first.
pub fn of(report: &RelayReport, seen: &Seen, known: &Known<'_>) -> Option<Trouble> {
    lost(report, seen, known).or_else(|| full(report, seen)).or_else(|| stuck(report, seen, known))
}

/// Who holds the relay now.
fn holder(report: &RelayReport) -> Option<&str> {
    report.relay.run_by()
}

fn lost(report: &RelayReport, seen: &Seen, known: &Known<'_>) -> Option<Trouble> {
    let (stream, lacks) = (report.stream(), report.sum(TopicReport::unpublished));
    let last = seen.end.as_ref().map_or(0, |end| end.last_seq);
    let had = seen.saved.map_or(0, |saved| saved.stream_seq);
    let runs = match holder(report) {
        Some(holder) => format!("nothing: {holder} publishes them again by itself"),
        None => "start `karwan relay`: it publishes them again".to_owned(),
    };
    let (state, what, remedy) = match seen.stand {
        Stand::Keeps | Stand::Unsaved => return None,
        Stand::Gone if !known.takers.is_empty() => {
            let takers = known.takers.join(", ");
            let remedy = format!(
                "{takers} takes its subjects: take them out of it, or delete it (docs/errors/broker-overlap.md); `karwan relay` makes {stream} then"
            );
            ("stream gone", format!("the stream {stream} is gone: the log still has {lacks} events for it"), remedy)
        }
        Stand::Gone => {
            let remedy = match holder(report) {
                Some(holder) => format!("nothing, unless it stays so: {holder} makes it and publishes them again"),
                None => "start `karwan relay`: it makes the stream and publishes them again".to_owned(),
            };
            ("stream gone", format!("the stream {stream} is gone: the log still has {lacks} events for it"), remedy)
        }
        Stand::MadeAnew => {
            let what = format!(
                "the stream {stream} was made anew, and has lost what was published: the log still has {lacks} events for it"
            );
            ("made anew", what, runs)
        }
        Stand::Shorter => {
            let what = format!(
                "the stream {stream} ends at message {last} and was at {had}: the log still has {lacks} events for it"
            );
            ("lost messages", what, runs)
        }
        Stand::Emptied => {
            let what = format!(
                "the stream {stream} was emptied, by hand or by age, up to message {last}: the log still has {} events for it, which count as published",
                known.logged
            );
            let remedy = format!(
                "nothing, where its consumers have handled them; else delete it: `karwan relay` makes {stream} anew and publishes what the log has"
            );
            ("emptied", what, remedy)
        }
    };
    Some(Trouble { state, what, remedy })
}

fn full(report: &RelayReport, seen: &Seen) -> Option<Trouble> {
    let limit = seen.room.as_ref()?.full()?;
    let (stream, waiting) = (report.stream(), report.sum(TopicReport::unpublished));
    Some(Trouble {
        state: "full",
        what: format!("the stream {stream} takes nothing more: {limit}; {waiting} events wait in the log"),
        remedy:
            "raise that limit, or let messages live shorter; its relay goes on by itself (docs/errors/broker-full.md)"
                .to_owned(),
    })
}

/// A relay that is at work, has something to publish, and a stream that has got nothing since that was committed.
fn stuck(report: &RelayReport, seen: &Seen, known: &Known<'_>) -> Option<Trouble> {
    let holder = holder(report).filter(|_| report.relay.suspended.is_none())?;
    let waiting = report.sum(|topic| topic.waiting);
    let oldest = report.topics.iter().filter(|topic| topic.waiting > 0).map(|topic| topic.oldest_ms).max()?;
    let last = seen.end.as_ref().and_then(|end| end.last_at.as_ref()?.parse::<Timestamp>().ok());
    let quiet = last.map_or(i64::MAX, |last| known.now.unix_ms() - last.unix_ms());
    if oldest < PATIENCE_MS || quiet < oldest {
        return None;
    }
    let stream = report.stream();
    let limits = match seen.room.as_ref().is_some_and(|room| room.knows_account) {
        true => "no limit of the stream or of the account is reached",
        false => "no limit of the stream is reached, and this login may not ask for the account's",
    };
    Some(Trouble {
        state: "stuck",
        what: format!(
            "{holder} is at work, {waiting} events wait for {}, and the stream {stream} has got none of them: {limits}",
            span(oldest)
        ),
        remedy: format!(
            "look at what {holder} says (`the broker takes nothing`), and into the server's log: that the server itself has no room (its disk, max_file_store) is told to publishers alone (docs/errors/broker-full.md)"
        ),
    })
}
