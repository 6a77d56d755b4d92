//! The log as its readers see it: rows in order, positions, filters.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use karwan_envelope::ids::EventId;

use crate::write_set::TenantBits;

/// A row's number in the log. Numbers grow; some are missing for good, because their transaction was rolled back.
pub type Seq = i64;

/// The most rows of one page.
pub const PAGE_MAX: usize = 1000;
/// How long a transaction may hold readers back before maintenance ends its session.
pub const LOG_HOLD_MS_MAX: i64 = 60_000;

/// A place in one incarnation of a store. A restored store is another incarnation: its numbers mean other events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Which life of the store.
    pub incarnation: i64,
    /// The last row that lies behind.
    pub seq: Seq,
}

/// Why a text is not a position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a position such as 1-42")]
pub struct BadPosition(String);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.incarnation, self.seq)
    }
}

impl FromStr for Position {
    type Err = BadPosition;

    fn from_str(text: &str) -> Result<Self, BadPosition> {
        let number = |part: &str| part.parse().ok().filter(|number: &i64| *number >= 0 && part == number.to_string());
        let parts = text.split_once('-').and_then(|(life, seq)| Some((number(life)?, number(seq)?)));
        let (incarnation, seq) = parts.ok_or_else(|| BadPosition(text.chars().take(64).collect()))?;
        Ok(Self { incarnation, seq })
    }
}

/// A committed event, as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// Its number.
    pub seq: Seq,
    /// Whose; 0 is the platform.
    pub tenant: TenantBits,
    /// The canonical subject.
    pub subject: String,
    /// The aggregate's id.
    pub key: String,
    /// The key's slot.
    pub slot: u16,
    /// The event.
    pub event: EventId,
    /// When the store took it in, milliseconds after 1970, by the store's clock.
    pub at: i64,
    /// The stored text, byte for byte as it was built.
    pub envelope: String,
}

/// Which rows a reader wants. Rows that it does not want still move its position.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Subjects: a name, or one with `*` for a segment and `>` for all the rest.
    pub subject: Option<SubjectPattern>,
    /// One tenant.
    pub tenant: Option<TenantBits>,
    /// One key.
    pub key: Option<String>,
    /// Not these tenants.
    pub except: Vec<TenantBits>,
    /// Rows of other subjects come without their envelopes, which are most of what is read.
    pub envelopes_of: Option<Wanted>,
}

/// Subjects that somebody handles.
pub type Wanted = Arc<[Cow<'static, str>]>;

/// Rows of one tenant after a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// The tenant.
    pub tenant: TenantBits,
    /// The number.
    pub after: Seq,
}

/// What is read of several tenants in one look.
#[derive(Debug, Clone)]
pub struct Apart {
    /// Whose rows, and from where on.
    pub behind: Vec<Behind>,
    /// Up to this number.
    pub until: Seq,
    /// No more rows than these of each.
    pub limit: usize,
    /// See [`Filter::envelopes_of`].
    pub envelopes_of: Option<Wanted>,
}

/// A pattern over subjects: segments, `*` for any one, `>` at the end for one or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectPattern(String);

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a pattern over subjects: dotted segments, * for any one, > at the end for all the rest")]
pub struct BadPattern(String);

impl FromStr for SubjectPattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        let segments: Vec<&str> = text.split('.').collect();
        let good = |(place, segment): (usize, &&str)| match *segment {
            "*" => true,
            ">" => place + 1 == segments.len(),
            word => !word.is_empty() && word.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_'),
        };
        if text.len() <= 200 && segments.iter().enumerate().all(good) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadPattern(text.chars().take(200).collect()))
        }
    }
}

impl fmt::Display for SubjectPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SubjectPattern {
    /// Whether a subject fits.
    pub fn matches(&self, subject: &str) -> bool {
        let (mut wanted, mut given) = (self.0.split('.'), subject.split('.'));
        loop {
            match (wanted.next(), given.next()) {
                (Some(">"), Some(_)) | (None, None) => return true,
                (Some("*"), Some(_)) => {}
                (Some(word), Some(segment)) if word == segment => {}
                _ => return false,
            }
        }
    }
}

/// Rows in order, and where they end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The rows that the filter wants.
    pub rows: Vec<LogRow>,
    /// Where the next page starts: every row up to here was looked at.
    pub position: Position,
    /// Whether more is known to be there.
    pub more: bool,
}

/// A transaction that has appended and not ended: readers wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// How it is called: a process id, a prepared transaction's name, or this process.
    pub who: String,
    /// What it does, as far as the database tells.
    pub what: String,
    /// For how long its transaction has been open, in milliseconds; none where this login is not told.
    pub held_ms: Option<i64>,
}

impl Holder {
    /// For how long, in words.
    pub fn held(&self) -> String {
        self.held_ms.map_or_else(|| "a time that this login is not told".to_owned(), |ms| format!("{ms} ms"))
    }
}
