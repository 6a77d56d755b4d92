//! Strict JSON: what is refused before anything is parsed into values.
//!
//! `serde_json` keeps the last of two equal keys, rounds large integers and reports no path. Contracts need better: this
//! scanner walks the bytes once, allocates next to nothing, and names the place and the rule of the first thing wrong.
//! Invariant: what passes here parses with `serde_json` to exactly one meaning.

mod checked;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

pub(crate) use checked::plain;
pub use checked::{Members, members, plain_member};
use checked::{behind_space, end_of_string};

/// The largest integer that every JSON reader keeps exactly, 2^53 − 1.
pub const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// How much a document may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest document, in bytes.
    pub bytes_max: usize,
    /// The deepest nesting of objects and arrays.
    pub depth_max: usize,
    /// The largest integer, either sign.
    pub integer_max: u64,
}

impl Limits {
    /// For envelopes: one mebibyte, as brokers allow by default.
    pub const ENVELOPE: Self = Self { bytes_max: 1 << 20, depth_max: 64, integer_max: SAFE_INTEGER_MAX };
    /// For schemas and catalogues; schemas of other tools write 64-bit bounds. `serde_json` reads 127 levels.
    pub const SCHEMA: Self = Self { bytes_max: 16 << 20, depth_max: 127, integer_max: u64::MAX };
}

/// Characters that are printed of either end of a long pointer.
const POINTER_END_CHARS: usize = 40;

/// What a document breaks, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The rule.
    pub rule: Rule,
    /// The JSON pointer of the value; empty for the document itself.
    pub pointer: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)?;
        if !self.pointer.is_empty() {
            write!(f, ", at {}", shortened(&self.pointer))?;
        }
        write!(f, ": {} ({})", self.rule, self.rule.id())
    }
}

/// A pointer as it is printed: the head and the tail of a long one, for what lies between is the document's own.
pub(crate) fn shortened(pointer: &str) -> String {
    let length = pointer.chars().count();
    if length <= 2 * POINTER_END_CHARS {
        return pointer.to_owned();
    }
    let head: String = pointer.chars().take(POINTER_END_CHARS).collect();
    let tail: String = pointer.chars().skip(length - POINTER_END_CHARS).collect();
    format!("{head}…{tail}")
}

/// The rules of strict JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// More bytes than allowed.
    #[error("{actual} bytes, and at most {max} are read")]
    TooLarge {
        /// The document's size.
        actual: usize,
        /// The limit.
        max: usize,
    },
    /// Not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Nested too deeply.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// Not JSON.
    #[error("expected {0}")]
    Expected(&'static str),
    /// Ends in the middle of a value.
    #[error("the document ends too early; expected {0}")]
    Truncated(&'static str),
    /// Something behind the value.
    #[error("something follows the value")]
    Trailing,
    /// A key that the object already has.
    #[error("the key `{0}` stands twice in one object")]
    DuplicateKey(String),
    /// Half of a surrogate pair.
    #[error("a \\u escape with half of a surrogate pair")]
    LoneSurrogate,
    /// An integer that readers round, or a number out of range.
    #[error("the number {0} is not kept exactly by every reader; write it as a string")]
    Number(String),
}

impl Rule {
    /// The stable name of the rule.
    pub fn id(&self) -> &'static str {
        match self {
            Rule::TooLarge { .. } => "json-too-large",
            Rule::NotUtf8 => "json-not-utf8",
            Rule::TooDeep(_) => "json-too-deep",
            Rule::Expected(_) => "json-syntax",
            Rule::Truncated(_) => "json-truncated",
            Rule::Trailing => "json-trailing",
            Rule::DuplicateKey(_) => "json-duplicate-key",
            Rule::LoneSurrogate => "json-lone-surrogate",
            Rule::Number(_) => "json-number-range",
        }
    }
}

/// How many bytes stand before the first that a JSON string cannot hold as it is: a quote, a backslash or a control
/// character. Eight bytes are looked at in one step.
#[inline]
pub fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // The highest bit of each byte that is below `bound`; behind the first such byte a carry may set more.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGH;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let special = below(word, 0x20) | quote | backslash;
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0x00..=0x1F));
    words.len() * 8 + special.unwrap_or(rest.len())
}

/// Checks a document and answers it as text.
pub fn check(bytes: &[u8], limits: Limits) -> Result<&str, Error> {
    scan(bytes, limits, None)
}

/// Checks a document and answers its members, where it is an object: what was passed need not be looked for again.
pub fn check_object(bytes: &[u8], limits: Limits) -> Result<Option<Members<'_>>, Error> {
    let mut members = Vec::new();
    let text = scan(bytes, limits, Some(&mut members))?;
    Ok(text.trim_start().starts_with('{').then_some(members))
}

