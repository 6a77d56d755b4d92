//! Letters and actions, page by page, and one letter with everything that is known of it.

use karwan_envelope::ids::EventId;

use super::Operator;
use super::action::{Action, ActionFilter, ActionPage, Verb, Who};
use super::classify::classify;
use super::desk::{Desk, Row, Value, values};
use super::find::{Place, find};
use super::letter::{Attempt, Cursor, LETTERS_MAX, Letter, LetterFilter, LetterPage, LetterStory, State, Target};
use crate::effect;
use crate::error::Error;

/// The most actions of one page, and of one letter's story.
const ACTIONS_MAX: usize = 500;

impl Operator {
    /// Letters by consumer and place, at most [`LETTERS_MAX`] a page.
    pub async fn letters(
        &self,
        filter: &LetterFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<LetterPage, Error> {
        let mut desk = self.look().await?;
        letters(&mut desk, filter, after, limit).await
    }

    /// One letter with everything that is known of it; [`Error::Claimed`] where the consumer has handled it,
    /// [`Error::Deleted`] where an operator deleted it.
    pub async fn letter(&self, target: &Target) -> Result<LetterStory, Error> {
        let mut desk = self.look().await?;
        let found = find(&mut desk, target).await?;
        let broken = self.broken(&mut desk, &found).await?;
        let names = values![target.consumer.as_str(), target.event];
        let sql = "SELECT number, at, error FROM karwan.attempt WHERE consumer = $1 AND event_id = $2 ORDER BY number";
        let attempt = |row: &Row| Attempt {
            number: u32::try_from(row.int(0)).unwrap_or_default(),
            at: row.int(1),
            error: row.text(2),
        };
        let history = desk.rows(sql, names).await?.iter().map(attempt).collect();
        let sql = "SELECT original FROM karwan.repair WHERE consumer = $1 AND event_id = $2 ORDER BY action LIMIT 1";
        let original = desk.row(sql, names).await?.map(|row| row.text(0));
        let of = ActionFilter {
            consumer: Some(target.consumer.clone()),
            event: Some(target.event),
            ..ActionFilter::default()
        };
        let mut actions = actions(&mut desk, &of, None, ACTIONS_MAX).await?.actions;
        actions.reverse();
        let folder = if let Place::Aside { folder, .. } = &found.place { folder.clone() } else { None };
        Ok(LetterStory {
            class: classify(&found.letter, !broken.is_empty()),
            violations: broken.iter().map(ToString::to_string).collect(),
            letter: found.letter,
            envelope: found.envelope,
            original,
            history,
            actions,
            folder,
        })
    }

    /// Envelopes of an event as they were before they were first repaired, with whose letters they were; also where the
    /// event was handled since.
    pub async fn originals(&self, event: EventId) -> Result<Vec<(Target, String)>, Error> {
        let mut desk = self.look().await?;
        let sql = "SELECT consumer, original FROM karwan.repair WHERE event_id = $1 ORDER BY consumer, action";
        let rows = desk.rows(sql, values![event]).await?;
        let mut originals: Vec<(Target, String)> =
            rows.iter().map(|row| (Target { consumer: row.text(0), event }, row.text(1))).collect();
        originals.dedup_by(|later, first| later.0 == first.0);
        Ok(originals)
    }

    /// Actions, latest first, before a number; at most so many.
    pub async fn actions(&self, filter: &ActionFilter, before: Option<i64>, limit: usize) -> Result<ActionPage, Error> {
        let mut desk = self.look().await?;
        actions(&mut desk, filter, before, limit).await
    }
}

/// A statement that grows with what is asked for.
struct Conditions {
    sql: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    /// One more, `{}` being its value's place.
    fn when<T: Into<Value>>(&mut self, condition: &str, value: Option<T>) {
        if let Some(value) = value {
            self.values.push(value.into());
            self.sql.push(condition.replace("{}", &format!("${}", self.values.len())));
        }
    }

