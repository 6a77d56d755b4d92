//! Counts and sizes for people.

use super::{Postgres, error};
use tokio_postgres::types::ToSql;

use crate::error::Error;
use crate::log::{Position, Seq};
use crate::report::{ConsumerReport, EffectReport, LaneReport, Stats, TableSize};

/// The most subjects that are counted.
const SUBJECTS_MAX: i64 = 50;

const LANES: &str =
    "SELECT consumer, lane, position, holder, (extract(epoch FROM until - clock_timestamp()) * 1000)::bigint
     FROM karwan.lane";

/// A lane, with the name of who reads it.
fn lane(row: &tokio_postgres::Row) -> (String, LaneReport) {
    let lane = LaneReport {
        lane: row.get::<_, i16>(1).cast_unsigned(),
        position: row.get(2),
        holder: row.get(3),
        lease_ms: row.get(4),
    };
    (row.get(0), lane)
}

impl Postgres {
    pub async fn stats(&self) -> Result<Stats, Error> {
        let safe = self.safe().await?;
        let mut client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        let floor: i64 = client.query_one("SELECT floor FROM karwan.meta", &[]).await.map_err(bad)?.get(0);
        let highest: i64 = client.query_one("SELECT karwan.highest()", &[]).await.map_err(bad)?.get(0);
        let sql = "SELECT subject, count(*) FROM karwan.log GROUP BY subject ORDER BY 2 DESC, 1 LIMIT $1";
        let subjects = client.query(sql, &[&SUBJECTS_MAX]).await.map_err(bad)?;
        let lanes = "SELECT consumer, lane, position FROM karwan.lane ORDER BY consumer, lane";
        let lanes = client.query(lanes, &[]).await.map_err(bad)?;
        self.learn(&client, subjects.iter().map(|row| row.get(0))).await?;
        let holders = self.told_holders(&mut client).await.map_err(bad)?;
        Ok(Stats {
            end: Position { incarnation: self.incarnation(), seq: highest },
            safe,
            floor,
            subjects: subjects.iter().map(|row| (self.subject_name(row.get(0)), row.get(1))).collect(),
            positions: lanes.iter().map(|row| (row.get(0), row.get::<_, i16>(1).cast_unsigned(), row.get(2))).collect(),
            holders,
        })
    }

    pub async fn consumers(&self) -> Result<Vec<ConsumerReport>, Error> {
        let client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        let highest: i64 = client.query_one("SELECT karwan.highest()", &[]).await.map_err(bad)?.get(0);
        let mut reports = Vec::new();
        let sql = format!("{LANES} WHERE consumer NOT LIKE 'effect.%' ORDER BY consumer, lane");
        for row in client.query(&sql, &[]).await.map_err(bad)? {
            let (consumer, lane) = lane(&row);
            ConsumerReport::add(&mut reports, consumer, lane);
        }
        for suspension in self.suspensions().await? {
            ConsumerReport::suspend(&mut reports, suspension);
        }
        let sql = "SELECT (SELECT count(*) FROM karwan.parked WHERE consumer = $1),
                          (SELECT count(*) FROM karwan.dead WHERE consumer = $1),
                          coalesce((SELECT (extract(epoch FROM clock_timestamp() - at) * 1000)::bigint FROM karwan.log
                                    WHERE seq > $2 ORDER BY seq LIMIT 1), 0)";
        for report in &mut reports {
            let row = client.query_one(sql, &[&report.consumer, &report.position()]).await.map_err(bad)?;
            (report.parked, report.dead, report.behind_ms) = (row.get(0), row.get(1), row.get(2));
            report.behind = (highest - report.position()).max(0);
        }
        Ok(reports)
    }

    pub async fn waiting_for(
        &self,
        consumer: &str,
        (after, up_to): (Seq, Seq),
        rows_max: usize,
    ) -> Result<(i64, usize), Error> {
        let client = self.relay().await?;
        let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
        let values: &[&(dyn ToSql + Sync)] = &[&consumer, &after, &up_to, &rows_max];
        let row = client.query_one(include_str!("schema/waiting_for.sql"), values).await;
        let row = row.map_err(|cause| self.error(cause))?;
        Ok((row.get(0), usize::try_from(row.get::<_, i64>(1)).unwrap_or_default()))
    }

    pub async fn effects(&self) -> Result<Vec<EffectReport>, Error> {
        let client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        let lanes = client.query(&format!("{LANES} WHERE consumer LIKE 'effect.%'"), &[]).await.map_err(bad)?;
        let sql = "SELECT kind FROM karwan.effect WHERE state IN ('waiting', 'answered') GROUP BY kind
                   UNION SELECT kind FROM karwan.effect WHERE state = 'dead' GROUP BY kind";
        let kinds = client.query(sql, &[]).await.map_err(bad)?.iter().map(|row| row.get(0)).collect();
        let mut reports = EffectReport::of(lanes.iter().map(lane).collect(), kinds);
        for report in &mut reports {
            let row = client.query_one(include_str!("schema/effects.sql"), &[&report.kind]).await.map_err(bad)?;
            (report.open, report.waiting, report.open_ms) = (row.get(0), row.get(1), row.get(2));
            (report.dead, report.error) = (row.get(3), row.get(4));
        }
        Ok(reports)
    }

    pub async fn letters(&self) -> Result<Vec<(String, String, i64)>, Error> {
        let client = self.relay().await?;
        let rows = client.query(include_str!("schema/letters.sql"), &[]).await.map_err(|cause| self.error(cause))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
    }

    pub async fn sizes(&self) -> Result<Vec<TableSize>, Error> {
        let client = self.relay().await?;
        let rows = client.query(include_str!("schema/sizes.sql"), &[]).await.map_err(|cause| self.error(cause))?;
        let size = |row: &tokio_postgres::Row| TableSize {
            table: row.get(0),
            rows: row.get(1),
            dead: row.get(2),
            bytes: row.get(3),
        };
        Ok(rows.iter().map(size).collect())
    }
}
