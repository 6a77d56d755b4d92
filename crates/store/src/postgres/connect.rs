//! Connections: TLS, and the hat that each one wears.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use deadpool::managed::QueueMode;
use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, PoolBuilder, RecyclingMethod};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::own::OwnPool;
use crate::address::masked;
use crate::error::{DatabaseError, Error};

/// What a connection may do; each is a role in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hat {
    /// Flushes units and reads documents of one tenant.
    App,
    /// Reads the log of all tenants, and keeps what consumers keep.
    Relay,
    /// Drops, prunes and fills in.
    Maintenance,
}

impl Hat {
    /// The role.
    pub const fn role(self) -> &'static str {
        match self {
            Self::App => "karwan_app",
            Self::Relay => "karwan_relay",
            Self::Maintenance => "karwan_maintenance",
        }
    }
}

/// Which life of the store the connections of a process are to.
pub(super) struct Life {
    number: AtomicI64,
    /// How it is asked for: somebody who only looks begins none. A standby is not asked: it has no life of its own.
    sql: &'static str,
}

impl Life {
    /// Begins the present life, where none has begun yet.
    pub const BEGUN: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN karwan.life() END";
    /// Begins nothing.
    pub const SEEN: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN karwan.seen_life() END";

    pub fn new(sql: &'static str) -> Arc<Self> {
        Arc::new(Self { number: AtomicI64::new(0), sql })
    }

    pub fn number(&self) -> i64 {
        self.number.load(Ordering::Relaxed)
    }

    /// Asks over a connection which life it is to.
    pub async fn ask(&self, client: &tokio_postgres::Client) -> Result<(), tokio_postgres::Error> {
        if let Some(number) = client.query_one(self.sql, &[]).await?.get(0) {
            // Lives are numbered upwards; an answer of the one before may come late.
            self.number.fetch_max(number, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A writer that stops in mid-transaction may hold readers back for so long.
pub(super) const IDLE_IN_TRANSACTION_MS: u32 = 5000;

/// Every read here follows an index in its order. Without statistics, as in a new stretch of the log, the planner takes a
/// tenant's rows for few and would rather collect and sort them all for every page. Compiling a plan never pays.
const PLANS: &str = "SET enable_bitmapscan = off; SET jit = off";

/// And whoever flushes units and reads documents looks up one row after the other by its key, by plans that are made once, whatever the
/// tables held then. Set by the functions themselves, it took a twentieth of a small flush.
pub(super) const KEY_PLANS: [(&str, &str); 4] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
];

/// Whoever waits longer for a free connection is told so.
const WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(30);

/// A connection that somebody has to drive.
pub(super) type Driven = tokio_postgres::Connection<
    tokio_postgres::Socket,
    <MakeRustlsConnect as MakeTlsConnect<tokio_postgres::Socket>>::Stream,
>;

/// A URL taken apart: what the driver understands, and the certificate that it does not.
pub(super) struct Target {
    pub config: tokio_postgres::Config,
    root: Option<String>,
    /// For messages: without the password.
    pub shown: String,
}

impl Target {
    /// Reads a URL. Without `sslmode`, a connection to this machine is plain and any other is encrypted and verified.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let shown = masked(url);
        let (head, query) = url.split_once('?').unwrap_or((url, ""));
        let mut root = None;
        let mut mode = None;
        let mut rest = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslrootcert", path)) => root = Some(path.to_owned()),
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                _ => rest.push(parameter),
            }
        }
        let plain = if rest.is_empty() { head.to_owned() } else { format!("{head}?{}", rest.join("&")) };
        let mut config: tokio_postgres::Config =
            plain.parse().map_err(|cause: tokio_postgres::Error| unreachable(&shown, cause.into()))?;
        config.ssl_mode(match mode.as_deref() {
            None if is_local(&config) => SslMode::Disable,
            Some("disable") => SslMode::Disable,
            Some("prefer" | "allow") => SslMode::Prefer,
            // Certificates are always verified where TLS is used, so the stricter modes mean the same.
            None | Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            Some(other) => {
                let words = format!("sslmode={other} is none of disable, prefer, require, verify-full");
                return Err(unreachable(&shown, DatabaseError::Words(words)));
            }
        });
        config.application_name("karwan");
        config.connect_timeout(std::time::Duration::from_secs(10));
        Ok(Self { config, root, shown })
    }

