//! The store on Postgres 15 or newer.
//!
//! Two pools, two hats: the application's connections flush units and read documents of one tenant; the relay's read the
//! log and keep what consumers keep. Neither can do the other's work, and the database sees to it.

mod backfill;
mod backup;
mod connect;
mod consumer;
mod doctor;
mod documents;
mod error;
mod flush;
mod grant;
mod kinds;
mod log;
mod migrate;
mod probe;
mod report;
mod template;

use std::collections::HashMap;

use deadpool_postgres::{Client, Pool};
use tokio::sync::Mutex;

use crate::error::Error;
use crate::horizon::Horizon;
use crate::kind::Kinds;
use crate::migrate::admit;
use crate::store::Options;
use connect::{Hat, Target, pool_error};

pub(crate) use backup::{backup, restore, resume};
pub(crate) use doctor::doctor;
pub(crate) use grant::grant;
pub(crate) use migrate::migrate;

/// The most connections with which one process reads the log.
const RELAY_CONNECTIONS_MAX: usize = 4;

/// A database.
pub(crate) struct Postgres {
    app: Pool,
    relay: Pool,
    target: Target,
    /// For messages: the URL without its password.
    shown: String,
    subjects: HashMap<String, i32>,
    names: HashMap<i32, String>,
    incarnation: i64,
    horizon: Mutex<Horizon>,
}

impl Postgres {
    /// Connects, and refuses to go on where the schema does not fit or tenants are not kept apart.
    pub async fn open(url: &str, options: &Options, kinds: &Kinds) -> Result<Self, Error> {
        let target = Target::parse(url)?;
        let shown = target.shown.clone();
        let client = target.connect().await?;
        migrate::check_server(&shown, &client).await?;
        check_schema(&shown, &client, kinds).await?;
        let app = target.pool(Hat::App, options.connections_max)?;
        let relay = target.pool(Hat::Relay, options.connections_max.min(RELAY_CONNECTIONS_MAX))?;
        let findings = probe::probe(&shown, &client, &app).await?;
        if !findings.is_empty() {
            return Err(Error::Unsafe { store: shown, findings });
        }
        let mut store = Self {
            app,
            relay,
            target,
            shown,
            subjects: HashMap::new(),
            names: HashMap::new(),
            incarnation: 0,
            horizon: Mutex::new(Horizon::default()),
        };
        store.load().await?;
        Ok(store)
    }

    async fn load(&mut self) -> Result<(), Error> {
        let client = self.relay().await?;
        let bad = |cause| error::error(&self.shown, cause);
        let rows = client.query("SELECT name, id FROM karwan.subject", &[]).await.map_err(bad)?;
        let subjects: HashMap<String, i32> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let life =
            client.query_one("SELECT karwan.new_life(false), karwan.make_partitions()", &[]).await.map_err(bad)?;
        drop(client);
        self.names = subjects.iter().map(|(name, id)| (*id, name.clone())).collect();
        self.subjects = subjects;
        self.incarnation = life.get(0);
        Ok(())
    }

    pub fn incarnation(&self) -> i64 {
        self.incarnation
    }

    async fn app(&self) -> Result<Client, Error> {
        self.app.get().await.map_err(|cause| pool_error(&self.shown, cause))
    }

    async fn relay(&self) -> Result<Client, Error> {
        self.relay.get().await.map_err(|cause| pool_error(&self.shown, cause))
    }

    fn error(&self, cause: tokio_postgres::Error) -> Error {
        error::error(&self.shown, cause)
    }

    fn subject(&self, name: &str) -> Result<i32, Error> {
        self.subjects.get(name).copied().ok_or_else(|| Error::SubjectUnknown { subject: name.to_owned() })
    }

    /// A subject that another program brought in after this one started is asked for by name where it matters.
    fn subject_name(&self, id: i32) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("subject-{id}"))
    }
}

/// Whether this program may use the store, kind by kind.
async fn check_schema(store: &str, client: &tokio_postgres::Client, kinds: &Kinds) -> Result<(), Error> {
    let bad = |cause| error::error(store, cause);
    let there: bool = client.query_one("SELECT to_regclass('karwan.meta') IS NOT NULL", &[]).await.map_err(bad)?.get(0);
    if !there {
        return Err(Error::NotMigrated { store: store.to_owned() });
    }
    let meta = client.query_opt("SELECT schema, admits_from FROM karwan.meta", &[]).await.map_err(bad)?;
    let Some(meta) = meta else { return Err(Error::NotMigrated { store: store.to_owned() }) };
    admit(store, meta.get(0), meta.get(1))?;
    for kind in kinds.all() {
        let sql = "SELECT k.shape, s.token IS NOT NULL FROM karwan.kind k
                   LEFT JOIN karwan.signature s ON s.kind = k.name AND s.token = $2 WHERE k.name = $1";
        let row = client.query_opt(sql, &[&kind.kind.name, &kinds::token(&kind.kind)]).await.map_err(bad)?;
        let known = row.as_ref().is_some_and(|row| row.get(1));
        let shape = row.map_or(0, |row| row.get::<_, i32>(0).unsigned_abs());
        if shape > kind.kind.shape {
            return Err(Error::ShapeNewer { kind: kind.kind.name.to_owned(), found: shape, known: kind.kind.shape });
        }
        if !known || shape < kind.kind.shape {
            return Err(Error::KindNotMigrated { store: store.to_owned(), kind: kind.kind.name.to_owned() });
        }
    }
    Ok(())
}
