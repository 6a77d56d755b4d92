//! Writes JSON straight into one text, for what is printed with every event.
//!
//! Measured on a 1 KB event: printing through serde costs as much as building the event, most of it in looking at every
//! byte for something to escape and in a `String` for every id.
//! Invariant: the bytes are those that `serde_json` prints.

use std::fmt::Write as _;

use serde::Serialize;

use crate::json;

/// A JSON text that is being written.
pub(crate) struct Printer {
    text: String,
}

impl Printer {
    /// A text with space for so many bytes; it grows when that was too few.
    pub fn new(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes) }
    }

    /// How many bytes were written.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }

    /// Appends what is JSON already.
    pub fn raw(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Appends a key of ours, which needs no escapes: a comma if one is due, the name, and a colon.
    pub fn key(&mut self, name: &'static str) -> &mut Self {
        self.comma().raw("\"").raw(name).raw("\":")
    }

    /// The same with a name that somebody else chose.
    pub fn free_key(&mut self, name: &str) -> &mut Self {
        self.comma().string(&[name]).raw(":")
    }

    fn comma(&mut self) -> &mut Self {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self
    }

    /// Appends a string that consists of these pieces.
    pub fn string(&mut self, pieces: &[&str]) -> &mut Self {
        self.text.push('"');
        for piece in pieces {
            if json::plain_length(piece.as_bytes()) == piece.len() {
                self.text.push_str(piece);
            } else {
                let quoted = serde_json::to_string(piece).expect("a string serialises");
                self.text.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
        self.text.push('"');
        self
    }

    /// Appends a number.
    pub fn number(&mut self, number: u32) -> &mut Self {
        write!(self.text, "{number}").expect("a text takes everything");
        self
    }

    /// Appends what is too rare to be written by hand.
    pub fn value(&mut self, value: &impl Serialize) -> &mut Self {
        self.raw(&serde_json::to_string(value).expect("strings and plain values serialise"))
    }
}
