//! What a caller asks of tenant: to take one on, to change its settings, to suspend it, to give somebody a role.

use karwan::envelope::ids::TenantId;
use karwan::{Context, Store, Tenant, TenantTx};

use super::state::{Membership, Profile};
use super::{
    Plan, RoleGranted, SettingsArea, SettingsChanged, SuspensionReason, TenantCreated, TenantSettings, TenantSuspended,
};
use crate::ids::{MembershipId, PropertyId, UserId};
use crate::refusal::Refusal;
use crate::values::StaffRole;

/// Take a tenant on.
#[derive(Debug, Clone)]
pub struct Onboard {
    /// The name of its booking site.
    pub slug: String,
    /// Its name in business.
    pub name: String,
    /// Where it is registered, ISO 3166.
    pub country: String,
    /// The plan it is on.
    pub plan: Plan,
    /// Its settings.
    pub settings: TenantSettings,
    /// The account that owns it.
    pub owner: UserId,
}

/// Takes on the tenant of the context; one that is there stays as it is.
pub async fn onboard(store: &Store, context: &Context, onboard: &Onboard) -> Result<TenantId, Refusal> {
    let tenant_id = tenant(context)?;
    let unit = async |tx: TenantTx| {
        if tx.find::<Profile>(&tenant_id.to_string()).await?.is_some() {
            return Ok(tenant_id);
        }
        let onboard = onboard.clone();
        let settings = onboard.settings.clone();
        tx.put(Profile { tenant_id, version: 1, settings_version: 1, settings, sells: true });
        tx.emit(TenantCreated {
            tenant_id,
            slug: onboard.slug,
            name: onboard.name,
            country: onboard.country,
            plan: onboard.plan,
            settings: onboard.settings,
            owner_user_id: onboard.owner,
            created_at: tx.now(),
        });
        Ok(tenant_id)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Replaces the settings.
pub async fn change_settings(
    store: &Store,
    context: &Context,
    settings: &TenantSettings,
    changed: &[SettingsArea],
    by: Option<UserId>,
) -> Result<(), Refusal> {
    let tenant_id = tenant(context)?;
    let unit = async |tx: TenantTx| {
        let mut profile = profile(&tx, tenant_id).await?;
        profile.settings_version += 1;
        profile.settings = settings.clone();
        tx.emit(SettingsChanged {
            tenant_id,
            version: profile.settings_version,
            changed: changed.to_vec(),
            settings: settings.clone(),
            changed_by: by,
            changed_at: tx.now(),
        });
        tx.put(profile);
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

/// Suspends a tenant: it sells nothing any more. What is booked stays booked.
pub async fn suspend(store: &Store, context: &Context, reason: SuspensionReason) -> Result<(), Refusal> {
    let tenant_id = tenant(context)?;
    let unit = async |tx: TenantTx| {
        let mut profile = profile(&tx, tenant_id).await?;
        profile.version += 1;
        profile.sells = false;
        tx.emit(TenantSuspended {
            tenant_id,
            version: profile.version,
            reason,
            detail: None,
            sales_stopped: true,
            sign_in_blocked: false,
            suspended_at: tx.now(),
        });
        tx.put(profile);
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

/// A role for a user.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Who gets it.
    pub user_id: UserId,
    /// The role.
    pub role: StaffRole,
    /// The properties where it holds; none means all.
    pub property_ids: Vec<PropertyId>,
    /// Who gives it.
    pub by: UserId,
}

/// Makes a user a member with a role.
pub async fn grant_role(store: &Store, context: &Context, grant: &Grant) -> Result<MembershipId, Refusal> {
    let unit = async |tx: TenantTx| {
        let membership_id: MembershipId = tx.fresh();
        let Grant { user_id, role, property_ids, by } = grant.clone();
        tx.put(Membership { membership_id, version: 1, user_id, role });
        tx.emit(RoleGranted {
            membership_id,
            version: 1,
            user_id,
            role,
            property_ids,
            ai_decisions: false,
            granted_by: by,
            granted_at: tx.now(),
        });
        Ok(membership_id)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

fn tenant(context: &Context) -> Result<TenantId, Refusal> {
    match context.tenant {
        Tenant::One(id) => Ok(id),
        Tenant::Platform => Err(Refusal::not_found("tenant", "platform")),
    }
}

async fn profile(tx: &TenantTx, id: TenantId) -> Result<Profile, Refusal> {
    tx.find::<Profile>(&id.to_string()).await?.ok_or_else(|| Refusal::not_found("tenant", id))
}
