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

/// From now on the beats of nodes are answered late, as by a database that is busy. Its owner has to ask; for scratch databases in
/// which processes are stopped past their leases: who wakes is told of it by its next beat, and works on until then.
pub async fn answer_beats_late(owner: &Address) -> Result<(), Error> {
    let answered = connect(owner).await?.batch_execute(include_str!("late_beats.sql")).await;
    answered.map_err(|error| Error::Damaged { store: owner.to_string(), reason: error.to_string() })
}