/// Checks a document; where its members are wanted, they are noted on the way.
fn scan<'a>(bytes: &'a [u8], limits: Limits, members: Option<&mut Members<'a>>) -> Result<&'a str, Error> {
    if bytes.len() > limits.bytes_max {
        let rule = Rule::TooLarge { actual: bytes.len(), max: limits.bytes_max };
        return Err(Error { rule, pointer: String::new(), line: 1, column: 1 });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        // Without a length the bytes are the beginning of a character: the document was cut, not garbled.
        let cut = error.error_len().is_none();
        let rule = if cut { Rule::Truncated("the rest of a character") } else { Rule::NotUtf8 };
        place(bytes, error.valid_up_to(), rule, &[])
    })?;
    let mut scanner = Scanner { text, bytes, at: 0, limits, depth: 0, path: Vec::new(), keys: Vec::new(), members };
    let scanned = scanner.document();
    scanned.map_err(|rule| place(bytes, scanner.at, rule, &scanner.path))?;
    Ok(text)
}

/// Checks a document and parses it.
pub fn parse(bytes: &[u8], limits: Limits) -> Result<serde_json::Value, Error> {
    let text = check(bytes, limits)?;
    serde_json::from_str(text).map_err(|_| place(bytes, 0, Rule::Expected("a JSON document"), &[]))
}

/// `path` leads from the inside out.
fn place(bytes: &[u8], at: usize, rule: Rule, path: &[Step<'_>]) -> Error {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    Error { rule, pointer: path.iter().rev().map(Step::to_string).collect(), line, column }
}

enum Step<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => write!(f, "/{index}"),
        }
    }
}

struct Scanner<'a, 'm> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    limits: Limits,
    /// How many objects and arrays are open.
    depth: usize,
    /// Where something is wrong, from the inside out: noted on the way back, for most documents are in order.
    path: Vec<Step<'a>>,
    /// The keys so far of every object that is open, the innermost last.
    keys: Vec<Cow<'a, str>>,
    /// Where the members of the outermost object are noted.
    members: Option<&'m mut Members<'a>>,
}

/// An object with more keys than these has them hashed: comparing each with all is quicker only for a few.
const KEYS_COMPARED: usize = 24;

type Scan = Result<(), Rule>;

