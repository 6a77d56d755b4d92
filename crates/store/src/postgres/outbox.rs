//! What relays have not published, and what the server is.

use super::Postgres;
use crate::environment::Environment;
use crate::error::Error;
use crate::log::Seq;
use crate::outbox::{Topic, TopicReport};

impl Postgres {
    pub async fn topics(&self) -> Result<Vec<Topic>, Error> {
        let client = self.relay().await?;
        let sql = "SELECT id, name, producers FROM karwan.subject ORDER BY name";
        let rows = client.query(sql, &[]).await.map_err(|cause| self.error(cause))?;
        let topic = |row: &tokio_postgres::Row| Topic {
            id: row.get::<_, i32>(0).into(),
            name: row.get(1),
            producers: row.get(2),
        };
        Ok(rows.iter().map(topic).collect())
    }

    pub async fn unpublished(&self, relay: &str, position: Seq, topics: &[i64]) -> Result<Vec<TopicReport>, Error> {
        let client = self.relay().await?;
        // They came from this column.
        let topics: Vec<i32> = topics.iter().filter_map(|id| i32::try_from(*id).ok()).collect();
        let sql = include_str!("schema/unpublished.sql");
        let rows = client.query(sql, &[&relay, &position, &topics]).await.map_err(|cause| self.error(cause))?;
        let report = |row: &tokio_postgres::Row| TopicReport {
            topic: row.get(0),
            waiting: row.get(1),
            parked: row.get(2),
            quarantined: row.get(3),
            oldest_ms: row.get(4),
            attempts: row.get(5),
            error: row.get(6),
        };
        Ok(rows.iter().map(report).collect())
    }

    pub async fn environment(&self) -> Result<Environment, Error> {
        let client = self.relay().await?;
        let sql = "SELECT 'PostgreSQL ' || current_setting('server_version'), current_setting('synchronous_commit')";
        let row = client.query_one(sql, &[]).await.map_err(|cause| self.error(cause))?;
        Ok(Environment { server: row.get(0), setting: "synchronous_commit", value: row.get(1) })
    }
}
