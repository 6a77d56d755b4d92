//! What the catalogue asks of an envelope besides a payload that matches its schema.

use karwan_envelope::Envelope;
use karwan_envelope::cause::{PLATFORM, Tenant};
use karwan_envelope::directory::Entry;
use karwan_envelope::envelope::{IDEMPOTENCY_KEY_BYTES_MAX, KEY_BYTES_MAX};
use karwan_envelope::ids::{Form, TenantId};
use karwan_envelope::row::{AiRule, Tenancy};
use karwan_envelope::violation::{Rule, Violation};

use crate::payload::{Payload, PayloadNode};

/// Everything but the payload's shape.
pub(crate) fn judge(
    tenant_forms: &[Form],
    entry: &Entry,
    envelope: &Envelope,
    payload: &Payload<'_>,
) -> Vec<Violation> {
    let row = &entry.row;
    let mut violations = Vec::new();
    let mut wrong = |rule, pointer: &str, message: String| violations.push(Violation::new(rule, pointer, message));
    if row.local_only {
        wrong(Rule::LocalOnly, "", format!("{} never leaves its device", row.subject));
    }
    match (row.tenancy, envelope.tenant) {
        (Tenancy::Platform, Tenant::One(_)) => {
            wrong(Rule::Tenancy, "/tenantId", format!("{} is the platform's own: `{PLATFORM}`", row.subject));
        }
        (Tenancy::Tenant | Tenancy::CrossTenant, Tenant::Platform) => {
            wrong(Rule::Tenancy, "/tenantId", format!("{} belongs to a tenant; name it", row.subject));
        }
        (Tenancy::Platform, Tenant::Platform) | (Tenancy::Tenant | Tenancy::CrossTenant, Tenant::One(_)) => {}
    }
    if let Some(named) = payload.get("tenantId")
        && !same_tenant(tenant_forms, named, envelope.tenant)
    {
        wrong(Rule::TenantMismatch, "/payload/tenantId", "another tenant than the envelope's".to_owned());
    }
    if !row.producers.contains(&envelope.producer.service) {
        let allowed = row.producers.join(", ");
        wrong(Rule::Producer, "/producedBy/service", format!("only {allowed} publishes {}", row.subject));
    }
    if envelope.retention.class != entry.retention.class {
        let expected = &entry.retention.class;
        wrong(Rule::Retention, "/metadata/retentionClass", format!("the catalogue says {expected}"));
    }
    if envelope.idempotency_key.is_empty() || envelope.idempotency_key.len() > IDEMPOTENCY_KEY_BYTES_MAX {
        wrong(Rule::IdempotencyKey, "/idempotencyKey", format!("1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes"));
    }
    if envelope.key.is_empty() || envelope.key.len() > KEY_BYTES_MAX {
        wrong(Rule::OrderingKey, "/metadata/orderingKey", format!("an aggregate id has 1 to {KEY_BYTES_MAX} bytes"));
    }
    if row.ai_provenance == AiRule::Metadata && envelope.ai_provenance.is_none() {
        let message = format!("mandatory on {}: it says which AI took part", row.subject);
        wrong(Rule::AiProvenance, "/metadata/aiProvenance", message);
    }
    if row.ai_provenance == AiRule::Payload && payload.get("aiProvenance").is_none() {
        let message = format!("mandatory in the payload of {}", row.subject);
        wrong(Rule::AiProvenance, "/payload/aiProvenance", message);
    }
    violations
}

/// A payload may spell the tenant in any form of the platform's profiles. What the platform itself tells may be about
/// any tenant.
fn same_tenant(forms: &[Form], named: PayloadNode<'_>, tenant: Tenant) -> bool {
    let Tenant::One(id) = tenant else { return true };
    let Some(text) = named.text() else { return false };
    forms.iter().any(|form| form.parse(&text).is_ok_and(|bits| TenantId::from_bits(bits) == id))
}
