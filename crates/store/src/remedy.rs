//! What helps, where the message of an error does not say so itself.

use tokio_postgres::error::SqlState;

use crate::error::{DatabaseError, Error};

impl Error {
    /// What to do about it; none where the message says it, or where only the cause can tell.
    pub fn remedy(&self) -> Option<&'static str> {
        if let Self::StreamFed { .. } = self {
            return Some(
                "name its broker: --broker nats://…, or KARWAN_BROKER; a position of a log is no place of a stream",
            );
        }
        let Self::Unreachable { cause: DatabaseError::Postgres(cause), .. } = self else { return None };
        let Some(code) = cause.code() else {
            return Some("check host, port and sslmode of the address, and that the server runs");
        };
        let answers = [
            (SqlState::INVALID_PASSWORD, "check the password of the address; %-encode what a URL reserves"),
            (
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                "check the user of the address: make the login with CREATE ROLE … LOGIN, and let pg_hba.conf admit it",
            ),
            (SqlState::INVALID_CATALOG_NAME, "check the database of the address, or make it with CREATE DATABASE"),
            (SqlState::TOO_MANY_CONNECTIONS, "close other connections, or raise max_connections"),
        ];
        answers.into_iter().find(|(known, _)| known == code).map(|(_, remedy)| remedy)
    }
}
