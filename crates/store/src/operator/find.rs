//! One letter as the store has it now.

use karwan_envelope::Violations;
use karwan_envelope::violation::Violation;
use karwan_registry::Catalogue;

use super::Operator;
use super::desk::{Desk, Row, values};
use super::letter::{Letter, State, Target};
use crate::effect;
use crate::error::Error;
use crate::log::LogRow;
use crate::stored;

/// Where a letter lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Parked,
    Dead {
        /// When it died.
        at: i64,
        /// When it was published to the dead-letter topic.
        fed_at: Option<i64>,
    },
    Aside {
        /// What it was before.
        was: String,
        folder: Option<String>,
    },
    Effect {
        /// Waiting, answered or dead.
        state: String,
    },
}

/// A letter, with where it lies and what is in it.
#[derive(Debug, Clone)]
pub struct Found {
    pub letter: Letter,
    pub place: Place,
    pub envelope: String,
}

impl Found {
    /// The row that it was in the log, as far as its contract is concerned.
    pub fn row(&self) -> LogRow {
        let Letter { target, seq, logged, tenant, subject, key, .. } = self.letter.clone();
        LogRow { seq, tenant, subject, key, slot: 0, event: target.event, at: logged, envelope: self.envelope.clone() }
    }

    /// An action that does not fit.
    pub fn refuse(&self, remedy: &'static str) -> Error {
        let Target { consumer, event } = self.letter.target.clone();
        let state = match &self.place {
            Place::Effect { state } if state != "dead" => "waiting to be called",
            Place::Effect { .. } | Place::Parked | Place::Dead { .. } | Place::Aside { .. } => self.letter.state.name(),
        };
        Error::LetterState { consumer, event, state, remedy }
    }
}

/// The columns that all letters have, in the order of [`letter`].
const COLUMNS: &str = "seq, logged, tenant_id, karwan.subject_name(subject), key, attempts, error, envelope";

/// The letter with a name; [`Error::Deleted`] where it was deleted, [`Error::Claimed`] where the consumer has handled it.
pub async fn find(desk: &mut Desk, target: &Target) -> Result<Found, Error> {
    let names = values![target.consumer.as_str(), target.event];
    if let Some(kind) = target.consumer.strip_prefix(effect::LANES)
        && let Some(found) = find_effect(desk, target, kind).await?
    {
        return Ok(found);
    }
    let sql = format!("SELECT {COLUMNS}, due FROM karwan.parked WHERE consumer = $1 AND event_id = $2");
    if let Some(row) = desk.row(&sql, names).await? {
        let letter = Letter { due: row.maybe_int(8), ..letter(&row, target, State::Parked) };
        return Ok(Found { letter, place: Place::Parked, envelope: row.text(7) });
    }
    let sql = format!("SELECT {COLUMNS}, at, fed_at FROM karwan.dead WHERE consumer = $1 AND event_id = $2");
    if let Some(row) = desk.row(&sql, names).await? {
        let place = Place::Dead { at: row.int(8), fed_at: row.maybe_int(9) };
        return Ok(Found { letter: letter(&row, target, State::Dead), place, envelope: row.text(7) });
    }
    let sql = format!("SELECT {COLUMNS}, state, was, folder FROM karwan.aside WHERE consumer = $1 AND event_id = $2");
    if let Some(row) = desk.row(&sql, names).await? {
        let state = State::named(&row.text(8)).unwrap_or(State::Skipped);
        let place = Place::Aside { was: row.text(9), folder: row.maybe_text(10) };
        return Ok(Found { letter: letter(&row, target, state), place, envelope: row.text(7) });
    }
    let Target { consumer, event } = target.clone();
    // Its claim stays, so that it is not handled; that does not mean that it was.
    let sql = "SELECT id FROM karwan.action WHERE consumer = $1 AND event_id = $2 AND verb = 'delete' ORDER BY id DESC LIMIT 1";
    if let Some(row) = desk.row(sql, names).await? {
        return Err(Error::Deleted { consumer, event, action: row.int(0) });
    }
    let sql = "SELECT seq FROM karwan.inbox WHERE consumer = $1 AND event_id = $2";
    Err(match desk.row(sql, names).await? {
        Some(_) => Error::Claimed { consumer, event },
        None => Error::NoLetter { consumer, event },
    })
}

/// An effect that is open or was given up; what an operator set aside is found with the others.
async fn find_effect(desk: &mut Desk, target: &Target, kind: &str) -> Result<Option<Found>, Error> {
    let sql = "SELECT seq, at, tenant_id, kind, key, attempts, coalesce(error, ''), body, state, due FROM karwan.effect
               WHERE kind = $1 AND id = $2 AND state <> 'done'";
    let Some(row) = desk.row(sql, values![kind, target.event]).await? else { return Ok(None) };
    let dead = row.text(8) == "dead";
    let state = if dead { State::Dead } else { State::Parked };
    let letter = Letter { due: (!dead).then(|| row.int(9)), ..letter(&row, target, state) };
    Ok(Some(Found { letter, place: Place::Effect { state: row.text(8) }, envelope: row.text(7) }))
}

fn letter(row: &Row, target: &Target, state: State) -> Letter {
    let kind = || target.consumer.strip_prefix(effect::LANES).unwrap_or(&target.consumer).to_owned();
    Letter {
        target: target.clone(),
        state,
        seq: row.int(0),
        logged: row.int(1),
        tenant: row.id(2),
        subject: row.maybe_text(3).unwrap_or_else(kind),
        key: row.text(4),
        due: None,
        attempts: u32::try_from(row.int(5)).unwrap_or_default(),
        error: row.text(6),
    }
}

impl Operator {
    /// The catalogue that knows a subject.
    pub(super) fn catalogue(&self, subject: &str) -> Option<&Catalogue> {
        self.catalogues.iter().map(|it| &**it).find(|catalogue| catalogue.directory().resolve(subject).is_some())
    }

    /// Which rules of its contract a letter breaks; none where it keeps them, or where no catalogue knows it.
    pub(super) async fn broken(&self, desk: &mut Desk, found: &Found) -> Result<Vec<Violation>, Error> {
        if found.letter.target.is_effect() {
            return Ok(Vec::new());
        }
        let Some(catalogue) = self.catalogue(&found.letter.subject) else { return Ok(Vec::new()) };
        let schema = async |hash: String| {
            let sql = "SELECT document FROM karwan.schema WHERE hash = $1";
            Ok(desk.row(sql, values![hash.as_str()]).await?.map(|row| row.text(0)))
        };
        match stored::judged(catalogue, &found.row(), schema).await {
            Ok(_) => Ok(Vec::new()),
            Err(Error::Refused { cause: Violations(broken), .. }) => Ok(broken),
            Err(other) => Err(other),
        }
    }
}
