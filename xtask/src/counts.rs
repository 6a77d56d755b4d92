//! Reads how many tests passed and failed from what the test runners print. Pure.

use std::fmt;

/// What prints the lines. Each has a form of its own, and nextest quotes the other's for a test that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// `cargo test`: a result for each test binary.
    Libtest,
    /// `cargo nextest`: one summary.
    Nextest,
}

/// Tests by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ran and held.
    pub passed: u64,
    /// Ran and did not hold, or could not be built or started.
    pub failed: u64,
    /// Did not run for want of a tool.
    pub skipped: u64,
}

impl Counts {
    /// Adds what one line of a runner's output says; other lines add nothing.
    pub fn read_line(&mut self, runner: Runner, line: &str) {
        let found = match runner {
            Runner::Libtest => libtest(line),
            Runner::Nextest => nextest(line),
        };
        if let Some((passed, failed)) = found {
            self.passed += passed;
            self.failed += failed;
        }
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Takes skipped tests out of the passed ones: a harness counts a test that returned early as passed.
    pub fn set_skipped(&mut self, skipped: u64) {
        self.skipped = skipped;
        self.passed = self.passed.saturating_sub(skipped);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// `test result: ok. 3 passed; 0 failed; 0 ignored; …`
fn libtest(line: &str) -> Option<(u64, u64)> {
    let (_, figures) = line.strip_prefix("test result: ")?.split_once(". ")?;
    Some((figure(figures, ';', "passed"), figure(figures, ';', "failed")))
}

/// `Summary [   0.1s] 3 tests run: 1 passed (1 slow), 1 failed, 1 timed out, 0 skipped`
///
/// When a run was cut short the first figure is `2/3`; the words after the colon are the same.
fn nextest(line: &str) -> Option<(u64, u64)> {
    let (_, figures) = line.trim_start().strip_prefix("Summary [")?.split_once(" run: ")?;
    let failed = ["failed", "timed out", "exec failed"].map(|outcome| figure(figures, ',', outcome)).iter().sum();
    Some((figure(figures, ',', "passed"), failed))
}

/// The number before `outcome` among the parts of `figures`; remarks in brackets are no part of the outcome.
fn figure(figures: &str, separator: char, outcome: &str) -> u64 {
    let parts = figures.split(separator).filter_map(|part| part.trim().split_once(' '));
    let of_outcome = parts.filter(|(_, words)| words.split(" (").next() == Some(outcome));
    of_outcome.filter_map(|(number, _)| number.parse::<u64>().ok()).sum()
}

/// The skipped tests among the lines that the testkit wrote: one for each test, however often it said so.
pub fn skipped_tests(lines: &str) -> Vec<(String, String)> {
    let mut tests: Vec<(String, String)> = Vec::new();
    for line in lines.lines() {
        let (test, reason) = line.split_once('\t').unwrap_or((line, "no reason given"));
        if !test.is_empty() && !tests.iter().any(|(seen, _)| seen == test) {
            tests.push((test.to_owned(), reason.to_owned()));
        }
    }
    tests
}
