//! What was measured, for people and for programs.

use std::fmt;

use karwan_store::report::TableSize;
use serde::Serialize;
use serde::ser::SerializeSeq as _;

use crate::bench::median;
use crate::output::{self, Paint};

/// All figures of a run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// What was measured on.
    pub store: String,
    /// The stored text of one event.
    pub event_bytes: usize,
    /// Pairs of measurement and base.
    pub pairs: u32,
    /// A measurement each.
    pub lines: Vec<Line>,
    /// Rounds, where they were asked for.
    pub rounds: Vec<Round>,
}

/// One measurement.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// What was done.
    pub name: &'static str,
    /// By how many at once: connections on Postgres, callers on SQLite.
    pub callers: usize,
    /// How many of them, each time.
    pub events: u32,
    /// A second.
    pub rate: f64,
    /// What it is compared with.
    pub base_name: &'static str,
    /// The base's rate; none where it was skipped.
    pub base: Option<f64>,
    /// The median of the pairs' ratios.
    pub ratio: Option<f64>,
    /// What is to be reached.
    pub aim: &'static str,
    /// Why there is no base.
    pub skipped: Option<String>,
}

impl Line {
    /// A line of pairs: rate and base.
    pub fn of(name: &'static str, callers: usize, events: u32, pairs: &[(f64, Option<f64>)]) -> Self {
        let bases: Vec<f64> = pairs.iter().filter_map(|(_, base)| *base).collect();
        let ratios = pairs.iter().filter_map(|(rate, base)| Some(rate / (*base)?));
        let (base, ratio) = match bases.is_empty() {
            true => (None, None),
            false => (Some(median(bases.into_iter())), Some(median(ratios))),
        };
        let rate = median(pairs.iter().map(|(rate, _)| *rate));
        Self { name, callers, events, rate, base_name: "", base, ratio, aim: "", skipped: None }
    }
}

/// One round.
#[derive(Serialize)]
pub struct Round {
    /// Events a second.
    pub rate: f64,
    /// Every table after it.
    #[serde(serialize_with = "sizes")]
    pub tables: Vec<TableSize>,
}

fn sizes<S: serde::Serializer>(tables: &[TableSize], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(tables.len()))?;
    for table in tables {
        list.serialize_element(&crate::log::size_object(table))?;
    }
    list.end()
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, events of {} bytes, median of {} pairs", self.store, self.event_bytes, self.pairs)?;
        if !self.lines.is_empty() {
            let header = ["WHAT", "AT ONCE", "PER SECOND", "BASE", "PER SECOND", "RATIO", "AIM"];
            let rows: Vec<Vec<String>> = self.lines.iter().map(cells).collect();
            writeln!(f, "{}", output::table(&header, &rows, Paint::stdout()))?;
        }
        for line in &self.lines {
            if let Some(reason) = &line.skipped {
                writeln!(f, "{}, {} callers: no base, {reason}", line.name, line.callers)?;
            }
        }
        for (place, round) in self.rounds.iter().enumerate() {
            writeln!(f, "round {}: {:.0} events a second", place + 1, round.rate)?;
            let rows: Vec<Vec<String>> = round.tables.iter().map(crate::log::size_cells).collect();
            writeln!(f, "{}", output::table(&["TABLE", "ROWS", "DEAD", "BYTES"], &rows, Paint::stdout()))?;
        }
        Ok(())
    }
}

fn cells(line: &Line) -> Vec<String> {
    let number = |number: Option<f64>, places: usize| number.map_or("-".to_owned(), |it| format!("{it:.places$}"));
    vec![
        line.name.to_owned(),
        line.callers.to_string(),
        number(Some(line.rate), 0),
        line.base_name.to_owned(),
        number(line.base, 0),
        number(line.ratio, 2),
        line.aim.to_owned(),
    ]
}
