//! A shallow reading of Rust source: what is code, which modules a file declares, which tests it has. Pure.
//!
//! Not a parser: it knows comments, literals, braces and words, which is all that the rules need, and it reads any
//! text without failing.

/// The text with comments and the contents of literals blanked, at the same offsets and with the same lines.
/// Quotes stay, so that a literal's place can be found and its content read in the original.
pub fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let (blank_from, blank_to, next) = literal_or_comment(bytes, at).unwrap_or((at, at, at + 1));
        for byte in &mut code[blank_from..blank_to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = next;
    }
    // Only whole comments and literals were blanked, each byte of them, so no character was cut.
    String::from_utf8_lossy(&code).into_owned()
}

/// What starts at `at`: (blank from, blank to, go on at); `None` when it is code.
fn literal_or_comment(bytes: &[u8], at: usize) -> Option<(usize, usize, usize)> {
    let rest = &bytes[at..];
    match rest[0] {
        b'/' if rest.starts_with(b"//") => {
            let end = at + position(rest, |byte| byte == b'\n');
            Some((at, end, end))
        }
        b'/' if rest.starts_with(b"/*") => {
            let end = at + block_comment_length(rest);
            Some((at, end, end))
        }
        b'"' => {
            let end = at + 1 + quoted_length(&rest[1..], b'"');
            Some((at + 1, end, (end + 1).min(bytes.len())))
        }
        b'\'' => {
            let length = char_length(&rest[1..])?;
            Some((at + 1, at + 1 + length, at + 2 + length))
        }
        b'r' | b'b' | b'c' if at == 0 || !is_word(bytes[at - 1]) => raw_string(bytes, at),
        _ => None,
    }
}

fn position(bytes: &[u8], is_it: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| is_it(*byte)).unwrap_or(bytes.len())
}

/// Block comments nest.
fn block_comment_length(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Up to the closing quote, which an escape hides.
fn quoted_length(bytes: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The length of a character literal's content; `None` when the quote starts a lifetime.
fn char_length(bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    if first == b'\\' {
        let length = quoted_length(bytes, b'\'');
        return (length < bytes.len()).then_some(length);
    }
    let length = match first {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
    };
    (bytes.get(length) == Some(&b'\'')).then_some(length)
}

/// `r"…"`, `r#"…"#`, `br"…"`, `cr"…"`; a plain `b"…"` is left to its quote.
fn raw_string(bytes: &[u8], at: usize) -> Option<(usize, usize, usize)> {
    let mut cursor = at + usize::from(matches!(bytes[at], b'b' | b'c'));
    if bytes.get(cursor) != Some(&b'r') {
        return None;
    }
    cursor += 1;
    let hashes = position(&bytes[cursor..], |byte| byte != b'#');
    cursor += hashes;
    if bytes.get(cursor) != Some(&b'"') {
        return None;
    }
    let start = cursor + 1;
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    let length = bytes[start..].windows(close.len()).position(|window| window == close);
    let end = start + length.unwrap_or(bytes.len() - start);
    Some((start, end, (end + close.len()).min(bytes.len())))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A word or a single other character of code, with its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// Offset in bytes.
    pub at: usize,
    /// The word or the character.
    pub text: &'a str,
}

/// The tokens of code that [`code_only`] gave; white space separates and is left out.
pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut characters = code.char_indices().peekable();
    let word = |character: char| character.is_alphanumeric() || character == '_';
    while let Some((at, character)) = characters.next() {
        let mut end = at + character.len_utf8();
        if word(character) {
            while let Some((next, following)) = characters.next_if(|(_, following)| word(*following)) {
                end = next + following.len_utf8();
            }
        }
        if !character.is_whitespace() {
            tokens.push(Token { at, text: &code[at..end] });
        }
    }
    tokens
}

/// The line, from 1, of an offset.
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The content of the string literal whose opening quote is at `quote`; escapes stay as written.
pub fn string_at(text: &str, quote: usize) -> Option<&str> {
    let start = quote + 1;
    let length = quoted_length(text.as_bytes().get(start..)?, b'"');
    text.get(start..start + length)
}

/// The macros that make tests of the functions that they list, one for each store.
const SUITES: &[&str] = &["on_both", "on_every_store"];

/// The names of the functions that are tests: those with an attribute `#[test]` or `#[….::test(…)]`, also inside
/// macros such as `proptest!`, and those that a suite lists.
pub fn test_functions(text: &str) -> Vec<String> {
    let code = code_only(text);
    let tokens = tokens(&code);
    let mut tests = Vec::new();
    let mut is_test = false;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "{" | "}" | ";" => is_test = false,
            "test" => is_test |= ends_attribute_path(&tokens, index),
            "fn" if is_test => tests.extend(tokens.get(index + 1).map(|name| name.text.to_owned())),
            name if SUITES.contains(&name) && tokens.get(index + 1).is_some_and(|next| next.text == "!") => {
                let listed = tokens[index + 3..].iter().take_while(|token| token.text != "}");
                tests.extend(listed.filter(|token| token.text != ",").map(|token| token.text.to_owned()));
            }
            _ => {}
        }
    }
    tests
}

/// Whether the word at `index` is the last of the path of an attribute: `#[test]`, `#[tokio::test(…)]`.
fn ends_attribute_path(tokens: &[Token<'_>], index: usize) -> bool {
    let followed = tokens.get(index + 1).is_some_and(|token| matches!(token.text, "]" | "("));
    let mut start = index;
    while start >= 3 && tokens[start - 1].text == ":" && tokens[start - 2].text == ":" {
        start -= 3;
    }
    followed && start >= 2 && tokens[start - 1].text == "[" && tokens[start - 2].text == "#"
}
