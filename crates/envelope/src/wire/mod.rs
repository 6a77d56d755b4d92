//! The wire forms: reading and printing envelopes, profile by profile.
//!
//! Invariant: what a profile printed, it reads back to the same envelope, and what it read, it prints back. A fact that a
//! form cannot carry is derived deterministically when reading, and named by [`convert`].

mod cloudevents;
mod flat;
mod nested;
mod spec_data;
mod table_row;

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::cause::{Cause, PLATFORM, Residency, Tenant, Traceparent};
use crate::directory::{Directory, Entry};
use crate::envelope::{Envelope, IDEMPOTENCY_KEY_BYTES_MAX, KEY_BYTES_MAX};
use crate::ids::{BadId, Form, Id, Spelled, TenantId};
use crate::json::{self, Limits};
use crate::profile::{Profile, Retention, Wire};
use crate::reader::Reader;
use crate::subject::Subject;
use crate::violation::{Rule, Violation, Violations};

/// An envelope that was read, and which of its facts the form does not carry.
#[derive(Debug)]
pub struct Decoded {
    /// The envelope.
    pub envelope: Envelope,
    /// Facts that were derived, because the form has no place for them.
    pub derived: Vec<&'static str>,
}

/// Why an envelope cannot be printed in a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// An id that the profile's form cannot spell.
    #[error("the profile {profile} cannot print the {what}")]
    Id {
        /// The profile.
        profile: &'static str,
        /// Which id.
        what: &'static str,
        /// Why.
        #[source]
        cause: BadId,
    },
    /// A later version, in a form that has no place for versions.
    #[error("the profile {profile} prints no versions, and {subject} is not version 1")]
    Version {
        /// The profile.
        profile: &'static str,
        /// The subject.
        subject: Subject,
    },
    /// A payload without the aggregate's id, in a form that has no other place for it.
    #[error("the profile {profile} reads the aggregate's id from the payload, as {template}, and it is not there")]
    Key {
        /// The profile.
        profile: &'static str,
        /// The row's template.
        template: String,
    },
    /// Metadata past its bound.
    #[error("metadata has {actual} bytes, and at most {max} are allowed")]
    MetadataTooLarge {
        /// Its size.
        actual: usize,
        /// The bound.
        max: usize,
    },
}

/// Why an envelope cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// It is not an envelope of the profile it is said to be of.
    #[error("not a valid envelope of the profile {profile}")]
    Read {
        /// The profile.
        profile: &'static str,
        /// Everything wrong with it.
        #[source]
        cause: Violations,
    },
    /// The other profile cannot print it.
    #[error("cannot be printed in the profile {profile}")]
    Print {
        /// The profile.
        profile: &'static str,
        /// Why.
        #[source]
        cause: EncodeError,
    },
}

/// A converted envelope, and what was lost or made up on the way.
#[derive(Debug)]
pub struct Converted {
    /// The document.
    pub text: String,
    /// Facts of the source that the target has no place for.
    pub lost: Vec<&'static str>,
    /// Facts that the source does not carry, derived for the target.
    pub derived: Vec<&'static str>,
}

/// Reads an envelope; every violation is named, not only the first.
pub fn decode(profile: &Profile, directory: &Directory, bytes: &[u8]) -> Result<Decoded, Violations> {
    let members = json::check_object(bytes, Limits::ENVELOPE).map_err(Violation::from)?;
    let codec = Codec { profile, directory };
    let reader = Reader::of("", bytes.len(), members)?;
    match profile.wire {
        Wire::Nested => nested::decode(codec, reader),
        Wire::Flat => flat::decode(codec, reader),
        Wire::SpecData => spec_data::decode(codec, reader),
        Wire::TableRow => table_row::decode(codec, reader),
        Wire::CloudEvents => cloudevents::decode(codec, reader),
    }
}

/// Prints an envelope.
pub fn encode(profile: &Profile, directory: &Directory, envelope: &Envelope) -> Result<String, EncodeError> {
    let codec = Codec { profile, directory };
    match profile.wire {
        Wire::Nested => nested::encode(codec, envelope),
        Wire::Flat => flat::encode(codec, envelope),
        Wire::SpecData => spec_data::encode(codec, envelope),
        Wire::TableRow => table_row::encode(codec, envelope),
        Wire::CloudEvents => cloudevents::encode(codec, envelope),
    }
}

