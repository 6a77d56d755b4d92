//! One row of the log, for people and for programs. Always one line.

use clap::ValueEnum;
use karwan_envelope::time::Timestamp;
use karwan_store::log::LogRow;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::tenant;

/// How rows are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Number, time, tenant, subject, key, event
    Human,
    /// An object a line, with the whole envelope
    Json,
}

/// A row for programs; these names are stable.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    seq: i64,
    at: String,
    tenant: String,
    subject: &'a str,
    key: &'a str,
    slot: u16,
    event: String,
    envelope: Stored<'a>,
}

/// What is JSON is printed as such, number by number as it was stored; anything else as a text.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Stored<'a> {
    Json(Box<RawValue>),
    Text(&'a str),
}

/// A row as a line, with its end.
pub fn line(row: &LogRow, format: Format) -> serde_json::Result<String> {
    let at = Timestamp::from_unix_ms(row.at).to_string();
    let tenant = tenant::shown(row.tenant);
    match format {
        Format::Human => {
            Ok(format!("{:>8}  {at}  {tenant}  {}  {}  {}\n", row.seq, row.subject, plain(&row.key), row.event))
        }
        Format::Json => {
            let line = Line {
                seq: row.seq,
                at,
                tenant,
                subject: &row.subject,
                key: &row.key,
                slot: row.slot,
                event: row.event.to_string(),
                envelope: stored(&row.envelope),
            };
            Ok(serde_json::to_string(&line)? + "\n")
        }
    }
}

/// In JSON a line break is only ever white space, so that a space means the same.
pub fn stored(envelope: &str) -> Stored<'_> {
    let one_line = envelope.replace(['\n', '\r'], " ");
    RawValue::from_string(one_line).map_or(Stored::Text(envelope), Stored::Json)
}

/// A key is anybody's text: what would steer a terminal is printed as an escape.
pub fn plain(text: &str) -> String {
    let escaped = |char: char| match char.is_control() {
        true => char.escape_default().to_string(),
        false => char.to_string(),
    };
    text.chars().map(escaped).collect()
}
