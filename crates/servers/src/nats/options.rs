//! What may be asked of a private server.

use std::fmt::Write as _;
use std::path::Path;

use crate::machine::places::Medium;

/// How a server differs from the plain one.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Text of the configuration behind what is here: accounts, users, permissions.
    pub configuration: String,
    /// Variables of the server's environment, which its configuration may name: passwords.
    pub environment: Vec<(String, String)>,
    /// Every message is on the disk before it is acknowledged (`sync_interval: always`). The server lies on a disk then.
    pub sync_always: bool,
    /// The largest message, in bytes; the server's own default is 1 MiB.
    pub payload_bytes_max: Option<u32>,
    /// Clients are let in over TLS alone.
    pub tls: bool,
    /// How much JetStream may store, in bytes.
    pub store_bytes_max: Option<u64>,
}

impl Options {
    /// A server that is to wait for its disk needs one.
    pub(super) fn medium(&self) -> Medium {
        if self.sync_always { Medium::Disk } else { Medium::Any }
    }
}

/// The text of the configuration file; with a certificate and its key, where the server has them.
pub(super) fn configuration(options: &Options, port: u16, store: &Path, tls: Option<(&Path, &Path)>) -> String {
    let mut text = format!("listen: \"127.0.0.1:{port}\"\nserver_name: \"karwan-test-{port}\"\n");
    if let Some(bytes) = options.payload_bytes_max {
        writeln!(text, "max_payload: {bytes}").expect("a string takes any text");
    }
    if let Some((certificate, key)) = tls {
        let (certificate, key) = (certificate.display(), key.display());
        writeln!(text, "tls {{ cert_file: \"{certificate}\", key_file: \"{key}\" }}").expect("a string takes any text");
    }
    writeln!(text, "jetstream {{\n    store_dir: \"{}\"", store.display()).expect("a string takes any text");
    if options.sync_always {
        text.push_str("    sync_interval: always\n");
    }
    if let Some(bytes) = options.store_bytes_max {
        writeln!(text, "    max_file_store: {bytes}").expect("a string takes any text");
    }
    text.push_str("}\n");
    text.push_str(&options.configuration);
    text
}
