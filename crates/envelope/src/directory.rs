//! What codecs and validators ask about a subject: its row, its schema's address, its retention.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use crate::printer::Printer;
use crate::profile::Retention;
use crate::row::Row;
use crate::subject::Parts;
use crate::text::{Ascii, text_form};

/// Where a schema lives and which content it has: `schemas://<service>/<aggregate>/<verb>/v<n>#sha256-<hex>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchemaUri {
    /// `<service>/<aggregate>/<verb>/v<n>`.
    pub path: String,
    /// SHA-256 over the schema's canonical JSON.
    pub hash: Hash,
}

/// A SHA-256 digest, printed in lower-case hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

/// Why a text is not a schema URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a schema URI: schemas://<service>/<aggregate>/<verb>/v<n>#sha256-<64 hex digits>")]
pub struct BadSchemaUri(String);

impl Hash {
    /// Its digits, on the stack.
    fn text(&self) -> Ascii<64> {
        let (high, low) = self.0.split_at(16);
        let number = |half: &[u8]| half.iter().fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
        let mut text = Ascii::new();
        text.hex(number(high), 32).hex(number(low), 32);
        text
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl FromStr for Hash {
    type Err = BadSchemaUri;

    fn from_str(text: &str) -> Result<Self, BadSchemaUri> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut hash = [0; 32];
        let digits = text.as_bytes();
        let whole = digits.len() == 64
            && hash.iter_mut().zip(digits.chunks(2)).all(|(byte, pair)| {
                match (digit(pair[0]), digit(pair[1])) {
                    (Some(high), Some(low)) => *byte = high << 4 | low,
                    _ => return false,
                }
                true
            });
        whole.then_some(Self(hash)).ok_or_else(|| BadSchemaUri(text.chars().take(100).collect()))
    }
}

impl SchemaUri {
    /// Appends its text as a JSON string.
    pub(crate) fn print(&self, printer: &mut Printer) {
        printer.string(&["schemas://", &self.path, "#sha256-", self.hash.text().as_str()]);
    }
}

impl fmt::Display for SchemaUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schemas://{}#sha256-{}", self.path, self.hash)
    }
}

impl FromStr for SchemaUri {
    type Err = BadSchemaUri;

    fn from_str(text: &str) -> Result<Self, BadSchemaUri> {
        let bad = || BadSchemaUri(text.chars().take(300).collect());
        let rest = text.strip_prefix("schemas://").ok_or_else(bad)?;
        let (path, hash) = rest.split_once("#sha256-").ok_or_else(bad)?;
        let segment = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.'))
        };
        if path.len() > 300 || !path.split('/').all(segment) {
            return Err(bad());
        }
        Ok(Self { path: path.to_owned(), hash: hash.parse().map_err(|_| bad())? })
    }
}

text_form!(SchemaUri, { "type": "string", "pattern": "^schemas://[a-z0-9_./]+#sha256-[0-9a-f]{64}$" });
text_form!(Hash, { "type": "string", "pattern": "^[0-9a-f]{64}$" });

/// One subject as codecs and validators see it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The catalogue's row.
    pub row: Row,
    /// The subject taken apart.
    pub parts: Parts,
    /// The address of its current schema.
    pub schema: SchemaUri,
    /// How long it is kept.
    pub retention: Retention,
}

/// A platform's subjects by every spelling.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    /// The versions of every type whose canonical name says one.
    by_type: HashMap<String, Vec<usize>>,
}

impl Directory {
    /// A directory of these entries; a spelling that stands twice keeps its first meaning (the gates refuse it).
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut by_name = HashMap::new();
        let mut by_type: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            for name in std::iter::once(&entry.row.subject).chain(&entry.row.aliases) {
                by_name.entry(name.clone()).or_insert(index);
            }
        }
        for (index, Entry { parts, .. }) in entries.iter().enumerate() {
            let is_first = by_name.get(parts.subject.as_str()) == Some(&index);
            if is_first && parts.subject.is_versioned() {
                by_type.entry(parts.subject.event_type().to_owned()).or_default().push(index);
            }
        }
        Self { entries, by_name, by_type }
    }

    /// The entry with this canonical name or alias.
    pub fn resolve(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|index| &self.entries[*index])
    }

    /// The entry whose canonical name is this type in this version.
    pub fn canonical(&self, event_type: &str, version: u32) -> Option<&Entry> {
        let indexes = self.by_type.get(event_type)?;
        indexes.iter().map(|index| &self.entries[*index]).find(|entry| entry.parts.subject.version() == version)
    }

    /// All entries, in catalogue order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}
