//! The services put together: what a node keeps, does and calls.
//!
//! A node runs all services, or those that it names; whatever it runs, its store knows the documents of all of them, so that
//! nodes with different services can share a database.

use std::sync::Arc;

use karwan::{KindType, Work};

use crate::lock_integration::port::Vendor;
use crate::notification::port::Carrier;
use crate::payment::port::Rail;
use crate::{
    analytics, audit, billing, iam, inventory, lock_integration, notification, payment, pricing, property, reservation,
    search_aggregation, tenant,
};

/// Who is outside: one connection for every port.
#[derive(Clone)]
pub struct Vendors {
    /// The gateway of the card rail.
    pub card: Arc<dyn Rail>,
    /// Whose locks the rooms have.
    pub locks: Arc<dyn Vendor>,
    /// Who carries messages to guests.
    pub messages: Arc<dyn Carrier>,
}

/// A service as a node sees it.
#[derive(Clone, Copy)]
pub struct Part {
    /// Its short name, as `--services` takes it: its token in subjects.
    pub name: &'static str,
    /// The documents that it keeps.
    pub kinds: fn() -> Vec<KindType>,
    /// What it does.
    pub work: fn(Work, &Vendors) -> Work,
}

/// The services that do something.
pub const PARTS: &[Part] = &[
    Part {
        name: "tenant",
        kinds: || vec![KindType::of::<tenant::state::Profile>(), KindType::of::<tenant::state::Membership>()],
        work: |work, _| work,
    },
    Part {
        name: "property",
        kinds: || {
            vec![
                KindType::of::<property::state::Property>(),
                KindType::of::<property::state::RoomType>(),
                KindType::of::<property::state::Room>(),
            ]
        },
        work: |work, _| work,
    },
    Part {
        name: "pricing",
        kinds: || {
            vec![
                KindType::of::<pricing::state::Terms>(),
                KindType::of::<pricing::state::House>(),
                KindType::of::<pricing::state::Sleeps>(),
                KindType::of::<pricing::state::Plan>(),
                KindType::of::<pricing::state::Prices>(),
                KindType::of::<pricing::state::Exchange>(),
                KindType::of::<pricing::state::Quote>(),
            ]
        },
        work: |work, _| pricing::work::work(work),
    },
    Part {
        name: "reservation",
        kinds: || vec![KindType::of::<reservation::booking::Booking>(), KindType::of::<reservation::work::Door>()],
        work: |work, _| reservation::work::work(work),
    },
    Part {
        name: "inventory",
        kinds: || {
            vec![
                KindType::of::<inventory::state::Stock>(),
                KindType::of::<inventory::state::Night>(),
                KindType::of::<inventory::state::Allocation>(),
                KindType::of::<inventory::state::StopSell>(),
            ]
        },
        work: |work, _| inventory::work::work(work),
    },
    Part {
        name: "payment",
        kinds: || {
            vec![
                KindType::of::<payment::state::Case>(),
                KindType::of::<payment::state::Intent>(),
                KindType::of::<payment::state::FinanceAlert>(),
            ]
        },
        work: |work, vendors| payment::work::work(work, &vendors.card),
    },
    Part {
        name: "billing",
        kinds: || vec![KindType::of::<billing::folio::Folio>()],
        work: |work, _| billing::work::work(work),
    },
    Part {
        name: "lock_integration",
        kinds: lock_integration::kinds,
        work: |work, vendors| lock_integration::work::work(work, vendors.locks.clone()),
    },
    Part {
        name: "notification",
        kinds: notification::kinds,
        work: |work, vendors| notification::work::work(work, vendors.messages.clone()),
    },
    Part { name: "iam", kinds: iam::kinds, work: |work, _| iam::work::work(work) },
    Part {
        name: "search_aggregation",
        kinds: search_aggregation::kinds,
        work: |work, _| search_aggregation::work::work(work),
    },
    Part { name: "analytics", kinds: analytics::kinds, work: |work, _| analytics::work::work(work) },
    Part { name: "audit", kinds: audit::kinds, work: |work, _| audit::work::work(work) },
];

/// The documents of all services.
pub fn kinds() -> Vec<KindType> {
    PARTS.iter().flat_map(|part| (part.kinds)()).collect()
}

/// No service has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no service `{name}`; there are {}", known())]
pub struct UnknownService {
    /// What was asked for.
    pub name: String,
}

fn known() -> String {
    PARTS.iter().map(|part| part.name).collect::<Vec<_>>().join(", ")
}

/// What the named services do; all of them where none is named.
pub fn work(services: &[&str], vendors: &Vendors) -> Result<Work, UnknownService> {
    if let Some(name) = services.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        return Err(UnknownService { name: (*name).to_owned() });
    }
    let wanted = |part: &&Part| services.is_empty() || services.contains(&part.name);
    Ok(PARTS.iter().filter(wanted).fold(Work::new(), |work, part| (part.work)(work, vendors)))
}
