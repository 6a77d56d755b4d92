//! How a command ends.

use std::process::ExitCode;

use crate::output;

/// Bad usage.
pub const USAGE: u8 = 64;
/// Bad input.
pub const INPUT: u8 = 65;

/// A command that could not do its work.
pub struct Failure {
    code: u8,
    cause: anyhow::Error,
}

/// What a command answers.
pub type Outcome = Result<ExitCode, Failure>;

impl Failure {
    /// The input is not what it should be.
    pub fn input(cause: impl Into<anyhow::Error>) -> Self {
        Self { code: INPUT, cause: cause.into() }
    }

    /// Says why on standard error, cause by cause.
    pub fn report(self) -> ExitCode {
        if output::pipe_closed(&self.cause) {
            return ExitCode::SUCCESS;
        }
        output::note(&format!("error: {}", self.cause));
        for cause in self.cause.chain().skip(1) {
            for line in cause.to_string().lines() {
                output::note(&format!("  {line}"));
            }
        }
        self.code.into()
    }
}

impl From<anyhow::Error> for Failure {
    fn from(cause: anyhow::Error) -> Self {
        Self { code: 1, cause }
    }
}

impl From<std::io::Error> for Failure {
    fn from(cause: std::io::Error) -> Self {
        Self { code: 1, cause: cause.into() }
    }
}
