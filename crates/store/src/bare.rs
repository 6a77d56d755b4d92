//! A connection without the store's rules: for scratch databases, and for what a store is measured against.
//!
//! Not for applications: nothing here knows a tenant.

use crate::address::Address;
use crate::error::Error;
use crate::postgres;

/// A connection to a database with the login's own rights, TLS included. A file has none.
pub async fn connect(address: &Address) -> Result<tokio_postgres::Client, Error> {
    match address {
        Address::Sqlite(_) => Err(Error::Damaged {
            store: address.to_string(),
            reason: "a file is opened and not connected to".to_owned(),
        }),
        Address::Postgres(url) => postgres::connect(url).await,
    }
}