/// Reads in one profile and prints in another.
pub fn convert(from: &Profile, to: &Profile, directory: &Directory, bytes: &[u8]) -> Result<Converted, ConvertError> {
    let read = |profile: &Profile, bytes: &[u8]| {
        decode(profile, directory, bytes).map_err(|cause| ConvertError::Read { profile: profile.name, cause })
    };
    let Decoded { mut envelope, derived } = read(from, bytes)?;
    if from.name != to.name {
        // The other profile chooses its own spellings.
        envelope.carried.spelling = None;
        envelope.carried.schema_url = None;
    }
    let text = encode(to, directory, &envelope).map_err(|cause| ConvertError::Print { profile: to.name, cause })?;
    let back = read(to, text.as_bytes())?;
    let absent = envelope.absent();
    let (made_up, lost): (Vec<_>, Vec<_>) = envelope
        .differences(&back.envelope)
        .into_iter()
        .filter(|fact| !derived.contains(fact))
        .partition(|fact| absent.contains(fact));
    // What neither has was not made up.
    let absent_still: Vec<_> = back.envelope.absent().into_iter().filter(|fact| absent.contains(fact)).collect();
    let derived = derived
        .into_iter()
        .chain(made_up)
        .filter(|fact| !back.derived.contains(fact) && !absent_still.contains(fact))
        .collect();
    Ok(Converted { text, lost, derived })
}

/// The JSON Schema of a wire form's envelope, for readers in other languages.
pub fn schema(profile: &Profile) -> Value {
    match profile.wire {
        Wire::Nested => nested::schema(profile),
        Wire::Flat => flat::schema(profile),
        Wire::SpecData => spec_data::schema(profile),
        Wire::TableRow => table_row::schema(profile),
        Wire::CloudEvents => cloudevents::schema(profile),
    }
}

/// What a form that does not carry a fact about the producer reads as.
const UNKNOWN: &str = "unknown";

/// What all codecs need at hand.
#[derive(Clone, Copy)]
struct Codec<'a> {
    profile: &'a Profile,
    directory: &'a Directory,
}

impl<'a> Codec<'a> {
    fn id_error(self, what: &'static str) -> impl FnOnce(BadId) -> EncodeError {
        move |cause| EncodeError::Id { profile: self.profile.name, what, cause }
    }

    fn event_id(self, bits: u128, what: &'static str) -> Result<String, EncodeError> {
        self.spell_event_id(bits, what).map(|id| id.to_string())
    }

    fn spell_event_id(self, bits: u128, what: &'static str) -> Result<Spelled, EncodeError> {
        self.profile.event_id.spell(bits).map_err(self.id_error(what))
    }

    fn tenant(self, tenant: Tenant) -> Result<String, EncodeError> {
        self.spell_tenant(tenant).map(|tenant| tenant.to_string())
    }

    fn spell_tenant(self, tenant: Tenant) -> Result<Spelled, EncodeError> {
        match tenant {
            Tenant::Platform => Ok(Spelled::word(PLATFORM)),
            Tenant::One(id) => {
                let text = self.profile.tenant_id.spell(id.bits()).map_err(self.id_error("tenant id"))?;
                if id.bits() == 0 { Err(self.id_error("tenant id")(zero_tenant(&text.to_string()))) } else { Ok(text) }
            }
        }
    }

    fn read_tenant(self, text: &str) -> Result<Tenant, BadId> {
        match text {
            PLATFORM => Ok(Tenant::Platform),
            text => self.read_one_tenant(text),
        }
    }

    /// A tenant that is not the platform, which tables keep as the zero id: no document may claim that.
    fn read_one_tenant(self, text: &str) -> Result<Tenant, BadId> {
        match self.profile.tenant_id.parse(text)? {
            0 => Err(zero_tenant(text)),
            bits => Ok(Tenant::One(TenantId::from_bits(bits))),
        }
    }

