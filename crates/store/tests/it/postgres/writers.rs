//! Connections that append in transactions of their own and end them in any order: savepoints, rollbacks and prepared
//! transactions among them. Also the engine's tests use them, to see what comes out of a relay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::shop::tenant_bits;

/// A step that waits this long waits for a lock; the schedule goes on with another connection.
pub const BLOCKED: Duration = Duration::from_millis(20);

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Appends a parcel's event in the connection's transaction.
pub async fn append(client: &Client, key: &str, serial: u64) -> Result<Uuid, tokio_postgres::Error> {
    let payload = format!(r#"{{"parcelId":"{key}","count":{serial}}}"#);
    let sql = "SELECT event_id FROM karwan.append($1, 'shop.delivery.parcel.sent.v1', $2, $3, $4)";
    let tenant = Uuid::from_u128(tenant_bits(1));
    let row = client.query_one(sql, &[&tenant, &key, &format!("{key}:{serial}"), &payload]).await?;
    Ok(row.get(0))
}

/// One connection of a schedule.
pub struct Writer {
    client: Arc<Client>,
    /// Prepared transactions are ended from outside of any other.
    aside: Client,
    number: usize,
    open: bool,
    savepoint: bool,
    prepared: Option<(String, Vec<Uuid>)>,
    waiting: Option<tokio::task::JoinHandle<Result<Uuid, tokio_postgres::Error>>>,
    pending: Vec<Uuid>,
    kept: usize,
    /// What is committed for sure.
    pub committed: Vec<Uuid>,
    transactions: usize,
    order: Order,
}

/// Events by key, in the order in which their appends returned. Whoever has appended to a key holds it until it ends, so
/// this is the order of commits.
pub type Order = Arc<Mutex<BTreeMap<String, Vec<Uuid>>>>;

impl Writer {
    pub fn new([client, aside]: [Client; 2], number: usize, order: &Order) -> Self {
        let (client, order) = (Arc::new(client), order.clone());
        Self {
            client,
            aside,
            number,
            open: false,
            savepoint: false,
            prepared: None,
            waiting: None,
            pending: Vec::new(),
            kept: 0,
            committed: Vec::new(),
            transactions: 0,
            order,
        }
    }

    pub async fn step(&mut self, chance: u64, key: &str, serial: u64) {
        if !self.settled(BLOCKED).await {
            return;
        }
        if let Some((name, events)) = self.prepared.take_if(|_| chance.is_multiple_of(2)) {
            let commits = chance.is_multiple_of(4);
            let end = if commits { "COMMIT" } else { "ROLLBACK" };
            self.aside.batch_execute(&format!("{end} PREPARED '{name}'")).await.unwrap();
            if commits {
                self.committed.extend(events);
            }
            return;
        }
        match (self.open, chance >> 8 & 15) {
            (false, _) => {
                self.client.batch_execute("BEGIN").await.unwrap();
                self.open = true;
                self.append(key, serial).await;
            }
            (true, 0..=6) => self.append(key, serial).await,
            (true, 7) if !self.savepoint => {
                self.client.batch_execute("SAVEPOINT s").await.unwrap();
                (self.savepoint, self.kept) = (true, self.pending.len());
            }
            (true, 8) if self.savepoint => {
                self.client.batch_execute("ROLLBACK TO SAVEPOINT s").await.unwrap();
                self.pending.truncate(self.kept);
            }
            (true, 9) if self.prepared.is_none() => {
                let name = format!("{}-{}-{serial}", Uuid::from_u128(u128::from(chance)), self.number);
                self.client.batch_execute(&format!("PREPARE TRANSACTION '{name}'")).await.unwrap();
                self.prepared = Some((name, std::mem::take(&mut self.pending)));
                self.closed();
            }
            (true, 10..=11) => {
                self.client.batch_execute("ROLLBACK").await.unwrap();
                self.closed();
            }
            (true, _) => self.commit().await,
        }
    }

    async fn append(&mut self, key: &str, serial: u64) {
        let (client, key, order) = (self.client.clone(), key.to_owned(), self.order.clone());
        self.waiting = Some(tokio::spawn(async move {
            let event = append(&client, &key, serial).await?;
            order.lock().unwrap().entry(key).or_default().push(event);
            Ok(event)
        }));
        self.settled(BLOCKED).await;
    }

    /// Whether nothing is under way; an append that failed (a deadlock) has rolled its transaction back.
    async fn settled(&mut self, patience: Duration) -> bool {
        let Some(waiting) = &mut self.waiting else { return true };
        let Ok(ended) = tokio::time::timeout(patience, waiting).await else { return false };
        self.waiting = None;
        match ended.unwrap() {
            Ok(event) => self.pending.push(event),
            Err(_) => {
                self.client.batch_execute("ROLLBACK").await.unwrap();
                self.closed();
            }
        }
        true
    }

    async fn commit(&mut self) {
        self.client.batch_execute("COMMIT").await.unwrap();
        self.committed.append(&mut self.pending);
        self.closed();
    }

    fn closed(&mut self) {
        self.pending.clear();
        (self.open, self.savepoint) = (false, false);
        self.transactions += 1;
    }

    /// Ends whatever is open. Locks are given up before anybody waits for them.
    pub async fn finish(&mut self) {
        if let Some((name, _)) = self.prepared.take() {
            self.aside.batch_execute(&format!("ROLLBACK PREPARED '{name}'")).await.unwrap();
        }
        while !self.settled(Duration::from_millis(500)).await {
            // Another writer, later in the list, holds what this one waits for: cancel instead of waiting for ever.
            let _ = self.client.cancel_token().cancel_query(NoTls).await;
        }
        if self.open {
            self.commit().await;
        }
    }
}
