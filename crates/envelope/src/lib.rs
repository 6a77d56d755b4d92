//! The event contract's vocabulary: ids, subjects, the canonical envelope and its wire forms.
//!
//! Pure: no I/O, and no platform is known here. A platform is data ([`profile::Profile`]) that a platform's crate supplies.

pub mod cause;
pub mod directory;
pub mod envelope;
pub mod ids;
pub mod json;
pub mod mint;
pub mod money;
mod printer;
pub mod profile;
mod reader;
pub mod row;
pub mod subject;
mod text;
pub mod time;
pub mod violation;
pub mod wire;

pub use envelope::Envelope;
pub use subject::Subject;
pub use violation::{Violation, Violations};
