//! What is read of JSON that was checked before: its shape is not doubted here, and whatever is none of it reads as nothing.

use std::borrow::Cow;

use super::plain_length;

/// The text between the quotes of a string without escapes; of JSON that was checked.
pub(crate) fn plain(raw: &str) -> Option<&str> {
    let text = raw.strip_prefix('"')?.strip_suffix('"')?;
    (plain_length(text.as_bytes()) == text.len()).then_some(text)
}

/// Names and values of an object, the latter as they are written.
pub type Members<'a> = Vec<(Cow<'a, str>, &'a str)>;

/// Most objects of an envelope have no more members than these; only a first guess.
const MEMBERS_FEW: usize = 16;

/// The members of an object whose JSON was checked; none where it is something else.
pub fn members(text: &str) -> Option<Members<'_>> {
    let bytes = text.as_bytes();
    let mut at = behind_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    let mut members = Vec::with_capacity(MEMBERS_FEW);
    loop {
        // Behind the brace, or a comma.
        at = behind_space(bytes, at + 1);
        if bytes.get(at)? == &b'}' {
            return Some(members);
        }
        let end = end_of_string(bytes, at + 1)?;
        let quoted = &text[at..end];
        let name = match plain(quoted) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(serde_json::from_str(quoted).ok()?),
        };
        // The colon.
        at = behind_space(bytes, behind_space(bytes, end) + 1);
        let end = end_of_value(bytes, at)?;
        members.push((name, &text[at..end]));
        at = behind_space(bytes, end);
        if bytes.get(at)? == &b'}' {
            return Some(members);
        }
    }
}

/// The first place that is no white space.
pub(super) fn behind_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Where a value ends, of JSON that was checked.
fn end_of_value(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = end_of_string(bytes, at + 1)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            // Between the members and elements of what is open.
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The text of a member of an object that was checked when it was stored, read no further than there. None where it is not
/// there, is no text or is written with escapes.
pub fn plain_member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let bytes = object.as_bytes();
    let (mut at, mut depth) = (0, 0_u32);
    // The string of depth 1 that was read last: the name of a member, if a colon follows it.
    let (mut last, mut named) = ("", false);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b':' => named = depth == 1 && last == name,
            b'"' => {
                let length = plain_length(&bytes[at..]);
                let text = &object[at..at + length];
                let is_plain = bytes.get(at + length) == Some(&b'"');
                if named {
                    return Some(text).filter(|_| is_plain && depth == 1);
                }
                last = if depth == 1 && is_plain { text } else { "" };
                at = end_of_string(bytes, at + length)?;
            }
            b',' if named => return None,
            _ => {}
        }
    }
    None
}

/// Where a string ends, behind its quote.
pub(super) fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
        at += plain_length(bytes.get(at..)?);
    }
}
