//! Ports on 127.0.0.1 for private servers.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports that are tried: another process may take one between our look and the server's start.
pub(crate) const PORTS_TRIED_MAX: u32 = 20;

/// Below the ports that the system hands out to clients, which could otherwise take the port of a killed server.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// A port that nobody listens at now. Processes begin at different places, so that they seldom want the same.
pub(crate) fn free_port() -> Option<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let span = PORTS.end - PORTS.start;
    let begin = (std::process::id().wrapping_mul(97) % u32::from(span)) as u16;
    (0..span).find_map(|_| {
        let offset = (u32::from(begin) + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % u32::from(span);
        let port = PORTS.start + offset as u16;
        TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
    })
}
