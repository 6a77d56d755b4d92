//! What a store tells people about itself.

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

impl ConsumerReport {
    /// Adds a lane to the report of its consumer; lanes come sorted by consumer.
    pub(crate) fn add(reports: &mut Vec<Self>, consumer: String, lane: LaneReport) {
        match reports.last_mut().filter(|report| report.consumer == consumer) {
            Some(report) => report.lanes.push(lane),
            None => reports.push(Self { consumer, lanes: vec![lane], ..Self::default() }),
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
