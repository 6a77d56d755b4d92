//! What is partial is repaired: what a saga has left for a person, tried again once vendors are well.

use std::collections::BTreeSet;

use melmastoon::ids::ReservationId;
use melmastoon::repair::{self, Part};
use melmastoon::rules::Kept;

use super::rules::{broken_now, is_drained, kept};
use super::{DRAIN_MS, DRAIN_STEPS};
use crate::world::{World, from};

/// The stays that wait for a person.
fn partial(kept: &Kept) -> BTreeSet<ReservationId> {
    let alerts = kept.alerts.iter().filter(|alert| alert.open).map(|alert| alert.reservation_id);
    let keys = kept.manual.iter().filter(|key| key.done_at.is_none()).map(|key| key.reservation_id);
    alerts.chain(keys).collect()
}

/// What `karwan saga retry-step` does, for each of them; what does not hold then. Nothing is left for anybody.
pub async fn repaired(world: &World) -> Vec<String> {
    let waiting = partial(&kept(world).await);
    if waiting.is_empty() {
        return Vec::new();
    }
    world.gateway.mend();
    world.locks.mend();
    let mut broken = Vec::new();
    for of in waiting {
        match repair::retry(world.store(), from, of).await {
            Ok(parts) if parts.is_empty() => broken.push(format!("a partial saga has nothing to try again: {of}")),
            Ok(parts) => {
                let refused = parts.iter().filter(|part| matches!(part, Part::Refused(..)));
                broken.extend(refused.map(|part| format!("a partial saga cannot be repaired: {of}: {part}")));
            }
            Err(refused) => broken.push(format!("a partial saga cannot be repaired: {of}: {refused}")),
        }
    }
    world.settle().await;
    for _ in 0..DRAIN_STEPS {
        if is_drained(world).await {
            break;
        }
        world.pass_ms(DRAIN_MS).await;
    }
    broken.extend(partial(&kept(world).await).into_iter().map(|of| format!("a saga is still partial: {of}")));
    broken.extend(broken_now(world).await);
    broken
}
