//! The catalogue of events: their rows, their schemas, and the gate that guards how they change.
//!
//! Pure: no I/O, and no platform is known here.

pub mod bundle;
pub mod catalogue;
pub mod check;
pub mod contract;
pub mod event;
pub mod evolution;
pub mod files;
pub mod hash;
pub mod payload;
pub mod platform;
mod rules;
pub mod schema;

pub use catalogue::Catalogue;
pub use event::{Event, EventType, Reread};
pub use karwan_derive::Event;
pub use karwan_envelope::row::{AiRule, Row, Scope, Template, Tenancy};
pub use platform::Platform;
