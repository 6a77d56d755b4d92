//! Who may do what, and what an account may become. No clock, no I/O.

use super::state::{Access, User};
use super::{AccountKind, SignInMethod};
use crate::ids::PropertyId;
use crate::refusal::Refusal;
use crate::values::{Locale, StaffRole};

/// An account that is wanted.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// What kind of account it is.
    pub kind: AccountKind,
    /// The user's name.
    pub full_name: String,
    /// The address that signs in.
    pub email: String,
    /// A number for second factors and alerts, in E.164 form.
    pub phone: Option<String>,
    /// The language.
    pub preferred_locale: Locale,
    /// How the user proves who they are.
    pub sign_in: SignInMethod,
}

/// Refuses an account that could not be told of.
pub fn admit(wanted: &NewUser) -> Result<(), Refusal> {
    let name = wanted.full_name.chars().count();
    if !(1..=200).contains(&name) {
        return Err(Refusal::invalid("fullName", "1 to 200 characters"));
    }
    let parts = wanted.email.split_once('@');
    let good = parts.is_some_and(|(who, host)| !who.is_empty() && host.contains('.') && !host.contains('@'));
    if !good || wanted.email.len() > 254 {
        return Err(Refusal::invalid("email", "an address such as name@example.af"));
    }
    Ok(())
}

/// Whether staff of the platform and owners must have a second factor: they can undo what others did.
pub fn needs_second_factor(kind: AccountKind) -> bool {
    match kind {
        AccountKind::PlatformStaff => true,
        AccountKind::Staff | AccountKind::Guest => false,
    }
}

/// Whether an account has a role at a property. One that is deactivated has none.
pub fn may(user: &User, access: &Access, role: StaffRole, property: PropertyId) -> bool {
    let here = |properties: &[PropertyId]| properties.is_empty() || properties.contains(&property);
    user.active && access.grants.values().any(|grant| grant.role == role && here(&grant.property_ids))
}