    /// The entry of an event type and version, and the alias that was written, if it was one.
    ///
    /// A platform that prints no versions has names without one; so that every profile can carry every platform's
    /// events, version 1 is looked for in both spellings, the profile's own first.
    fn subject(self, reader: &mut Reader<'_>, field: &'static str, name: &str, version: u32) -> Option<Named<'a>> {
        // The catalogue's own spelling, which nearly all events have, needs no second look at its shape.
        if self.profile.versioned
            && let Some(entry) = self.directory.canonical(name, version)
        {
            let written = entry.parts.subject.clone();
            let spelling = (written != *self.preferred(entry)).then(|| written.clone());
            return Some(Named { entry, written, spelling });
        }
        if name.parse::<Subject>().is_ok_and(|subject| subject.event_type() != name) {
            let message = format!("`{name}` carries a version; the version has a field of its own");
            reader.wrong(Rule::EventTypeVersioned, field, message);
            return None;
        }
        if version == 0 {
            reader.wrong(Rule::FieldInvalid, "eventVersion", "versions are counted from 1");
            return None;
        }
        let versioned = match Subject::of(name, version, true) {
            Ok(subject) => subject,
            Err(error) => {
                reader.wrong(Rule::FieldInvalid, field, error.to_string());
                return None;
            }
        };
        let bare = Subject::of(name, version, false).ok();
        let known = |subject: &Subject| self.directory.resolve(subject.as_str()).is_some();
        let subject = match bare {
            Some(bare) if self.profile.versioned && !known(&versioned) && known(&bare) => bare,
            Some(bare) if !self.profile.versioned && (known(&bare) || !known(&versioned)) => bare,
            _ => versioned,
        };
        self.named(reader, field, subject)
    }

    fn named(self, reader: &mut Reader<'_>, field: &'static str, subject: Subject) -> Option<Named<'a>> {
        let Some(entry) = self.directory.resolve(subject.as_str()) else {
            reader.wrong(Rule::SubjectUnknown, field, format!("`{subject}` is not in the catalogue"));
            return None;
        };
        let spelling = (subject != *self.preferred(entry)).then(|| subject.clone());
        Some(Named { entry, written: subject, spelling })
    }

    /// The name that this profile prints: the spelling that was read, else the one it prefers.
    fn spelling<'e>(self, envelope: &'e Envelope) -> Cow<'e, Subject>
    where
        'a: 'e,
    {
        if let Some(spelling) = &envelope.carried.spelling {
            return Cow::Borrowed(spelling);
        }
        let entry = self.directory.resolve(envelope.subject.as_str());
        entry.map_or(Cow::Borrowed(&envelope.subject), |entry| self.preferred(entry))
    }

    /// The spelling that this profile prints unless another was read: an alias with its prefix, else the canonical name.
    fn preferred(self, entry: &Entry) -> Cow<'_, Subject> {
        self.profile
            .alias_prefix
            .and_then(|prefix| entry.row.aliases.iter().find(|alias| alias.starts_with(prefix))?.parse().ok())
            .map_or(Cow::Borrowed(&entry.parts.subject), Cow::Owned)
    }

    /// The trace context, whose trace id is the correlation id and cannot be zero.
    fn traceparent(self, cause: &Cause) -> Result<Traceparent, EncodeError> {
        let parent = cause.traceparent();
        if parent.correlation.bits() == 0 {
            let cause = BadId::new(&parent.correlation.to_string(), "the id of a trace, which is never zero");
            return Err(self.id_error("correlation id")(cause));
        }
        Ok(parent)
    }

    /// The aggregate's id by the row's template, for forms that do not carry it.
    fn derive_key(
        self,
        reader: &mut Reader<'_>,
        field: &'static str,
        entry: &Entry,
        payload: &RawValue,
    ) -> Option<String> {
        let template = &entry.row.key.0;
        let message = match rendered_key(entry, payload) {
            Some(key) if (1..=KEY_BYTES_MAX).contains(&key.len()) => return Some(key),
            Some(key) => format!("the aggregate's id, {template}, has 1 to {KEY_BYTES_MAX} bytes, not {}", key.len()),
            None => format!("the aggregate's id needs {template}, which the payload lacks"),
        };
        reader.wrong(Rule::OrderingKey, field, message);
        None
    }

    /// Refuses to print what [`Codec::derive_key`] could not read back.
    fn key_is_in_payload(self, envelope: &Envelope) -> Result<(), EncodeError> {
        let Some(entry) = self.directory.resolve(envelope.subject.as_str()) else { return Ok(()) };
        let key = rendered_key(entry, &envelope.payload);
        if key.is_some_and(|key| (1..=KEY_BYTES_MAX).contains(&key.len())) {
            return Ok(());
        }
        Err(EncodeError::Key { profile: self.profile.name, template: entry.row.key.0.clone() })
    }

    /// The idempotency key by the row's template, else the event's own id: a repetition is then the same event.
    fn derive_idempotency(self, entry: &Entry, payload: &RawValue, id: u128) -> String {
        serde_json::from_str(payload.get())
            .ok()
            .and_then(|value: Value| entry.row.idempotency_key.render(&value))
            .filter(|key| (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()))
            .unwrap_or_else(|| Id::<crate::ids::Tenant>::from_bits(id).uuid())
    }
}

