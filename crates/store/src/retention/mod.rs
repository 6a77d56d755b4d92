//! What a store drops and forgets, and who holds it back.
//!
//! Invariants: rows go only below every saved position, in whole stretches, after the hook has finished with them, in one
//! transaction with the recorded floor; claims, and effects that were performed, stay as long as a consumer may still read
//! their rows again. Parked and dead events carry their envelopes and hold nothing.
//!
//! Not here: the archive, which is one more hook.

mod export;

use karwan_envelope::time::Timestamp;

pub use export::Export;

use crate::error::Error;
use crate::lanes::Lanes;
use crate::log::{Filter, Position, Seq};
use crate::operator::{Operator, Verb, Who};
use crate::relay::RelayTx;
use crate::report::ConsumerReport;
use crate::store::Store;

/// Claims and intents are kept for at least so many days.
pub const DAYS_MIN: u32 = 30;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was logged within so many milliseconds, and handled, is known by its claim. An hour less than claims are kept at least: for
/// clocks that differ, and for the time that reading takes.
pub const REMEMBERED_MS: i64 = DAYS_MIN as i64 * DAY_MS - 60 * 60 * 1000;

/// How many days everything is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// Rows of the log.
    pub log: u32,
    /// Who has handled what; at least [`DAYS_MIN`].
    pub claims: u32,
    /// Business intents and ids of commands; at least [`DAYS_MIN`].
    pub intents: u32,
    /// Events that were given up or taken aside, why they failed, how they were repaired, and selections of them.
    pub letters: u32,
    /// Calls to the outside that were made; an id that is kept is never called again.
    pub effects: u32,
    /// What operators did.
    pub actions: u32,
}

impl Default for Days {
    fn default() -> Self {
        Self { log: 30, claims: DAYS_MIN, intents: DAYS_MIN, letters: 90, effects: 90, actions: 7 * 366 }
    }
}

/// What is forgotten by its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Business intents.
    Intents,
    /// Ids of commands.
    Units,
    /// Who has handled what.
    Claims,
    /// Events that were given up.
    Dead,
    /// Events that an operator took aside.
    Aside,
    /// Why attempts failed.
    Attempts,
    /// Envelopes as they were before a repair.
    Repairs,
    /// Letters that were chosen for an action on many.
    Selections,
    /// Calls to the outside that were made.
    Effects,
    /// What operators did.
    Actions,
}

impl What {
    /// All of it, in the order in which it goes.
    pub const ALL: [Self; 10] = [
        Self::Intents,
        Self::Units,
        Self::Claims,
        Self::Dead,
        Self::Aside,
        Self::Attempts,
        Self::Repairs,
        Self::Selections,
        Self::Effects,
        Self::Actions,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intents => "intents",
            Self::Units => "units",
            Self::Claims => "claims",
            Self::Dead => "dead letters",
            Self::Aside => "letters taken aside",
            Self::Attempts => "attempts",
            Self::Repairs => "envelopes before repairs",
            Self::Selections => "selections",
            Self::Effects => "effects done",
            Self::Actions => "actions",
        }
    }

    const fn days(self, days: &Days) -> u32 {
        match self {
            Self::Intents | Self::Units => days.intents,
            Self::Claims => days.claims,
            Self::Dead | Self::Aside | Self::Attempts | Self::Repairs | Self::Selections => days.letters,
            Self::Effects => days.effects,
            Self::Actions => days.actions,
        }
    }

    /// Whether a consumer that reads old rows again needs it.
    const fn guards_rows(self) -> bool {
        matches!(self, Self::Claims | Self::Effects | Self::Intents)
    }
}

/// Rows of the log, after one number and up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The number before the first.
    pub after: Seq,
    /// The last.
    pub up_to: Seq,
}

/// Who still needs rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// A consumer, or a relay.
    pub consumer: String,
    /// It has finished everything up to here.
    pub position: Seq,
    /// The stretch that it holds: the one that the next row lies in.
    pub stretch: Stretch,
    /// How long the next row has been there, in milliseconds.
    pub waits_ms: i64,
    /// Who runs it; nobody where it holds the log for nothing.
    pub run_by: Option<String>,
    /// When it was started last, milliseconds after 1970, where that is known.
    pub started: Option<i64>,
}

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The last row that was dropped.
    pub floor: Seq,
    /// The last row.
    pub end: Position,
    /// Rows up to here are old enough.
    pub old: Seq,
    /// Rows up to here can go: whole stretches, below every saved position.
    pub goes: Seq,
    /// Who needs rows that are old enough to go.
    pub holders: Vec<Holder>,
    /// What is forgotten besides, and how much of it.
    pub forgotten: Vec<(What, u64)>,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The recorded action.
    pub action: i64,
    /// Where the log began before.
    pub floor_before: Seq,
    /// And begins now.
    pub floor: Seq,
    /// What was forgotten besides, and how much of it.
    pub forgotten: Vec<(What, u64)>,
}

