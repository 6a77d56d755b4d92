//! Instants as people write them.

use std::str::FromStr;

use karwan_envelope::time::{Clock as _, SystemClock, Timestamp};

/// An instant, or how long ago it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instant {
    /// Milliseconds after 1970.
    At(i64),
    /// So many milliseconds before now.
    Ago(i64),
}

/// How an instant is written; said where one is not.
const FORMS: &str = "an instant is 2026-04-22T10:00:00Z, or how long ago: 90s, 15m, 2h, 7d";

impl FromStr for Instant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at.unix_ms()));
        }
        let unit = text.chars().last().ok_or(FORMS)?;
        let unit_ms = match unit {
            's' => 1_000,
            'm' => 60_000,
            'h' => 3_600_000,
            'd' => 86_400_000,
            _ => return Err(FORMS.to_owned()),
        };
        let count: u32 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| FORMS)?;
        Ok(Self::Ago(i64::from(count) * unit_ms))
    }
}

impl Instant {
    /// Milliseconds after 1970, by this machine's clock.
    pub fn unix_ms(self) -> i64 {
        match self {
            Self::At(ms) => ms,
            Self::Ago(ms) => SystemClock.now().unix_ms() - ms,
        }
    }
}

/// An instant for people.
pub fn shown(ms: i64) -> String {
    Timestamp::from_unix_ms(ms).to_string()
}

/// When something is tried next, for people. What an operator sends is due since ever: an instant of 1970 says nothing.
pub fn due(ms: i64) -> String {
    if ms > 0 { shown(ms) } else { "now".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::Instant;

    #[test]
    fn instants_are_written_in_two_ways() {
        assert_eq!("1970-01-01T00:00:02Z".parse(), Ok(Instant::At(2_000)));
        for (text, ms) in [("90s", 90_000), ("15m", 900_000), ("2h", 7_200_000), ("7d", 604_800_000)] {
            assert_eq!(text.parse(), Ok(Instant::Ago(ms)), "{text}");
        }
        for wrong in ["", "d", "7", "7w", "-1d", "1970-01-01", "7é"] {
            assert!(wrong.parse::<Instant>().is_err(), "{wrong}");
        }
    }
}
