//! The base on Postgres: plain tables with the same keys and indexes, five connections, batches of the same size.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use karwan_store::{Address, bare};
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::{A_BATCH, ITEMS};
use crate::bench::sample;
use crate::bench::scratch::Scratch;
use crate::bench::sustained::Sustained;
use crate::exit::Failure;

/// As many transactions at once as a consumer has.
const CONNECTIONS: u64 = 5;
const TABLES: &str = "CREATE TABLE public.inbox (consumer text, event_id uuid, at timestamptz DEFAULT now(), PRIMARY KEY (consumer, event_id));
    CREATE TABLE public.tally (tenant_id uuid, id text, version bigint, body text, PRIMARY KEY (tenant_id, id));
    CREATE TABLE public.events (seq bigserial PRIMARY KEY, tenant_id uuid, subject integer, key text, slot smallint, event_id uuid,
        at timestamptz DEFAULT now(), envelope text);
    CREATE INDEX ON public.events (tenant_id, seq);
    CREATE TABLE public.intent (tenant_id uuid, subject integer, idem text, hash uuid, event_id uuid, PRIMARY KEY (tenant_id, subject, idem));
    GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO PUBLIC;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO PUBLIC";
const CLAIM: &str =
    "INSERT INTO public.inbox (consumer, event_id) SELECT $1, e FROM unnest($2::uuid[]) AS e ON CONFLICT DO NOTHING";
const GET: &str = "SELECT id, version, body FROM public.tally WHERE (tenant_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))";
const PUT: &str = "INSERT INTO public.tally SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[])
    ON CONFLICT (tenant_id, id) DO UPDATE SET version = excluded.version, body = excluded.body";
const INTEND: &str =
    "INSERT INTO public.intent SELECT * FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::uuid[], $5::uuid[])";
const EMIT: &str = "INSERT INTO public.events (tenant_id, subject, key, slot, event_id, envelope)
    SELECT * FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::smallint[], $5::uuid[], $6::text[])";
const READ: &str = "SELECT seq, tenant_id, subject, key, slot, event_id, at, envelope FROM karwan.log WHERE seq > $1 ORDER BY seq LIMIT 1000";

/// The tables, and who uses them.
pub struct Bare {
    owner: Address,
    node: Address,
    /// What is emitted, as long as the store's.
    envelope: String,
    serial: Arc<AtomicU64>,
}

impl Bare {
    pub async fn make(scratch: &Scratch) -> Result<Self, Failure> {
        let owner = bare::connect(&scratch.owner).await?;
        owner.batch_execute(TABLES).await.context("the base's tables cannot be made")?;
        let store = sample::open(&scratch.node, 1).await?;
        sample::place(&store, 1, "warm", 0).await?;
        let envelope = sample::envelope(&store).await?;
        Ok(Self { owner: scratch.owner.clone(), node: scratch.node.clone(), envelope, serial: Arc::default() })
    }

    /// Consumes without rules; answers events a second. The events are read from the log, as a consumer does.
    pub async fn consume(&self, events: u64) -> Result<f64, Failure> {
        let mut ready = Vec::new();
        for _ in 0..CONNECTIONS {
            ready.push(Prepared::on(bare::connect(&self.node).await?).await?);
        }
        let reader = bare::connect(&self.owner).await?;
        reader.batch_execute("SET ROLE karwan_relay").await.context("the log cannot be read")?;
        let read = reader.prepare(READ).await.context("the base cannot be prepared")?;
        let batches = events.div_ceil(A_BATCH as u64);
        let left = Arc::new(AtomicU64::new(batches));
        let sustained = Arc::new(Sustained::of(batches * A_BATCH as u64));
        let reading = async {
            let mut seq = 0_i64;
            for _ in 0..events.div_ceil(1000) {
                let rows = reader.query(&read, &[&seq]).await?;
                seq = rows.last().map_or(seq, |row| row.get(0));
            }
            Ok::<_, tokio_postgres::Error>(())
        };
        let tasks: Vec<_> = ready
            .into_iter()
            .map(|prepared| {
                let (left, serial, envelope) = (left.clone(), self.serial.clone(), self.envelope.clone());
                let sustained = sustained.clone();
                tokio::spawn(async move {
                    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                        let from = serial.fetch_add(A_BATCH as u64, Ordering::Relaxed);
                        prepared.batch(from, &envelope).await?;
                        sustained.note(A_BATCH as u64);
                    }
                    Ok::<_, tokio_postgres::Error>(())
                })
            })
            .collect();
        reading.await.context("the base cannot read the log")?;
        for task in tasks {
            task.await.context("a caller broke off")?.context("the base was refused")?;
        }
        Ok(sustained.rate())
    }
}

struct Prepared {
    client: Client,
    statements: [Statement; 5],
}

impl Prepared {
    async fn on(client: Client) -> Result<Self, Failure> {
        let mut statements = Vec::new();
        for sql in [CLAIM, GET, PUT, INTEND, EMIT] {
            statements.push(client.prepare(sql).await.context("the base cannot be prepared")?);
        }
        let statements = statements.try_into().map_err(|_| anyhow::anyhow!("five statements"))?;
        Ok(Self { client, statements })
    }

    /// One batch, in one transaction.
    async fn batch(&self, from: u64, envelope: &str) -> Result<(), tokio_postgres::Error> {
        let [claim, get, put, intend, emit] = &self.statements;
        let serials: Vec<u64> = (from..from + A_BATCH as u64).collect();
        let events: Vec<Uuid> = serials.iter().map(|serial| Uuid::from_u128(u128::from(*serial) << 64 | 7)).collect();
        let tenants: Vec<Uuid> = serials.iter().map(|serial| Uuid::from_u128(u128::from(serial / 250 % 32))).collect();
        let keys: Vec<String> = serials.iter().map(|serial| format!("item-{}", serial % ITEMS)).collect();
        let intents: Vec<String> = serials.iter().map(|serial| format!("item-{}:{serial}", serial % ITEMS)).collect();
        let versions: Vec<i64> = serials.iter().map(|serial| (serial / ITEMS).cast_signed()).collect();
        let bodies: Vec<String> = keys.iter().map(|key| format!("{{\"item\":\"{key}\",\"times\":{from}}}")).collect();
        let (subjects, slots, envelopes) = (vec![1_i32; A_BATCH], vec![1_i16; A_BATCH], vec![envelope; A_BATCH]);
        self.client.batch_execute("BEGIN").await?;
        self.client.execute(claim, &[&sample::CONSUMER, &events]).await?;
        self.client.query(get, &[&tenants, &keys]).await?;
        self.client.execute(put, &[&tenants, &keys, &versions, &bodies]).await?;
        self.client.execute(intend, &[&tenants, &subjects, &intents, &events, &events]).await?;
        self.client.execute(emit, &[&tenants, &subjects, &keys, &slots, &events, &envelopes]).await?;
        self.client.batch_execute("COMMIT").await
    }
}
