//! ai-orchestrator-service: the only door to a model, and the record of what came through it.

pub mod events;

use karwan::{EventType, events};

use self::events::{AnomalyDetected, CompletionCompleted, CompletionRefused, HumanDecided, LocalInferenceCompleted};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![CompletionCompleted, CompletionRefused, LocalInferenceCompleted, AnomalyDetected, HumanDecided].into()
}
