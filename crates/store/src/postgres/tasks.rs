//! Deadlines and effects: finding what is due, and what becomes of it.

use karwan_envelope::cause::Cause;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::flush::{instant, millis};
use super::{Postgres, error};
use crate::consumer::Share;
use crate::deadline::Deadline;
use crate::effect::{DeadEffect, Effect, EffectRef};
use crate::error::Error;
use crate::stored::cause_of;
use crate::write_set::LaneHold;

impl Postgres {
    pub async fn due_deadlines(
        &self,
        kind: &str,
        share: Share,
        now_ms: i64,
        limit: usize,
    ) -> Result<Vec<Deadline>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT tenant_id, kind, id, due, body, token, cause, attempts FROM karwan.deadline
                   WHERE kind = $5 AND try_at <= $1 AND slot % $2::int = $3::int ORDER BY try_at, tenant_id, id LIMIT $4";
        let (lanes, lane) = (i32::from(share.lanes.max(1)), i32::from(share.lane));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let statement = client.prepare_cached(sql).await.map_err(|cause| self.error(cause))?;
        let rows = client.query(&statement, &[&instant(now_ms), &lanes, &lane, &limit, &kind]).await;
        let deadline = |row: &tokio_postgres::Row| {
            Ok(Deadline {
                tenant: row.get::<_, Uuid>(0).as_u128(),
                kind: row.get(1),
                id: row.get(2),
                due: millis(row.get(3)),
                body: row.get(4),
                token: row.get::<_, Uuid>(5).as_u128(),
                cause: self.cause(row, 6)?,
                attempts: row.get::<_, i32>(7).unsigned_abs(),
            })
        };
        rows.map_err(|cause| self.error(cause))?.iter().map(deadline).collect()
    }

    pub async fn postpone_deadline(&self, deadline: &Deadline, try_at: i64, why: &str) -> Result<(), Error> {
        let client = self.relay().await?;
        let sql = "UPDATE karwan.deadline SET try_at = $1, error = $2, attempts = attempts + 1
                   WHERE tenant_id = $3 AND kind = $4 AND id = $5 AND token = $6 AND attempts = $7";
        let (tenant, token) = (Uuid::from_u128(deadline.tenant), Uuid::from_u128(deadline.token));
        let (try_at, attempts) = (instant(try_at), deadline.attempts.cast_signed());
        let values: [&(dyn ToSql + Sync); 7] =
            [&try_at, &why, &tenant, &deadline.kind, &deadline.id, &token, &attempts];
        client.execute(sql, &values).await.map_err(|cause| self.error(cause))?;
        Ok(())
    }

    pub async fn due_effects(&self, kind: &str, share: Share, now_ms: i64, limit: usize) -> Result<Vec<Effect>, Error> {
        let client = self.relay().await?;
        let (lanes, lane) = (i32::from(share.lanes.max(1)), i32::from(share.lane));
        let (now, most) = (instant(now_ms), i64::try_from(limit).unwrap_or(i64::MAX));
        let ask = async |sql: &'static str, most: i64| {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, &[&kind, &lanes, &lane, &now, &most]).await
        };
        // Most of the time few are open, and all of them are found by one walk along their keys.
        let open = ask(include_str!("schema/open_effects.sql"), most.saturating_add(1)).await;
        let mut open = open.map_err(|cause| self.error(cause))?;
        if open.len() > limit {
            let fair = ask(include_str!("schema/due_effects.sql"), most).await;
            return fair.map_err(|cause| self.error(cause))?.iter().map(|row| self.effect(row)).collect();
        }
        // The first of its key, or none of them.
        open.dedup_by(|next, first| (next.get::<_, Uuid>(0), next.get::<_, &str>(3)) == (first.get(0), first.get(3)));
        open.retain(|row| row.get(10));
        open.sort_by_key(|row| row.get::<_, i64>(9));
        open.iter().map(|row| self.effect(row)).collect()
    }

    pub async fn any_due(&self, deadlines: &[&str], effects: &[&str], now_ms: i64) -> Result<bool, Error> {
        let client = self.relay().await?;
        // Planned anew every time: seldom asked, and by a plan for empty tables all that is open would be gone through.
        let row = client.query_one(include_str!("schema/any_due.sql"), &[&deadlines, &effects, &instant(now_ms)]).await;
        Ok(row.map_err(|cause| self.error(cause))?.get(0))
    }

    fn effect(&self, row: &tokio_postgres::Row) -> Result<Effect, Error> {
        Ok(Effect {
            of: EffectRef { tenant: row.get::<_, Uuid>(0).as_u128(), id: row.get::<_, Uuid>(1).as_u128() },
            kind: row.get(2),
            key: row.get(3),
            body: row.get(4),
            attempts: row.get::<_, i32>(5).unsigned_abs(),
            answer: row.get(6),
            error: row.get(7),
            cause: self.cause(row, 8)?,
        })
    }

    pub async fn dead_effects(&self, kind: &str, after: i64, limit: usize) -> Result<Vec<DeadEffect>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT tenant_id, id, kind, key, body, attempts, answer, error, cause, seq, at FROM karwan.effect
                   WHERE kind = $1 AND state = 'dead' AND seq > $2 ORDER BY seq LIMIT $3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = client.query(sql, &[&kind, &after, &limit]).await.map_err(|cause| self.error(cause))?;
        let dead = |row: &tokio_postgres::Row| {
            Ok(DeadEffect { number: row.get(9), effect: self.effect(row)?, at: millis(row.get(10)) })
        };
        rows.iter().map(dead).collect()
    }

    fn cause(&self, row: &tokio_postgres::Row, column: usize) -> Result<Cause, Error> {
        let text: &str = row.get(column);
        let reason = || format!("`{text}` is no cause of a deadline or an effect");
        cause_of(text).ok_or_else(|| Error::Damaged { store: self.shown.clone(), reason: reason() })
    }

    pub async fn hold_back(&self, hold: &LaneHold, effects: &[EffectRef], due: i64) -> Result<(), Error> {
        let mut client = self.relay().await?;
        let bad = |cause| error::lane_error(&self.shown, cause);
        let lane = i32::from(hold.lane);
        let tenants: Vec<Uuid> = effects.iter().map(|effect| Uuid::from_u128(effect.tenant)).collect();
        let ids: Vec<Uuid> = effects.iter().map(|effect| Uuid::from_u128(effect.id)).collect();
        let tx = client.transaction().await.map_err(bad)?;
        tx.execute("SELECT karwan.check_lane($1, $2, $3)", &[&hold.consumer, &lane, &hold.epoch]).await.map_err(bad)?;
        // Neither by `=`: the planner would look for them among all that are open, or go through all that there are.
        let sql = "UPDATE karwan.effect e SET due = $3 FROM unnest($1::uuid[], $2::uuid[]) AS n(tenant, id)
                   WHERE e.tenant_id = ANY (ARRAY[n.tenant]) AND e.id = n.id AND e.state IS NOT DISTINCT FROM 'waiting'";
        tx.execute(sql, &[&tenants, &ids, &instant(due)]).await.map_err(bad)?;
        tx.commit().await.map_err(bad)
    }

    pub async fn suspended(&self) -> Result<bool, Error> {
        let client = self.relay().await?;
        let sql = "SELECT suspended FROM karwan.incarnation ORDER BY number DESC LIMIT 1";
        let row = client.query_opt(sql, &[]).await.map_err(|cause| self.error(cause))?;
        Ok(row.is_some_and(|row| row.get(0)))
    }
}
