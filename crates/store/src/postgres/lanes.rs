//! An operator's connection to a database, as maintenance.

use std::collections::HashSet;
use std::time::SystemTime;

use karwan_envelope::ids::EventId;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, GenericClient, Row, Transaction};
use uuid::Uuid;

use super::backup::maintenance_error;
use super::connect::{Hat, Target};
use super::flush::{instant, millis};
use super::{check_schema, wear};
use crate::consumer::Node;
use crate::error::Error;
use crate::kind::Kinds;
use crate::lanes::{Chunk, Declared, Done, Found, HOLD_MS, Held, Move, Which, replayed, without};
use crate::log::{LogRow, Seq};
use crate::operator::{Verb, Who};

/// How long moving lanes waits for writes of them that are under way.
const STOP_LOCK_MS: u32 = 10_000;

/// See the module.
pub(crate) struct Lanes {
    pub(super) client: Client,
    pub(super) shown: String,
}

impl Lanes {
    pub async fn open(url: &str) -> Result<Self, Error> {
        let target = Target::parse(url)?;
        let client = target.connect().await?;
        wear(&client, Hat::Maintenance).await;
        check_schema(&target.shown, &client, &Kinds::new(&[])?).await?;
        Ok(Self { client, shown: target.shown })
    }

    pub(super) fn bad(&self) -> impl Fn(tokio_postgres::Error) -> Error + use<> {
        let shown = self.shown.clone();
        move |cause| maintenance_error(&shown, cause)
    }

    pub async fn find(&mut self, consumer: &str) -> Result<Found, Error> {
        let bad = self.bad();
        let transaction = self.client.transaction().await.map_err(&bad)?;
        let sql = "SELECT coalesce(l.position, 0) FROM karwan.lane_count c, generate_series(0, c.lanes - 1) AS n
                   LEFT JOIN karwan.lane l ON l.consumer = $1 AND l.lane = n WHERE c.consumer = $1 ORDER BY n";
        let lanes = transaction.query(sql, &[&consumer]).await.map_err(&bad)?;
        found(&transaction, consumer, lanes.iter().map(|row| row.get(0)).collect()).await.map_err(&bad)
    }

    pub async fn consumers(&mut self) -> Result<Vec<String>, Error> {
        let rows = self.client.query("SELECT consumer FROM karwan.lane_count ORDER BY consumer", &[]).await;
        Ok(rows.map_err(self.bad())?.iter().map(|row| row.get(0)).collect())
    }

    pub async fn declared(&mut self) -> Result<Vec<Declared>, Error> {
        let rows = self.client.query(&format!("{DECLARED} ORDER BY consumer"), &[]).await;
        Ok(rows.map_err(self.bad())?.iter().map(declared_row).collect())
    }

    pub async fn move_lanes(
        &mut self,
        (consumer, who): (&str, &Who),
        decide: impl FnOnce(&Found) -> Result<Move, Error>,
    ) -> Result<(Found, Held), Error> {
        let bad = self.bad();
        let transaction = self.client.transaction().await.map_err(&bad)?;
        let found = stopped(&transaction, consumer).await.map_err(&bad)?;
        let Move { to, hold, verb, detail, undoes } = decide(&found)?;
        let action = record(&transaction, who, (verb, consumer, &detail)).await.map_err(&bad)?;
        if let Some(undoes) = undoes {
            let sql = "UPDATE karwan.action SET undone_by = $1 WHERE id = $2";
            transaction.execute(sql, &[&action, &undoes]).await.map_err(&bad)?;
        }
        if found.lanes.is_empty() {
            let lanes = i32::try_from(to.len()).unwrap_or(i32::MAX);
            transaction.execute("SELECT karwan.remember_lanes($1, $2)", &[&consumer, &lanes]).await.map_err(&bad)?;
        }
        let sql = "SELECT raised FROM karwan.move_lanes($1, $2, $3, $4) ORDER BY number";
        let rows = transaction.query(sql, &[&consumer, &to, &hold, &HOLD_MS]).await.map_err(&bad)?;
        transaction.commit().await.map_err(&bad)?;
        let epochs = rows.iter().map(|row| row.get(0)).collect();
        let (name, fed) = (hold.unwrap_or_default(), found.declared.stream.is_some());
        Ok((found, Held { action, consumer: consumer.to_owned(), name, epochs, fed }))
    }

