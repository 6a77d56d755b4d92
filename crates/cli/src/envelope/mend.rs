//! A broken envelope made readable, so that the catalogue's rules can be applied to the rest of it.
//!
//! Whoever mends one fault wants to know of the others. Each field that could not be read is taken from a skeleton of
//! the same subject; what the catalogue then says about such a field is nobody's fault and is left out.

use karwan_envelope::Envelope;
use karwan_envelope::cause::{Actor, ActorKind, Cause, PLATFORM, Producer, Tenant};
use karwan_envelope::directory::{Directory, Entry};
use karwan_envelope::envelope::{Context, Draft};
use karwan_envelope::ids::TenantId;
use karwan_envelope::mint::{Mint, SeededRandom};
use karwan_envelope::profile::Profile;
use karwan_envelope::time::SystemClock;
use karwan_envelope::violation::{Violation, Violations};
use karwan_envelope::wire;
use serde_json::Value;
use serde_json::value::RawValue;

/// Mending one field can uncover another; a document is not worth more rounds than this.
const ROUNDS_MAX: usize = 4;

/// An envelope with the readable facts of a document, and the places that were mended.
pub struct Mended {
    pub envelope: Envelope,
    pub places: Vec<String>,
}

/// Mends a document that breaks these rules; `None` where its payload or its subject is beyond it.
pub fn mend(
    profile: &Profile,
    directory: &Directory,
    entry: &Entry,
    document: &Value,
    broken: &[Violation],
) -> Option<Mended> {
    let skeleton = skeleton(profile, directory, entry, document)?;
    let mut document = document.clone();
    let mut places = Vec::new();
    let mut broken = broken.to_vec();
    for _ in 0..ROUNDS_MAX {
        for violation in &broken {
            replace(&mut document, &skeleton, &violation.pointer);
            places.push(violation.pointer.clone());
        }
        match wire::decode(profile, directory, document.to_string().as_bytes()) {
            Ok(decoded) => return Some(Mended { envelope: decoded.envelope, places }),
            Err(Violations(violations)) => broken = violations,
        }
    }
    None
}

impl Mended {
    /// Whether a violation is about something that was mended.
    pub fn covers(&self, violation: &Violation) -> bool {
        let inside =
            |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|it| it.is_empty() || it.starts_with('/'));
        self.places.iter().any(|place| inside(place, &violation.pointer) || inside(&violation.pointer, place))
    }
}

/// A faultless envelope of the same subject, tenant and payload, as the profile prints it.
fn skeleton(profile: &Profile, directory: &Directory, entry: &Entry, document: &Value) -> Option<Value> {
    let payload = document.get("payload").or_else(|| document.get("data"))?;
    let tenant = document.get("tenantId").or_else(|| document.get("tenantid")).and_then(Value::as_str);
    let tenant = match tenant {
        Some(PLATFORM) => Tenant::Platform,
        Some(text) => {
            profile.tenant_id.parse(text).map_or_else(|_| somebody(), |it| Tenant::One(TenantId::from_bits(it)))
        }
        None => somebody(),
    };
    let service = entry.row.owner.clone();
    let unknown = || "unknown".to_owned();
    let mint = Mint::new(SystemClock, SeededRandom::new(1));
    let context = Context {
        tenant,
        cause: Cause::root(mint.correlation()),
        actor: Actor { kind: ActorKind::Service, id: service.clone() },
        producer: Producer { service, instance: unknown(), commit: unknown(), region: None },
        residency: profile.residency,
    };
    let draft = Draft {
        key: entry.row.key.render(payload).unwrap_or_else(unknown),
        idempotency_key: entry.row.idempotency_key.render(payload).unwrap_or_else(unknown),
        payload: RawValue::from_string(payload.to_string()).ok()?,
        ai_provenance: None,
    };
    let text = wire::encode(profile, directory, &draft.seal(entry, &context, &mint)).ok()?;
    serde_json::from_str(&text).ok()
}

const fn somebody() -> Tenant {
    Tenant::One(TenantId::from_bits(1))
}

/// Puts the skeleton's value at a place, or takes out what the skeleton does not have.
fn replace(document: &mut Value, skeleton: &Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    let name = name.replace("~1", "/").replace("~0", "~");
    let sound = skeleton.pointer(pointer).cloned();
    match (document.pointer_mut(parent).and_then(Value::as_object_mut), sound) {
        (Some(object), Some(sound)) => drop(object.insert(name, sound)),
        (Some(object), None) => drop(object.remove(&name)),
        // Not an object where one belongs: the whole of it is replaced.
        (None, _) => replace(document, skeleton, parent),
    }
}
