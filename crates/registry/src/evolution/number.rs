//! Numbers compared as JSON Schema compares them: by mathematical value, `1.0` being `1`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Number;

/// Integral values up to this magnitude are held exactly; past it a double has no fraction anyway.
const EXACT_INTEGER_MAX: f64 = 1e30;

/// A JSON number in one spelling.
#[derive(Clone, Copy, Debug)]
pub(super) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    pub(super) fn of(number: &Number) -> Self {
        if let Some(value) = number.as_i128() {
            return Self::Int(value);
        }
        Self::of_f64(number.as_f64().unwrap_or(f64::MAX))
    }

    fn of_f64(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() < EXACT_INTEGER_MAX {
            Self::Int(value as i128)
        } else {
            Self::Float(value)
        }
    }

    /// Whether no fraction is left.
    pub(super) fn is_integral(self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Float(value) => value.fract() == 0.0,
        }
    }

    pub(super) fn is_positive(self) -> bool {
        self.order(Self::Int(0)) == Ordering::Greater
    }

    pub(super) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(&right),
            (Self::Int(left), Self::Float(right)) => order_mixed(left, right),
            (Self::Float(left), Self::Int(right)) => order_mixed(right, left).reverse(),
        }
    }

    /// Whether every multiple of `self` is a multiple of `divisor`, both taken as the decimals they were written as;
    /// `None` where those are too long.
    pub(super) fn is_multiple_of(self, divisor: Self) -> Option<bool> {
        match (self, divisor) {
            (Self::Int(value), Self::Int(divisor)) if divisor != 0 => Some(value % divisor == 0),
            (left, right) if left.order(right) == Ordering::Equal => Some(true),
            (Self::Int(_) | Self::Float(_), Self::Int(_) | Self::Float(_)) => {
                let ((value, places), (divisor, divisor_places)) = (self.decimal()?, divisor.decimal()?);
                let scaled = |digits: i128, by: u32| digits.checked_mul(10_i128.checked_pow(by)?);
                let common = places.max(divisor_places);
                scaled(value, common - places)?
                    .checked_rem(scaled(divisor, common - divisor_places)?)
                    .map(|rest| rest == 0)
            }
        }
    }

    /// The digits without their point, and how many stand behind it. A double prints as the shortest decimal that reads
    /// back as itself, which is the one in the document.
    fn decimal(self) -> Option<(i128, u32)> {
        match self {
            Self::Int(value) => Some((value, 0)),
            Self::Float(value) => {
                let text = value.to_string();
                let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
                let digits = format!("{whole}{fraction}").parse().ok()?;
                Some((digits, u32::try_from(fraction.len()).ok()?))
            }
        }
    }

    /// The least integer not below (`up`) or the greatest not above this number.
    pub(super) fn rounded(self, up: bool) -> Self {
        match self {
            Self::Int(_) => self,
            Self::Float(value) if up => Self::of_f64(value.ceil()),
            Self::Float(value) => Self::of_f64(value.floor()),
        }
    }
}

/// Compares an integer with a double that has a fraction or lies beyond the exact range.
fn order_mixed(left: i128, right: f64) -> Ordering {
    if right.abs() >= EXACT_INTEGER_MAX {
        return if right > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    match left.cmp(&(right.floor() as i128)) {
        Ordering::Equal if right.fract() != 0.0 => Ordering::Less,
        ordering => ordering,
    }
}

impl PartialEq for Num {
    fn eq(&self, other: &Self) -> bool {
        self.order(*other) == Ordering::Equal
    }
}

impl fmt::Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
        }
    }
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) value: Num,
    pub(super) exclusive: bool,
}

impl Bound {
    /// Over the integers an exclusive or fractional bound has an inclusive spelling; both must compare equal.
    pub(super) fn over_integers(self, lower: bool) -> Self {
        let value = self.value.rounded(lower);
        match value {
            Num::Int(exact) if self.exclusive && self.value.is_integral() => {
                Self { value: Num::Int(if lower { exact + 1 } else { exact - 1 }), exclusive: false }
            }
            Num::Int(_) => Self { value, exclusive: false },
            Num::Float(_) => self,
        }
    }

    /// Whether `self` as a bound of the given end admits everything that `other` admits.
    pub(super) fn admits(self, other: Self, lower: bool) -> bool {
        let ordering = if lower { self.value.order(other.value) } else { other.value.order(self.value) };
        match ordering {
            Ordering::Less => true,
            Ordering::Equal => !self.exclusive || other.exclusive,
            Ordering::Greater => false,
        }
    }

    pub(super) fn admits_number(self, value: Num, lower: bool) -> bool {
        self.admits(Self { value, exclusive: false }, lower)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.value, if self.exclusive { " (exclusive)" } else { "" })
    }
}
