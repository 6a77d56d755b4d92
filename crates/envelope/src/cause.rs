//! Why an event happened, who did it, and which process wrote it down.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{CorrelationId, EventId, TenantId};
use crate::text::text_form;

/// Whose event it is: one tenant's, or the platform's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tenant {
    /// One tenant.
    One(TenantId),
    /// The platform itself; only for events on its allow-list.
    Platform,
}

/// How the platform is written where a tenant is expected.
pub const PLATFORM: &str = "platform";

/// What led to an event: the trace group, and the event before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The trace group, carried unmodified.
    pub correlation: CorrelationId,
    /// The event that led to this one; none at the root.
    pub causation: Option<EventId>,
    /// A business id that some profiles correlate by.
    pub business: Option<String>,
    /// The span inside the trace, where one was given.
    pub span: Option<Span>,
}

impl Cause {
    /// The start of a chain: a request or a webhook from outside.
    pub const fn root(correlation: CorrelationId) -> Self {
        Self { correlation, causation: None, business: None, span: None }
    }

    /// The consequence of an event: same correlation, that event as cause.
    pub fn of(event: EventId, cause: &Cause) -> Self {
        Self { causation: Some(event), ..cause.clone() }
    }

    /// The W3C trace context of this cause. A span that was never given is derived from the correlation.
    pub fn traceparent(&self) -> Traceparent {
        let derived = Span { id: self.correlation.bits() as u64 | 1, flags: 1 };
        Traceparent { correlation: self.correlation, span: self.span.unwrap_or(derived) }
    }
}

impl From<Traceparent> for Cause {
    fn from(parent: Traceparent) -> Self {
        Self { span: Some(parent.span), ..Self::root(parent.correlation) }
    }
}

/// A span of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The span's id; never 0.
    pub id: u64,
    /// W3C trace flags.
    pub flags: u8,
}

/// A W3C `traceparent`, version 00; its trace id is the correlation id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traceparent {
    /// The trace id.
    pub correlation: CorrelationId,
    /// The parent span.
    pub span: Span,
}

/// Why a text is not a traceparent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a W3C traceparent of version 00: 00-<32 hex digits>-<16>-<2>, lower case, ids not zero")]
pub struct BadTraceparent;

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.correlation.bits(), self.span.id, self.span.flags)
    }
}

impl FromStr for Traceparent {
    type Err = BadTraceparent;

    fn from_str(text: &str) -> Result<Self, BadTraceparent> {
        let parts: Vec<&str> = text.split('-').collect();
        let ["00", trace, span, flags] = parts[..] else { return Err(BadTraceparent) };
        let hex = |text: &str, digits: usize| {
            let lower = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            (text.len() == digits && lower).then(|| u128::from_str_radix(text, 16).ok()).flatten().ok_or(BadTraceparent)
        };
        let (trace, span, flags) = (hex(trace, 32)?, hex(span, 16)? as u64, hex(flags, 2)? as u8);
        if trace == 0 || span == 0 {
            return Err(BadTraceparent);
        }
        Ok(Self { correlation: CorrelationId::from_bits(trace), span: Span { id: span, flags } })
    }
}

text_form!(Traceparent, { "type": "string", "pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$" });

/// Who initiated the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// What kind of actor.
    pub kind: ActorKind,
    /// Its id.
    pub id: String,
}

/// The kinds of actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person.
    User,
    /// The platform by itself: a timer, a migration.
    System,
    /// A service; some profiles call it `service_account`.
    Service,
    /// A machine with a key.
    ApiKey,
}

impl ActorKind {
    /// As it is written, here and in the serde form.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ActorKind::User => "user",
            ActorKind::System => "system",
            ActorKind::Service => "service",
            ActorKind::ApiKey => "api_key",
        }
    }
}

/// The process that wrote the event down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Producer {
    /// The service.
    pub service: String,
    /// The running revision.
    pub instance: String,
    /// The source commit it was built from.
    pub commit: String,
    /// Where it runs; not every profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// Where a tenant's data lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residency {
    /// The Middle East.
    Me,
    /// Asia-Pacific.
    Ap,
    /// Europe.
    Eu,
    /// The United States.
    Us,
}

impl Residency {
    /// All of them.
    pub const ALL: [Residency; 4] = [Residency::Me, Residency::Ap, Residency::Eu, Residency::Us];

    /// As a cloud region.
    pub const fn region(self) -> &'static str {
        match self {
            Residency::Me => "me-central1",
            Residency::Ap => "asia-south1",
            Residency::Eu => "europe-west1",
            Residency::Us => "us-central1",
        }
    }

    /// As a short name.
    pub const fn short(self) -> &'static str {
        match self {
            Residency::Me => "me",
            Residency::Ap => "ap",
            Residency::Eu => "eu",
            Residency::Us => "us",
        }
    }
}
