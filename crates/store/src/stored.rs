//! The one place where envelopes become stored bytes, and the one where stored bytes become envelopes.
//!
//! Whatever hashes, relays, archives or proves works on the stored bytes; nobody else parses them.

use karwan_envelope::Envelope;
use karwan_envelope::cause::Tenant;
use karwan_envelope::ids::TenantId;
use karwan_envelope::wire;
use karwan_registry::Catalogue;

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

/// The form in which a platform's envelopes are stored: the first of its profiles.
pub(crate) fn profile(catalogue: &Catalogue) -> &'static karwan_envelope::profile::Profile {
    &catalogue.platform().profiles[0]
}
