//! The whole story of a key: what happened to each of its events, in order of time.

use std::collections::{BTreeMap, BTreeSet};

use karwan_envelope::ids::EventId;

use super::Operator;
use super::action::{Action, ActionFilter, Verb};
use super::desk::{Desk, values};
use super::letter::{LETTERS_MAX, Letter, LetterFilter, State};
use super::list::{actions, letters};
use crate::error::Error;
use crate::log::Seq;
use crate::outbox::RELAYS;
use crate::store::Store;
use crate::write_set::TenantBits;

/// The most entries of one story; the latest are told.
pub const STORY_MAX: usize = 1000;

/// What happened with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStory {
    /// Whose.
    pub tenant: TenantBits,
    /// The key.
    pub key: String,
    /// The consumers for which it stands still, and why.
    pub pauses: Vec<Pause>,
    /// Everything that is known, in order of time.
    pub entries: Vec<Entry>,
    /// Whether earlier entries were left out.
    pub cut: bool,
}

/// A key that is paused for a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// The consumer.
    pub consumer: String,
    /// Who stopped it.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When, milliseconds after 1970.
    pub at: i64,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When, milliseconds after 1970.
    pub at: i64,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// An event entered the log.
    Logged {
        /// Its number.
        seq: Seq,
        /// The event.
        event: EventId,
        /// Its subject.
        subject: String,
        /// What each consumer did with it, by name.
        fates: Vec<(String, Fate)>,
    },
    /// An attempt failed.
    Failed {
        /// Whose attempt.
        consumer: String,
        /// At which event.
        event: EventId,
        /// Which attempt.
        number: u32,
        /// Why.
        error: String,
    },
    /// An operator did something.
    Acted(Action),
}

/// What a consumer did with an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It handled it.
    Handled,
    /// It is the relay that carries its topic, and has brought it to its stream.
    Published,
    /// An operator deleted it for good, by this action; it was never handled.
    Deleted(Box<Action>),
    /// It waits, is dead, or was set aside.
    Letter {
        /// How.
        state: State,
        /// How often it was tried.
        attempts: u32,
        /// Why it failed last.
        error: String,
        /// When it is tried again.
        due: Option<i64>,
    },
    /// It waits behind a parked event of its key.
    Behind(EventId),
    /// It lies ahead of the consumer's position.
    Ahead,
    /// The consumer has passed it without a claim: it has no handler for it.
    Passed,
}

/// What is known of one event of a key.
struct Told {
    at: i64,
    seq: Seq,
    subject: String,
    fates: BTreeMap<String, Fate>,
    logged: bool,
}

/// Whoever reads the log.
struct Readers {
    /// Their names, and how far they are.
    positions: Vec<(String, Seq)>,
    /// Which relay carries a topic.
    carriers: BTreeMap<String, String>,
}

impl Readers {
    /// Whether an event is one that this reader has to do with. Every relay passes every event, and publishes those of its own
    /// topics alone.
    fn concerns(&self, name: &str, subject: &str) -> bool {
        !name.starts_with(RELAYS) || self.carriers.get(subject).is_some_and(|relay| relay == name)
    }
}

impl Operator {
    /// The whole story of a key, of one consumer or of all.
    pub async fn key_story(&self, tenant: TenantBits, key: &str, consumer: Option<&str>) -> Result<KeyStory, Error> {
        let mut desk = self.look().await?;
        let mut events = logged(&mut desk, tenant, key).await?;
        add_letters(&mut desk, (tenant, key), consumer, &mut events).await?;
        add_deleted(&mut desk, (tenant, key), consumer, &mut events).await?;
        let readers = self.readers(&mut desk).await?;
        add_claims(&mut desk, (tenant, key), (consumer, &readers), &mut events).await?;
        let mut entries = failures(&mut desk, (tenant, key), consumer).await?;
        let of = ActionFilter {
            tenant: Some(tenant),
            key: Some(key.to_owned()),
            consumer: consumer.map(str::to_owned),
            ..ActionFilter::default()
        };
        let acted = actions(&mut desk, &of, None, STORY_MAX).await?.actions.into_iter();
        entries.extend(acted.map(|action| Entry { at: action.at, what: Happened::Acted(action) }));
        entries.extend(events.into_iter().map(|(event, Told { at, seq, subject, fates, .. })| Entry {
            at,
            what: Happened::Logged { seq, event, subject, fates: fates.into_iter().collect() },
        }));
        // Of two things at one time, the event comes before what was done with it, and events in the order of the log.
        entries.sort_by_key(|entry| match &entry.what {
            Happened::Logged { seq, .. } => (entry.at, 0, *seq),
            Happened::Failed { number, .. } => (entry.at, 1, i64::from(*number)),
            Happened::Acted(action) => (entry.at, 2, action.id),
        });
        let cut = entries.len() > STORY_MAX;
        entries.drain(..entries.len().saturating_sub(STORY_MAX));
        let pauses = pauses(&mut desk, (tenant, key), consumer).await?;
        Ok(KeyStory { tenant, key: key.to_owned(), pauses, entries, cut })
    }

