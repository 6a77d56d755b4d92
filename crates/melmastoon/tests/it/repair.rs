//! What is left of a stay for a person, tried again.

use karwan::{Error, TenantTx};
use melmastoon::ids::{KeyCredentialId, ReservationId};
use melmastoon::lock_integration::credentials::{KeyCredentialIssued, KeyCredentialRevoked};
use melmastoon::lock_integration::state::{ManualKey, ManualTask};
use melmastoon::lock_integration::vendor::VendorFailure;
use melmastoon::payment::IntentRefunded;
use melmastoon::repair;
use melmastoon::reservation::commands as reservation;
use melmastoon::values::PaymentRail;

use crate::desk::Trouble;
use crate::world::gateway::Fault;
use crate::world::{FIRST_NIGHT, World, from};

/// What a retry says, without its ids.
async fn said(world: &World, of: ReservationId) -> Vec<String> {
    let parts = repair::retry(world.store(), from, of).await.expect("it can be seen what waits");
    parts.iter().map(|part| part.to_string().split(':').next().unwrap_or_default().to_owned()).collect()
}

/// A stay that was booked with this trouble ahead, and cancelled while the maker of locks is as bad as this.
async fn cancelled(money: Fault, locks: Trouble) -> (World, ReservationId) {
    let world = World::with_rooms(1).await;
    world.gateway.next(money);
    let id = world.book(FIRST_NIGHT, 1, PaymentRail::Card).await.reservation_id;
    world.locks.spoil(locks);
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.expect("it can be");
    world.settle().await;
    (world, id)
}

/// U-12: after a minute the desk hears of a key that is still being ended. That is no reason to leave the refund.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_still_being_ended_is_left_alone_and_the_refund_is_asked_for_again() {
    let (world, id) = cancelled(Fault::RefundDeclined(1), Trouble::Down).await;
    world.pass_ms(63_000).await;
    let ending = "the vendor is still being asked to end a key";
    assert_eq!(said(&world, id).await, [ending, "a refund is asked for again"]);
    world.settle().await;
    assert_eq!(world.told::<IntentRefunded>().await.len(), 1);
    assert_eq!(said(&world, id).await, [ending]);
    world.locks.mend();
    world.pass_ms(600_000).await;
    assert_eq!(world.told::<KeyCredentialRevoked>().await.len(), 1);
    assert_eq!(said(&world, id).await, Vec::<String>::new());
}

/// U-12: finance hears of a refund that takes more than a minute, and the gateway is asked for it all along.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_the_gateway_is_still_asked_for_is_not_told_as_asked_for_again() {
    let (world, id) = cancelled(Fault::RefundSilentAfter(8), Trouble::None).await;
    world.pass_ms(60_000).await;
    assert_eq!(said(&world, id).await, ["the gateway is still being asked for a refund"]);
    for _ in 0..40 {
        world.pass_ms(60_000).await;
    }
    assert_eq!(world.told::<IntentRefunded>().await.len(), 1);
    assert_eq!(said(&world, id).await, Vec::<String>::new());
}

/// A key that waits at the desk although it was ended: a retry of it is refused, whatever else is left.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_service_refuses_keeps_no_other_from_being_asked() {
    let (world, id) = cancelled(Fault::RefundDeclined(1), Trouble::None).await;
    let issued = world.told::<KeyCredentialIssued>().await.remove(0);
    leave(&world, id, issued.key_credential_id, &issued).await;
    let refused = "the vendor is not asked again to end a key";
    assert_eq!(said(&world, id).await, [refused, "a refund is asked for again"]);
    world.settle().await;
    assert_eq!(world.told::<IntentRefunded>().await.len(), 1);
}

async fn leave(world: &World, stay: ReservationId, key: KeyCredentialId, of: &KeyCredentialIssued) {
    let unit = async |tx: TenantTx| {
        tx.find::<ManualKey>(&key.to_string()).await?;
        tx.put(ManualKey {
            key_credential_id: key,
            reservation_id: stay,
            property_id: of.property_id,
            rooms: of.rooms.clone(),
            valid_from: of.valid_from,
            valid_until: of.valid_until,
            task: ManualTask::Revoke,
            failure: VendorFailure::Unreachable,
            since: tx.now(),
            done_at: None,
        });
        Ok::<_, Error>(())
    };
    world.store().unit(&from("lock-integration-service"), unit).await.expect("it is written");
}
