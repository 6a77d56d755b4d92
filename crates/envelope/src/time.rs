//! Time: an instant that remembers how it was written, and the clock that is passed in.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::text::{Ascii, text_form};

/// An RFC 3339 instant. Equality and order are those of the instant; the number of fraction digits and the offset are
/// kept only so that printing gives back the text that was read.
#[derive(Clone, Copy)]
pub struct Timestamp {
    secs: i64,
    nanos: u32,
    digits: u8,
    offset_minutes: i16,
}

/// Why a text is not a timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an RFC 3339 timestamp such as 2026-05-01T14:00:00Z")]
pub struct BadTimestamp {
    text: String,
}

impl Timestamp {
    /// The instant that many milliseconds after 1970, printed with three fraction digits in UTC.
    pub const fn from_unix_ms(ms: i64) -> Self {
        Self { secs: ms.div_euclid(1000), nanos: ms.rem_euclid(1000) as u32 * 1_000_000, digits: 3, offset_minutes: 0 }
    }

    /// Its day in UTC.
    pub const fn date(self) -> Date {
        Date { days: self.secs.div_euclid(86_400) as i32 }
    }

    /// Milliseconds after 1970, rounded down.
    pub const fn unix_ms(self) -> i64 {
        self.secs.saturating_mul(1000).saturating_add((self.nanos / 1_000_000) as i64)
    }

    /// This instant and that many milliseconds more, printed with at least the fraction digits that it has.
    pub const fn plus_ms(self, ms: i64) -> Self {
        let moved = Self::from_unix_ms(self.unix_ms().saturating_add(ms));
        let digits = if self.digits > moved.digits { self.digits } else { moved.digits };
        Self { nanos: moved.nanos + self.nanos % 1_000_000, digits, ..moved }
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        (self.secs, self.nanos) == (other.secs, other.nanos)
    }
}
impl Eq for Timestamp {}
impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.secs, self.nanos).cmp(&(other.secs, other.nanos))
    }
}
impl std::hash::Hash for Timestamp {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.secs, self.nanos).hash(state);
    }
}

impl Timestamp {
    /// Its text, on the stack.
    pub(crate) fn text(self) -> Ascii<48> {
        let local = self.secs + i64::from(self.offset_minutes) * 60;
        let (days, second) = (local.div_euclid(86_400), local.rem_euclid(86_400) as u64);
        let mut text = Ascii::<48>::new();
        push_date(&mut text, days);
        text.push("T")
            .decimal(second / 3600, 2)
            .push(":")
            .decimal(second / 60 % 60, 2)
            .push(":")
            .decimal(second % 60, 2);
        if self.digits > 0 {
            let fraction = self.nanos / 10_u32.pow(9 - u32::from(self.digits));
            text.push(".").decimal(fraction.into(), self.digits.into());
        }
        match self.offset_minutes {
            0 => text.push("Z"),
            offset => {
                let minutes = u64::from(offset.unsigned_abs());
                text.push(if offset < 0 { "-" } else { "+" });
                text.decimal(minutes / 60, 2).push(":").decimal(minutes % 60, 2)
            }
        };
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

/// A year before 0 cannot be read, and is printed only for instants that were computed.
fn push_date<const BYTES: usize>(text: &mut Ascii<BYTES>, days: i64) {
    let (year, month, day) = civil_from_days(days);
    if year < 0 {
        text.push("-");
    }
    text.decimal(year.unsigned_abs(), 4).push("-").decimal(month as u64, 2).push("-").decimal(day as u64, 2);
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    /// Strict: upper-case `T` and `Z`, at most nine fraction digits, no leap second, `Z` rather than `+00:00`.
    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        parse(text.as_bytes()).ok_or_else(|| BadTimestamp { text: text.chars().take(64).collect() })
    }
}

fn parse(text: &[u8]) -> Option<Timestamp> {
    let number = |from: usize, to: usize| -> Option<i64> {
        text.get(from..to)?
            .iter()
            .try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let mark = |place: usize, expected: u8| (*text.get(place)? == expected).then_some(());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    for (place, expected) in [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')] {
        mark(place, expected)?;
    }
    let days = days_from_civil(year, month, day)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut place = 19;
    let (mut nanos, mut digits) = (0, 0);
    if text.get(place) == Some(&b'.') {
        let count = text[place + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        nanos = number(place + 1, place + 1 + count)? as u32 * 10_u32.pow(9 - count as u32);
        digits = count as u8;
        place += 1 + count;
    }
    let offset_minutes = match text.get(place)? {
        b'Z' if text.len() == place + 1 => 0,
        sign @ (b'+' | b'-') if text.len() == place + 6 => {
            mark(place + 3, b':')?;
            let (hours, minutes) = (number(place + 1, place + 3)?, number(place + 4, place + 6)?);
            let offset = (hours * 60 + minutes) as i16;
            if hours > 23 || minutes > 59 || offset == 0 {
                return None;
            }
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    let local = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(Timestamp { secs: local - i64::from(offset_minutes) * 60, nanos, digits, offset_minutes })
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar; `None` for a day that does not exist.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=month_days).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

text_form!(Timestamp, { "type": "string", "format": "date-time" });

/// A calendar day, `2026-05-01`; a stay, a rate and an anchor are counted in days, not instants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    days: i32,
}

/// Why a text is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a calendar date such as 2026-05-01")]
pub struct BadDate {
    text: String,
}

impl Date {
    /// Days after 1970-01-01.
    pub const fn unix_days(self) -> i32 {
        self.days
    }

    /// The day that many days after 1970-01-01.
    pub const fn from_unix_days(days: i32) -> Self {
        Self { days }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Ascii::<24>::new();
        push_date(&mut text, self.days.into());
        f.write_str(text.as_str())
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Date {
    type Err = BadDate;

    fn from_str(text: &str) -> Result<Self, BadDate> {
        // The one calendar parser decides; the time of day is fixed.
        (text.len() == 10)
            .then(|| parse(format!("{text}T00:00:00Z").as_bytes()))
            .flatten()
            .map(|midnight| Self { days: (midnight.secs / 86_400) as i32 })
            .ok_or_else(|| BadDate { text: text.chars().take(64).collect() })
    }
}

text_form!(Date, { "type": "string", "format": "date" });

/// Where the time comes from. Passed in, so that 30 seconds and 7 years are tested in milliseconds.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine for the time")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let ms = since.map_or_else(|before| -(before.duration().as_millis() as i64), |after| after.as_millis() as i64);
        Timestamp::from_unix_ms(ms)
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    unix_ms: AtomicI64,
}

impl ManualClock {
    /// A clock that shows this instant.
    pub const fn at(now: Timestamp) -> Self {
        Self { unix_ms: AtomicI64::new(now.unix_ms()) }
    }

    /// Moves the clock; backwards too, as real clocks do.
    pub fn advance_ms(&self, ms: i64) {
        self.unix_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.unix_ms.load(Ordering::Relaxed))
    }
}
