//! The one place where envelopes become stored bytes, and the one where stored bytes become envelopes.
//!
//! Whatever hashes, relays, archives or proves works on the stored bytes; nobody else parses them.

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Cause, Span, Tenant};
use karwan_envelope::directory::SchemaUri;
use karwan_envelope::ids::{CorrelationId, EventId, Form, TenantId};
use karwan_envelope::json;
use karwan_envelope::profile::Wire;
use karwan_envelope::subject::Subject;
use karwan_envelope::violation::Rule;
use karwan_envelope::wire;
use karwan_registry::Catalogue;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::log::LogRow;
use crate::store::Store;
use crate::write_set::{Fact, TenantBits, payload_hash};

/// The largest stored envelope.
pub const ENVELOPE_BYTES_MAX: usize = 1024 * 1024;

/// A tenant's bits; the platform itself is 0.
pub const fn tenant_bits(tenant: Tenant) -> TenantBits {
    match tenant {
        Tenant::One(id) => id.bits(),
        Tenant::Platform => 0,
    }
}

/// The tenant with these bits.
pub const fn tenant_of(bits: TenantBits) -> Tenant {
    if bits == 0 { Tenant::Platform } else { Tenant::One(TenantId::from_bits(bits)) }
}

/// An envelope, in the platform's own form, as the log takes it.
pub(crate) fn fact(catalogue: &Catalogue, envelope: &Envelope, carried: bool) -> Result<Fact, Error> {
    let subject = envelope.subject.as_str().to_owned();
    let printed = match wire::encode(profile(catalogue), catalogue.directory(), envelope) {
        Ok(printed) => printed,
        Err(cause) => return Err(Error::Unprintable { subject, cause }),
    };
    if printed.len() > ENVELOPE_BYTES_MAX {
        return Err(Error::TooLarge { what: "bytes of an envelope", actual: printed.len(), max: ENVELOPE_BYTES_MAX });
    }
    Ok(Fact {
        tenant: tenant_bits(envelope.tenant),
        subject,
        key: envelope.key.clone(),
        event: envelope.id,
        intent: envelope.idempotency_key.clone(),
        carried,
        payload_hash: payload_hash(envelope.payload.get()),
        envelope: printed,
    })
}

/// The envelope of a row, judged by the catalogue: the schema that its URI names, and every rule of its subject.
pub fn envelope(catalogue: &Catalogue, row: &LogRow) -> Result<Envelope, Error> {
    let refused = |cause| Error::Refused { subject: row.subject.clone(), cause };
    let decoded = wire::decode(profile(catalogue), catalogue.directory(), row.envelope.as_bytes()).map_err(refused)?;
    catalogue.validate(&decoded.envelope).map_err(refused)?;
    Ok(decoded.envelope)
}

/// What a broker is told of an event beside its envelope, in the form of the platform's ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The event.
    pub event_id: String,
    /// Its type, without a version.
    pub event_type: String,
    /// Its version.
    pub event_version: u32,
    /// Its tenant, or `platform`.
    pub tenant_id: String,
    /// The business intent.
    pub idempotency_key: String,
    /// `<tenant>:<aggregate>`.
    pub ordering_key: String,
}

/// What a broker is told of a row. The envelope is not judged: what is in the log was, or is by whoever reads it.
pub fn published(catalogue: &Catalogue, row: &LogRow) -> Result<Published, Error> {
    let entry = catalogue.directory().resolve(&row.subject);
    if let (Some(entry), Some(intent)) = (entry, carried_intent(catalogue, &row.envelope)) {
        return Ok(told(catalogue, row, &entry.parts.subject, (&row.key, intent)));
    }
    let refused = |cause| Error::Refused { subject: row.subject.clone(), cause };
    let decoded = wire::decode(profile(catalogue), catalogue.directory(), row.envelope.as_bytes()).map_err(refused)?;
    let Envelope { subject, key, idempotency_key, .. } = decoded.envelope;
    Ok(told(catalogue, row, &subject, (&key, idempotency_key)))
}

fn told(catalogue: &Catalogue, row: &LogRow, subject: &Subject, (key, idempotency_key): (&str, String)) -> Published {
    let tenant_id = tenant_text(catalogue, row.tenant);
    Published {
        event_id: uuid_text(row.event.bits()),
        event_type: subject.event_type().to_owned(),
        event_version: subject.version(),
        ordering_key: format!("{tenant_id}:{key}"),
        tenant_id,
        idempotency_key,
    }
}

