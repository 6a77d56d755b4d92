//! What iam does with the events of others: it keeps who may do what.

use std::collections::BTreeMap;

use karwan::{Consumer, Error, Received, TenantTx, Verdict, Work};

use super::SERVICE;
use super::state::{Access, Grant};
use crate::tenant::RoleGranted;

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::iam::kinds(),
    roles => crate::told::a_role_is_granted,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    consumers().into_iter().fold(work, Work::consumer)
}

fn roles() -> Consumer {
    Consumer::new(SERVICE, "roles").on(granted)
}

async fn granted(tx: TenantTx, granted: Received<RoleGranted>) -> Result<Verdict, Error> {
    let RoleGranted { membership_id, version, user_id, role, property_ids, ai_decisions, .. } = granted.event;
    let known: Option<Access> = tx.find(&user_id.to_string()).await?;
    let mut access = known.unwrap_or(Access { user_id, grants: BTreeMap::new() });
    if access.grants.get(&membership_id).is_none_or(|known| known.version < version) {
        access.grants.insert(membership_id, Grant { version, role, property_ids, ai_decisions });
        tx.put(access);
    }
    Ok(Verdict::Done)
}
