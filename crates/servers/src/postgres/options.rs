//! What may be asked of a private server.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::machine::places::Medium;

/// How a private server differs from the shared one.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Settings, as in `postgresql.conf`; they win over those that are here. A server with `fsync` other than `off` lies
    /// on a disk; others lie in memory where there is enough.
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

    /// A server that is to wait for its disk needs one.
    pub(super) fn medium(&self) -> Medium {
        let fsync = self.settings.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case("fsync"));
        if fsync.is_some_and(|(_, value)| value != "off") { Medium::Disk } else { Medium::Any }
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
    ("min_wal_size", "16MB"),
    ("max_wal_size", "256MB"),
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
    use super::{Medium, Options, configuration};

    #[test]
    fn a_server_that_waits_for_its_disk_has_one() {
        assert_eq!(Options::default().setting("fsync", "on").medium(), Medium::Disk);
        assert_eq!(Options::default().setting("fsync", "off").medium(), Medium::Any);
        assert_eq!(Options::default().medium(), Medium::Any);
    }

    #[test]
    fn what_a_test_asks_for_stands_last_and_quoted() {
        let options = Options::default().setting("fsync", "on").setting("cluster_name", "it's");
        let text = configuration(&options, &[("port", "5433")]);
        assert!(text.ends_with("port = '5433'\nfsync = 'on'\ncluster_name = 'it''s'\n"), "{text}");
    }
}
