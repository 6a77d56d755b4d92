//! Why a node does not start, or a command does not reach one. Every variant has a code with a page under `docs/errors/`.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What keeps a node from running, or from being asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else listens there.
    #[error("port {} of {} is in use", .address.port(), .address.ip())]
    PortInUse {
        /// Where.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("{address} cannot be listened on")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The directory belongs to another node that lives.
    #[error("another node works in {}{}", .folder.display(), pid.as_ref().map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    DataInUse {
        /// Where.
        folder: PathBuf,
        /// Who, as far as it said so.
        pid: Option<String>,
    },
    /// The vendors' books in the directory are of another store's bookings.
    #[error("{} has the vendors' books of {store}", .folder.display())]
    DataOfOtherStore {
        /// Where.
        folder: PathBuf,
        /// Whose they are.
        store: String,
    },
    /// The directory cannot be made, read or written.
    #[error("the data directory {} cannot be used", .folder.display())]
    Data {
        /// Where.
        folder: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Nobody runs there.
    #[error("no node runs in {}", .folder.display())]
    NotRunning {
        /// Where one was looked for.
        folder: PathBuf,
    },
    /// A node said no.
    #[error("the node refuses: {why}")]
    Refused {
        /// In its words.
        why: String,
    },
    /// A sandbox vendor cannot keep its books.
    #[error("a sandbox vendor does not start")]
    Sandbox(#[from] karwan_sandbox::Error),
    /// No service is called so.
    #[error(transparent)]
    Service(melmastoon::hotel::UnknownService),
}

impl Error {
    /// Its name, which has a page.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PortInUse { .. } => "node-port-in-use",
            Self::Bind { .. } => "node-bind",
            Self::DataInUse { .. } => "node-data-in-use",
            Self::DataOfOtherStore { .. } => "node-data-of-other-store",
            Self::Data { .. } => "node-data",
            Self::NotRunning { .. } => "node-not-running",
            Self::Refused { .. } => "node-refused",
            Self::Sandbox(_) => "node-sandbox",
            Self::Service(_) => "node-service",
        }
    }

    /// What helps.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::PortInUse { .. } => {
                Some("choose another port with --port, or stop who has it; --port 0 takes a free one")
            }
            Self::Bind { .. } => Some("name an address of this machine with --bind, such as 127.0.0.1"),
            Self::DataInUse { .. } => Some("stop that node, or give this one a directory of its own with --data"),
            Self::DataOfOtherStore { .. } => Some(
                "give this store a directory of its own with --data; where it is the same store by another name, remove the file `store` there",
            ),
            Self::Data { .. } => Some("make it writable for this user, or name another with --data"),
            Self::NotRunning { .. } => Some("start one with `karwan up`, or say where it runs with --data DIR"),
            Self::Service(_) => Some("name services with commas between, or leave --services out for all of them"),
            Self::Sandbox(_) => Some("make its file writable, or remove the data directory to start the demo anew"),
            Self::Refused { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_code_has_a_page() {
        for code in [
            "node-port-in-use",
            "node-bind",
            "node-data-in-use",
            "node-data-of-other-store",
            "node-data",
            "node-not-running",
            "node-refused",
            "node-sandbox",
            "node-service",
        ] {
            let page = format!("{}/../../docs/errors/{code}.md", env!("CARGO_MANIFEST_DIR"));
            assert!(std::path::Path::new(&page).is_file(), "{page}");
        }
    }
}