    pub async fn chunk(&mut self, held: &Held, chunk: &Chunk<'_>) -> Result<Vec<EventId>, Error> {
        let bad = self.bad();
        let transaction = self.client.transaction().await.map_err(&bad)?;
        check(&transaction, held, &bad).await?;
        let sql = "UPDATE karwan.lane SET until = clock_timestamp() + $3::bigint * interval '1 millisecond'
                   WHERE consumer = $1 AND holder = $2";
        transaction.execute(sql, &[&held.consumer, &held.name, &HOLD_MS]).await.map_err(&bad)?;
        let done = match chunk {
            Chunk::Clear(rows) => send_again(&transaction, held, (rows, false)).await,
            Chunk::Park(rows) => send_again(&transaction, held, (rows, true)).await,
            Chunk::Unpark { action } => {
                let sql = include_str!("schema/send_no_more.sql");
                transaction.query(sql, &[&held.consumer, &replayed(*action)]).await.map(|rows| events(&rows))
            }
        };
        let done = done.map_err(&bad)?;
        transaction.commit().await.map_err(&bad)?;
        Ok(done.into_iter().map(|event| EventId::from_bits(event.as_u128())).collect())
    }

    pub async fn release(&mut self, held: &Held, detail: &str) -> Result<(), Error> {
        let bad = self.bad();
        let transaction = self.client.transaction().await.map_err(&bad)?;
        check(&transaction, held, &bad).await?;
        let sql = "UPDATE karwan.lane SET holder = NULL, until = NULL, epoch = epoch + 1
                   WHERE consumer = $1 AND holder = $2";
        transaction.execute(sql, &[&held.consumer, &held.name]).await.map_err(&bad)?;
        let sql = "UPDATE karwan.action SET detail = $2 WHERE id = $1";
        transaction.execute(sql, &[&held.action, &detail]).await.map_err(&bad)?;
        transaction.commit().await.map_err(&bad)
    }

    pub async fn action(&mut self, which: &Which<'_>) -> Result<Option<Done>, Error> {
        let columns = "SELECT id, verb, consumer, detail, undone_by FROM karwan.action";
        let row = match which {
            Which::Number(id) => self.client.query_opt(&format!("{columns} WHERE id = $1"), &[id]).await,
            Which::LastOf(consumer, verbs) => {
                let verbs: Vec<&str> = verbs.iter().map(|verb| verb.name()).collect();
                let sql = format!(
                    "{columns} WHERE consumer = $1 AND verb = ANY ($2) AND undone_by IS NULL ORDER BY id DESC LIMIT 1"
                );
                self.client.query_opt(&sql, &[consumer, &verbs]).await
            }
        };
        Ok(row.map_err(self.bad())?.map(|row| Done {
            id: row.get(0),
            verb: row.get(1),
            consumer: row.get(2),
            detail: row.get(3),
            undone_by: row.get(4),
        }))
    }

    pub async fn forget(&mut self, (consumer, who): (&str, &Who)) -> Result<(Found, i64), Error> {
        let bad = self.bad();
        let transaction = self.client.transaction().await.map_err(&bad)?;
        let found = stopped(&transaction, consumer).await.map_err(&bad)?;
        let sql = "SELECT holder FROM karwan.lane WHERE consumer = $1 AND until >= clock_timestamp() LIMIT 1";
        if let Some(row) = transaction.query_opt(sql, &[&consumer]).await.map_err(&bad)? {
            return Err(Error::ConsumerRuns { consumer: consumer.to_owned(), node: row.get(0) });
        }
        let detail = crate::operator::was_text(&found.lanes);
        let action = record(&transaction, who, (Verb::Forget, consumer, &detail)).await.map_err(&bad)?;
        transaction.execute("SELECT karwan.forget_lanes($1)", &[&consumer]).await.map_err(&bad)?;
        transaction.commit().await.map_err(&bad)?;
        Ok((found, action))
    }
}