/// A subject that was resolved.
struct Named<'a> {
    entry: &'a Entry,
    /// The name as it was written.
    written: Subject,
    /// The same, where the profile would print another.
    spelling: Option<Subject>,
}

fn zero_tenant(text: &str) -> BadId {
    BadId::new(text, "the id of a tenant, which is never zero")
}

/// The aggregate's id by the row's template.
fn rendered_key(entry: &Entry, payload: &RawValue) -> Option<String> {
    let payload: Value = serde_json::from_str(payload.get()).ok()?;
    entry.row.key.render(&payload)
}

/// The pattern of a form of ids, for schemas.
fn id_schema(form: Form) -> Value {
    let ulid = crate::ids::ULID_PATTERN;
    let pattern = match form {
        Form::UuidV7 => "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$".to_owned(),
        Form::Uuid => "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$".to_owned(),
        Form::Ulid => format!("^{ulid}$"),
        Form::Prefixed(prefix) => format!("^{prefix}_{ulid}$"),
    };
    serde_json::json!({ "type": "string", "pattern": pattern })
}

/// A tenant id, or the word for the platform.
fn tenant_schema(form: Form) -> Value {
    serde_json::json!({ "anyOf": [id_schema(form), { "const": PLATFORM }] })
}

/// How a service is written where a URI reference is expected.
const SOURCE_PREFIX: &str = "/services/";

/// The service in a mandatory `/services/<service>`.
fn service(reader: &mut Reader<'_>) -> Option<String> {
    reader.parsed("source", |text| {
        let service = text.strip_prefix(SOURCE_PREFIX).filter(|service| !service.is_empty());
        service.map(str::to_owned).ok_or_else(|| format!("must be {SOURCE_PREFIX}<service>"))
    })
}

/// A mandatory idempotency key within its bounds.
fn idempotency_key(reader: &mut Reader<'_>, field: &'static str) -> Option<String> {
    let key = reader.any_text(field)?.into_owned();
    if key.is_empty() || key.len() > IDEMPOTENCY_KEY_BYTES_MAX {
        let message = format!("1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes, and this has {}", key.len());
        reader.wrong(Rule::IdempotencyKey, field, message);
    }
    Some(key)
}

/// The aggregate's part of a mandatory `<tenant>:<aggregate>`.
fn ordering_key(reader: &mut Reader<'_>, field: &'static str, tenant: Option<&str>) -> Option<String> {
    let text = reader.any_text(field)?;
    // Without a tenant there is nothing to compare with, and the tenant's own violation says enough.
    let key = text.strip_prefix(tenant?).and_then(|rest| rest.strip_prefix(':'));
    match key {
        Some(key) if !key.is_empty() && key.len() <= KEY_BYTES_MAX => Some(key.to_owned()),
        _ => {
            let shown: String = text.chars().take(KEY_BYTES_MAX).collect();
            let message = format!(
                "`{shown}` is not <tenantId>:<aggregateId> of this envelope, the latter 1 to {KEY_BYTES_MAX} bytes"
            );
            reader.wrong(Rule::OrderingKey, field, message);
            None
        }
    }
}

/// A mandatory retention class of the profile. Labels map both ways: the label that this profile prints for the
/// catalogue's class is read back as that class, whichever platform's it is.
fn retention(
    codec: Codec<'_>,
    reader: &mut Reader<'_>,
    field: &'static str,
    named: Option<&Named<'_>>,
) -> Option<Retention> {
    let label = reader.any_text(field)?;
    let Some(class) = codec.profile.class(&label) else {
        let known: Vec<&str> = codec.profile.retention.iter().map(|class| class.label).collect();
        reader.wrong(Rule::FieldInvalid, field, format!("one of {}", known.join(", ")));
        return None;
    };
    let catalogued = named.map(|named| &named.entry.retention);
    let catalogued = catalogued.filter(|retention| codec.profile.label_for(retention) == class.label);
    Some(catalogued.cloned().unwrap_or_else(|| class.retention()))
}

/// A residency in one of its two spellings.
fn residency(text: &str, spelling: fn(Residency) -> &'static str) -> Result<Residency, String> {
    Residency::ALL
        .into_iter()
        .find(|residency| spelling(*residency) == text)
        .ok_or_else(|| format!("one of {}", Residency::ALL.map(spelling).join(", ")))
}
