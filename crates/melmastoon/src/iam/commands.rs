//! What callers ask of iam: an account, its end, and whether it may do something.
//!
//! Not here: passwords, sessions, devices and second factors, which come with signing in.

use karwan::{Context, Error, Store, TenantTx};

use super::decide::{NewUser, admit, may, needs_second_factor};
use super::state::{Access, Address, User};
use super::{DeactivationReason, UserCreated, UserDeactivated};
use crate::ids::{PropertyId, UserId};
use crate::refusal::Refusal;
use crate::values::StaffRole;

/// Makes an account. An address signs in to one account of a tenant.
pub async fn create(store: &Store, context: &Context, wanted: &NewUser) -> Result<UserId, Refusal> {
    admit(wanted)?;
    let unit = async |tx: TenantTx| {
        if tx.find::<Address>(&Address::key(&wanted.email)).await?.is_some() {
            return Err(Refusal::invalid("email", "another account has it"));
        }
        let user_id: UserId = tx.fresh();
        tx.put(Address::of(&wanted.email, user_id));
        tx.put(User {
            user_id,
            version: 1,
            kind: wanted.kind,
            full_name: wanted.full_name.clone(),
            email: wanted.email.clone(),
            phone: wanted.phone.clone(),
            preferred_locale: wanted.preferred_locale.clone(),
            sign_in: wanted.sign_in,
            active: true,
        });
        tx.emit(UserCreated {
            user_id,
            kind: wanted.kind,
            full_name: wanted.full_name.clone(),
            email: wanted.email.clone(),
            phone: wanted.phone.clone(),
            preferred_locale: wanted.preferred_locale.clone(),
            sign_in: wanted.sign_in,
            mfa_required: needs_second_factor(wanted.kind),
            created_at: tx.now(),
        });
        Ok(user_id)
    };
    Ok(store.unit::<_, Refusal, _>(context, unit).await?.answer)
}

/// Ends an account; one that has ended stays so. Its address is free for another.
pub async fn deactivate(
    store: &Store,
    context: &Context,
    id: UserId,
    reason: DeactivationReason,
    by: Option<UserId>,
) -> Result<(), Refusal> {
    let unit = async |tx: TenantTx| {
        let user: Option<User> = tx.find(&id.to_string()).await?;
        let mut user = user.ok_or_else(|| Refusal::not_found("user", id))?;
        if !user.active {
            return Ok(());
        }
        user.active = false;
        user.version += 1;
        let address = Address::key(&user.email);
        if tx.find::<Address>(&address).await?.is_some() {
            tx.delete::<Address>(&address);
        }
        tx.emit(UserDeactivated {
            user_id: id,
            version: user.version,
            staff_id: None,
            reason,
            deactivated_at: tx.now(),
            deactivated_by: by,
        });
        tx.put(user);
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

/// Whether an account has a role at a property.
pub async fn allowed(store: &Store, context: &Context, id: UserId, of: (StaffRole, PropertyId)) -> Result<bool, Error> {
    let tx = store.tenant(context);
    let user: Option<User> = tx.find(&id.to_string()).await?;
    let access: Option<Access> = tx.find(&id.to_string()).await?;
    Ok(user.zip(access).is_some_and(|(user, access)| may(&user, &access, of.0, of.1)))
}