impl Lanes {
    pub async fn forget_subject(&mut self, (consumer, who): (&str, &Who), subject: &str) -> Result<Option<i64>, Error> {
        let bad = self.bad();
        let transaction = self.client.transaction().await.map_err(&bad)?;
        let sql = "SELECT $2 = ANY (subjects) FROM karwan.declared WHERE consumer = $1 FOR UPDATE";
        let known = transaction.query_opt(sql, &[&consumer, &subject]).await.map_err(&bad)?;
        if !known.is_some_and(|row| row.get(0)) {
            return Ok(None);
        }
        let living = living(&transaction).await.map_err(&bad)?;
        if let Some(node) = living.into_iter().find(|node| node.handles(consumer, subject)) {
            return Err(Error::ConsumerRuns { consumer: consumer.to_owned(), node: node.name });
        }
        let sql = "UPDATE karwan.declared SET subjects = array_remove(subjects, $2) WHERE consumer = $1";
        transaction.execute(sql, &[&consumer, &subject]).await.map_err(&bad)?;
        let what = (Verb::ForgetSubject, consumer, without(subject));
        let action = record(&transaction, who, (what.0, what.1, &what.2)).await.map_err(&bad)?;
        transaction.commit().await.map_err(&bad)?;
        Ok(Some(action))
    }
}

/// Who lives.
pub(super) async fn living(client: &impl GenericClient) -> Result<Vec<Node>, tokio_postgres::Error> {
    let sql = "SELECT name, runs FROM karwan.node WHERE until >= clock_timestamp() ORDER BY name";
    let rows = client.query(sql, &[]).await?;
    Ok(rows.iter().map(|row| Node::stored(row.get(0), row.get(1))).collect())
}

pub(super) const DECLARED: &str =
    "SELECT consumer, forward_only, rebuildable, subjects, at, stream FROM karwan.declared";

pub(super) fn declared_row(row: &Row) -> Declared {
    Declared {
        consumer: row.get(0),
        forward_only: row.get(1),
        rebuildable: row.get(2),
        subjects: row.get(3),
        at: millis(row.get(4)),
        stream: row.get(5),
    }
}

/// Stops the lanes of a consumer until the transaction ends.
async fn stopped(transaction: &Transaction<'_>, consumer: &str) -> Result<Found, tokio_postgres::Error> {
    transaction.batch_execute(&format!("SET LOCAL lock_timeout = {STOP_LOCK_MS}")).await?;
    let rows = transaction.query("SELECT place FROM karwan.stop_lanes($1) ORDER BY number", &[&consumer]).await?;
    found(transaction, consumer, rows.iter().map(|row| row.get(0)).collect()).await
}

async fn found(transaction: &Transaction<'_>, consumer: &str, lanes: Vec<Seq>) -> Result<Found, tokio_postgres::Error> {
    let sql = "SELECT floor, karwan.highest(), (SELECT up_to FROM karwan.pruned WHERE what = 'inbox')
               FROM karwan.meta";
    let row = transaction.query_one(sql, &[]).await?;
    let declared = transaction.query_opt(&format!("{DECLARED} WHERE consumer = $1"), &[&consumer]).await?;
    let declared = declared.as_ref().map(declared_row).unwrap_or_default();
    Ok(Found { lanes, floor: row.get(0), end: row.get(1), claims_floor: row.get(2), declared })
}

/// Writes an action down; answers its number.
pub(super) async fn record(
    transaction: &Transaction<'_>,
    who: &Who,
    (verb, consumer, detail): (Verb, &str, &str),
) -> Result<i64, tokio_postgres::Error> {
    let sql =
        "INSERT INTO karwan.action (actor, reason, verb, consumer, detail) VALUES ($1, $2, $3, $4, $5) RETURNING id";
    let consumer = Some(consumer).filter(|consumer| !consumer.is_empty());
    let row = transaction.query_one(sql, &[&who.actor, &who.reason, &verb.name(), &consumer, &detail]).await?;
    Ok(row.get(0))
}

