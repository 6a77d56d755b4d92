//! Tenants, their people, roles and groups.

use karwan_envelope::time::Timestamp;
use karwan_registry::{Event, EventType, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{OrgUnitId, RoleId, TenantId, UserId};
use crate::text::literals;
use crate::types::{Email, INTEGER_MAX, LABEL_MAX, LIST_MAX, Sha256};

/// The events of this service.
pub fn events() -> Vec<EventType> {
    events![OrgProvisioned, UserInvited, RoleAssigned, DynamicGroupEvaluated, DataResidencyChanged].into()
}

/// A tenant was set up in its home region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "tenant.org.provisioned.v1",
    owner = "tenant-service",
    retention = "operational",
    key = "{tenant_id}",
    idempotency = "{tenant_id}:provisioned"
)]
pub struct OrgProvisioned {
    /// The new tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// What the tenant is.
    #[serde(rename = "type")]
    pub org_type: OrgType,
    /// Its name in addresses.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub slug: String,
    /// Where its data lives.
    pub home_region: Region,
    /// The plan it starts with.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub plan_id: String,
    /// Who created it.
    pub created_by: UserId,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Somebody was invited into a tenant by mail.
///
/// Ordered by tenant and not by address, so that the address stays out of the ordering key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "tenant.user.invited.v1",
    owner = "tenant-service",
    retention = "operational",
    key = "{tenant_id}",
    idempotency = "{email}:invited:{expires_at}"
)]
pub struct UserInvited {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The address the invitation goes to.
    pub email: Email,
    /// Who invited.
    pub invited_by: UserId,
    /// The roles that await the guest.
    #[schemars(length(max = LIST_MAX))]
    pub role_ids: Vec<RoleId>,
    /// The units that await the guest.
    #[schemars(length(max = LIST_MAX))]
    pub org_unit_ids: Vec<OrgUnitId>,
    /// Until when the invitation can be accepted.
    pub expires_at: Timestamp,
}

/// A user was given roles in a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "tenant.role.assigned.v1",
    owner = "tenant-service",
    retention = "operational",
    key = "{user_id}",
    idempotency = "{user_id}:roles_assigned:{at}"
)]
pub struct RoleAssigned {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The user.
    pub user_id: UserId,
    /// The roles that were given.
    #[schemars(length(max = LIST_MAX))]
    pub role_ids: Vec<RoleId>,
    /// Who gave them.
    pub by: UserId,
    /// When it happened.
    pub at: Timestamp,
}

/// The members of a dynamic group were computed anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "tenant.dynamic_group.evaluated.v1",
    owner = "tenant-service",
    retention = "operational",
    key = "{group_id}",
    idempotency = "{group_id}:evaluated:{evaluated_at}"
)]
pub struct DynamicGroupEvaluated {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// The group.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub group_id: String,
    /// How many members it has.
    #[schemars(range(max = INTEGER_MAX))]
    pub size: u64,
    /// When it was computed.
    pub evaluated_at: Timestamp,
    /// Digest of the sorted members, to see a change without listing them.
    pub member_digest: Sha256,
}

/// A tenant's data finished moving to another region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "tenant.data_residency.changed.v1",
    owner = "tenant-service",
    retention = "operational",
    key = "{tenant_id}",
    idempotency = "{tenant_id}:residency_changed:{to_region}:{completed_at}"
)]
pub struct DataResidencyChanged {
    /// The tenant; the same as in the envelope.
    pub tenant_id: TenantId,
    /// Where the data was.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub from_region: String,
    /// Where the data is.
    #[schemars(length(min = 1, max = LABEL_MAX))]
    pub to_region: String,
    /// When the move was complete.
    pub completed_at: Timestamp,
}

literals! {
    /// What a tenant is.
    OrgType {
        /// An organisation that learns.
        Org = "org",
        /// A provider of courses.
        Provider = "provider",
        /// One person.
        Individual = "individual",
        /// An organisation that learns and provides.
        OrgAndProvider = "org+provider",
    }

    /// Where a tenant's data lives.
    Region {
        /// United States.
        Us = "us",
        /// European Union.
        Eu = "eu",
        /// Middle East.
        Me = "me",
        /// Asia and the Pacific.
        Ap = "ap",
    }
}
