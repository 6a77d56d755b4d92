//! Places in the log as people write them, and consumers that they name.

use std::str::FromStr;

use anyhow::anyhow;
use karwan_store::Error;
use karwan_store::operator::{Moved, Place};
use karwan_store::outbox::RELAYS;

use crate::exit::Failure;
use crate::instant::Instant;
use crate::suggest;

/// A position, a number, `start` or `end`.
#[derive(Clone, Copy)]
pub struct Named(pub Place);

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "start" => return Ok(Self(Place::Start)),
            "end" => return Ok(Self(Place::End)),
            _ => {}
        }
        if let Some(seq) = text.parse().ok().filter(|seq: &i64| *seq >= 0) {
            return Ok(Self(Place::Seq(seq)));
        }
        let position = text.parse().map(Place::Position).map(Self);
        position.map_err(|_| "a place is a number, a position such as 1-42, start or end".to_owned())
    }
}

/// A place by its number, or by its time.
pub fn of(to: Option<Named>, time: Option<Instant>) -> Option<Place> {
    to.map(|named| named.0).or(time.map(|time| Place::Time(time.unix_ms())))
}

/// A wrong name gets the one that was meant.
pub fn named(error: Error) -> Failure {
    let Error::ConsumerUnknown { consumer, known } = &error else { return error.into() };
    if consumer.starts_with(RELAYS) {
        let cause =
            anyhow!("{} is a relay: it goes on where its stream ends, and is not moved", suggest::quoted(consumer));
        return Failure::from(cause).coded(error.code());
    }
    let meant = suggest::nearest(known.iter().map(String::as_str), consumer);
    match meant {
        Some(meant) => {
            let cause =
                anyhow!("no consumer {} has run on this store; did you mean `{meant}`?", suggest::quoted(consumer));
            Failure::from(cause).coded(error.code())
        }
        None => error.into(),
    }
}

/// Where a consumer was, and is.
pub fn told(moved: &Moved) -> String {
    let range = |places: &[i64]| match (places.iter().min(), places.iter().max()) {
        (Some(low), Some(high)) if low == high => low.to_string(),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        _ => "nowhere".to_owned(),
    };
    format!("{} lanes from {} to {}", moved.was.len().max(moved.now.len()), range(&moved.was), range(&moved.now))
}