/// Refuses an operator whose lanes others have taken meanwhile; keeps them from it until the transaction ends.
async fn check(
    transaction: &Transaction<'_>,
    held: &Held,
    bad: &impl Fn(tokio_postgres::Error) -> Error,
) -> Result<(), Error> {
    for (lane, epoch) in (0_i32..).zip(&held.epochs) {
        let checked =
            transaction.execute("SELECT karwan.check_lane($1, $2, $3)", &[&held.consumer, &lane, epoch]).await;
        checked.map_err(|cause| match cause.code() {
            Some(code) if code.code() == "KW008" => {
                Error::LaneLost { consumer: held.consumer.clone(), lane: u16::try_from(lane).unwrap_or(u16::MAX) }
            }
            _ => bad(cause),
        })?;
    }
    Ok(())
}

fn events(rows: &[Row]) -> Vec<Uuid> {
    rows.iter().map(|row| row.get(0)).collect()
}

async fn clear(
    transaction: &Transaction<'_>,
    consumer: &str,
    rows: &[LogRow],
) -> Result<Vec<Uuid>, tokio_postgres::Error> {
    let ids: Vec<Uuid> = rows.iter().map(|row| Uuid::from_u128(row.event.bits())).collect();
    let logged: Vec<SystemTime> = rows.iter().map(|row| instant(row.at)).collect();
    Ok(events(&transaction.query(include_str!("schema/clear.sql"), &[&consumer, &ids, &logged]).await?))
}

async fn send_again(
    transaction: &Transaction<'_>,
    held: &Held,
    (rows, all): (&[LogRow], bool),
) -> Result<Vec<Uuid>, tokio_postgres::Error> {
    let cleared = clear(transaction, &held.consumer, rows).await?;
    if held.fed {
        park_fed(transaction, held, (rows, all), &cleared).await?;
        return Ok(cleared);
    }
    let places: Vec<Seq> = rows.iter().map(|row| row.seq).collect();
    let lanes = i32::try_from(held.epochs.len()).unwrap_or(i32::MAX);
    let sql = include_str!("schema/send_again.sql");
    transaction.execute(sql, &[&held.consumer, &places, &cleared, &lanes, &replayed(held.action), &all]).await?;
    Ok(cleared)
}

/// Parks those events of a stream whose claims were taken back.
async fn park_fed(
    transaction: &Transaction<'_>,
    held: &Held,
    (rows, all): (&[LogRow], bool),
    cleared: &[Uuid],
) -> Result<(), tokio_postgres::Error> {
    let cleared: HashSet<Uuid> = cleared.iter().copied().collect();
    let again = |row: &&LogRow| cleared.contains(&Uuid::from_u128(row.event.bits()));
    let rows: Vec<&LogRow> = rows.iter().filter(again).collect();
    let lanes = held.epochs.len().max(1);
    let lane = |row: &&LogRow| i32::try_from(usize::from(row.slot) % lanes).unwrap_or_default();
    let events: Vec<Uuid> = rows.iter().map(|row| Uuid::from_u128(row.event.bits())).collect();
    let numbers: Vec<i32> = rows.iter().map(lane).collect();
    let places: Vec<Seq> = rows.iter().map(|row| row.seq).collect();
    let tenants: Vec<Uuid> = rows.iter().map(|row| Uuid::from_u128(row.tenant)).collect();
    let subjects: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
    let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    let envelopes: Vec<&str> = rows.iter().map(|row| row.envelope.as_str()).collect();
    let logged: Vec<SystemTime> = rows.iter().map(|row| instant(row.at)).collect();
    let (consumer, error) = (&held.consumer, replayed(held.action));
    let values: &[&(dyn ToSql + Sync)] =
        &[consumer, &error, &all, &events, &numbers, &places, &tenants, &subjects, &keys, &envelopes, &logged];
    transaction.execute(include_str!("schema/send_fed_again.sql"), values).await.map(drop)
}
