//! Exchange rates, exact. No clock, no I/O.

use karwan::envelope::money::Currency;

/// How many digits a rate has before its point and behind it, at most; the schema of a quote says the same.
const DIGITS_MAX: usize = 12;

/// Units of one currency for one of another: a decimal, never nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    digits: i128,
    scale: i128,
}

impl Rate {
    /// Of a currency to itself.
    pub const ONE: Self = Self { digits: 1, scale: 1 };

    /// Reads a decimal such as `70.5`.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, places) = text.split_once('.').map_or((text, None), |(whole, places)| (whole, Some(places)));
        let is_number = |part: &str| (1..=DIGITS_MAX).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let is_led = whole.len() > 1 && whole.starts_with('0');
        if !is_number(whole) || is_led || !places.is_none_or(is_number) {
            return None;
        }
        let places = places.unwrap_or_default().trim_end_matches('0');
        let digits = format!("{whole}{places}").parse::<i128>().ok().filter(|digits| *digits > 0)?;
        Some(Self { digits, scale: 10_i128.checked_pow(u32::try_from(places.len()).ok()?)? })
    }
}

/// An amount of one currency in another, where both stand so to a third; rounded down. None where it is too large to be counted.
pub fn converted(amount: i128, from: Rate, to: Rate) -> Option<i128> {
    let over = amount.checked_mul(from.digits)?.checked_mul(to.scale)?;
    Some(over.div_euclid(from.scale.checked_mul(to.digits)?))
}

/// What a rate is kept under.
pub fn key(of: Currency, to: Currency) -> String {
    format!("{of}:{to}")
}

#[cfg(test)]
mod tests {
    use super::{Rate, converted};

    fn rate(text: &str) -> Rate {
        Rate::parse(text).expect("a rate")
    }

    #[test]
    fn an_amount_is_converted_exactly_and_what_is_over_is_dropped() {
        for (amount, from, to, expected) in [
            (100, "1", "1", 100),
            (7_050, "1", "70.5", 100),
            (7_049, "1", "70.5", 99),
            (100, "70.50", "1", 7_050),
            (100, "70.5", "75", 94),
            (1, "0.000000000001", "1", 0),
            (2_500_000_000, "1", "999999999999.999999999999", 0),
        ] {
            assert_eq!(converted(amount, rate(from), rate(to)), Some(expected), "{amount} at {from} to {to}");
        }
        assert_eq!(converted(i128::MAX, rate("2"), Rate::ONE), None, "too large to be counted");
    }

    #[test]
    fn a_rate_is_a_decimal_above_nothing() {
        for bad in
            ["", "0", "0.0", "-1", "+1", "1.", ".5", "01", "1,5", "1e3", "1.5.5", "1000000000000", "1.0000000000001"]
        {
            assert_eq!(Rate::parse(bad), None, "{bad}");
        }
        assert_eq!(rate("1.000"), Rate::ONE);
    }
}
