//! What the servers share: processes, ports, directories, and who cleans up.

pub(crate) mod places;
pub(crate) mod ports;
pub mod process;
pub(crate) mod running;
pub(crate) mod tls;
pub(crate) mod watchdog;
