//! Decides whether a short text matches a pattern, where JSON Schema's dialect and this parser's surely agree.
//!
//! Patterns come from strangers, so there is no backtracking: a pattern is run as the set of positions it can end at.
//! Everything the two dialects read differently is answered with "not decided".

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// Escapes that mean the same to ECMA-262 and to this parser, for ASCII text.
const SHARED_ESCAPES: &str = "dDwWsS.-/\\^$()[]{}|*+?";
const PATTERN_CHARS_MAX: usize = 500;
const TEXT_CHARS_MAX: usize = 500;
/// Bound on a counted repetition that is unrolled.
const REPEAT_MAX: u32 = 1_000;
const STEPS_MAX: usize = 200_000;
/// Texts of a pattern that are listed one by one.
const LANGUAGE_MAX: usize = 64;

/// Whether a pattern is one of the usual spellings of "anything".
pub(super) fn admits_everything(pattern: &str) -> bool {
    matches!(pattern, "" | ".*" | "^" | "$" | "^.*" | ".*$")
}

/// The plain characters that a pattern begins with: a start for texts that may match it.
pub(super) fn literal_head(pattern: &str) -> &str {
    let text = pattern.trim_start_matches('^');
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"_-:/".contains(c)).unwrap_or(text.len());
    &text[..end]
}

/// The names that a pattern lists, when it is `^name$` or `^(one|other)$` in plain characters.
pub(super) fn listed_names(pattern: &str) -> Option<Vec<&str>> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let group = |open: &str| inner.strip_prefix(open)?.strip_suffix(')');
    let plain = |name: &&str| !name.contains(|c: char| "\\^$.|?*+()[]{}".contains(c));
    match group("(?:").or_else(|| group("(")) {
        Some(names) => names.split('|').map(|name| Some(name).filter(plain)).collect(),
        None => Some(inner).filter(plain).map(|name| vec![name]),
    }
}

/// The texts that an anchored pattern admits, when those are few.
pub(super) fn language(pattern: &str) -> Option<BTreeSet<String>> {
    if pattern.len() > PATTERN_CHARS_MAX || !is_shared_dialect(pattern) {
        return None;
    }
    let hir = regex_syntax::parse(pattern).ok()?;
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let anchor = |part: &Hir, look: Look| matches!(part.kind(), HirKind::Look(found) if *found == look);
    match parts.as_slice() {
        [first, inner @ .., last] if anchor(first, Look::Start) && anchor(last, Look::End) => texts_of_all(inner),
        _ => None,
    }
}

fn texts_of_all(parts: &[Hir]) -> Option<BTreeSet<String>> {
    parts.iter().try_fold(BTreeSet::from([String::new()]), |heads, part| joined(&heads, &texts_of(part)?))
}

fn joined(heads: &BTreeSet<String>, tails: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let few = heads.len().saturating_mul(tails.len()) <= LANGUAGE_MAX;
    let joined = || heads.iter().flat_map(|head| tails.iter().map(move |tail| format!("{head}{tail}"))).collect();
    few.then(joined)
}

fn texts_of(hir: &Hir) -> Option<BTreeSet<String>> {
    match hir.kind() {
        HirKind::Empty => Some(BTreeSet::from([String::new()])),
        HirKind::Literal(literal) => Some(BTreeSet::from([std::str::from_utf8(&literal.0).ok()?.to_owned()])),
        HirKind::Class(Class::Unicode(class)) => {
            let ascii = class.ranges().iter().all(|range| range.end().is_ascii());
            let count: usize = class.ranges().iter().map(|range| range.len()).sum();
            let characters = || class.ranges().iter().flat_map(|range| range.start()..=range.end());
            (ascii && count <= LANGUAGE_MAX).then(|| characters().map(String::from).collect())
        }
        HirKind::Class(Class::Bytes(_)) | HirKind::Look(_) => None,
        HirKind::Capture(capture) => texts_of(&capture.sub),
        HirKind::Concat(parts) => texts_of_all(parts),
        HirKind::Alternation(parts) => {
            let each: Option<Vec<_>> = parts.iter().map(texts_of).collect();
            let texts: BTreeSet<String> = each?.into_iter().flatten().collect();
            Some(texts).filter(|texts| texts.len() <= LANGUAGE_MAX)
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.filter(|most| *most as usize <= LANGUAGE_MAX)?;
            let part = texts_of(&repetition.sub)?;
            let mut texts = BTreeSet::new();
            let mut repeated = BTreeSet::from([String::new()]);
            for round in 0..=most {
                if round >= repetition.min {
                    texts.extend(repeated.iter().cloned());
                }
                if round < most {
                    repeated = joined(&repeated, &part)?;
                }
            }
            Some(texts).filter(|texts| texts.len() <= LANGUAGE_MAX)
        }
    }
}

