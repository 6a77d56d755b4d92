//! The base of the batched append: a plain multi-row INSERT of the same bytes into a table without an index.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use karwan_store::log::{Filter, LogRow};
use karwan_store::{Address, Store, bare};
use uuid::Uuid;

use crate::exit::Failure;

/// Made once in the scratch database.
pub const TABLE: &str = "CREATE TABLE public.bare (seq bigserial, tenant_id uuid NOT NULL, subject integer NOT NULL,
        key text NOT NULL, slot smallint NOT NULL, event_id uuid NOT NULL, at timestamptz NOT NULL DEFAULT now(),
        envelope text NOT NULL);
    GRANT SELECT, INSERT ON public.bare TO PUBLIC;
    GRANT USAGE ON SEQUENCE public.bare_seq_seq TO PUBLIC";
const INSERT: &str = "INSERT INTO public.bare (tenant_id, subject, key, slot, event_id, envelope)
    SELECT * FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::smallint[], $5::uuid[], $6::text[])";

/// The bytes of one unit, column by column.
#[derive(Default)]
pub struct Rows {
    tenant: Vec<Uuid>,
    subject: Vec<i32>,
    key: Vec<String>,
    slot: Vec<i16>,
    event: Vec<Uuid>,
    envelope: Vec<String>,
}

impl Rows {
    /// What the store wrote, read back.
    pub async fn of(store: &Store, count: u32) -> Result<Self, Failure> {
        let relay = store.relay();
        let page = relay.page(relay.start().await?, &Filter::default(), count as usize).await?;
        let mut rows = Self::default();
        page.rows.into_iter().for_each(|row| rows.push(row));
        Ok(rows)
    }

    fn push(&mut self, row: LogRow) {
        self.tenant.push(Uuid::from_u128(row.tenant));
        self.subject.push(1);
        self.key.push(row.key);
        self.slot.push(row.slot.cast_signed());
        self.event.push(Uuid::from_u128(row.event.bits()));
        self.envelope.push(row.envelope);
    }

    /// The stored text of one event.
    pub fn envelope_text(&self) -> String {
        self.envelope.first().cloned().unwrap_or_default()
    }

    /// The size of one event.
    pub fn event_bytes(&self) -> usize {
        self.envelope.first().map_or(0, String::len)
    }
}

/// Inserts the rows again and again, a transaction each; answers rows a second.
pub async fn insert(address: &Address, rows: &Arc<Rows>, callers: usize, events: u32) -> Result<f64, Failure> {
    let a_unit = rows.key.len().max(1) as u32;
    let left = Arc::new(AtomicU32::new(events.div_ceil(a_unit)));
    let mut ready = Vec::new();
    for _ in 0..callers {
        let client = bare::connect(address).await?;
        let statement = client.prepare(INSERT).await.context("the base cannot be prepared")?;
        ready.push((client, statement));
    }
    let start = Instant::now();
    let tasks: Vec<_> = ready
        .into_iter()
        .map(|(client, statement)| {
            let (rows, left) = (rows.clone(), left.clone());
            tokio::spawn(async move {
                let less_one = |left: u32| left.checked_sub(1);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less_one).is_ok() {
                    let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
                        [&rows.tenant, &rows.subject, &rows.key, &rows.slot, &rows.event, &rows.envelope];
                    client.execute(&statement, &columns).await?;
                }
                Ok::<_, tokio_postgres::Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.context("a caller broke off")?.context("the base was refused")?;
    }
    Ok(f64::from(events.div_ceil(a_unit) * a_unit) / start.elapsed().as_secs_f64())
}
