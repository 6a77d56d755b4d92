//! What a test may ask of a server of its own.

use std::fmt::Write as _;
use std::path::PathBuf;

/// How a private server differs from the shared one.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Settings, as in `postgresql.conf`; they win over those of the testkit.
    pub settings: Vec<(String, String)>,
    /// Where the data lies, for instance on a small file system: a directory that is empty or does not exist. It is
    /// removed with the server.
    pub data_directory: Option<PathBuf>,
    /// A cluster with an identity of its own. Without it all servers are copies of one new cluster and have the same
    /// system identifier; with it the start takes a second longer.
    pub own_cluster: bool,
    /// TLS on TCP, and nothing else there. The test is skipped where `openssl` is missing or the server was built
    /// without TLS, as the one that `cargo xtask test` installs.
    pub tls: bool,
}

impl Options {
    /// The default with one setting more.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A crash of the machine is no part of the tests, so nothing waits for the disk. Dynamic shared memory lies in files of
/// the data directory: a killed server leaves nothing behind, and a small `/dev/shm` is no limit.
const SETTINGS: &[(&str, &str)] = &[
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("max_connections", "200"),
    ("max_prepared_transactions", "50"),
    ("jit", "off"),
    ("shared_buffers", "128MB"),
    ("track_commit_timestamp", "off"),
    ("dynamic_shared_memory_type", "mmap"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("log_line_prefix", "%m [%p] %d "),
    ("lc_messages", "C"),
    ("listen_addresses", "127.0.0.1"),
];

/// The text of `postgresql.conf`; the last line about a setting wins.
pub(super) fn configuration(options: &Options, own: &[(&str, &str)]) -> String {
    let asked = options.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut text = String::new();
    for (name, value) in SETTINGS.iter().chain(own).copied().chain(asked) {
        writeln!(text, "{name} = '{}'", value.replace('\'', "''")).expect("a string takes any text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Options, configuration};

    #[test]
    fn what_a_test_asks_for_stands_last_and_quoted() {
        let options = Options::default().setting("fsync", "on").setting("cluster_name", "it's");
        let text = configuration(&options, &[("port", "5433")]);
        assert!(text.ends_with("port = '5433'\nfsync = 'on'\ncluster_name = 'it''s'\n"), "{text}");
    }
}
