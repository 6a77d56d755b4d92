//! Facts on their way into a unit, and where a unit comes from.

use karwan_envelope::Envelope;
use karwan_envelope::envelope::Context;
use karwan_registry::Event;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::store::Shared;

type Fact = Box<dyn FnOnce(&Shared, &Context) -> Result<Envelope, Error> + Send>;

/// Events of any types, in the order in which they happened.
///
/// One event is `Facts` by itself; several are put together with [`Facts::and`] or collected.
#[derive(Default)]
pub struct Facts(Vec<Fact>);

impl Facts {
    /// No facts.
    pub fn none() -> Self {
        Self::default()
    }

    /// These, and one more.
    #[must_use]
    pub fn and<E: Event + Send>(mut self, event: E) -> Self {
        self.0.push(Box::new(move |shared, context| shared.envelope(&event, context, None)));
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_list(self) -> Vec<Fact> {
        self.0
    }
}

impl<E: Event + Send> From<E> for Facts {
    fn from(event: E) -> Self {
        Self::none().and(event)
    }
}

impl<E: Event + Send> FromIterator<E> for Facts {
    fn from_iter<I: IntoIterator<Item = E>>(events: I) -> Self {
        events.into_iter().fold(Self::none(), Facts::and)
    }
}

/// The id of a unit of work: a command that is repeated with the same id commits once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnitId(u128);

impl UnitId {
    /// The id with these bits.
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The id of a command that a client named by a text of its own, such as an idempotency key.
    pub fn named(scope: &str, name: &str) -> Self {
        Self(digest(&[scope.as_bytes(), name.as_bytes()]))
    }

    /// The 128 bits.
    pub const fn bits(self) -> u128 {
        self.0
    }
}

/// What a unit's effects derive their ids from: the command, or the consumer and the event that it handles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin(u128);

impl Origin {
    /// A command, which is named by its unit's id.
    pub const fn command(id: UnitId) -> Self {
        Self(id.bits())
    }

    /// Whatever else led to a unit, named by its parts.
    pub fn of(parts: &[&[u8]]) -> Self {
        Self(digest(parts))
    }

    /// Its 128 bits.
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// The same every time the same origin asks for the same; `ordinal` counts its effects of the kind.
    pub fn effect(self, kind: &str, ordinal: usize) -> u128 {
        digest(&[&self.0.to_be_bytes(), kind.as_bytes(), &(ordinal as u64).to_be_bytes()])
    }
}

/// Parts are told apart by their lengths, so that `ab` + `c` is not `a` + `bc`.
fn digest(parts: &[&[u8]]) -> u128 {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    u128::from_be_bytes(digest.finalize()[..16].try_into().expect("a digest has 32 bytes"))
}
