//! Where a node of the tests is.

use karwan_store::Address;
use karwan_testkit::postgres::{Database, Server};

use super::Node;
use crate::folder::Folder;
use crate::karwan::karwan;

/// Where the node keeps everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Sqlite,
    Postgres,
}

/// A node's directory and store, which outlive it.
pub struct Place {
    pub folder: Folder,
    /// A database, and its URL with the login of a node; none where the store is the node's own file.
    pub store: Option<(Database<'static>, String)>,
}

impl Place {
    pub fn new(on: On, server: Option<&'static Server>) -> Self {
        let store = server.filter(|_| on == On::Postgres).map(|server| {
            let database = server.database();
            let login = format!("node_{}", database.name());
            database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
            karwan(&["migrate", "--store", &database.url(), "--grant", &login, "--node"]).exits(0);
            let url = database.url_as(&login);
            (database, url)
        });
        Self { folder: Folder::new(), store }
    }

    /// A node with its two tenants.
    pub fn up(&self, more: &[&str]) -> Node {
        Node::up(&self.folder.at("data"), &[&self.words(), more].concat())
    }

    /// The same, and nobody waits for it.
    pub fn begun(&self) -> Node {
        Node::begun(&self.folder.at("data"), &self.words())
    }

    fn words(&self) -> Vec<&str> {
        self.store.iter().flat_map(|(_, url)| ["--store", url, "--demo"]).collect()
    }

    /// Where its store is.
    pub fn address(&self) -> Address {
        match &self.store {
            Some((_, url)) => url.parse().expect("a URL is an address"),
            None => Address::Sqlite(self.folder.at("data").join("karwan.db")),
        }
    }
}
