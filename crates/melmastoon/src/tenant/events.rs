//! What happens to tenants and their members.

use karwan::Event;
use karwan::envelope::ids::TenantId;
use karwan::envelope::money::Currency;
use karwan::envelope::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{MembershipId, PropertyId, UserId};
use crate::lock_integration::terms::KeyKind;
use crate::values::{DataResidency, Locale, StaffRole};

/// A tenant was onboarded.
///
/// Decided here: carries the first settings whole, so that no service asks for defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.tenant.tenant.created.v1",
    owner = "tenant-service",
    retention = "warm",
    key = "{tenant_id}",
    idempotency = "{tenant_id}:created",
    decided_here
)]
pub struct TenantCreated {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The name of its booking site.
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"))]
    pub slug: String,
    /// Its name in business.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// Where it is registered, ISO 3166.
    #[schemars(regex(pattern = r"^[A-Z]{2}$"))]
    pub country: String,
    /// The plan it is on; rate limits follow it.
    pub plan: Plan,
    /// Its settings.
    pub settings: TenantSettings,
    /// The account that owns it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub owner_user_id: UserId,
    /// When it was created.
    pub created_at: Timestamp,
}

/// What a tenant pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// Free.
    Free,
    /// Starter.
    Starter,
    /// Pro.
    Pro,
    /// Plus.
    Plus,
}

/// A tenant's settings, whole: a reader replaces what it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantSettings {
    /// The currency that the books are kept in.
    pub default_currency: Currency,
    /// Languages in order of fallback; the first is the default.
    #[schemars(length(min = 1, max = 20))]
    pub locales: Vec<Locale>,
    /// The IANA time zone.
    #[schemars(regex(pattern = r"^[A-Za-z_]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}$"))]
    pub time_zone: String,
    /// Where its data lives.
    pub data_residency: DataResidency,
    /// The tax on a stay, in hundredths of a percent.
    #[schemars(range(min = 0, max = 10000))]
    pub tax_basis_points: u32,
    /// Whether prices are shown with it.
    pub tax_included: bool,
    /// Hours after the check-in instant until a guest who did not come is a no-show.
    #[schemars(range(min = 0, max = 168))]
    pub no_show_after_hours: u32,
    /// When and how room keys are issued.
    pub key_policy: KeyPolicy,
}

/// When and how room keys are issued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyPolicy {
    /// Whether a paid booking with an assigned room gets its key at confirmation.
    pub auto_issue: bool,
    /// Kinds of key, best first.
    #[schemars(length(min = 1, max = 10))]
    pub preferred_kinds: Vec<KeyKind>,
    /// Hours after a declared no-show until its keys are suspended.
    #[schemars(range(min = 0, max = 168))]
    pub no_show_suspend_after_hours: u32,
    /// How often a vendor is tried before the front desk takes over.
    #[schemars(range(min = 1, max = 20))]
    pub issue_attempts_max: u32,
}

impl KeyPolicy {
    /// What holds for a tenant that has said nothing.
    pub fn usual() -> Self {
        Self {
            auto_issue: true,
            preferred_kinds: vec![KeyKind::MobileApp, KeyKind::PinCode],
            no_show_suspend_after_hours: 2,
            issue_attempts_max: 5,
        }
    }
}

/// A tenant was suspended for a plan limit, a billing failure or compliance.
///
/// Decided here: search evicts its listings and iam ends its sessions, each as the flags say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.tenant.tenant.suspended.v1",
    owner = "tenant-service",
    retention = "warm",
    key = "{tenant_id}",
    idempotency = "{tenant_id}:suspended:{version}",
    decided_here
)]
pub struct TenantSuspended {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The tenant's version; it may be suspended again.
    pub version: u32,
    /// Why.
    pub reason: SuspensionReason,
    /// What the owner is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500), extend("x-pii" = "free_text"))]
    pub detail: Option<String>,
    /// Whether new bookings are refused and listings taken down.
    pub sales_stopped: bool,
    /// Whether staff may no longer sign in.
    pub sign_in_blocked: bool,
    /// From when on.
    pub suspended_at: Timestamp,
}

/// Why a tenant was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionReason {
    /// It outgrew its plan.
    PlanLimit,
    /// It did not pay.
    BillingFailure,
    /// The law or the platform's rules ask for it.
    Compliance,
}

/// A role was assigned to a membership.
///
/// Decided here: the edge and the sync scope read role and properties from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.tenant.role.granted.v1",
    owner = "tenant-service",
    retention = "warm",
    key = "{membership_id}",
    idempotency = "{membership_id}:granted:{version}",
    decided_here
)]
pub struct RoleGranted {
    /// The membership.
    pub membership_id: MembershipId,
    /// The membership's version.
    pub version: u32,
    /// The member.
    #[schemars(extend("x-pii" = "identifier"))]
    pub user_id: UserId,
    /// The role.
    pub role: StaffRole,
    /// The properties where it holds; none means all.
    #[schemars(length(max = 200))]
    pub property_ids: Vec<PropertyId>,
    /// Whether the member may decide about irreversible AI proposals.
    pub ai_decisions: bool,
    /// Who granted it.
    #[schemars(extend("x-pii" = "identifier"))]
    pub granted_by: UserId,
    /// When it was granted.
    pub granted_at: Timestamp,
}

/// A tenant's configuration was changed: currency, locales, tax, residency or key policy.
///
/// Decided here: carries the settings whole and names what changed, so that a cache is replaced and never merged.
/// lock-integration reloads its key policy and changes no key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.tenant.settings.changed.v1",
    aliases("melmastoon.tenant.config_updated.v1"),
    owner = "tenant-service",
    retention = "warm",
    key = "{tenant_id}",
    idempotency = "{tenant_id}:settings:{version}",
    decided_here
)]
pub struct SettingsChanged {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The version of the settings.
    pub version: u32,
    /// What changed.
    #[schemars(length(min = 1, max = 8))]
    pub changed: Vec<SettingsArea>,
    /// The settings now.
    pub settings: TenantSettings,
    /// Who changed them; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub changed_by: Option<UserId>,
    /// When it was changed.
    pub changed_at: Timestamp,
}

/// A part of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingsArea {
    /// The default currency.
    Currency,
    /// The languages.
    Locales,
    /// The time zone.
    TimeZone,
    /// The tax.
    Tax,
    /// Where data lives.
    Residency,
    /// When a guest counts as a no-show.
    NoShow,
    /// When and how keys are issued.
    KeyPolicy,
}

/// A property was taken out of service.
///
/// Decided here: lock-integration revokes every key at the property, search evicts its listing, inventory closes it
/// for sale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "melmastoon.tenant.property.deactivated.v1",
    owner = "tenant-service",
    retention = "warm",
    key = "{property_id}",
    idempotency = "{property_id}:deactivated:{version}",
    decided_here
)]
pub struct PropertyDeactivated {
    /// The property.
    pub property_id: PropertyId,
    /// Its version; a property may come back and go again.
    pub version: u32,
    /// Why.
    pub reason: PropertyDeactivationReason,
    /// What staff are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500), extend("x-pii" = "free_text"))]
    pub detail: Option<String>,
    /// Who decided it; absent when a rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-pii" = "identifier"))]
    pub deactivated_by: Option<UserId>,
    /// From when on.
    pub deactivated_at: Timestamp,
}

/// Why a property went out of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PropertyDeactivationReason {
    /// Closed for good.
    Closed,
    /// Left the tenant.
    Sold,
    /// Closed for the season.
    Season,
    /// Not safe to stay in.
    Safety,
    /// Its tenant was suspended.
    TenantSuspended,
}
