//! `karwan log stats`.

use std::process::ExitCode;

use clap::ValueEnum;
use karwan_store::Store;
use karwan_store::report::{Stats, TableSize};
use serde_json::{Value, json};

use crate::exit::Outcome;
use crate::output::{self, Paint};
use crate::runtime;
use crate::settings::{Flags, Settings};

/// Count what is in the log: where it stands, rows by subject, positions of consumers
///
/// Examples:
///   karwan log stats --store sqlite:karwan.db
///   karwan log stats --store postgres://node@localhost/app --sizes --format json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Also the size of every table
    #[arg(long)]
    sizes: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Columns for people
    Table,
    /// One object
    Json,
}

pub fn run(args: &Args) -> Outcome {
    let address = Settings::load(&args.flags)?.store()?;
    runtime::block_on(async {
        let observer = Store::observe(&address).await?;
        let stats = observer.stats().await?;
        let sizes = if args.sizes { Some(observer.sizes().await?) } else { None };
        match args.format {
            Format::Json => output::json(&object(&stats, sizes.as_deref()))?,
            Format::Table => output::data(&tables(&stats, sizes.as_deref()))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// These names are stable.
fn object(stats: &Stats, sizes: Option<&[TableSize]>) -> Value {
    let mut object = json!({
        "end": stats.end.to_string(),
        "safe": stats.safe,
        "floor": stats.floor,
        "subjects": stats.subjects.iter().map(|(subject, rows)| json!({ "subject": subject, "rows": rows })).collect::<Vec<_>>(),
        "positions": stats.positions.iter().map(|(consumer, lane, position)| {
            json!({ "consumer": consumer, "lane": lane, "position": position })
        }).collect::<Vec<_>>(),
        "holders": stats.holders.iter().map(|holder| {
            json!({ "who": holder.who, "what": holder.what, "heldMs": holder.held_ms })
        }).collect::<Vec<_>>(),
    });
    if let Some(sizes) = sizes {
        object["sizes"] = sizes.iter().map(size_object).collect();
    }
    object
}

/// A table's size; these names are stable.
pub fn size_object(size: &TableSize) -> Value {
    json!({ "table": size.table, "rows": size.rows, "dead": size.dead, "bytes": size.bytes })
}

fn tables(stats: &Stats, sizes: Option<&[TableSize]>) -> String {
    let paint = Paint::stdout();
    let mut text = format!(
        "end    {}\nsafe   {}, so far it can be read now\nfloor  {}, the last dropped row\n",
        stats.end, stats.safe, stats.floor
    );
    let mut add = |header: &[&str], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            text.push_str(&format!("\n{}\n", output::table(header, &rows, paint)));
        }
    };
    let subjects = stats.subjects.iter().map(|(subject, rows)| vec![subject.clone(), rows.to_string()]);
    add(&["SUBJECT", "ROWS"], subjects.collect());
    let positions = stats
        .positions
        .iter()
        .map(|(consumer, lane, position)| vec![consumer.clone(), lane.to_string(), position.to_string()]);
    add(&["CONSUMER", "LANE", "POSITION"], positions.collect());
    let holders = stats.holders.iter().map(|holder| vec![holder.who.clone(), holder.held(), holder.what.clone()]);
    add(&["HOLDS READERS BACK", "FOR", "WHAT"], holders.collect());
    add(&["TABLE", "ROWS", "DEAD", "BYTES"], sizes.unwrap_or_default().iter().map(size_cells).collect());
    text
}

/// A table's size in columns.
pub fn size_cells(size: &TableSize) -> Vec<String> {
    vec![size.table.clone(), size.rows.to_string(), size.dead.to_string(), size.bytes.to_string()]
}
