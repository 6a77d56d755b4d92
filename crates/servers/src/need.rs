//! What is needed and a machine may lack.

use crate::skip;

/// A thing that is needed, or why it cannot be had.
#[derive(Debug)]
#[must_use = "a test that needs it takes it with `or_skip`"]
pub enum Need<T> {
    /// Here it is.
    Met(T),
    /// It cannot be had, for this reason.
    Missing(String),
}

impl<T> Need<T> {
    /// The thing; `None` when it is missing, after the running test has been recorded as skipped.
    #[track_caller]
    pub fn or_skip(self) -> Option<T> {
        match self {
            Self::Met(thing) => Some(thing),
            Self::Missing(reason) => {
                skip::record(&reason);
                None
            }
        }
    }
}
