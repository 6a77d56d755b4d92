//! Everything that services keep, to see that nothing of it has changed.

use std::collections::{BTreeMap, BTreeSet};

use karwan::Document;
use melmastoon::{
    analytics, audit, billing, hotel, iam, inventory, lock_integration, notification, payment, pricing, property,
    reservation, search_aggregation, tenant,
};

use super::rules::all;
use crate::world::World;

/// Bodies by kind and id.
pub type Documents = BTreeMap<(&'static str, String), String>;

async fn keep<D: Document>(world: &World, kept: &mut Documents) {
    for document in all::<D>(world).await {
        let body = serde_json::to_string(&document).expect("a document can be written");
        kept.insert((D::KIND.name, document.id()), body);
    }
}

/// Asks for documents of each kind; a kind that is not on the list is a broken rule of the test itself.
macro_rules! kept {
    ($world:ident: $($kind:ty),* $(,)?) => {{
        let listed = BTreeSet::from([$(<$kind>::KIND.name),*]);
        let kinds: BTreeSet<&str> = hotel::kinds().iter().map(|of| of.kind.name).collect();
        assert_eq!(listed, kinds, "every kind of every service is looked at");
        let mut kept = Documents::new();
        $(keep::<$kind>($world, &mut kept).await;)*
        kept
    }};
}

/// The documents of all services.
pub async fn kept(world: &World) -> Documents {
    kept![world:
        tenant::state::Profile,
        tenant::state::Membership,
        property::state::Property,
        property::state::RoomType,
        property::state::Room,
        pricing::state::Terms,
        pricing::state::House,
        pricing::state::Sleeps,
        pricing::state::Plan,
        pricing::state::Prices,
        pricing::state::Exchange,
        pricing::state::Quote,
        reservation::booking::Booking,
        reservation::work::Door,
        inventory::state::Stock,
        inventory::state::Night,
        inventory::state::Allocation,
        inventory::state::StopSell,
        payment::state::Case,
        payment::state::Intent,
        payment::state::FinanceAlert,
        billing::folio::Folio,
        lock_integration::state::KeyRing,
        lock_integration::state::Credential,
        lock_integration::state::Policy,
        lock_integration::state::ManualKey,
        lock_integration::state::Heard,
        notification::state::Message,
        notification::state::Contact,
        notification::state::Languages,
        iam::state::User,
        iam::state::Address,
        iam::state::Access,
        search_aggregation::state::Place,
        search_aggregation::state::Month,
        search_aggregation::state::Awaited,
        search_aggregation::state::Listing,
        analytics::state::House,
        analytics::state::Day,
        analytics::state::Rate,
        analytics::state::Snapshot,
        audit::state::Chain,
    ]
}

/// What is not as it was: the document, and both bodies.
pub fn changed(before: &Documents, after: &Documents) -> Vec<String> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differs = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    differs.map(|key| format!("{} {} was {:?} and is {:?}", key.0, key.1, before.get(key), after.get(key))).collect()
}