/// What must be finished with rows before they are dropped.
pub trait BeforeDrop: Send {
    /// Everything of the stretch is still there, and nobody appends to it. An error keeps it.
    fn before_drop(&mut self, stretch: Stretch, relay: &RelayTx) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Nothing is done before rows go.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nothing;

impl BeforeDrop for Nothing {
    async fn before_drop(&mut self, _: Stretch, _: &RelayTx) -> Result<(), Error> {
        Ok(())
    }
}

/// Who needs the rows behind a number, the furthest behind first. A store that is only looked at will do.
pub async fn holders(store: &crate::Observer) -> Result<Vec<Holder>, Error> {
    let (relay, consumers, declared) = (store.relay(), store.consumers().await?, store.declared().await?);
    let stretches = relay.stretches().await?;
    // Their positions are a stream's.
    let fed = |name: &str| declared.iter().any(|it| it.consumer == name && it.stream.is_some());
    let mut holders: Vec<Holder> = consumers
        .into_iter()
        .filter(|report| report.behind > 0 && !fed(&report.consumer))
        .map(|report| {
            let started = declared.iter().find(|it| it.consumer == report.consumer).map(|it| it.at);
            holder(&report, &stretches, started)
        })
        .collect();
    holders.sort_by_key(|holder| holder.position);
    Ok(holders)
}

fn holder(report: &ConsumerReport, stretches: &[Stretch], started: Option<i64>) -> Holder {
    let position = report.position();
    let holds = |stretch: &&Stretch| stretch.up_to > position;
    let stretch = stretches.iter().find(holds).copied().unwrap_or(Stretch { after: position, up_to: position + 1 });
    let run_by = report.run_by().map(str::to_owned);
    Holder { consumer: report.consumer.clone(), position, stretch, waits_ms: report.behind_ms, run_by, started }
}

impl Operator {
    /// What [`Self::retain`] would do now.
    pub async fn would_retain(&self, days: &Days) -> Result<Plan, Error> {
        let store = Store::observe(self.address()).await?;
        let relay = store.relay();
        let now = self.now();
        let old = relay.position_at(now - i64::from(days.log) * DAY_MS).await?.seq;
        let mut lanes = Lanes::open(self.address()).await?;
        let (floor, end) = (relay.start().await?.seq, relay.end().await?);
        let mut goes = floor;
        while let Some(next) = lanes.stretch(goes, old).await? {
            goes = next;
        }
        let mut forgotten = Vec::new();
        for what in What::ALL {
            let before = self.before(&relay, what, days).await?;
            forgotten.push((what, lanes.count(what, before).await?));
        }
        let holders = holders(&store).await?.into_iter().filter(|holder| holder.position < old).collect();
        Ok(Plan { floor, end, old, goes, holders, forgotten })
    }

    /// Drops rows that are old enough and that nobody needs, and forgets what is older than it is kept. `told` hears of each
    /// step: what, and how much of it is gone.
    pub async fn retain(
        &self,
        who: &Who,
        days: &Days,
        hook: &mut impl BeforeDrop,
        told: &(dyn Fn(&str, u64) + Send + Sync),
    ) -> Result<Ran, Error> {
        who.signed()?;
        let relay = Store::observe(self.address()).await?.relay();
        let mut lanes = Lanes::open(self.address()).await?;
        let old = relay.position_at(self.now() - i64::from(days.log) * DAY_MS).await?.seq;
        let floor_before = relay.start().await?.seq;
        let mut floor = floor_before;
        while let Some(up_to) = lanes.stretch(floor, old).await? {
            hook.before_drop(Stretch { after: floor, up_to }, &relay).await?;
            // Somebody may have been sent back meanwhile: then it stays.
            let Some(dropped) = lanes.drop_stretch(up_to).await? else { break };
            floor = dropped;
            told("rows", (floor - floor_before).unsigned_abs());
        }
        let mut forgotten = Vec::new();
        for what in What::ALL {
            let before = self.before(&relay, what, days).await?;
            if what == What::Claims {
                // First: whoever is sent back meanwhile must not find a hole.
                let up_to = relay.position_at(before).await?.seq;
                lanes.note_pruned(up_to).await?;
            }
            let gone = lanes.forget_old(what, before).await?;
            told(what.name(), gone);
            forgotten.push((what, gone));
        }
        let detail = serde_json::json!({ "floorBefore": floor_before, "floor": floor }).to_string();
        let action = lanes.record(who, (Verb::DropLog, &detail), self.now()).await?;
        Ok(Ran { action, floor_before, floor, forgotten })
    }

    /// What is older than this goes. What guards old rows stays as long as somebody may read them again.
    async fn before(&self, relay: &RelayTx, what: What, days: &Days) -> Result<i64, Error> {
        let least = if matches!(what, What::Claims | What::Intents | What::Units) { DAYS_MIN } else { 1 };
        let before = self.now() - i64::from(what.days(days).max(least)) * DAY_MS;
        if !what.guards_rows() {
            return Ok(before);
        }
        let Some(lowest) = relay.lowest_position().await? else { return Ok(before) };
        let start = relay.start().await?;
        let position = Position { seq: lowest.max(start.seq), ..start };
        let next = relay.page(position, &Filter::default(), 1).await?.rows.pop();
        Ok(next.map_or(before, |row| before.min(row.at)))
    }
}

/// A day for people: when something was logged.
pub fn day(ms: i64) -> String {
    Timestamp::from_unix_ms(ms).date().to_string()
}
