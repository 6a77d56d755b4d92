//! What `karwan bench growth` tells.

use std::fmt;

use karwan_store::report::TableSize;
use serde::Serialize;

use super::drain::Drained;

/// The most memory that a process may need.
const RESIDENT_MIB_MAX: f64 = 150.0;

/// See the module; these names are stable.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// How the process that drained published: `durable` or `pipelined`.
    mode: &'static str,
    events: u64,
    /// Events a second of the last tenth, when the log is published again.
    rate: f64,
    /// What the first tenth's would have become, had it changed as the client library's own did.
    base: f64,
    /// One against the other.
    ratio: f64,
    /// Dead rows of the log at the end.
    log_dead: i64,
    /// Bytes of log, intents and claims an event: of what the last round brought against what the first did.
    bytes_ratio: f64,
    drain: Drain,
    /// The most memory of the process that drained, in MiB.
    resident_mib: Option<f64>,
    rounds: Vec<Round>,
}

/// How fast the log is published again.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drain {
    /// Events a second.
    rate: f64,
    /// Of the first tenth.
    first: f64,
    /// Of the last tenth.
    last: f64,
    /// Last against first.
    held: f64,
    /// The same of the client library alone.
    base_held: f64,
    /// One against the other.
    ratio: f64,
}

/// One round of growth.
#[derive(Serialize)]
pub struct Round {
    pub round: u64,
    /// Committed and published, events a second.
    pub rate: f64,
    pub tables: Vec<Table>,
}

/// A table after a round.
#[derive(Serialize)]
pub struct Table {
    table: String,
    /// As the statistics have them: sessions that report late count twice.
    rows: i64,
    dead: i64,
    bytes: i64,
}

impl From<TableSize> for Table {
    fn from(TableSize { table, rows, dead, bytes }: TableSize) -> Self {
        Self { table, rows, dead, bytes }
    }
}

impl Round {
    fn of(&self, table: &str) -> Option<&Table> {
        self.tables.iter().find(|it| it.table == table)
    }

    fn bytes(&self) -> i64 {
        ["log", "intent", "inbox"].into_iter().filter_map(|table| self.of(table)).map(|table| table.bytes).sum()
    }
}

impl Drain {
    /// From the rates of first and last tenth, and those of the base.
    pub fn of(events: u64, seconds: &[f64], (first, last): (f64, f64), base: (f64, f64)) -> Self {
        let (held, base_held) = (last / first, base.1 / base.0);
        let rate = events as f64 / seconds.last().copied().unwrap_or(f64::INFINITY);
        Self { rate, first, last, held, base_held, ratio: held / base_held }
    }
}

impl Figures {
    pub fn of(events: u64, rounds: Vec<Round>, drain: Drain, drained: &Drained) -> Self {
        let brought = |round: usize| {
            let before = round.checked_sub(1).map_or(0, |before| rounds[before].bytes());
            (rounds[round].bytes() - before) as f64
        };
        // The first has what an empty table begins with.
        let bytes_ratio = if rounds.len() > 2 { brought(rounds.len() - 1) / brought(1) } else { 1.0 };
        let log_dead = rounds.last().and_then(|round| round.of("log")).map_or(0, |log| log.dead);
        let (rate, base, ratio) = (drain.last, drain.first * drain.base_held, drain.ratio);
        let resident_mib = drained.resident_bytes_max.map(|bytes| bytes as f64 / 1_048_576.0);
        let mode = if drained.durable { "durable" } else { "pipelined" };
        Self { mode, events, rate, base, ratio, log_dead, bytes_ratio, drain, resident_mib, rounds }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, events, log_dead, bytes_ratio, drain, resident_mib, rounds, .. } = self;
        writeln!(f, "{mode}, {events} events, {} rounds with producers and a relay at work", rounds.len())?;
        for Round { round, rate, tables } in rounds {
            let dead: i64 = tables.iter().map(|table| table.dead).sum();
            writeln!(f, "round {round}: {rate:.0} a second; {dead} dead rows in all tables")?;
        }
        writeln!(f, "dead rows in the log: {log_dead} (none)")?;
        writeln!(f, "bytes an event, last round to second: {bytes_ratio:.2} (about 1)")?;
        let Drain { rate, first, last, held, base_held, ratio } = drain;
        writeln!(f, "published again: {rate:.0} a second; {first:.0} in the first tenth, {last:.0} in the last")?;
        writeln!(f, "last to first: {held:.2}, of the client library alone {base_held:.2}")?;
        writeln!(f, "ratio: {ratio:.2} (at least 0.85, aim 0.95)")?;
        match resident_mib {
            Some(mib) => {
                writeln!(f, "memory of the process that published: {mib:.0} MiB (at most {RESIDENT_MIB_MAX:.0})")
            }
            None => writeln!(f, "memory of the process that published: not told by this system"),
        }
    }
}
