//! One violation of one rule at one place.

use std::fmt;

use anyhow::{Result, bail};

/// What a rule found: where, which rule, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line from 1; 0 when the finding is about the whole file.
    pub line: usize,
    /// The rule's short name.
    pub rule: &'static str,
    /// What is wrong, in words that say what to do.
    pub message: String,
}

impl Finding {
    /// A finding about a line of a file.
    pub fn at(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, message: message.into() }
    }

    /// A finding about a whole file.
    pub fn on(path: &str, rule: &'static str, message: impl Into<String>) -> Self {
        Self::at(path, 0, rule, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}: {}", self.rule, self.message)
    }
}

/// Prints every finding; an error when there is one.
pub fn settle(mut findings: Vec<Finding>) -> Result<()> {
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("1 finding"),
        several => bail!("{several} findings"),
    }
}
