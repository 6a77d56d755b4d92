//! One transaction of an operator's, on either store.
//!
//! Statements are written once, in what both databases understand, with Postgres' names; the file's names are shorter
//! (`karwan.` and `_id` go, and a subject is its own name). Instants are milliseconds after 1970 on both. Dropped without a
//! commit, nothing stays.

use std::sync::Arc;

use karwan_envelope::ids::EventId;
use karwan_envelope::time::Clock;

use super::action::{Verb, Who};
use crate::address::Address;
use crate::error::Error;
use crate::write_set::TenantBits;
use crate::{postgres, sqlite};

/// What a statement takes and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A number, or an instant.
    Int(i64),
    /// A text.
    Text(String),
    /// A tenant, an event or an effect.
    Id(u128),
}

/// One row of an answer.
#[derive(Debug, Clone)]
pub struct Row(pub Vec<Value>);

/// A transaction.
pub enum Desk {
    Sqlite(sqlite::Desk),
    Postgres(postgres::Desk),
}

/// What an action touched.
#[derive(Default)]
pub struct Touched<'a> {
    pub consumer: Option<&'a str>,
    pub tenant: Option<TenantBits>,
    pub key: Option<&'a str>,
    pub event: Option<EventId>,
    /// What is needed to undo it.
    pub detail: serde_json::Value,
}

impl Row {
    /// A number that is there.
    pub fn int(&self, place: usize) -> i64 {
        self.maybe_int(place).unwrap_or_default()
    }

    /// A number.
    pub fn maybe_int(&self, place: usize) -> Option<i64> {
        if let Some(Value::Int(number)) = self.0.get(place) { Some(*number) } else { None }
    }

    /// A text that is there.
    pub fn text(&self, place: usize) -> String {
        self.maybe_text(place).unwrap_or_default()
    }

    /// A text.
    pub fn maybe_text(&self, place: usize) -> Option<String> {
        if let Some(Value::Text(text)) = self.0.get(place) { Some(text.clone()) } else { None }
    }

    /// An id that is there.
    pub fn id(&self, place: usize) -> u128 {
        self.maybe_id(place).unwrap_or_default()
    }

    /// An id.
    pub fn maybe_id(&self, place: usize) -> Option<u128> {
        if let Some(Value::Id(id)) = self.0.get(place) { Some(*id) } else { None }
    }

    /// An event.
    pub fn event(&self, place: usize) -> EventId {
        EventId::from_bits(self.id(place))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}
impl From<u128> for Value {
    fn from(id: u128) -> Self {
        Self::Id(id)
    }
}
impl From<EventId> for Value {
    fn from(event: EventId) -> Self {
        Self::Id(event.bits())
    }
}
impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The values of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::operator::desk::Value::from($value)),*] };
}
pub(super) use values;

impl Desk {
    /// A transaction that may change something.
    pub async fn open(address: &Address, clock: &Arc<dyn Clock>) -> Result<Self, Error> {
        match address {
            Address::Sqlite(path) => Ok(Self::Sqlite(sqlite::Desk::open(path, clock.clone())?)),
            Address::Postgres(url) => Ok(Self::Postgres(postgres::Desk::open(url).await?)),
        }
    }

    /// A transaction that changes nothing, over one state of the store.
    pub async fn look(address: &Address, clock: &Arc<dyn Clock>) -> Result<Self, Error> {
        match address {
            Address::Sqlite(path) => Ok(Self::Sqlite(sqlite::Desk::look(path, clock.clone())?)),
            Address::Postgres(url) => Ok(Self::Postgres(postgres::Desk::look(url).await?)),
        }
    }

    /// Rows of an answer.
    pub async fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        match self {
            Self::Sqlite(desk) => desk.rows(sql, values),
            Self::Postgres(desk) => desk.rows(sql, values).await,
        }
    }

    /// The first of them.
    pub async fn row(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>, Error> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Changes rows; answers how many.
    pub async fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        match self {
            Self::Sqlite(desk) => desk.run(sql, values),
            Self::Postgres(desk) => desk.run(sql, values).await,
        }
    }

    /// The store's clock.
    pub async fn now(&mut self) -> Result<i64, Error> {
        match self {
            Self::Sqlite(desk) => Ok(desk.now()),
            Self::Postgres(desk) => desk.now().await,
        }
    }

    /// Keeps every write of a key's lane out until this ends; answers the lane.
    pub async fn stop_lane(&mut self, consumer: &str, tenant: TenantBits, key: &str) -> Result<i64, Error> {
        match self {
            Self::Sqlite(desk) => desk.lane_of(consumer, tenant, key),
            Self::Postgres(desk) => {
                let sql = "SELECT karwan.stop_lane($1, $2, $3)";
                Ok(desk.rows(sql, values![consumer, tenant, key]).await?.first().map_or(0, |row| row.int(0)))
            }
        }
    }

    /// Whoever holds a lane holds it no more: it takes it again, with what is parked in it by then. Without this it would
    /// go on with a key whose parked event it does not know.
    pub async fn unseat(&mut self, consumer: &str, lane: i64) -> Result<(), Error> {
        let sql = match self {
            Self::Sqlite(_) => "UPDATE lane SET epoch = epoch + 1, holder = NULL WHERE consumer = $1 AND lane = $2",
            Self::Postgres(_) => {
                "UPDATE karwan.lane SET epoch = epoch + 1, holder = NULL, until = NULL WHERE consumer = $1 AND lane = $2"
            }
        };
        self.run(sql, values![consumer, lane]).await.map(drop)
    }

    /// Calls to the outside and relays of this store run again.
    pub async fn resume_store(&mut self) -> Result<(), Error> {
        let sql = match self {
            Self::Sqlite(_) => "UPDATE meta SET suspended = false",
            Self::Postgres(_) => "SELECT karwan.resume()",
        };
        self.run(sql, &[]).await.map(drop)
    }

    /// Records an action, and raises the revision of its consumer; answers its number.
    pub async fn record(&mut self, who: &Who, verb: Verb, touched: &Touched<'_>) -> Result<i64, Error> {
        let Touched { consumer, tenant, key, event, detail } = touched;
        let now = self.now().await?;
        if let Some(consumer) = consumer {
            let sql = "INSERT INTO karwan.revision (consumer, number) VALUES ($1, 1)
                       ON CONFLICT (consumer) DO UPDATE SET number = revision.number + 1";
            self.run(sql, values![*consumer]).await?;
        }
        let sql = "INSERT INTO karwan.action (at, actor, reason, verb, consumer, tenant_id, key, event_id, detail)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id";
        let detail = if detail.is_null() { "{}".to_owned() } else { detail.to_string() };
        let values = values![
            now,
            who.actor.as_str(),
            who.reason.as_str(),
            verb.name(),
            *consumer,
            *tenant,
            *key,
            *event,
            detail.as_str()
        ];
        Ok(self.row(sql, values).await?.map_or(0, |row| row.int(0)))
    }

    /// What was changed stays.
    pub async fn commit(self) -> Result<(), Error> {
        match self {
            Self::Sqlite(desk) => desk.commit(),
            Self::Postgres(desk) => desk.commit().await,
        }
    }
}