impl<'a> Scanner<'a, '_> {
    fn document(&mut self) -> Scan {
        self.value()?;
        self.space();
        if self.at < self.bytes.len() { Err(Rule::Trailing) } else { Ok(()) }
    }

    fn value(&mut self) -> Scan {
        self.space();
        match self.peek("a value")? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => Err(Rule::Expected("a value")),
        }
    }

    fn object(&mut self) -> Scan {
        self.enter()?;
        self.space();
        if self.peek("a key or `}`")? == b'}' {
            return self.leave();
        }
        let first = self.keys.len();
        let mut hashed: HashSet<Cow<'a, str>> = HashSet::new();
        loop {
            self.space();
            if self.peek("a key")? != b'"' {
                return Err(Rule::Expected("a key in double quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            if self.keys.len() - first == KEYS_COMPARED {
                hashed.extend(self.keys.drain(first..));
            }
            let known = if hashed.is_empty() { self.keys[first..].contains(&key) } else { !hashed.insert(key.clone()) };
            if known {
                self.at = start;
                return Err(Rule::DuplicateKey(key.chars().take(64).collect()));
            }
            let name = self.members.is_some().then(|| key.clone()).filter(|_| self.depth == 1);
            if hashed.is_empty() {
                self.keys.push(key);
            }
            let value = match self.member() {
                Ok(value) => value,
                Err(rule) => {
                    self.path.push(Step::Key(self.key_at(start)));
                    return Err(rule);
                }
            };
            if let (Some(members), Some(name)) = (&mut self.members, name) {
                members.push((name, value));
            }
            if self.next_or(b'}', "`,` or `}`")? {
                self.keys.truncate(first);
                return self.leave();
            }
        }
    }

    /// What follows a key; answers the value as it is written.
    fn member(&mut self) -> Result<&'a str, Rule> {
        self.space();
        self.expect(b':', "`:`")?;
        self.space();
        let start = self.at;
        self.value()?;
        Ok(&self.text[start..self.at])
    }

    /// The key that begins at a place where one was passed.
    fn key_at(&self, start: usize) -> Cow<'a, str> {
        let quoted = end_of_string(self.bytes, start + 1).map_or("", |end| &self.text[start..end]);
        plain(quoted).map_or_else(|| Cow::Owned(serde_json::from_str(quoted).unwrap_or_default()), Cow::Borrowed)
    }

    fn array(&mut self) -> Scan {
        self.enter()?;
        self.space();
        if self.peek("a value or `]`")? == b']' {
            return self.leave();
        }
        for index in 0.. {
            if let Err(rule) = self.value() {
                self.path.push(Step::Index(index));
                return Err(rule);
            }
            if self.next_or(b']', "`,` or `]`")? {
                break;
            }
        }
        self.leave()
    }

    fn enter(&mut self) -> Scan {
        if self.depth >= self.limits.depth_max {
            return Err(Rule::TooDeep(self.limits.depth_max));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Passes the closing byte.
    fn leave(&mut self) -> Scan {
        self.depth -= 1;
        self.at += 1;
        Ok(())
    }

    /// Passes a comma (false), or comes to the closing byte (true).
    fn next_or(&mut self, close: u8, expected: &'static str) -> Result<bool, Rule> {
        self.space();
        match self.peek(expected)? {
            b',' => self.at += 1,
            byte if byte == close => return Ok(true),
            _ => return Err(Rule::Expected(expected)),
        }
        Ok(false)
    }

    /// Passes a string; borrowed where it has no escapes.
    fn string(&mut self) -> Result<Cow<'a, str>, Rule> {
        let start = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain_length(&self.bytes[self.at..]);
            match self.peek("the end of a string")? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(Rule::Expected("no control character in a string; escape it")),
            }
        }
        self.at += 1;
        let quoted = &self.text[start..self.at];
        if escaped {
            let text = serde_json::from_str(quoted).map_err(|_| Rule::Expected("a string"))?;
            return Ok(Cow::Owned(text));
        }
        Ok(Cow::Borrowed(&quoted[1..quoted.len() - 1]))
    }

    fn escape(&mut self) -> Scan {
        self.at += 1;
        match self.peek("an escape")? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => match self.code_unit()? {
                0xDC00..=0xDFFF => return Err(Rule::LoneSurrogate),
                0xD800..=0xDBFF => {
                    if b"\\u".starts_with(&self.bytes[self.at..]) {
                        return Err(Rule::Truncated("the second half of a surrogate pair"));
                    }
                    let pair = self.bytes[self.at..].starts_with(b"\\u") && {
                        self.at += 1;
                        matches!(self.code_unit()?, 0xDC00..=0xDFFF)
                    };
                    if !pair {
                        return Err(Rule::LoneSurrogate);
                    }
                }
                _ => {}
            },
            _ => return Err(Rule::Expected("one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u")),
        }
        Ok(())
    }

    /// Passes `uXXXX` and answers its value.
    fn code_unit(&mut self) -> Result<u32, Rule> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = (self.peek("four hexadecimal digits")? as char).to_digit(16);
            unit = unit << 4 | digit.ok_or(Rule::Expected("four hexadecimal digits"))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Scan {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        let digits_at = self.at;
        match self.peek("a digit")? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return Err(Rule::Expected("a digit")),
        }
        let mut whole = true;
        if self.bytes.get(self.at) == Some(&b'.') {
            whole = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = |from: usize| std::str::from_utf8(&self.bytes[from..self.at]).expect("digits are ASCII");
        let negative = digits_at > start;
        let exact = if whole {
            // Below −2^63 no reader keeps an integer, whatever the limit.
            let magnitude = text(digits_at).parse::<u64>().ok();
            magnitude.is_some_and(|it| it <= self.limits.integer_max && (!negative || it <= 1 << 63))
        } else {
            text(start).parse::<f64>().is_ok_and(f64::is_finite)
        };
        if exact {
            return Ok(());
        }
        let number = text(start).chars().take(40).collect();
        self.at = start;
        Err(Rule::Number(number))
    }

    fn digits(&mut self) -> Scan {
        if !self.peek("a digit")?.is_ascii_digit() {
            return Err(Rule::Expected("a digit"));
        }
        self.at += self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        Ok(())
    }

    fn word(&mut self, word: &'static [u8]) -> Scan {
        let rest = &self.bytes[self.at..];
        if !rest.starts_with(word) {
            const EXPECTED: &str = "true, false or null";
            return Err(if word.starts_with(rest) { Rule::Truncated(EXPECTED) } else { Rule::Expected(EXPECTED) });
        }
        self.at += word.len();
        Ok(())
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Scan {
        if self.peek(expected)? != byte {
            return Err(Rule::Expected(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        self.at = behind_space(self.bytes, self.at);
    }

    fn peek(&self, expected: &'static str) -> Result<u8, Rule> {
        self.bytes.get(self.at).copied().ok_or(Rule::Truncated(expected))
    }
}
