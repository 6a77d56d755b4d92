//! What only Postgres has: roles, row-level security, append from SQL, transactions that commit out of order.

mod append;
mod faults;
mod guide;
mod interleavings;
mod tenants;

use karwan_store::{Address, Store, migrate};
use karwan_testkit::postgres::{Database, Server};

use crate::market;

/// A migrated database with a login of its own for the application.
pub struct Fixture {
    pub database: Database<'static>,
    pub login: String,
    pub store: Store,
}

impl Fixture {
    pub async fn new(server: &'static Server) -> Self {
        let database = server.database();
        let login = format!("app_{}", database.name());
        database.psql(&format!("CREATE ROLE {login} LOGIN")).unwrap();
        let owner: Address = database.url().parse().unwrap();
        migrate(&owner, &[&market::catalogue()], market::KINDS, &|_, _, _| {}).await.unwrap();
        karwan_store::migrate::grant(&owner, &login, Some("parcel-service")).await.unwrap();
        let store = Store::open(&database.url_as(&login).parse().unwrap(), market::options()).await.unwrap();
        Self { database, login, store }
    }
}
