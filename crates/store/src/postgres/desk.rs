//! An operator's transaction, with maintenance's hat.

use tokio_postgres::Statement;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::backup::maintenance_error;
use super::connect::{Hat, Target};
use super::flush::{instant, millis};
use super::{check_schema, wear};
use crate::error::Error;
use crate::kind::Kinds;
use crate::operator::desk::{Row, Value};

/// How long an action waits for others, in milliseconds.
const LOCK_MS: u32 = 5000;

type Parameter = Box<dyn ToSql + Sync + Send>;

/// A transaction; dropped, its connection goes, and nothing of it stays.
pub(crate) struct Desk {
    client: tokio_postgres::Client,
    shown: String,
}

impl Desk {
    pub async fn open(url: &str) -> Result<Self, Error> {
        Self::begin(url, &format!("BEGIN; SET LOCAL lock_timeout = {LOCK_MS}")).await
    }

    pub async fn look(url: &str) -> Result<Self, Error> {
        Self::begin(url, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    async fn begin(url: &str, sql: &str) -> Result<Self, Error> {
        let target = Target::parse(url)?;
        let client = target.connect().await?;
        // Whoever may not change anything may still look.
        wear(&client, Hat::Relay).await;
        wear(&client, Hat::Maintenance).await;
        check_schema(&target.shown, &client, &Kinds::new(&[])?).await?;
        let desk = Self { client, shown: target.shown };
        desk.client.batch_execute(sql).await.map_err(|cause| desk.error(cause))?;
        Ok(desk)
    }

    fn error(&self, cause: tokio_postgres::Error) -> Error {
        match super::error::lost_lock(&cause) {
            Some(what) => Error::Conflict { what, attempts: 1 },
            None => maintenance_error(&self.shown, cause),
        }
    }

    pub async fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let (statement, values) = self.prepared(sql, values).await?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as _).collect();
        let rows = self.client.query(&statement, &values).await.map_err(|cause| self.error(cause))?;
        let row = |row: &tokio_postgres::Row| Row((0..row.len()).map(|place| value(row, place)).collect());
        Ok(rows.iter().map(row).collect())
    }

    pub async fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let (statement, values) = self.prepared(sql, values).await?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as _).collect();
        self.client.execute(&statement, &values).await.map_err(|cause| self.error(cause))
    }

    async fn prepared(&self, sql: &str, values: &[Value]) -> Result<(Statement, Vec<Parameter>), Error> {
        let statement = self.client.prepare(sql).await.map_err(|cause| self.error(cause))?;
        let values = statement.params().iter().zip(values).map(|(ty, value)| parameter(ty, value)).collect();
        Ok((statement, values))
    }

    pub async fn now(&mut self) -> Result<i64, Error> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        Ok(self.rows(sql, &[]).await?.first().map_or(0, |row| row.int(0)))
    }

    pub async fn commit(self) -> Result<(), Error> {
        self.client.batch_execute("COMMIT").await.map_err(|cause| self.error(cause))
    }
}

fn value(row: &tokio_postgres::Row, place: usize) -> Value {
    match *row.columns()[place].type_() {
        Type::INT2 => row.get::<_, Option<i16>>(place).map(i64::from).into(),
        Type::INT4 => row.get::<_, Option<i32>>(place).map(i64::from).into(),
        Type::INT8 => row.get::<_, Option<i64>>(place).into(),
        Type::BOOL => row.get::<_, Option<bool>>(place).map(i64::from).into(),
        Type::TIMESTAMPTZ => row.get::<_, Option<std::time::SystemTime>>(place).map(millis).into(),
        Type::UUID => row.get::<_, Option<Uuid>>(place).map(|id| id.as_u128()).into(),
        Type::TEXT => row.get::<_, Option<&str>>(place).into(),
        // No statement answers anything else.
        _ => Value::Null,
    }
}

/// A value as a statement's parameter of a type: numbers fit theirs, and instants are numbers elsewhere.
fn parameter(ty: &Type, value: &Value) -> Parameter {
    let number = if let Value::Int(number) = value { Some(*number) } else { None };
    match *ty {
        Type::INT2 => Box::new(number.and_then(|number| i16::try_from(number).ok())),
        Type::INT4 => Box::new(number.and_then(|number| i32::try_from(number).ok())),
        Type::INT8 => Box::new(number),
        Type::TIMESTAMPTZ => Box::new(number.map(instant)),
        Type::UUID => Box::new(if let Value::Id(id) = value { Some(Uuid::from_u128(*id)) } else { None }),
        _ => Box::new(if let Value::Text(text) = value { Some(text.clone()) } else { None }),
    }
}
