//! One spelling for a type on every wire: its `Display` and `FromStr`.

use std::fmt;

/// A short ASCII text on the stack. Ids and times are printed for every event, several times; going through it, each is
/// one write instead of one per part.
pub(crate) struct Ascii<const BYTES: usize> {
    bytes: [u8; BYTES],
    length: usize,
}

impl<const BYTES: usize> fmt::Display for Ascii<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const BYTES: usize> Ascii<BYTES> {
    pub const fn new() -> Self {
        Self { bytes: [0; BYTES], length: 0 }
    }

    /// Appends a text; the caller's bound makes it fit.
    pub fn push(&mut self, text: &str) -> &mut Self {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text.as_bytes());
        self.length += text.len();
        self
    }

    /// Appends digits of another alphabet, most significant first: `shift` bits each.
    pub fn digits(&mut self, number: u128, count: usize, shift: usize, alphabet: &[u8]) -> &mut Self {
        // Shifting 128 bits for each digit is slow; as many digits as fit into 64 bits are taken out at once.
        let at_once = 64 / shift;
        let mut rest = number;
        for run in self.bytes[self.length..self.length + count].rchunks_mut(at_once) {
            let mut digits = rest as u64;
            for byte in run.iter_mut().rev() {
                *byte = alphabet[digits as usize & ((1 << shift) - 1)];
                digits >>= shift;
            }
            rest >>= shift * at_once;
        }
        self.length += count;
        self
    }

    /// Appends a number in decimal, with at least this many digits.
    pub fn decimal(&mut self, number: u64, digits: usize) -> &mut Self {
        let width = digits.max(number.checked_ilog10().unwrap_or(0) as usize + 1);
        let mut rest = number;
        for place in (0..width).rev() {
            self.bytes[self.length + place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length += width;
        self
    }

    /// Appends a number's lowest hexadecimal digits.
    pub fn hex(&mut self, number: u128, digits: usize) -> &mut Self {
        self.digits(number, digits, 4, b"0123456789abcdef")
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("only ASCII was appended")
    }
}

/// Gives a type with `Display` and `FromStr` its JSON form, a string, and the schema of that string.
macro_rules! text_form {
    ($type:ident, $schema:tt) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(crate) use text_form;
