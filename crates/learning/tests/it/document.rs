//! The rows of the document's catalogue, as extracted.

use crate::typescript::{Field, parse_interface};

/// One row of `catalog_learning.tsv`.
pub struct Documented {
    pub subject: &'static str,
    pub owner: &'static str,
    pub payload: Vec<Field>,
    pub saga_only: bool,
    pub retention: &'static str,
    pub kind: &'static str,
}

pub fn rows() -> Vec<Documented> {
    let mut lines = include_str!("catalog_learning.tsv").lines();
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let place = |name| header.iter().position(|column| *column == name).unwrap();
    let places = ["subject", "owner", "payload_ts", "status", "retention_s2", "kind_s7"].map(place);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [subject, owner, payload, status, retention, kind] = places.map(|place| cells[place]);
            Documented {
                subject,
                owner,
                payload: parse_interface(payload),
                saga_only: status == "saga-only",
                retention,
                kind,
            }
        })
        .collect()
}
