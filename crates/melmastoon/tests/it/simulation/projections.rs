//! What must hold of keys, figures, listings and the trail once a hotel is drained.

use std::collections::{BTreeMap, BTreeSet};

use karwan::envelope::Envelope;
use karwan::envelope::time::Date;
use melmastoon::analytics::state::Day;
use melmastoon::audit::decide::broken_at;
use melmastoon::audit::events::EntryAppended;
use melmastoon::ids::{KeyCredentialId, ReservationId, RoomId};
use melmastoon::inventory::{AllocationCommitted, AllocationReleased};
use melmastoon::lock_integration::KeyCredentialIssued;
use melmastoon::lock_integration::credentials::KeyCredentialRevoked;
use melmastoon::lock_integration::state::{Credential, KeyState};
use melmastoon::reservation::booking::{Booking, State};
use melmastoon::search_aggregation::commands;
use melmastoon::search_aggregation::state::Awaited;

use super::rules::all;
use crate::analytics::{shown_in, truth};
use crate::world::{World, from};

/// Whether no vendor is being asked for anything, and nothing that is new waits to be shown.
pub async fn are_drained(world: &World) -> bool {
    let (credentials, days): (Vec<Credential>, Vec<Day>) = (all(world).await, all(world).await);
    let unlisted: Vec<Awaited> = all(world).await;
    let settled = |key: &Credential| matches!(key.state, KeyState::Issued | KeyState::Revoked);
    credentials.iter().all(settled) && !days.iter().any(|day| day.awaited) && unlisted.is_empty()
}

/// At most one live key a room and booking, none of a booking that does not stand, and the vendor's own books agree.
pub async fn keys(world: &World, bookings: &[Booking], broken: &mut Vec<String>) {
    let revoked: BTreeSet<KeyCredentialId> =
        world.told::<KeyCredentialRevoked>().await.iter().map(|key| key.key_credential_id).collect();
    let issued = world.told::<KeyCredentialIssued>().await;
    let live: Vec<_> = issued.iter().filter(|key| !revoked.contains(&key.key_credential_id)).collect();
    let mut opens: BTreeMap<(ReservationId, RoomId), u32> = BTreeMap::new();
    for key in &live {
        let of = key.reservation_id.expect("a guest's");
        let stands = bookings.iter().any(|it| it.reservation_id == of && matches!(it.state, State::Confirmed(_)));
        if !stands {
            broken.push(format!("{} opens for {of}, which does not stand", key.key_credential_id));
        }
        key.rooms.iter().for_each(|room| *opens.entry((of, *room)).or_default() += 1);
    }
    for ((of, room), keys) in opens.iter().filter(|(_, keys)| **keys > 1) {
        broken.push(format!("{keys} keys of {of} open {room}"));
    }
    let told: BTreeSet<KeyCredentialId> = live.iter().map(|key| key.key_credential_id).collect();
    let open: BTreeSet<KeyCredentialId> = world.locks.open().into_iter().collect();
    if told != open {
        broken.push(format!("told are the keys {told:?}, and {open:?} open doors"));
    }
}

/// The figures of every day are those of a recomputation from the log.
pub fn figures(log: &[Envelope], broken: &mut Vec<String>) {
    let (shown, truth) = (shown_in(log), truth(log));
    if shown != truth {
        broken.push(format!("shown are the figures {shown:?}, and the log says {truth:?}"));
    }
}

/// What the listing says is free is what allocations in the log leave.
pub async fn listings(world: &World, broken: &mut Vec<String>) {
    let listing = commands::listing(world.store(), &from("search-aggregation-service"), world.property).await;
    let Some(listing) = listing.expect("the store answers") else {
        broken.push("the property is not listed".to_owned());
        return;
    };
    let mut taken: BTreeMap<Date, i64> = BTreeMap::new();
    let mut count = |rooms: &[melmastoon::inventory::AllocatedRoom], by: i64| {
        let nights = rooms.iter().flat_map(|room| room.dates.from.unix_days()..room.dates.until.unix_days());
        nights.for_each(|night| *taken.entry(Date::from_unix_days(night)).or_default() += by);
    };
    world.told::<AllocationCommitted>().await.iter().for_each(|it| count(&it.rooms, 1));
    world.told::<AllocationReleased>().await.iter().for_each(|it| count(&it.rooms, -1));
    let shown: BTreeMap<Date, u32> =
        listing.room_types[0].nights.iter().map(|night| (night.date, night.rooms_free)).collect();
    let rooms = shown.values().copied().max().unwrap_or_default();
    for (night, taken) in taken {
        let free = i64::from(rooms) - taken;
        let listed = i64::from(shown.get(&night).copied().unwrap_or_default());
        if free != listed {
            broken.push(format!("{listed} rooms are listed for {night}, and {free} are free"));
        }
    }
}

/// Every event has its entry, and the chain is whole.
pub fn trail(log: &[Envelope], broken: &mut Vec<String>) {
    let is_entry = |it: &&Envelope| it.subject.as_str() == <EntryAppended as karwan::Event>::SUBJECT;
    let read = |it: &Envelope| serde_json::from_str::<EntryAppended>(it.payload.get()).expect("an entry");
    let entries: Vec<EntryAppended> = log.iter().filter(is_entry).map(read).collect();
    if let Some(place) = broken_at(&entries) {
        broken.push(format!("the trail is broken at {place}"));
    }
    let entered: BTreeSet<&str> =
        entries.iter().filter_map(|entry| entry.source.as_ref()).map(|it| it.event_id.as_str()).collect();
    for event in log.iter().filter(|it| it.producer.service != melmastoon::audit::SERVICE) {
        if !entered.contains(event.id.to_string().as_str()) {
            broken.push(format!("{} is not in the trail", event.subject));
        }
    }
}
