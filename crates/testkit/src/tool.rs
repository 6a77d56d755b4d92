//! Tools that a test may need and a machine may lack.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::skip;

/// A tool, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tool {
    /// The program to start.
    Found(PathBuf),
    /// It cannot be had, for this reason.
    Missing(String),
}

impl Tool {
    /// The program; `None` when it is missing, after the running test has been recorded as skipped.
    #[track_caller]
    pub fn or_skip(self) -> Option<PathBuf> {
        match self {
            Self::Found(path) => Some(path),
            Self::Missing(reason) => {
                skip::record(&reason);
                None
            }
        }
    }

    /// Reads what `cargo xtask test` put into the environment about the tool of this name: `<NAME>` is its path,
    /// `<NAME>_MISSING` the reason why there is none.
    pub fn from_environment(name: &str, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(path) = set(name) {
            return Self::Found(PathBuf::from(path));
        }
        let reason = set(&format!("{name}_MISSING")).map(|reason| reason.to_string_lossy().into_owned());
        Self::Missing(reason.unwrap_or_else(|| format!("{name} is not set; `cargo xtask test` installs and sets it")))
    }
}

/// Python with the official CloudEvents SDK (the package `cloudevents`, modules `cloudevents.core`) and the Postgres driver
/// `psycopg`.
pub fn python() -> Tool {
    Tool::from_environment("KARWAN_PYTHON", |name| std::env::var_os(name))
}

/// Prometheus's own checker of metrics.
pub fn promtool() -> Tool {
    Tool::from_environment("KARWAN_PROMTOOL", |name| std::env::var_os(name))
}
