//! What Postgres says, in the words of the store.

use karwan_envelope::ids::EventId;
use tokio_postgres::error::SqlState;

use crate::backend::Refusal;
use crate::error::{DatabaseError, Error};

/// An error outside a flush.
pub(super) fn error(store: &str, cause: tokio_postgres::Error) -> Error {
    let store = store.to_owned();
    let Some(code) = cause.code().cloned() else {
        let cause = DatabaseError::from(cause);
        return if is_broken(&cause) { Error::Unreachable { store, cause } } else { Error::Database { store, cause } };
    };
    let message = cause.as_db_error().map(|db| db.message().to_owned()).unwrap_or_default();
    if code == SqlState::INSUFFICIENT_PRIVILEGE {
        let remedy = "grant it what it needs (`karwan migrate --grant LOGIN` for a node, `--grant-operator LOGIN` for operators' \
                      commands), or use another login";
        return Error::Permission { store, remedy: remedy.to_owned(), cause: cause.into() };
    }
    if [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME, SqlState::UNDEFINED_FUNCTION].contains(&code) {
        return Error::NotMigrated { store };
    }
    if code == SqlState::UNDEFINED_OBJECT && message.contains("role") {
        return Error::NotMigrated { store };
    }
    if code == SqlState::DISK_FULL {
        return Error::Full { store, cause: cause.into() };
    }
    if code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return Error::ReadOnly { store, cause: cause.into() };
    }
    // 57P01 and its siblings: the server goes down; 08: the connection is gone; 28: it was never allowed.
    if code.code().starts_with("57P")
        || code.code().starts_with("08")
        || code.code().starts_with("28")
        || code.code() == "3D000"
    {
        return Error::Unreachable { store, cause: cause.into() };
    }
    Error::Database { store, cause: cause.into() }
}

/// The lock, where a statement lost it to others: a deadlock, a serialization failure, or one that was not to be had.
pub(crate) fn lost_lock(cause: &tokio_postgres::Error) -> Option<String> {
    let db = cause.as_db_error()?;
    ["40P01", "40001", "55P03"].contains(&db.code().code()).then(|| format!("a lock ({})", db.message()))
}

/// Whether a failure is the store's and not the statement's: no connection, no space, nothing can be written.
pub(super) fn is_the_stores(cause: &tokio_postgres::Error) -> bool {
    let broken =
        || cause.is_closed() || std::error::Error::source(cause).is_some_and(|source| source.is::<std::io::Error>());
    let codes = ["57P", "08", "53100", "25006"];
    cause.code().map_or_else(broken, |code| codes.iter().any(|known| code.code().starts_with(known)))
}

/// Whether a lock was not to be had in time.
pub(super) fn is_lock_timeout(error: &Error) -> bool {
    let Error::Database { cause: DatabaseError::Postgres(cause), .. } = error else { return false };
    cause.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Whether the connection is gone; a mistake in what was sent has no code either.
fn is_broken(cause: &DatabaseError) -> bool {
    let DatabaseError::Postgres(cause) = cause else { return false };
    cause.is_closed() || std::error::Error::source(cause).is_some_and(|source| source.is::<std::io::Error>())
}

/// Why a flush did not commit.
pub(super) fn refusal(store: &str, cause: tokio_postgres::Error) -> Refusal {
    let Some(db) = cause.as_db_error() else {
        return match error(store, cause) {
            // The connection broke in the middle: the commit may have happened.
            lost @ Error::Unreachable { .. } => Refusal::Lost(lost),
            other => Refusal::Error(other),
        };
    };
    if let Some(what) = lost_lock(&cause) {
        return Refusal::Conflict { what };
    }
    let detail = db.detail().unwrap_or_default().to_owned();
    match db.code().code() {
        "KW001" => Refusal::Conflict { what: detail },
        "KW002" => Refusal::UnitRepeated,
        "KW003" => event_id(&detail).map_or_else(|| error(store, cause).into(), Refusal::IntentRepeated),
        "KW004" => three(&detail).map_or_else(
            || Refusal::Error(Error::Database { store: store.to_owned(), cause: DatabaseError::Words(detail.clone()) }),
            |(subject, intent, event)| Error::IntentDiffers { subject, intent, event }.into(),
        ),
        "KW005" => {
            let (kind, id) = detail.split_once(' ').unwrap_or((&detail, ""));
            Error::Exists { kind: kind.to_owned(), id: id.to_owned() }.into()
        }
        "KW006" => {
            let [subject, intent] = serde_json::from_str(&detail).unwrap_or_default();
            Error::IntentMixed { subject, intent }.into()
        }
        "KW007" => {
            Error::Claimed { consumer: String::new(), event: event_id(&detail).unwrap_or(EventId::from_bits(0)) }.into()
        }
        "KW008" => lane_lost(&detail).into(),
        "KW010" => Error::Gone { what: detail }.into(),
        code if code.starts_with("57P") => Refusal::Lost(error(store, cause)),
        _ => error(store, cause).into(),
    }
}

/// An error of a lane's write.
pub(super) fn lane_error(store: &str, cause: tokio_postgres::Error) -> Error {
    match cause.as_db_error() {
        Some(db) if db.code().code() == "KW008" => lane_lost(db.detail().unwrap_or_default()),
        _ => error(store, cause),
    }
}

fn lane_lost(detail: &str) -> Error {
    let (consumer, lane) = detail.rsplit_once(' ').unwrap_or((detail, "0"));
    Error::LaneLost { consumer: consumer.to_owned(), lane: lane.parse().unwrap_or_default() }
}

fn event_id(text: &str) -> Option<EventId> {
    uuid::Uuid::parse_str(text).ok().map(|id| EventId::from_bits(id.as_u128()))
}

fn three(detail: &str) -> Option<(String, String, EventId)> {
    let [subject, intent, event] = serde_json::from_str::<[String; 3]>(detail).ok()?;
    Some((subject, intent, event_id(&event)?))
}
