//! Small tenants beside a flood: nobody waits for a flood because of a lane.

use std::sync::Arc;

use karwan_store::Reads;
use tokio::sync::Notify;

use super::{Together, Worker};
use crate::row::Row;

impl Worker {
    /// Handles what comes for small tenants while a batch of the lane is under way that has rows of a flood, until it has ended.
    /// What does not commit at once is left to the next batch, which parks and buries.
    pub async fn handle_beside(&self, work: &Notify, ended: &Notify) {
        loop {
            tokio::select! {
                biased;
                () = ended.notified() => return,
                () = work.notified() => {}
            }
            self.shared.store.heard("work beside a batch").await;
            let rows = self.shared.take_beside(&self.hold, self.consumer.batch);
            if !self.handled_beside(&rows).await {
                return self.shared.lane(&self.hold, |lane| lane.put_back(&rows));
            }
        }
    }

    /// Whether all of these are finished.
    async fn handled_beside(&self, rows: &[Arc<Row>]) -> bool {
        let Ok(rows) = self.not_handled_before(rows).await else { return false };
        if rows.iter().any(|row| self.consumer.runs_alone(&row.subject)) {
            return false;
        }
        let done = rows.is_empty() || matches!(Box::pin(self.together(&rows, Reads::Recent)).await, Ok(Together::Done));
        if done {
            rows.iter().for_each(|row| {
                self.well(row);
                self.finish(row);
            });
        }
        done
    }
}
