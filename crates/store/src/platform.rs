//! `PlatformTx`: what belongs to no tenant. With [`crate::RelayTx`] one of the two cross-tenant doors.
//!
//! The platform is the nil tenant: its documents and events are its own, and a tenant's are as far away as another
//! tenant's. What the door names is intent: whoever reads this code sees where a tenant's boundary is left.

use karwan_envelope::cause::Tenant;
use karwan_envelope::envelope::Context;

use crate::error::Error;
use crate::store::{Done, Reason, Store};
use crate::stored::tenant_bits;
use crate::tx::TenantTx;
use crate::write_set::TenantBits;

/// The platform's own unit of work.
#[derive(Clone)]
pub struct PlatformTx(TenantTx);

impl std::ops::Deref for PlatformTx {
    type Target = TenantTx;

    fn deref(&self) -> &TenantTx {
        &self.0
    }
}

impl Store {
    /// One unit of work of the platform, re-run on conflict as [`Store::unit`] is. The context names the platform.
    pub async fn platform<T, E, F>(&self, context: &Context, decide: impl Fn(PlatformTx) -> F) -> Result<Done<T>, E>
    where
        F: Future<Output = Result<T, E>>,
        E: From<Error>,
    {
        if context.tenant != Tenant::Platform {
            return Err(Error::PlatformDoor.into());
        }
        self.run(Reason::Own(self.fresh_id()), context, |tx| decide(PlatformTx(tx))).await
    }
}

/// Refuses the platform where a tenant is meant.
pub(crate) fn tenants_only(context: &Context) -> Result<(), Error> {
    if context.tenant == Tenant::Platform { Err(Error::PlatformDoor) } else { Ok(()) }
}

/// Refuses to do one tenant's task in another tenant's name.
pub(crate) fn same_tenant(what: &'static str, tenant: TenantBits, context: &Context) -> Result<(), Error> {
    if tenant == tenant_bits(context.tenant) { Ok(()) } else { Err(Error::TenantDiffers { what }) }
}
