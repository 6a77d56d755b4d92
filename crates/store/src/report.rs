//! What a store tells people about itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::consumer::Suspension;
use crate::error::Error;
use crate::log::{Holder, Position, Seq};
use crate::store::Store;

/// Counts for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Where the log stands.
    pub end: Position,
    /// How far it can be read now.
    pub safe: Seq,
    /// The last dropped row.
    pub floor: Seq,
    /// Rows per subject, most first.
    pub subjects: Vec<(String, i64)>,
    /// Positions of consumers: consumer, lane, position.
    pub positions: Vec<(String, u16, Seq)>,
    /// Who holds the horizon back.
    pub holders: Vec<Holder>,
}

/// How far a consumer is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConsumerReport {
    /// Its name.
    pub consumer: String,
    /// Its lanes, in order.
    pub lanes: Vec<LaneReport>,
    /// Numbers of the log behind its lowest position.
    pub behind: i64,
    /// The age of the first row behind its lowest position, in milliseconds; 0 where there is none.
    pub behind_ms: i64,
    /// Events that wait parked.
    pub parked: i64,
    /// Events that were given up.
    pub dead: i64,
    /// Why it is suspended, and since when in milliseconds after 1970.
    pub suspended: Option<(String, i64)>,
}

/// How many rows of the log are looked at to count what waits for a consumer.
pub const LAG_ROWS_MAX: usize = 100_000;

/// What waits in the log for a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lag {
    /// It has never said which events it handles.
    Unknown,
    /// It is fed from this stream: the log says nothing of it.
    Stream(String),
    /// Events that it handles and that lie behind the positions of their lanes.
    Events {
        /// How many, of the next [`LAG_ROWS_MAX`] rows.
        count: i64,
        /// Whether there are rows after those.
        more: bool,
    },
}

/// How far one lane is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneReport {
    /// Which one.
    pub lane: u16,
    /// Everything up to here is finished.
    pub position: Seq,
    /// Who holds it.
    pub holder: Option<String>,
    /// How long its lease still lives, in milliseconds; negative where it has run out.
    pub lease_ms: Option<i64>,
}

impl LaneReport {
    /// Who works on it now: whoever took it, as long as its lease lives.
    pub fn run_by(&self) -> Option<&str> {
        self.holder.as_deref().filter(|_| self.lease_ms.is_some_and(|ms| ms > 0))
    }
}

impl ConsumerReport {
    /// Who works on one of its lanes now.
    pub fn run_by(&self) -> Option<&str> {
        self.lanes.iter().find_map(LaneReport::run_by)
    }
}

/// How the calls of a kind stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectReport {
    /// The kind; its lane is [`crate::effect::lane`].
    pub kind: String,
    /// Its lane; none where nobody has performed it yet.
    pub lane: Option<LaneReport>,
    /// Effects that are not done and not given up.
    pub open: i64,
    /// The age of the oldest of them, in milliseconds; 0 where there is none.
    pub open_ms: i64,
    /// Those of them that wait for a later instant.
    pub waiting: i64,
    /// Effects that were given up.
    pub dead: i64,
    /// Why one failed last: an open one, else one that was given up.
    pub error: Option<String>,
}

impl EffectReport {
    /// The name of its lane.
    pub fn name(&self) -> String {
        crate::effect::lane(&self.kind).consumer
    }

    /// The kinds that anybody performs or has recorded, each with its lane, by name.
    pub(crate) fn of(lanes: Vec<(String, LaneReport)>, kinds: Vec<String>) -> Vec<Self> {
        let kind = |consumer: &str| consumer.strip_prefix(crate::effect::LANES).unwrap_or(consumer).to_owned();
        let lanes: BTreeMap<String, LaneReport> =
            lanes.into_iter().map(|(consumer, lane)| (kind(&consumer), lane)).collect();
        let all: BTreeSet<String> = lanes.keys().cloned().chain(kinds).collect();
        let report = |kind: String| Self { lane: lanes.get(&kind).cloned(), kind, ..Self::default() };
        all.into_iter().map(report).collect()
    }
}

impl ConsumerReport {
    /// Adds a lane to the report of its consumer; lanes come sorted by consumer.
    pub(crate) fn add(reports: &mut Vec<Self>, consumer: String, lane: LaneReport) {
        match reports.last_mut().filter(|report| report.consumer == consumer) {
            Some(report) => report.lanes.push(lane),
            None => reports.push(Self { consumer, lanes: vec![lane], ..Self::default() }),
        }
    }

    /// Notes that a consumer is suspended.
    pub(crate) fn suspend(reports: &mut [Self], suspension: Suspension) {
        if let Some(report) = reports.iter_mut().find(|report| report.consumer == suspension.consumer) {
            report.suspended = Some((suspension.reason, suspension.at));
        }
    }

    /// Its lowest position.
    pub fn position(&self) -> Seq {
        self.lanes.iter().map(|lane| lane.position).min().unwrap_or_default()
    }
}

/// The size of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    /// Its name.
    pub table: String,
    /// Live rows, as far as the database knows.
    pub rows: i64,
    /// Dead rows.
    pub dead: i64,
    /// Bytes, indexes included.
    pub bytes: i64,
}

impl Store {
    /// Counts for people.
    pub async fn stats(&self) -> Result<Stats, Error> {
        self.shared.backend.stats().await
    }

    /// The size of every table.
    pub async fn sizes(&self) -> Result<Vec<TableSize>, Error> {
        self.shared.backend.sizes().await
    }

    /// Deletes intents and unit ids from before an instant, in chunks; answers how many went. Keep at least 30 days.
    pub async fn prune(&self, before_ms: i64) -> Result<u64, Error> {
        self.shared.backend.prune(before_ms).await
    }

    /// Drops whole stretches of the log up to a number, never past a saved position; answers the new floor.
    pub async fn drop_log(&self, up_to: Seq) -> Result<Seq, Error> {
        self.shared.backend.drop_log(up_to).await
    }
}
