//! How a command ends.

use std::borrow::Cow;
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
    /// The code of the error, which has a page.
    page: Option<&'static str>,
    remedy: Option<Cow<'static, str>>,
}

/// What a command answers.
pub type Outcome = Result<ExitCode, Failure>;

impl Failure {
    /// The input is not what it should be.
    pub fn input(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(INPUT, cause.into())
    }

    /// The call is not what it should be.
    pub fn usage(cause: impl Into<anyhow::Error>) -> Self {
        Self::new(USAGE, cause.into())
    }

    /// The same, with the code of an error that has a page.
    pub fn coded(self, code: &'static str) -> Self {
        Self { page: Some(code), ..self }
    }

    /// The same, with what helps.
    pub fn helped(self, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    fn new(code: u8, cause: anyhow::Error) -> Self {
        Self { code, cause, page: None, remedy: None }
    }

    /// Why, cause by cause, in one line.
    pub fn text(&self) -> String {
        format!("{:#}", self.cause)
    }

    /// Says why on standard error, cause by cause.
    pub fn report(self) -> ExitCode {
        if output::pipe_closed(&self.cause) {
            return ExitCode::SUCCESS;
        }
        let page = self.page.map(|code| format!(" (docs/errors/{code}.md)")).unwrap_or_default();
        output::note(&format!("error: {}{page}", self.cause));
        for cause in self.cause.chain().skip(1) {
            for line in cause.to_string().lines() {
                output::note(&format!("  {line}"));
            }
        }
        if let Some(remedy) = self.remedy {
            output::note(&format!("  help: {remedy}"));
        }
        self.code.into()
    }
}

impl From<karwan_store::Error> for Failure {
    fn from(cause: karwan_store::Error) -> Self {
        Self { page: Some(cause.code()), remedy: cause.remedy().map(Cow::from), ..Self::new(1, cause.into()) }
    }
}

impl From<karwan_broker::Error> for Failure {
    fn from(cause: karwan_broker::Error) -> Self {
        Self { page: Some(cause.code()), remedy: cause.remedy().map(Cow::from), ..Self::new(1, cause.into()) }
    }
}

impl From<crate::up::error::Error> for Failure {
    fn from(cause: crate::up::error::Error) -> Self {
        Self { page: Some(cause.code()), remedy: cause.remedy().map(Cow::from), ..Self::new(1, cause.into()) }
    }
}

impl From<karwan_http::Error> for Failure {
    fn from(cause: karwan_http::Error) -> Self {
        Self { page: Some(cause.code()), ..Self::new(1, cause.into()) }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(cause: anyhow::Error) -> Self {
        Self::new(1, cause)
    }
}

impl From<std::io::Error> for Failure {
    fn from(cause: std::io::Error) -> Self {
        Self::new(1, cause.into())
    }
}
