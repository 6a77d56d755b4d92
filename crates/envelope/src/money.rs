//! Money: whole micro-units as a string, with an ISO 4217 currency.
//!
//! Invariant: an amount never passes through a binary floating point number, here or in a reader that parses JSON
//! numbers as doubles; hence the string.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::text_form;

/// An amount in millionths of the currency's unit: `"12500000"` is 12.50.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(i128);

/// The most digits an amount has, so that every amount fits a 128-bit integer.
pub const MICROS_DIGITS_MAX: usize = 38;

impl Micros {
    /// That many millionths.
    pub const fn new(micros: i128) -> Self {
        Self(micros)
    }

    /// The number of millionths.
    pub const fn get(self) -> i128 {
        self.0
    }
}

/// Why a text is not an amount or a currency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct BadMoney {
    text: String,
    expected: &'static str,
}

impl BadMoney {
    fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.chars().take(64).collect(), expected }
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Micros {
    type Err = BadMoney;

    fn from_str(text: &str) -> Result<Self, BadMoney> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let canonical = (1..=MICROS_DIGITS_MAX).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (!digits.starts_with('0') || text == "0");
        canonical
            .then(|| text.parse().ok())
            .flatten()
            .map(Self)
            .ok_or_else(|| BadMoney::new(text, "a whole number of micro-units, written as a string of digits"))
    }
}

text_form!(Micros, { "type": "string", "pattern": "^(0|-?[1-9][0-9]{0,37})$" });

/// An ISO 4217 currency code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// The three letters.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("three ASCII capitals")
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Currency {
    type Err = BadMoney;

    fn from_str(text: &str) -> Result<Self, BadMoney> {
        <[u8; 3]>::try_from(text.as_bytes())
            .ok()
            .filter(|code| code.iter().all(u8::is_ascii_uppercase))
            .map(Self)
            .ok_or_else(|| BadMoney::new(text, "an ISO 4217 currency code such as AFN"))
    }
}

text_form!(Currency, { "type": "string", "pattern": "^[A-Z]{3}$" });

/// An amount with its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Money {
    /// The amount in micro-units.
    pub amount_micro: Micros,
    /// Its currency.
    pub currency: Currency,
}
