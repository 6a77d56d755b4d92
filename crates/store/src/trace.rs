//! Spans: what happened within a trace, told to whoever wants to hear it.
//!
//! The trace is the correlation. Publishing an event is a span of its own, whose id follows from the event's; handling it is a
//! child of that span, whose id follows from the event and the consumer. So both are the same whenever and wherever they are
//! worked out, and a form of the envelope that has no room for a span still keeps the tree together.
//!
//! The span of publishing an event is told by the unit that commits it. Of what plain SQL appends (`karwan.append`) nobody tells
//! it: the spans of those who handle the event have a parent then that never comes.

use std::sync::Arc;

use karwan_envelope::cause::{Cause, Span, Tenant};
use karwan_envelope::ids::{CorrelationId, EventId};
use karwan_envelope::time::Timestamp;

use crate::facts::Origin;

/// Something that took a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRecord {
    /// The trace, as 16 bytes.
    pub trace: CorrelationId,
    /// Its id within the trace; never 0.
    pub id: u64,
    /// The span that led to it.
    pub parent: u64,
    /// `publish <subject>`, `consume <subject>`, or a transition: `booking: held → confirmed`.
    pub name: String,
    /// The service that did it.
    pub service: String,
    /// The event; of a transition, the one that led to it.
    pub event: Option<EventId>,
    /// Whose.
    pub tenant: Tenant,
    /// When it began.
    pub from: Timestamp,
    /// When it ended.
    pub until: Timestamp,
    /// Whether it came to a good end.
    pub ok: bool,
}

/// Hears of spans. Called in the middle of everything: it must be quick and must not block.
pub type Spans = Arc<dyn Fn(SpanRecord) + Send + Sync>;

/// The span of publishing an event.
pub fn publish_span(event: EventId) -> u64 {
    span_id(Origin::of(&[b"publish", &event.bits().to_be_bytes()]))
}

/// The span of handling an event.
pub fn consume_span(event: EventId, consumer: &str) -> u64 {
    span_id(Origin::of(&[b"consume", consumer.as_bytes(), &event.bits().to_be_bytes()]))
}

/// The span of a transition in a unit, by what led to it and its place among the unit's.
pub(crate) fn transition_span(origin: Origin, ordinal: usize) -> u64 {
    span_id(Origin::of(&[b"transition", &origin.bits().to_be_bytes(), &(ordinal as u64).to_be_bytes()]))
}

/// What follows from an event that a consumer handles: the same trace, the event as cause, the handling as span.
pub fn consequence(event: EventId, cause: &Cause, consumer: &str) -> Cause {
    let flags = cause.traceparent().span.flags;
    Cause { span: Some(Span { id: consume_span(event, consumer), flags }), ..Cause::of(event, cause) }
}

/// The highest bit is never set: some readers know only signed numbers.
fn span_id(origin: Origin) -> u64 {
    (origin.bits() as u64 >> 1).max(1)
}
