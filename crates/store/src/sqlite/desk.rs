//! An operator's transaction beside the process that writes the file: short, and after whatever that process commits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use karwan_envelope::time::Clock;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use super::error::said;
use super::file;
use crate::error::Error;
use crate::operator::desk::{Row, Value};
use crate::write_set::{TenantBits, slot};

/// A transaction; dropped, nothing of it stays.
pub(crate) struct Desk {
    connection: Connection,
    path: PathBuf,
    clock: Arc<dyn Clock>,
}

impl Desk {
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        Self::begin(path, clock, file::writer, "BEGIN IMMEDIATE")
    }

    pub fn look(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        Self::begin(path, clock, file::reader, "BEGIN")
    }

    fn begin(
        path: &Path,
        clock: Arc<dyn Clock>,
        connect: fn(&Path) -> Result<Connection, Error>,
        sql: &str,
    ) -> Result<Self, Error> {
        let path = file::absolute(path)?;
        file::must_exist(&path)?;
        let connection = connect(&path)?;
        file::admitted(&path, &connection)?;
        connection.execute_batch(sql).map_err(|error| said(&path, error))?;
        Ok(Self { connection, path, clock })
    }

    pub fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&own_names(sql))?;
            let columns = statement.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                (0..columns).map(|place| row.get_ref(place).map(value)).collect::<rusqlite::Result<_>>().map(Row)
            };
            statement.query_map(params_from_iter(values), row)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| said(&self.path, error))
    }

    pub fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let run = || self.connection.prepare_cached(&own_names(sql))?.execute(params_from_iter(values));
        run().map(|changed| changed as u64).map_err(|error| said(&self.path, error))
    }

    pub fn now(&self) -> i64 {
        self.clock.now().unix_ms()
    }

    /// Nobody else writes while this is open.
    pub fn lane_of(&mut self, consumer: &str, tenant: TenantBits, key: &str) -> Result<i64, Error> {
        let sql = "SELECT lanes FROM lane_count WHERE consumer = ?";
        let lanes = self.connection.query_row(sql, [consumer], |row| row.get::<_, u16>(0)).optional();
        let lanes = lanes.map_err(|error| said(&self.path, error))?.unwrap_or(1);
        Ok((slot(tenant, key) % lanes.max(1)).into())
    }

    pub fn commit(self) -> Result<(), Error> {
        self.connection.execute_batch("COMMIT").map_err(|error| said(&self.path, error))
    }
}

/// A statement with this store's names.
fn own_names(sql: &str) -> String {
    let sql = sql.replace("karwan.subject_name", "").replace("karwan.", "").replace('$', "?");
    sql.replace("tenant_id", "tenant").replace("event_id", "event")
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => bytes.try_into().map_or(Value::Null, |id| Value::Id(u128::from_be_bytes(id))),
        // No column has fractions.
        ValueRef::Null | ValueRef::Real(_) => Value::Null,
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Id(id) => ToSqlOutput::Owned(rusqlite::types::Value::Blob(id.to_be_bytes().to_vec())),
        })
    }
}
