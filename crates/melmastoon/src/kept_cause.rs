//! A cause as a document keeps it, so that what an outside tells by itself, through a webhook, belongs to the trace that asked for it.

use karwan::Context;
use karwan::envelope::cause::Cause;
use karwan::envelope::ids::{CorrelationId, EventId};
use serde::{Deserialize, Serialize};

/// Ids as 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCause {
    correlation: String,
    causation: Option<String>,
}

impl From<&Cause> for KeptCause {
    fn from(cause: &Cause) -> Self {
        let hex = |bits: u128| format!("{bits:032x}");
        Self { correlation: hex(cause.correlation.bits()), causation: cause.causation.map(|event| hex(event.bits())) }
    }
}

impl KeptCause {
    /// The cause; none where its digits are none.
    pub fn cause(&self) -> Option<Cause> {
        let bits = |hex: &str| u128::from_str_radix(hex, 16).ok();
        let root = Cause::root(CorrelationId::from_bits(bits(&self.correlation)?));
        let causation = self.causation.as_deref().and_then(bits).map(EventId::from_bits);
        Some(Cause { causation, ..root })
    }

    /// The context of a request with this cause in place of its own, where there is one.
    pub fn context(kept: Option<&Self>, context: &Context) -> Context {
        let cause = kept.and_then(Self::cause).unwrap_or_else(|| context.cause.clone());
        Context { cause, ..context.clone() }
    }
}