#[derive(Deserialize)]
struct Intent {
    #[serde(rename = "idempotencyKey", alias = "idempotencykey")]
    key: String,
}

/// The business intent, where the form carries it: everything else that a broker is told stands in the row, and reading an
/// envelope whole costs more than sending it. The nested form has it before the payload, the longest part.
fn carried_intent(catalogue: &Catalogue, envelope: &str) -> Option<String> {
    let whole = || serde_json::from_str(envelope).ok().map(|Intent { key }| key);
    match profile(catalogue).wire {
        Wire::Nested => json::plain_member(envelope, "idempotencyKey").map(str::to_owned).or_else(whole),
        Wire::CloudEvents => whole(),
        _ => None,
    }
}

/// A tenant in the platform's form.
pub fn tenant_text(catalogue: &Catalogue, tenant: TenantBits) -> String {
    match tenant {
        0 => PLATFORM.to_owned(),
        bits => profile(catalogue).tenant_id.print(bits).unwrap_or_else(|_| uuid_text(bits)),
    }
}

/// The tenant and the key of an ordering key, as [`published`] wrote it.
pub fn ordering_key(catalogue: &Catalogue, text: &str) -> Option<(TenantBits, String)> {
    let (tenant, key) = text.split_once(':')?;
    let tenant = if tenant == PLATFORM { 0 } else { profile(catalogue).tenant_id.parse(tenant).ok()? };
    Some((tenant, key.to_owned()))
}

/// The same where no catalogue says how tenants are spelled: in whichever form it is.
pub fn any_ordering_key(text: &str) -> Option<(TenantBits, String)> {
    let (tenant, key) = text.split_once(':')?;
    let ulid = tenant.rsplit_once('_').map_or(tenant, |(_, ulid)| ulid);
    let parsed = Form::Uuid.parse(tenant).or_else(|_| Form::Ulid.parse(ulid));
    let tenant = if tenant == PLATFORM { 0 } else { parsed.ok()? };
    Some((tenant, key.to_owned()))
}

/// Any id as a UUID: the one form that takes all bits.
fn uuid_text(bits: u128) -> String {
    uuid::Uuid::from_u128(bits).to_string()
}

/// The tenant of what belongs to none.
const PLATFORM: &str = "platform";

/// A stored text with another payload in it, judged like [`envelope`]. Everything else stays: what the payload would change of
/// the event, its intent, its tenant or its key is refused.
pub(crate) fn with_payload(catalogue: &Catalogue, row: &LogRow, payload: &str) -> Result<String, Error> {
    let bad = |reason: String| Error::BadRepair { event: row.event, reason };
    let refused = |cause| Error::Refused { subject: row.subject.clone(), cause };
    let profile = profile(catalogue);
    let old = wire::decode(profile, catalogue.directory(), row.envelope.as_bytes()).map_err(refused)?.envelope;
    let payload = RawValue::from_string(payload.trim().to_owned());
    let new = Envelope { payload: payload.map_err(|cause| bad(cause.to_string()))?, ..old.clone() };
    let printed = wire::encode(profile, catalogue.directory(), &new);
    let printed = printed.map_err(|cause| Error::Unprintable { subject: row.subject.clone(), cause })?;
    if printed.len() > ENVELOPE_BYTES_MAX {
        return Err(Error::TooLarge { what: "bytes of an envelope", actual: printed.len(), max: ENVELOPE_BYTES_MAX });
    }
    let read = wire::decode(profile, catalogue.directory(), printed.as_bytes());
    let read = read.map_err(|cause| bad(cause.to_string()))?.envelope;
    let same = |of: &Envelope| (of.id, of.tenant, of.key.clone(), of.idempotency_key.clone());
    if same(&read) != same(&old) {
        return Err(bad("it names another event, intent, tenant or key than its envelope".to_owned()));
    }
    Ok(printed)
}

/// What a stored envelope carries, for tools that hold no catalogue of its platform. Judges nothing.
pub struct Contents<'a> {
    /// The payload's text.
    pub payload: &'a str,
    /// The schema that it was written by; none where its form names none.
    pub schema: Option<SchemaUri>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, alias = "data")]
    payload: &'a RawValue,
    #[serde(rename = "schemaUri", alias = "dataschema")]
    schema: Option<String>,
}

/// The contents of a stored envelope, in whichever form; none where it is no envelope.
pub fn contents(envelope: &str) -> Option<Contents<'_>> {
    let Fields { payload, schema } = serde_json::from_str(envelope).ok()?;
    Some(Contents { payload: payload.get(), schema: schema.and_then(|uri| uri.parse().ok()) })
}

