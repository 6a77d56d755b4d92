//! The one place where envelopes become stored bytes, and the one where stored bytes become envelopes.
//!
//! Whatever hashes, relays, archives or proves works on the stored bytes; nobody else parses them.

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Cause, Span, Tenant};
use karwan_envelope::ids::{CorrelationId, EventId, TenantId};
use karwan_envelope::wire;
use karwan_registry::Catalogue;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::log::LogRow;
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
