//! A payload read in place: a flat list of slots over its text, so that validating an event builds no tree.
//!
//! Measured on a 1 KB event: a tree of values costs about half of build + validate + encode, most of it allocation.
//! Invariant: slots are in document order and a container's slot knows where its subtree ends, so skipping is one step.

mod node;

use karwan_envelope::json::plain_length;

pub use node::{InPlace, PayloadNode};

/// A JSON document and its slots.
#[derive(Debug)]
pub struct Payload<'t> {
    text: &'t str,
    slots: Vec<Slot>,
}

/// The deepest payload; deeper ones were refused when their envelope was read.
const DEPTH_MAX: usize = 128;

/// One value or one key.
#[derive(Debug, Clone, Copy)]
struct Slot {
    kind: Kind,
    /// Where its text begins and ends; of strings, between the quotes.
    start: u32,
    end: u32,
    /// The slot behind its subtree.
    next: u32,
    /// How many items or members it has.
    count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    True,
    False,
    Number,
    Plain,
    Escaped,
    Array,
    Object,
}

/// The text is not one JSON document, or is nested too deeply, or has 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON document of at most {DEPTH_MAX} levels")]
pub struct BadPayload;

impl<'t> Payload<'t> {
    /// Reads a document. It is meant for text that was checked or written by us, but trusts none.
    pub fn read(text: &'t str) -> Result<Self, BadPayload> {
        if u32::try_from(text.len()).is_err() {
            return Err(BadPayload);
        }
        let mut reader = Reader { bytes: text.as_bytes(), at: 0, slots: Vec::with_capacity(text.len() / 8 + 1) };
        reader.document().ok_or(BadPayload)?;
        Ok(Self { text, slots: reader.slots })
    }

    /// The document's value.
    pub fn root(&self) -> PayloadNode<'_> {
        PayloadNode::Slot { payload: self, at: 0 }
    }

    /// A member of the document, if it is an object that has it.
    pub fn get(&self, name: &str) -> Option<PayloadNode<'_>> {
        self.root().member(name)
    }
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    slots: Vec<Slot>,
}

impl Reader<'_> {
    fn document(&mut self) -> Option<()> {
        // The slots of the containers that are open, outermost first.
        let mut open: Vec<usize> = Vec::new();
        loop {
            self.space();
            if let Some(&container) = open.last()
                && self.closes(container)
            {
                open.pop();
                self.close(container);
            } else {
                self.separator(open.last().copied())?;
                let slot = self.slots.len();
                self.value()?;
                if matches!(self.slots[slot].kind, Kind::Array | Kind::Object) {
                    open.push(slot);
                }
            }
            if open.is_empty() {
                self.space();
                return (self.at == self.bytes.len()).then_some(());
            }
            if open.len() > DEPTH_MAX {
                return None;
            }
        }
    }

    /// Passes what stands before the next value of a container: a comma, and a key with its colon.
    fn separator(&mut self, container: Option<usize>) -> Option<()> {
        let Some(container) = container else { return Some(()) };
        if self.slots[container].count > 0 {
            self.expect(b',')?;
            self.space();
        }
        self.slots[container].count += 1;
        if self.slots[container].kind == Kind::Object {
            self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
        }
        Some(())
    }

    fn closes(&self, container: usize) -> bool {
        let end = if self.slots[container].kind == Kind::Object { b'}' } else { b']' };
        self.bytes.get(self.at) == Some(&end)
    }

    fn close(&mut self, container: usize) {
        self.at += 1;
        let next = self.slots.len() as u32;
        let slot = &mut self.slots[container];
        slot.end = self.at as u32;
        slot.next = next;
    }

    fn value(&mut self) -> Option<()> {
        let start = self.at;
        match self.bytes.get(self.at)? {
            b'{' => self.push(Kind::Object, start, start + 1),
            b'[' => self.push(Kind::Array, start, start + 1),
            b'"' => return self.string(),
            b't' => self.word(Kind::True, b"true")?,
            b'f' => self.word(Kind::False, b"false")?,
            b'n' => self.word(Kind::Null, b"null")?,
            _ => {
                let rest = &self.bytes[start..];
                let length = rest
                    .iter()
                    .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    .count();
                let text = std::str::from_utf8(&rest[..length]).ok()?;
                serde_json::from_str::<serde_json::Number>(text).ok()?;
                self.push(Kind::Number, start, start + length);
            }
        }
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        let start = self.at;
        let mut kind = Kind::Plain;
        loop {
            self.at += plain_length(self.bytes.get(self.at..)?);
            match self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    kind = Kind::Escaped;
                    self.at += 2;
                }
                _ => return None,
            }
        }
        let end = self.at;
        if kind == Kind::Escaped {
            serde_json::from_slice::<String>(&self.bytes[start - 1..=end]).ok()?;
        }
        self.push(kind, start, end);
        self.at = end + 1;
        Some(())
    }

    fn word(&mut self, kind: Kind, word: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(word).then(|| self.push(kind, self.at, self.at + word.len()))
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.at = end;
        let next = self.slots.len() as u32 + 1;
        self.slots.push(Slot { kind, start: start as u32, end: end as u32, next, count: 0 });
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.bytes.get(self.at)? == &byte).then(|| self.at += 1)
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }
}
