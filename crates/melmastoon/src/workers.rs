//! How many events of a service are handled at once, as the documents ask (000 §11.3).
//!
//! Instances and messages become lanes and batches: a lane is what one worker does at a time. What the documents serialise by
//! room, folio or property is serialised by guard documents, never by lanes: lanes by room would run one reservation's events
//! at once. "No ordering" only means more lanes; order per key is kept anyway.
//!
//! The documents' figures are of a fleet, and so an upper bound: a lane is a lease and a transaction of its own, and work that is
//! spread over many lanes finds no batch to share one. [`WORKERS`] is the table with [`LANES_MAX`] lanes a consumer at most; that
//! is what the platform carries, so that a consumer of one of these services that says nothing of lanes has them from here.

use karwan::registry::platform::Workers;

/// The most lanes of one consumer: as many processes can share it, and a busy one still fills its batches.
pub const LANES_MAX: u16 = 8;

/// What the platform carries: the table, with no more lanes than are of use.
pub const WORKERS: [Workers; 7] = {
    let mut workers = TABLE;
    let mut place = 0;
    while place < workers.len() {
        workers[place] = bounded(workers[place]);
        place += 1;
    }
    workers
};

/// Fewer instances first, and then fewer events at once, until there are no more lanes than [`LANES_MAX`].
const fn bounded(mut of: Workers) -> Workers {
    if of.at_once > LANES_MAX {
        of.at_once = LANES_MAX;
    }
    let instances_max = LANES_MAX / of.at_once;
    if of.instances.1 > instances_max {
        of.instances.1 = instances_max;
    }
    if of.instances.0 > instances_max {
        of.instances.0 = instances_max;
    }
    of
}

/// The table of 000 §11.3.
pub const TABLE: [Workers; 7] = [
    Workers {
        service: "inventory-service",
        instances: (1, 10),
        at_once: 4,
        messages: 32,
        guard: Some("{tenantId}:{roomId}"),
    },
    Workers {
        service: "billing-service",
        instances: (1, 20),
        at_once: 8,
        messages: 32,
        guard: Some("{tenantId}:{folioId}"),
    },
    Workers {
        service: "lock-integration-service",
        instances: (1, 10),
        at_once: 2,
        messages: 32,
        guard: Some("{tenantId}:{reservationId}"),
    },
    Workers { service: "notification-service", instances: (0, 50), at_once: 20, messages: 32, guard: None },
    Workers { service: "analytics-service", instances: (4, 4), at_once: 1, messages: 16, guard: None },
    Workers {
        service: "search-aggregation-service",
        instances: (2, 2),
        at_once: 1,
        messages: 8,
        guard: Some("{tenantId}:{propertyId}"),
    },
    Workers { service: "audit-service", instances: (8, 8), at_once: 1, messages: 32, guard: None },
];