/// The current schemas of a catalogue, as a store keeps them: content hash, path, document.
pub(crate) fn schemas(catalogue: &Catalogue) -> impl Iterator<Item = (String, String, String)> {
    catalogue.directory().entries().iter().filter_map(|entry| {
        let document = catalogue.schema(&entry.row.subject)?.document.to_string();
        Some((entry.schema.hash.to_string(), entry.schema.path.clone(), document))
    })
}

/// Judges a row like [`envelope`]. Where the schema that its URI names is not known, it is asked for by its hash.
pub(crate) async fn judged<F>(
    catalogue: &Catalogue,
    row: &LogRow,
    schema: impl FnOnce(String) -> F,
) -> Result<Envelope, Error>
where
    F: Future<Output = Result<Option<String>, Error>>,
{
    let refused = |cause| Error::Refused { subject: row.subject.clone(), cause };
    let bytes = row.envelope.as_bytes();
    let decoded = wire::decode(profile(catalogue), catalogue.directory(), bytes).map_err(refused)?.envelope;
    match catalogue.validate(&decoded) {
        Ok(()) => return Ok(decoded),
        Err(cause) if cause.0.iter().any(|violation| violation.rule == Rule::SchemaUnknown) => {
            let Some(document) = schema(decoded.schema.hash.to_string()).await? else { return Err(refused(cause)) };
            let known =
                serde_json::from_str(&document).map(|document| catalogue.learn_in_use(&decoded.schema, document));
            // What the store keeps under another name is not the schema.
            if !matches!(known, Ok(Ok(()))) {
                return Err(refused(cause));
            }
        }
        Err(cause) => return Err(refused(cause)),
    }
    catalogue.validate(&decoded).map_err(refused)?;
    Ok(decoded)
}

impl Store {
    /// The envelope of a row, judged like [`envelope`]. Where the schema that its URI names came with another release, it is
    /// taken from the store, once.
    pub async fn received(&self, row: &LogRow) -> Result<Envelope, Error> {
        judged(self.catalogue(), row, async |hash: String| self.shared.backend.schema(&hash).await).await
    }
}

/// What a deadline or an effect keeps of what led to it; ids as 32 hexadecimal digits.
#[derive(Serialize, Deserialize)]
struct StoredCause {
    correlation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    causation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    business: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<(u64, u8)>,
}

/// A cause as a deadline or an effect keeps it.
pub(crate) fn cause_text(cause: &Cause) -> String {
    let hex = |bits: u128| format!("{bits:032x}");
    let stored = StoredCause {
        correlation: hex(cause.correlation.bits()),
        causation: cause.causation.map(|event| hex(event.bits())),
        business: cause.business.clone(),
        span: cause.span.map(|span| (span.id, span.flags)),
    };
    serde_json::to_string(&stored).expect("texts and numbers are JSON")
}

/// And back; none where it is no such text.
pub(crate) fn cause_of(text: &str) -> Option<Cause> {
    let bits = |hex: &str| u128::from_str_radix(hex, 16).ok();
    let StoredCause { correlation, causation, business, span } = serde_json::from_str(text).ok()?;
    let causation = match causation {
        Some(event) => Some(EventId::from_bits(bits(&event)?)),
        None => None,
    };
    let span = span.map(|(id, flags)| Span { id, flags });
    Some(Cause { correlation: CorrelationId::from_bits(bits(&correlation)?), causation, business, span })
}

/// The form in which a platform's envelopes are stored: the first of its profiles.
pub(crate) fn profile(catalogue: &Catalogue) -> &'static karwan_envelope::profile::Profile {
    &catalogue.platform().profiles[0]
}

#[cfg(test)]
mod tests {
    use karwan_envelope::cause::{Cause, Span};
    use karwan_envelope::ids::{CorrelationId, EventId};

    use super::{cause_of, cause_text};

    #[test]
    fn a_cause_is_read_back_as_it_was_kept() {
        let root = Cause::root(CorrelationId::from_bits(7));
        let caused = Cause {
            causation: Some(EventId::from_bits(u128::MAX)),
            business: Some("b-1".to_owned()),
            span: Some(Span { id: u64::MAX, flags: 1 }),
            ..root.clone()
        };
        for cause in [root, caused] {
            assert_eq!(cause_of(&cause_text(&cause)), Some(cause));
        }
        assert_eq!(cause_of("{}"), None);
    }
}
