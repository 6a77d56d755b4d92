//! The store on Postgres 15 or newer.
//!
//! Two pools, two hats: the application's connections flush units and read documents of one tenant; the relay's read the
//! log and keep what consumers keep. Neither can do the other's work, and the database sees to it.

mod answers;
mod arrays;
mod backfill;
mod backup;
mod connect;
mod consumer;
mod crowd;
mod desk;
mod doctor;
mod documents;
mod error;
mod flush;
mod grant;
mod group;
mod kinds;
mod lanes;
mod log;
mod migrate;
mod outbox;
pub(crate) mod own;
mod probe;
mod reads;
mod relay_state;
mod report;
mod retention;
mod tasks;
mod template;
mod wake;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};
use std::time::Instant;

use deadpool_postgres::{Client, Pool};
use tokio::sync::Mutex;

use crate::address::Address;
use crate::bell::Bell;
use crate::error::Error;
use crate::kind::Kinds;
use crate::migrate::admit;
use crate::store::Options;
use connect::{Hat, Life, Target, pool_error};
use log::Watch;

pub(crate) use backup::{backup, restore, resume_consumer};
pub(crate) use connect::connect;
pub(crate) use desk::Desk;
pub(crate) use doctor::doctor;
pub(crate) use error::lost_lock;
pub(crate) use grant::grant;
pub(crate) use lanes::Lanes;
pub(crate) use migrate::migrate;

/// The most connections with which one process reads the log.
const RELAY_CONNECTIONS_MAX: usize = 4;
/// One more, which the horizon keeps to itself.
const WATCH_CONNECTIONS: usize = 1;

/// A database.
pub(crate) struct Postgres {
    app: Pool,
    relay: Pool,
    /// For tables of the user's own; none where somebody only looks.
    own: Option<own::OwnPool>,
    /// For messages: the URL without its password.
    shown: String,
    flushes: Arc<flush::Flushes>,
    names: RwLock<HashMap<i32, String>>,
    life: Arc<Life>,
    reads: reads::Reads,
    answers: answers::Answers,
    bell: Arc<Bell>,
    /// None where somebody only looks.
    _waking: Option<wake::Waking>,
    horizon: Mutex<Option<Watch>>,
    /// Whether the last look saw numbers that may still become rows.
    pub undecided: AtomicBool,
    /// As whom the log is dropped and intents are pruned.
    maintenance: Target,
    /// Since when transactions were seen to hold the log's lock; the server does not tell.
    sightings: Mutex<HashMap<String, Instant>>,
}

impl Postgres {
    /// Connects, and refuses to go on where the schema does not fit or tenants are not kept apart.
    pub async fn open(url: &str, options: &Options, kinds: &Kinds) -> Result<Self, Error> {
        let target = Target::parse(url)?;
        let shown = target.shown.clone();
        let client = target.connect().await?;
        migrate::check_server(&shown, &client).await?;
        check_primary(&shown, &client).await?;
        // From version 16 on a login inherits nothing of its roles.
        wear(&client, Hat::App).await;
        check_schema(&shown, &client, kinds).await?;
        client.batch_execute("SELECT karwan.keep_ahead()").await.map_err(|cause| error::error(&shown, cause))?;
        let life = Life::new(Life::BEGUN);
        let app = target.pool(Hat::App, options.connections_max, Some(&life))?;
        let relay_connections = options.connections_max.min(RELAY_CONNECTIONS_MAX) + WATCH_CONNECTIONS;
        let relay = target.pool(Hat::Relay, relay_connections, Some(&life))?;
        let findings = probe::probe(&shown, &client, &app).await?;
        if !findings.is_empty() {
            return Err(Error::Unsafe { store: shown, findings });
        }
        let maintenance = match &options.maintenance {
            Some(Address::Postgres(url)) => Target::parse(url)?,
            Some(Address::Sqlite(_)) | None => Target::parse(url)?,
        };
        let mut store = Self::loaded([app, relay], &target, maintenance, life).await?;
        store.own = Some(target.own_pool(options.connections_max)?);
        store._waking = Some(wake::Waking::start(target, store.bell.clone()));
        Ok(store)
    }

    /// Connects for looking only: as the relay, without asking whether the login is bound by every policy.
    pub async fn look(url: &str) -> Result<Self, Error> {
        let target = Target::parse(url)?;
        let client = target.connect().await?;
        migrate::check_server(&target.shown, &client).await?;
        check_primary(&target.shown, &client).await?;
        wear(&client, Hat::Relay).await;
        check_schema(&target.shown, &client, &Kinds::new(&[])?).await?;
        let life = Life::new(Life::SEEN);
        let relay = target.pool(Hat::Relay, RELAY_CONNECTIONS_MAX + WATCH_CONNECTIONS, Some(&life))?;
        let maintenance = Target::parse(url)?;
        Self::loaded([relay.clone(), relay], &target, maintenance, life).await
    }

