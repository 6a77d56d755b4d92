//! Platforms as tests of lower crates want them: real catalogues, of which those crates know nothing.

pub use learning::platform::PLATFORM as LEARNING;
pub use melmastoon::platform::PLATFORM as MELMASTOON;