    async fn readers(&self, desk: &mut Desk) -> Result<Readers, Error> {
        // Positions of effects mean nothing in the log, and those of consumers that a stream feeds mean another one.
        let sql = "SELECT consumer, min(position) FROM karwan.lane WHERE consumer NOT LIKE 'effect.%'
                   AND consumer NOT IN (SELECT consumer FROM karwan.declared WHERE stream IS NOT NULL)
                   GROUP BY consumer ORDER BY consumer";
        let rows = desk.rows(sql, &[]).await?;
        let positions: Vec<(String, Seq)> = rows.iter().map(|row| (row.text(0), row.int(1))).collect();
        let relays: Vec<&str> =
            positions.iter().map(|(name, _)| name.as_str()).filter(|name| name.starts_with(RELAYS)).collect();
        if relays.is_empty() {
            return Ok(Readers { positions, carriers: BTreeMap::new() });
        }
        let owner = |topic: &str| {
            let entry = self.catalogue(topic)?.directory().resolve(topic)?;
            Some(entry.row.owner.clone())
        };
        let carriers = Store::observe(&self.address).await?.carriers(owner, &relays).await?;
        Ok(Readers { positions, carriers })
    }
}

/// The last events of a key that the log still has.
async fn logged(desk: &mut Desk, tenant: TenantBits, key: &str) -> Result<BTreeMap<EventId, Told>, Error> {
    let sql = format!(
        "SELECT l.event_id, l.at, l.seq, s.name FROM karwan.log l JOIN karwan.subject s ON s.id = l.subject
         WHERE l.tenant_id = $1 AND l.key = $2 ORDER BY l.seq DESC LIMIT {STORY_MAX}"
    );
    let rows = desk.rows(&sql, values![tenant, key]).await?;
    let told = |row: &super::desk::Row| {
        let told = Told { at: row.int(1), seq: row.int(2), subject: row.text(3), fates: BTreeMap::new(), logged: true };
        (row.event(0), told)
    };
    Ok(rows.iter().map(told).collect())
}

/// What waits, is dead or was set aside; a stream's consumer has events that this log never had.
async fn add_letters(
    desk: &mut Desk,
    (tenant, key): (TenantBits, &str),
    consumer: Option<&str>,
    events: &mut BTreeMap<EventId, Told>,
) -> Result<(), Error> {
    let mut all: Vec<Letter> = Vec::new();
    for state in [State::Parked, State::Dead, State::Skipped, State::Quarantined] {
        let filter = LetterFilter {
            tenant: Some(tenant),
            key: Some(key.to_owned()),
            consumer: consumer.map(str::to_owned),
            state: Some(state),
            ..LetterFilter::default()
        };
        all.extend(letters(desk, &filter, None, LETTERS_MAX).await?.letters);
    }
    let mut heads: BTreeMap<String, (Seq, EventId)> = BTreeMap::new();
    for letter in all.iter().filter(|letter| letter.state == State::Parked) {
        let place = (letter.seq, letter.target.event);
        let head = heads.entry(letter.target.consumer.clone()).or_insert(place);
        *head = (*head).min(place);
    }
    for letter in all {
        let Letter { target, state, seq, logged, subject, due, attempts, error, .. } = letter;
        let fate = match heads.get(&target.consumer) {
            Some((_, head)) if state == State::Parked && *head != target.event => Fate::Behind(*head),
            _ => Fate::Letter { state, attempts, error, due },
        };
        let told = events.entry(target.event).or_insert_with(|| Told {
            at: logged,
            seq,
            subject,
            fates: BTreeMap::new(),
            logged: false,
        });
        told.fates.insert(target.consumer, fate);
    }
    Ok(())
}

