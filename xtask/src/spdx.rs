//! SPDX licence expressions against a list of allowed licences. Pure.

use std::collections::BTreeSet;

/// Deeper than any real expression; a bound, because expressions come from other people's manifests.
const DEPTH_MAX: usize = 32;

/// Whether the allowed licences satisfy the expression: one side of `OR`, both of `AND`. `X WITH Y` must be allowed as
/// written. The old `MIT/Apache-2.0` counts as `OR`. The error says what is no expression.
pub fn satisfied(expression: &str, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let tokens = tokens(expression);
    let mut reader = Reader { tokens: &tokens, at: 0, allowed };
    let verdict = reader.any(0)?;
    match reader.peek() {
        None => Ok(verdict),
        Some(token) => Err(format!("`{token}` is not expected there")),
    }
}

fn tokens(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    allowed: &'a BTreeSet<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn took(&mut self, word: &str) -> bool {
        let next = self.peek() == Some(word);
        self.at += usize::from(next);
        next
    }

    fn any(&mut self, depth: usize) -> Result<bool, String> {
        let mut verdict = self.all(depth)?;
        while self.took("OR") {
            verdict |= self.all(depth)?;
        }
        Ok(verdict)
    }

    fn all(&mut self, depth: usize) -> Result<bool, String> {
        let mut verdict = self.one(depth)?;
        while self.took("AND") {
            verdict &= self.one(depth)?;
        }
        Ok(verdict)
    }

    fn one(&mut self, depth: usize) -> Result<bool, String> {
        if depth > DEPTH_MAX {
            return Err(format!("brackets are nested deeper than {DEPTH_MAX}"));
        }
        if self.took("(") {
            let verdict = self.any(depth + 1)?;
            return if self.took(")") { Ok(verdict) } else { Err("a bracket is not closed".to_owned()) };
        }
        let mut licence = self.name()?;
        if self.took("WITH") {
            licence = format!("{licence} WITH {}", self.name()?);
        }
        Ok(self.allowed.contains(&licence))
    }

    fn name(&mut self) -> Result<String, String> {
        let token = self.peek().ok_or("the expression ends too early")?.to_owned();
        if matches!(token.as_str(), "(" | ")" | "AND" | "OR" | "WITH") {
            return Err(format!("`{token}` stands where a licence should"));
        }
        self.at += 1;
        Ok(token)
    }
}
