//! What only Postgres has: roles, row-level security, append from SQL, transactions that commit out of order.

#![expect(clippy::unwrap_used, reason = "a test stops at once, also in what it calls")]

mod append;
mod faults;
mod guide;
mod interleavings;
mod tenants;

use karwan_store::{Address, Options, Store, migrate};
use karwan_testkit::postgres::{Database, Server};

use crate::shop;

/// A migrated database with a login of its own for the application.
pub struct Fixture {
    pub database: Database<'static>,
    pub login: String,
    pub store: Store,
}

pub fn options() -> Options {
    Options::new(shop::catalogue(), shop::kinds())
}

impl Fixture {
    pub async fn new(server: &'static Server) -> Self {
        let database = server.database();
        let login = format!("app_{}", database.name());
        database.psql(&format!("CREATE ROLE {login} LOGIN")).unwrap();
        let owner: Address = database.url().parse().unwrap();
        migrate(&owner, &[&shop::catalogue()], &shop::kinds(), &|_, _, _| {}).await.unwrap();
        migrate::grant(&owner, &login, Some("delivery-service")).await.unwrap();
        let store = Store::open(&database.url_as(&login).parse().unwrap(), options()).await.unwrap();
        Self { database, login, store }
    }
}
