//! What tenant keeps: the tenant with its settings, and memberships.

use karwan::envelope::ids::TenantId;
use karwan::{Document, Kind};
use serde::{Deserialize, Serialize};

use super::TenantSettings;
use crate::ids::{MembershipId, UserId};
use crate::values::StaffRole;

/// A tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The tenant.
    pub tenant_id: TenantId,
    /// Counted up by every suspension.
    pub version: u32,
    /// Counted up by every change of the settings.
    pub settings_version: u32,
    /// Its settings.
    pub settings: TenantSettings,
    /// Whether it may sell.
    pub sells: bool,
}

impl Document for Profile {
    const KIND: Kind = Kind { carries: Some("melmastoon.tenant.tenant"), ..Kind::named("tenant_profile") };
    fn id(&self) -> String {
        self.tenant_id.to_string()
    }
}

/// A user's place in a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// The membership.
    pub membership_id: MembershipId,
    /// Its version.
    pub version: u32,
    /// The member.
    pub user_id: UserId,
    /// The role.
    pub role: StaffRole,
}

impl Document for Membership {
    const KIND: Kind = Kind { carries: Some("melmastoon.tenant.role"), ..Kind::named("tenant_membership") };
    fn id(&self) -> String {
        self.membership_id.to_string()
    }
}