    async fn loaded(
        [app, relay]: [Pool; 2],
        target: &Target,
        maintenance: Target,
        life: Arc<Life>,
    ) -> Result<Self, Error> {
        let shown = target.shown.clone();
        let client = relay.get().await.map_err(|cause| pool_error(&shown, cause))?;
        let bad = |cause| error::error(&shown, cause);
        let rows = client.query("SELECT name, id FROM karwan.subject", &[]).await.map_err(bad)?;
        let subjects: HashMap<String, i32> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        drop(client);
        Ok(Self {
            names: RwLock::new(subjects.iter().map(|(name, id)| (*id, name.clone())).collect()),
            flushes: flush::Flushes::new(app.clone(), shown.clone(), subjects, life.clone()),
            app,
            relay,
            own: None,
            life,
            reads: reads::reads(),
            answers: answers::answers(),
            bell: Arc::default(),
            _waking: None,
            horizon: Mutex::new(None),
            undecided: AtomicBool::new(false),
            maintenance,
            sightings: Mutex::default(),
            shown,
        })
    }

    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    pub fn incarnation(&self) -> i64 {
        self.life.number()
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
        let subjects = self.flushes.subjects.read().expect("nothing panics while holding it");
        subjects.get(name).copied().ok_or_else(|| Error::SubjectUnknown { subject: name.to_owned() })
    }

    /// The numbers of these subjects; none where one is not known yet, and rows of it may appear at any time.
    fn subject_ids(&self, names: &[Cow<'static, str>]) -> Option<Vec<i32>> {
        let subjects = self.flushes.subjects.read().expect("nothing panics while holding it");
        names.iter().map(|name| subjects.get(name.as_ref()).copied()).collect()
    }

    /// Learns subjects that another program brought in after this one started: a filter by subject must not miss them.
    async fn learn(&self, client: &Client, ids: impl Iterator<Item = i32>) -> Result<(), Error> {
        let known = |id: &i32| self.names.read().expect("nothing panics while holding it").contains_key(id);
        let new: Vec<i32> = ids.filter(|id| !known(id)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let sql = "SELECT id, name FROM karwan.subject WHERE id = ANY ($1)";
        let rows = client.query(sql, &[&new]).await.map_err(|cause| self.error(cause))?;
        let mut names = self.names.write().expect("nothing panics while holding it");
        names.extend(rows.iter().map(|row| (row.get::<_, i32>(0), row.get::<_, String>(1))));
        let mut subjects = self.flushes.subjects.write().expect("nothing panics while holding it");
        subjects.extend(rows.iter().map(|row| (row.get::<_, String>(1), row.get::<_, i32>(0))));
        Ok(())
    }

    fn subject_name(&self, id: i32) -> String {
        let names = self.names.read().expect("nothing panics while holding it");
        names.get(&id).cloned().unwrap_or_else(|| format!("subject-{id}"))
    }
}

/// Refuses a standby: it does not know who is still appending on its primary, so its readers would miss rows.
async fn check_primary(store: &str, client: &tokio_postgres::Client) -> Result<(), Error> {
    let row = client.query_one("SELECT pg_is_in_recovery()", &[]).await.map_err(|cause| error::error(store, cause))?;
    if row.get(0) { Err(Error::Standby { store: store.to_owned() }) } else { Ok(()) }
}

/// Puts a hat on, where the login may; what it then lacks is told by whatever it asks for.
async fn wear(client: &tokio_postgres::Client, hat: Hat) {
    drop(client.batch_execute(&format!("SET ROLE {}", hat.role())).await);
}

/// Whether there is a store at all, as every login may ask.
async fn is_there(client: &impl tokio_postgres::GenericClient) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                              WHERE n.nspname = 'karwan' AND c.relname = 'meta')";
    Ok(client.query_one(sql, &[]).await?.get(0))
}

/// Whether this program may use the store, kind by kind.
async fn check_schema(store: &str, client: &tokio_postgres::Client, kinds: &Kinds) -> Result<(), Error> {
    let bad = |cause| error::error(store, cause);
    if !is_there(client).await.map_err(bad)? {
        return Err(Error::NotMigrated { store: store.to_owned() });
    }
    let meta = client.query_opt("SELECT schema, admits_from FROM karwan.meta", &[]).await.map_err(bad)?;
    let Some(meta) = meta else { return Err(Error::NotMigrated { store: store.to_owned() }) };
    admit(store, meta.get(0), meta.get(1))?;
    for kind in kinds.all() {
        let sql = "SELECT k.shape, s.token IS NOT NULL AND NOT EXISTS (
                       SELECT FROM karwan.field f WHERE f.kind = k.name AND f.name = ANY (s.fields) AND NOT f.filled)
                   FROM karwan.kind k LEFT JOIN karwan.signature s ON s.kind = k.name AND s.token = $2 WHERE k.name = $1";
        let row = client.query_opt(sql, &[&kind.kind.name, &kinds::token(&kind.kind)]).await.map_err(bad)?;
        let known = row.as_ref().is_some_and(|row| row.get(1));
        let shape = row.map_or(0, |row| row.get::<_, i32>(0).unsigned_abs());
        if shape > kind.kind.shape {
            return Err(Error::ShapeNewer { kind: kind.kind.name.to_owned(), found: shape, known: kind.kind.shape });
        }
        if !known || shape < kind.writes {
            let store = format!("the document kind `{}` of {store}", kind.kind.name);
            return Err(Error::NotMigrated { store });
        }
    }
    Ok(())
}
