//! Which handlers of a batch, or beside one, took longer than they may: that was their attempt, and none of them runs once more before its
//! event is parked.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use karwan_envelope::ids::EventId;

/// See the module.
#[derive(Clone, Default)]
pub(crate) struct Late(Arc<Mutex<HashSet<EventId>>>);

impl Late {
    fn events(&self) -> MutexGuard<'_, HashSet<EventId>> {
        self.0.lock().expect("nothing panics while holding it")
    }

    /// The handler of an event took too long.
    pub fn note(&self, event: EventId) {
        self.events().insert(event);
    }

    /// Whether the handler of an event took too long.
    pub fn has(&self, event: EventId) -> bool {
        self.events().contains(&event)
    }

    /// Forgets what was noted of these, whoever parked them.
    pub fn forget(&self, events: impl Iterator<Item = EventId>) {
        let mut noted = self.events();
        for event in events {
            noted.remove(&event);
        }
    }

    /// Whether the handler of an event took too long; once.
    pub fn take(&self, event: EventId) -> bool {
        self.events().remove(&event)
    }
}