/// One spelling for patterns that say the same: `\\d` for `[0-9]`, `a{0,1}` for `a?`, with groups or without.
pub(super) fn spelling(pattern: &str) -> Option<String> {
    // Dots and spaces mean other characters to one dialect than to the other.
    let unlike = ["\\s", "\\S"].iter().any(|class| pattern.contains(class)) || pattern.replace("\\.", "").contains('.');
    if pattern.len() > PATTERN_CHARS_MAX || unlike || !is_shared_dialect(pattern) {
        return None;
    }
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    Some(ungrouped(&parser.parse(pattern).ok()?).to_string())
}

fn ungrouped(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
        HirKind::Capture(capture) => ungrouped(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(ungrouped).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(ungrouped).collect()),
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(ungrouped(&repetition.sub)), ..repetition.clone() })
        }
    }
}

/// Whether `text` matches `pattern` somewhere; `None` when that is not decided.
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    if pattern == text_of_exact(pattern)? && !pattern.is_empty() {
        return Some(text.contains(pattern));
    }
    let plain = text.chars().all(|character| character.is_ascii() && !character.is_ascii_control());
    if !plain || text.len() > TEXT_CHARS_MAX || !is_shared_dialect(pattern) {
        return None;
    }
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut run = Run { text: text.as_bytes(), steps: 0 };
    let starts: BTreeSet<usize> = (0..=text.len()).collect();
    Some(!run.ends(&hir, &starts)?.is_empty())
}

/// The pattern itself when every character stands for itself, otherwise an empty text.
fn text_of_exact(pattern: &str) -> Option<&str> {
    if pattern.len() > PATTERN_CHARS_MAX {
        return None;
    }
    Some(if pattern.contains(|c: char| "\\^$.|?*+()[]{}".contains(c)) { "" } else { pattern })
}

fn is_shared_dialect(pattern: &str) -> bool {
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let shared = match character {
            '\\' => characters.next().is_some_and(|escaped| SHARED_ESCAPES.contains(escaped)),
            '[' if in_class => false,
            '[' => {
                in_class = true;
                next != Some(']')
            }
            ']' => {
                in_class = false;
                true
            }
            // Set operations of one dialect are plain characters of the other.
            '&' | '~' | '-' if in_class => next != Some(character),
            '(' => next != Some('?') || pattern.contains("(?:"),
            '{' => next.is_some_and(|digit| digit.is_ascii_digit()),
            other => other.is_ascii(),
        };
        if !shared {
            return false;
        }
    }
    // Only non-capturing groups may start with `(?`.
    pattern.matches("(?").count() == pattern.matches("(?:").count()
}

struct Run<'t> {
    text: &'t [u8],
    steps: usize,
}

impl Run<'_> {
    /// The positions at which `hir` can end when it starts at one of `starts`.
    fn ends(&mut self, hir: &Hir, starts: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        self.steps += starts.len() + 1;
        if self.steps > STEPS_MAX {
            return None;
        }
        match hir.kind() {
            HirKind::Empty => Some(starts.clone()),
            HirKind::Literal(literal) => {
                let fits = |start: &usize| self.text[*start..].starts_with(&literal.0).then(|| start + literal.0.len());
                Some(starts.iter().filter_map(fits).collect())
            }
            HirKind::Class(class) => {
                let fits = |start: &usize| {
                    let byte = *self.text.get(*start)?;
                    class_has(class, byte).then_some(start + 1)
                };
                Some(starts.iter().filter_map(fits).collect())
            }
            HirKind::Look(Look::Start) => Some(starts.iter().copied().filter(|start| *start == 0).collect()),
            HirKind::Look(Look::End) => {
                Some(starts.iter().copied().filter(|start| *start == self.text.len()).collect())
            }
            HirKind::Look(_) => None,
            HirKind::Capture(capture) => self.ends(&capture.sub, starts),
            HirKind::Concat(parts) => {
                let mut reached = starts.clone();
                for part in parts {
                    reached = self.ends(part, &reached)?;
                }
                Some(reached)
            }
            HirKind::Alternation(parts) => {
                let mut reached = BTreeSet::new();
                for part in parts {
                    reached.extend(self.ends(part, starts)?);
                }
                Some(reached)
            }
            HirKind::Repetition(repetition) => self.repeat(&repetition.sub, repetition.min, repetition.max, starts),
        }
    }

    fn repeat(&mut self, part: &Hir, min: u32, max: Option<u32>, starts: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        if min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX) {
            return None;
        }
        let mut current = starts.clone();
        for _ in 0..min {
            current = self.ends(part, &current)?;
        }
        let mut reached = current.clone();
        let mut round = min;
        while !current.is_empty() && max.is_none_or(|max| round < max) {
            current = self.ends(part, &current)?.difference(&reached).copied().collect();
            reached.extend(&current);
            round += 1;
        }
        Some(reached)
    }
}

fn class_has(class: &Class, byte: u8) -> bool {
    match class {
        Class::Unicode(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&char::from(byte)))
        }
        Class::Bytes(class) => class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&byte)),
    }
}