    fn text(&self) -> String {
        if self.sql.is_empty() { "true".to_owned() } else { self.sql.join(" AND ") }
    }
}

/// See [`Operator::letters`].
pub(super) async fn letters(
    desk: &mut Desk,
    filter: &LetterFilter,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<LetterPage, Error> {
    let limit = limit.clamp(1, LETTERS_MAX);
    let mut after = after.cloned();
    let mut found = Vec::new();
    loop {
        let rows = batch(desk, filter, after.as_ref()).await?;
        let full = rows.len() == LETTERS_MAX;
        for letter in rows {
            let Target { consumer, event } = letter.target.clone();
            after = Some(Cursor { consumer, seq: letter.seq, event });
            if wanted(filter, &letter) {
                found.push(letter);
            }
            if found.len() == limit {
                return Ok(LetterPage { letters: found, next: after });
            }
        }
        if !full {
            return Ok(LetterPage { letters: found, next: None });
        }
    }
}

/// What the database cannot judge the same on both stores.
fn wanted(filter: &LetterFilter, letter: &Letter) -> bool {
    let subject = |pattern: &crate::log::SubjectPattern| !letter.target.is_effect() && pattern.matches(&letter.subject);
    filter.subject.as_ref().is_none_or(subject)
        && filter.error.as_ref().is_none_or(|text| letter.error.contains(text.as_str()))
}

async fn batch(desk: &mut Desk, filter: &LetterFilter, after: Option<&Cursor>) -> Result<Vec<Letter>, Error> {
    let states = match filter.state {
        Some(state) => vec![state],
        None => vec![State::Parked, State::Dead],
    };
    let mut tables = Vec::new();
    let columns = "tenant_id, karwan.subject_name(subject) AS subject, key, attempts, error";
    for state in states {
        let name = state.name();
        match state {
            State::Parked => tables.push(format!(
                "SELECT consumer, seq, event_id, logged, {columns}, due, '{name}' AS state FROM karwan.parked"
            )),
            State::Dead => tables.extend([
                format!("SELECT consumer, seq, event_id, logged, {columns}, NULL AS due, '{name}' AS state FROM karwan.dead"),
                format!(
                    "SELECT '{}' || kind, seq, id, at, tenant_id, kind, key, attempts, coalesce(error, ''), NULL, '{name}'
                     FROM karwan.effect WHERE state = 'dead'",
                    effect::LANES
                ),
            ]),
            State::Skipped | State::Quarantined => tables.push(format!(
                "SELECT consumer, seq, event_id, logged, {columns}, NULL AS due, state FROM karwan.aside WHERE state = '{name}'"
            )),
        }
    }
    let mut conditions = Conditions { sql: Vec::new(), values: Vec::new() };
    conditions.when("consumer = {}", filter.consumer.as_deref());
    conditions.when("tenant_id = {}", filter.tenant);
    conditions.when("key = {}", filter.key.as_deref());
    conditions.when("event_id = {}", filter.event);
    conditions.when("logged >= {}", filter.since);
    conditions.when("logged < {}", filter.until);
    if let Some(Cursor { consumer, seq, event }) = after {
        let place = conditions.values.len();
        conditions.values.extend_from_slice(values![consumer.as_str(), *seq, *event]);
        let place = format!("(${}, ${}, ${})", place + 1, place + 2, place + 3);
        conditions.sql.push(format!("(consumer, seq, event_id) > {place}"));
    }
    let sql = format!(
        "SELECT consumer, seq, event_id, logged, tenant_id, subject, key, attempts, error, due, state
         FROM ({}) AS letters WHERE {} ORDER BY consumer, seq, event_id LIMIT {LETTERS_MAX}",
        tables.join(" UNION ALL "),
        conditions.text()
    );
    Ok(desk.rows(&sql, &conditions.values).await?.iter().map(letter).collect())
}

fn letter(row: &Row) -> Letter {
    let consumer = row.text(0);
    let kind = consumer.strip_prefix(effect::LANES).unwrap_or(&consumer).to_owned();
    Letter {
        target: Target { consumer, event: row.event(2) },
        state: State::named(&row.text(10)).unwrap_or(State::Dead),
        seq: row.int(1),
        logged: row.int(3),
        tenant: row.id(4),
        subject: row.maybe_text(5).unwrap_or(kind),
        key: row.text(6),
        due: row.maybe_int(9),
        attempts: u32::try_from(row.int(7)).unwrap_or_default(),
        error: row.text(8),
    }
}

const ACTION: &str =
    "SELECT id, at, actor, reason, verb, consumer, tenant_id, key, event_id, detail, undone_by FROM karwan.action";

/// See [`Operator::actions`].
pub(super) async fn actions(
    desk: &mut Desk,
    filter: &ActionFilter,
    before: Option<i64>,
    limit: usize,
) -> Result<ActionPage, Error> {
    let limit = limit.clamp(1, ACTIONS_MAX);
    let mut conditions = Conditions { sql: Vec::new(), values: Vec::new() };
    conditions.when("actor = {}", filter.actor.as_deref());
    conditions.when("verb = {}", filter.verb.map(Verb::name));
    conditions.when("consumer = {}", filter.consumer.as_deref());
    conditions.when("tenant_id = {}", filter.tenant);
    conditions.when("key = {}", filter.key.as_deref());
    conditions.when("event_id = {}", filter.event);
    conditions.when("id < {}", before);
    let sql = format!("{ACTION} WHERE {} ORDER BY id DESC LIMIT {limit}", conditions.text());
    let actions: Vec<Action> = desk.rows(&sql, &conditions.values).await?.iter().map(action).collect();
    let next = actions.last().map(|action| action.id).filter(|_| actions.len() == limit);
    Ok(ActionPage { actions, next })
}

/// The action with a number.
pub(super) async fn action_numbered(desk: &mut Desk, id: i64) -> Result<Action, Error> {
    let row = desk.row(&format!("{ACTION} WHERE id = $1"), values![id]).await?;
    row.as_ref().map(action).ok_or(Error::NoSuch { what: "action", id })
}

fn action(row: &Row) -> Action {
    Action {
        id: row.int(0),
        at: row.int(1),
        who: Who { actor: row.text(2), reason: row.text(3) },
        verb: Verb::named(&row.text(4)).unwrap_or(Verb::Note),
        consumer: row.maybe_text(5),
        tenant: row.maybe_id(6),
        key: row.maybe_text(7),
        event: row.maybe_id(8).map(EventId::from_bits),
        detail: row.text(9),
        undone_by: row.maybe_int(10),
    }
}
