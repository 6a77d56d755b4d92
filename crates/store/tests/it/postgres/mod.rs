//! What only Postgres has: roles, row-level security, append from SQL, transactions that commit out of order.

#![expect(clippy::unwrap_used, reason = "a test stops at once, also in what it calls")]

mod append;
mod disk;
mod faults;
mod guide;
mod interleavings;
mod lost;
mod own_tables;
mod plans;
mod recent;
mod schedules;
mod shared;
mod tenants;
mod wake;
mod writers;

use karwan_store::migrate::Purpose;
use karwan_store::{Address, Error, Options, Store, migrate};
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

/// An empty database and a login that has nothing yet.
pub fn bare(server: &'static Server) -> (Database<'static>, String) {
    let database = server.database();
    let login = format!("app_{}", database.name());
    database.psql(&format!("CREATE ROLE {login} LOGIN")).unwrap();
    (database, login)
}

/// Prepares the login of a program's address; a file has none.
pub async fn grant(owner: &Address, program: &Address) -> Result<(), Error> {
    let Address::Postgres(url) = program else { return Ok(()) };
    let login = url.split("//").nth(1).and_then(|rest| rest.split('@').next()).unwrap();
    migrate::grant(owner, login, &Purpose::Node).await?;
    migrate::grant(owner, login, &Purpose::Appending("delivery-service".to_owned())).await
}

impl Fixture {
    pub async fn new(server: &'static Server) -> Self {
        let (database, login) = bare(server);
        let owner: Address = database.url().parse().unwrap();
        let program: Address = database.url_as(&login).parse().unwrap();
        migrate(&owner, &[&shop::catalogue()], &shop::kinds(), &|_, _, _| {}).await.unwrap();
        grant(&owner, &program).await.unwrap();
        let maintenance = Some(owner.clone());
        let store = Store::open(&program, Options { maintenance, ..options() }).await.unwrap();
        Self { database, login, store }
    }
}
