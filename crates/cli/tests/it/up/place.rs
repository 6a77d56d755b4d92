//! Where a node of the tests is.

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
        let store: Vec<&str> = self.store.iter().flat_map(|(_, url)| ["--store", url, "--demo"]).collect();
        Node::up(&self.folder.at("data"), &[&store, more].concat())
    }
}