/// What was deleted: it is claimed, and yet nobody has handled it.
async fn add_deleted(
    desk: &mut Desk,
    (tenant, key): (TenantBits, &str),
    consumer: Option<&str>,
    events: &mut BTreeMap<EventId, Told>,
) -> Result<(), Error> {
    let of = ActionFilter {
        verb: Some(Verb::Delete),
        tenant: Some(tenant),
        key: Some(key.to_owned()),
        consumer: consumer.map(str::to_owned),
        ..ActionFilter::default()
    };
    let mut before = None;
    loop {
        let page = actions(desk, &of, before, STORY_MAX).await?;
        for action in page.actions {
            if let (Some(name), Some(event)) = (action.consumer.clone(), action.event)
                && let Some(told) = events.get_mut(&event)
            {
                told.fates.entry(name).or_insert_with(|| Fate::Deleted(Box::new(action)));
            }
        }
        let Some(next) = page.next else { return Ok(()) };
        before = Some(next);
    }
}

/// What was handled or published, and what lies ahead.
async fn add_claims(
    desk: &mut Desk,
    (tenant, key): (TenantBits, &str),
    (consumer, readers): (Option<&str>, &Readers),
    events: &mut BTreeMap<EventId, Told>,
) -> Result<(), Error> {
    let wanted = |name: &str| consumer.is_none_or(|consumer| consumer == name);
    let lowest = events.values().filter(|told| told.logged).map(|told| told.seq).min().unwrap_or_default();
    for (name, position) in readers.positions.iter().filter(|(name, _)| wanted(name)) {
        let sql = "SELECT l.event_id FROM karwan.log l WHERE l.tenant_id = $1 AND l.key = $2 AND l.seq >= $3
                   AND EXISTS (SELECT 1 FROM karwan.inbox i WHERE i.consumer = $4 AND i.event_id = l.event_id)";
        let claimed = desk.rows(sql, values![tenant, key, lowest, name.as_str()]).await?;
        let claimed: BTreeSet<EventId> = claimed.iter().map(|row| row.event(0)).collect();
        // A relay claims nothing of what it publishes.
        let relays = name.starts_with(RELAYS);
        let concerned = |told: &Told| told.logged && readers.concerns(name, &told.subject);
        for (event, told) in events.iter_mut().filter(|(_, told)| concerned(told)) {
            let fate = match (claimed.contains(event), told.seq > *position) {
                (true, _) => Fate::Handled,
                (false, false) if relays => Fate::Published,
                (false, true) => Fate::Ahead,
                // That a consumer has no handler for an event is worth a word only to whoever asks for that consumer.
                (false, false) if consumer.is_some() => Fate::Passed,
                (false, false) => continue,
            };
            told.fates.entry(name.clone()).or_insert(fate);
        }
    }
    Ok(())
}

async fn failures(
    desk: &mut Desk,
    (tenant, key): (TenantBits, &str),
    consumer: Option<&str>,
) -> Result<Vec<Entry>, Error> {
    let sql = format!(
        "SELECT consumer, event_id, number, at, error FROM karwan.attempt WHERE tenant_id = $1 AND key = $2
         ORDER BY at DESC, number DESC LIMIT {STORY_MAX}"
    );
    let rows = desk.rows(&sql, values![tenant, key]).await?;
    let wanted = rows.iter().filter(|row| consumer.is_none_or(|consumer| row.text(0) == consumer));
    let failed = |row: &super::desk::Row| Entry {
        at: row.int(3),
        what: Happened::Failed {
            consumer: row.text(0),
            event: row.event(1),
            number: u32::try_from(row.int(2)).unwrap_or_default(),
            error: row.text(4),
        },
    };
    Ok(wanted.map(failed).collect())
}

async fn pauses(
    desk: &mut Desk,
    (tenant, key): (TenantBits, &str),
    consumer: Option<&str>,
) -> Result<Vec<Pause>, Error> {
    let sql =
        "SELECT consumer, actor, reason, at FROM karwan.paused_key WHERE tenant_id = $1 AND key = $2 ORDER BY consumer";
    let rows = desk.rows(sql, values![tenant, key]).await?;
    let pause = |row: &super::desk::Row| Pause {
        consumer: row.text(0),
        actor: row.text(1),
        reason: row.text(2),
        at: row.int(3),
    };
    Ok(rows.iter().map(pause).filter(|pause| consumer.is_none_or(|consumer| pause.consumer == consumer)).collect())
}
