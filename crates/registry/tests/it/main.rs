//! The registry's tests, in one binary.

mod evolution;
