//! Sagas as they begin and end in this process, counted from the spans of their committed transitions.
//!
//! Kept apart from the store's own counts until somebody looks: who hears of spans must be quick, and must not hold the store that
//! tells them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use karwan_store::metrics::Metrics;
use melmastoon::sagas::{self, Counted};

/// What was counted and not handed on; as many entries as there are services and ends of sagas.
#[derive(Default)]
pub struct Tally(Mutex<BTreeMap<(String, Counted), u64>>);

impl Tally {
    /// Counts a span of a service, where it begins or ends a saga.
    pub fn take(&self, service: &str, span: &str) {
        for counted in sagas::counted(span) {
            let mut counts = self.0.lock().expect("nothing panics while holding it");
            *counts.entry((service.to_owned(), *counted)).or_default() += 1;
        }
    }

    /// Hands on what was counted; what began before what ended.
    pub fn pour(&self, metrics: &Metrics) {
        let counts = std::mem::take(&mut *self.0.lock().expect("nothing panics while holding it"));
        for ((service, counted), times) in counts {
            for _ in 0..times {
                match counted {
                    Counted::Began(saga) => metrics.saga_began(&service, saga),
                    Counted::Ended(saga, outcome) => metrics.saga_ended(&service, saga, outcome),
                }
            }
        }
    }
}
