//! House times: from a property's days and hours to instants.
//!
//! Bound: zones without summer time, which the platform's countries have. A property in another zone is refused when it is opened,
//! rather than let in an hour too early for half a year.

use karwan::envelope::time::{Date, Timestamp};

use crate::values::StayWindow;

/// Zones, and how many minutes they are ahead of UTC all year.
const ZONES: &[(&str, i64)] = &[
    ("UTC", 0),
    ("Asia/Kabul", 270),
    ("Asia/Karachi", 300),
    ("Asia/Tashkent", 300),
    ("Asia/Samarkand", 300),
    ("Asia/Dushanbe", 300),
    ("Asia/Ashgabat", 300),
    ("Asia/Tehran", 210),
    ("Asia/Dubai", 240),
    ("Asia/Qatar", 180),
    ("Asia/Riyadh", 180),
    ("Asia/Kolkata", 330),
    ("Europe/Istanbul", 180),
];

const DAY_MS: i64 = 86_400_000;
const MINUTE_MS: i64 = 60_000;

/// How many minutes a zone is ahead of UTC; none where it is not known.
pub fn offset_minutes(zone: &str) -> Option<i64> {
    ZONES.iter().find(|(name, _)| *name == zone).map(|(_, minutes)| *minutes)
}

/// The day of an instant in a zone; by UTC where the zone is not known.
pub fn day(at: Timestamp, zone: &str) -> Date {
    let minutes = offset_minutes(zone).unwrap_or_default();
    let days = (at.unix_ms() + minutes * MINUTE_MS).div_euclid(DAY_MS);
    Date::from_unix_days(i32::try_from(days).unwrap_or_default())
}

/// The window of a stay in a house; none where its zone or its hours are not known, or the stay ends before it begins.
pub fn window(zone: &str, hours: (&str, &str), check_in: Date, check_out: Date) -> Option<StayWindow> {
    let nights = u32::try_from(check_out.unix_days().checked_sub(check_in.unix_days())?).ok().filter(|it| *it > 0)?;
    let offset = offset_minutes(zone)?;
    let at = |day: Date, hour: &str| {
        let minutes = minutes_of_day(hour)? - offset;
        Some(Timestamp::from_unix_ms(i64::from(day.unix_days()) * DAY_MS + minutes * MINUTE_MS))
    };
    let (check_in_at, check_out_at) = (at(check_in, hours.0)?, at(check_out, hours.1)?);
    Some(StayWindow { check_in, check_out, nights, check_in_at, check_out_at })
}

/// `14:30` as minutes of the day.
fn minutes_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, below: i64| text.parse::<i64>().ok().filter(|it| (0..below).contains(it));
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}

#[cfg(test)]
mod tests {
    use super::window;

    #[test]
    fn a_stay_in_kabul_begins_and_ends_by_the_clock_of_kabul() {
        let day = |text: &str| text.parse().expect("a day");
        let stay = window("Asia/Kabul", ("14:00", "12:00"), day("2026-05-01"), day("2026-05-03")).expect("a window");
        assert_eq!(stay.nights, 2);
        assert_eq!(stay.check_in_at.to_string(), "2026-05-01T09:30:00.000Z");
        assert_eq!(stay.check_out_at.to_string(), "2026-05-03T07:30:00.000Z");
    }

    #[test]
    fn a_zone_with_summer_time_and_a_stay_that_ends_before_it_begins_have_no_window() {
        let day = |text: &str| text.parse().expect("a day");
        assert_eq!(window("Europe/Berlin", ("14:00", "12:00"), day("2026-05-01"), day("2026-05-03")), None);
        assert_eq!(window("UTC", ("14:00", "12:00"), day("2026-05-03"), day("2026-05-03")), None);
        assert_eq!(window("UTC", ("24:00", "12:00"), day("2026-05-01"), day("2026-05-03")), None);
    }
}