    /// One connection, with the login's own rights.
    pub async fn connect(&self) -> Result<tokio_postgres::Client, Error> {
        let (client, connection) = self.connect_for_messages().await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// The same, where the caller drives the connection and hears what the server says by itself.
    pub async fn connect_for_messages(&self) -> Result<(tokio_postgres::Client, Driven), Error> {
        let refused = |cause: tokio_postgres::Error| unreachable(&self.shown, cause.into());
        self.config.connect(self.tls()?).await.map_err(refused)
    }

    /// Connections that wear a hat. Each asks first which life of the store it is to: after a failover, or where a copy was put
    /// in its place, whatever is committed over it must not be taken for something of the life before.
    pub fn pool(&self, hat: Hat, most: usize, life: Option<&Arc<Life>>) -> Result<Pool, Error> {
        let life = life.cloned();
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), self.tls()?, recycling);
        let dress = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let life = life.clone();
            Box::pin(async move {
                let sql = format!(
                    "SET ROLE {}; SET idle_in_transaction_session_timeout = {IDLE_IN_TRANSACTION_MS}; {PLANS}",
                    hat.role()
                );
                client.batch_execute(&sql).await.map_err(HookError::Backend)?;
                if hat == Hat::App {
                    client.batch_execute(&set_all("SET", &KEY_PLANS)).await.map_err(HookError::Backend)?;
                }
                match life {
                    Some(life) => life.ask(client).await.map_err(HookError::Backend),
                    None => Ok(()),
                }
            })
        });
        self.built(Pool::builder(manager).max_size(most).post_create(dress))
    }

    /// Connections with the login's own rights, made clean between two who use them: opened when they are asked for.
    pub fn own_pool(&self, most: usize) -> Result<OwnPool, Error> {
        let tls = self.tls()?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Clean };
        let manager = Manager::from_config(self.config.clone(), tls.clone(), recycling);
        Ok(OwnPool { pool: self.built(Pool::builder(manager).max_size(most))?, tls })
    }

    fn built(&self, pool: PoolBuilder) -> Result<Pool, Error> {
        // The connection that was used last is used next: its server process has its plans and pages at hand, and those beyond what
        // the load needs stay quiet.
        let pool = pool.queue_mode(QueueMode::Lifo).runtime(deadpool_postgres::Runtime::Tokio1);
        let pool = pool.wait_timeout(Some(WAIT_MAX)).build();
        pool.map_err(|cause| unreachable(&self.shown, DatabaseError::Words(cause.to_string())))
    }

    fn tls(&self) -> Result<MakeRustlsConnect, Error> {
        let mut roots = rustls::RootCertStore::empty();
        // Reading the machine's certificates takes longer than connecting: not for a plain connection.
        if self.config.get_ssl_mode() != SslMode::Disable {
            for certificate in rustls_native_certs::load_native_certs().certs {
                // A certificate of the machine that cannot be read protects nobody; the others still do.
                let _ = roots.add(certificate);
            }
        }
        if let Some(path) = &self.root {
            let bad =
                |cause: String| unreachable(&self.shown, DatabaseError::Words(format!("sslrootcert {path}: {cause}")));
            let certificates = CertificateDer::pem_file_iter(path).map_err(|cause| bad(cause.to_string()))?;
            for certificate in certificates {
                roots
                    .add(certificate.map_err(|cause| bad(cause.to_string()))?)
                    .map_err(|cause| bad(cause.to_string()))?;
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

/// Settings, as statements.
pub(super) fn set_all(set: &str, settings: &[(&str, &str)]) -> String {
    settings.iter().map(|(name, value)| format!("{set} {name} = {value};")).collect()
}

fn is_local(config: &tokio_postgres::Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()),
        Host::Unix(_) => true,
    })
}

fn unreachable(store: &str, cause: DatabaseError) -> Error {
    Error::Unreachable { store: store.to_owned(), cause }
}

/// One connection with the login's own rights.
pub(crate) async fn connect(url: &str) -> Result<tokio_postgres::Client, Error> {
    Target::parse(url)?.connect().await
}

/// What a pool says when it has no connection to give.
pub(super) fn pool_error(store: &str, cause: deadpool_postgres::PoolError) -> Error {
    match cause {
        deadpool_postgres::PoolError::Backend(cause) if cause.code().is_none() => unreachable(store, cause.into()),
        deadpool_postgres::PoolError::Backend(cause)
        | deadpool_postgres::PoolError::PostCreateHook(HookError::Backend(cause)) => super::error::error(store, cause),
        other => unreachable(store, DatabaseError::Words(other.to_string())),
    }
}
