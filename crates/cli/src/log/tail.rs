//! `karwan log tail`.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use karwan_store::Position;
use karwan_store::log::{Filter, LogRow, Seq, SubjectPattern};

use super::follow::Reader;
use super::row::{self, Format};
use crate::exit::{Failure, Outcome};
use crate::settings::{Flags, Settings};
use crate::tenant::TenantName;
use crate::{output, runtime};

/// Rows that `--last` looks at first; where too few of them are wanted, four times as many, and so on.
const WINDOW: Seq = 4_000;

/// Print the log in order, row by row; with --follow, go on as rows commit
///
/// Nothing is skipped: a row appears when every row before it is decided. Ctrl-C ends
/// following, with 0.
///
/// Examples:
///   karwan log tail --store sqlite:karwan.db --last 20
///   karwan log tail --store postgres://node@localhost/app --follow --format json
///   karwan log tail --subject 'melmastoon.payment.>' --tenant tnt_01J3K4M5N6P7Q8R9S0T1V2W3X4
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Go on as rows commit
    #[arg(long)]
    follow: bool,
    /// Only these subjects; * is any one segment, > at the end all the rest
    #[arg(long, value_name = "PATTERN")]
    subject: Option<SubjectPattern>,
    /// Only this tenant: tnt_…, a ULID, a UUID, or platform
    #[arg(long)]
    tenant: Option<TenantName>,
    /// Only this ordering key (the aggregate's id)
    #[arg(long)]
    key: Option<String>,
    /// Only rows after this position, such as 1-42, or 42 in the present life of the store
    #[arg(long, value_name = "POSITION", conflicts_with = "last")]
    from: Option<From>,
    /// Only the last so many rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    last: Option<u32>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

/// A position, or a number alone.
#[derive(Clone, Copy)]
enum From {
    Position(Position),
    Seq(Seq),
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seq = text.parse().ok().filter(|seq: &Seq| *seq >= 0);
        seq.map(Self::Seq).map_or_else(
            || text.parse().map(Self::Position).map_err(|bad: karwan_store::log::BadPosition| bad.to_string()),
            Ok,
        )
    }
}

pub fn run(args: &Args) -> Outcome {
    let settings = Settings::load(&args.flags)?;
    let (address, poll_ms) = (settings.store()?, settings.tail_poll_ms()?);
    let filter = Filter {
        subject: args.subject.clone(),
        tenant: args.tenant.map(|tenant| tenant.0),
        key: args.key.clone(),
        ..Filter::default()
    };
    runtime::block_on(async {
        let mut reader = Reader::open(address, filter).await?;
        match args.from {
            Some(From::Position(position)) => reader.position = position,
            Some(From::Seq(seq)) => reader.rewind(seq),
            None => {}
        }
        let end = reader.end().await?;
        // A position of another life, or beyond the end, is refused and not silently empty.
        check(&reader, end)?;
        if let Some(count) = args.last {
            print(last(&mut reader, end.seq, count as usize).await?, args.format)?;
        } else if !args.follow {
            reader.read_to(end.seq, |rows| print(rows, args.format)).await?;
        }
        if !args.follow {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::select! {
            ended = follow(&mut reader, poll_ms, args.format) => ended,
            _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
        }
    })
}

fn check(reader: &Reader, end: Position) -> Result<(), Failure> {
    let asked = reader.position;
    if asked.incarnation == end.incarnation && asked.seq <= end.seq {
        return Ok(());
    }
    Err(karwan_store::Error::Reset { asked, now: end }.into())
}

/// The last rows that the filter wants: a window at the end, and larger ones while it holds too few.
async fn last(reader: &mut Reader, end: Seq, count: usize) -> Result<VecDeque<LogRow>, Failure> {
    let start = reader.position.seq;
    let mut window = WINDOW;
    loop {
        let from = end.saturating_sub(window).max(start);
        reader.rewind(from);
        let mut kept = VecDeque::new();
        let keep = |rows: Vec<LogRow>| {
            kept.extend(rows);
            kept.drain(..kept.len().saturating_sub(count));
            Ok(())
        };
        reader.read_to(end, keep).await?;
        if kept.len() >= count || from == start {
            return Ok(kept);
        }
        window = window.saturating_mul(4);
    }
}

/// Prints rows as they commit, for ever. Looks often while rows come, and seldom when none do.
async fn follow(reader: &mut Reader, (min_ms, max_ms): (u64, u64), format: Format) -> Outcome {
    let mut wait_ms = min_ms;
    loop {
        let page = reader.next().await?;
        wait_ms = if page.moved { min_ms } else { (wait_ms * 2).min(max_ms) };
        print(page.rows, format)?;
        if !page.more {
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        }
    }
}

/// A page at once, so that a reader sees whole lines.
fn print(rows: impl IntoIterator<Item = LogRow>, format: Format) -> Result<(), Failure> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&row::line(&row, format).map_err(anyhow::Error::from)?);
    }
    if text.is_empty() { Ok(()) } else { Ok(output::data(&text)?) }
}
