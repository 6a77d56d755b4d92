//! A scratch store beside a given one: a database with a throw-away login for it, or a file. They go at the end, also after
//! an error.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_registry::Catalogue;
use karwan_store::migrate::{Purpose, grant, migrate};
use karwan_store::{Address, KindType, bare};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::exit::Failure;

/// An empty store that nobody else knows.
pub struct Scratch {
    admin: Client,
    name: String,
    /// As the login that made it.
    pub owner: Address,
    /// As a login that is bound by every policy.
    pub node: Address,
    /// The password of that login.
    pub password: String,
}

impl Scratch {
    /// Makes both, and migrates.
    pub async fn make(url: &str, catalogue: &Catalogue, kinds: &[KindType]) -> Result<Self, Failure> {
        let admin = bare::connect(&Address::Postgres(url.to_owned())).await?;
        let name = format!("karwan_bench_{:016x}", OsRandom.bits());
        let password = format!("{:016x}{:016x}", OsRandom.bits(), OsRandom.bits());
        let scratch = Self {
            admin,
            owner: Address::Postgres(beside(url, &name, None)),
            node: Address::Postgres(beside(url, &name, Some((&name, &password)))),
            name,
            password,
        };
        match scratch.fill(catalogue, kinds).await {
            Ok(()) => Ok(scratch),
            Err(failure) => {
                // What was made goes again; why it was not enough is the better message.
                let _ = scratch.remove().await;
                Err(failure)
            }
        }
    }

    async fn fill(&self, catalogue: &Catalogue, kinds: &[KindType]) -> Result<(), Failure> {
        let Self { name, password, .. } = self;
        self.run(&format!("CREATE DATABASE {name} TEMPLATE template0"), "CREATEDB").await?;
        self.run(&format!("CREATE ROLE {name} LOGIN PASSWORD '{password}'"), "CREATEROLE").await?;
        migrate(&self.owner, &[catalogue], kinds, &|_, _, _| {}).await?;
        Ok(grant(&self.owner, name, &Purpose::Node).await?)
    }

    async fn run(&self, sql: &str, attribute: &str) -> Result<(), Failure> {
        let done = self.admin.batch_execute(sql).await;
        done.map_err(|error| match error.code() {
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                let remedy = "use another login, or ALTER ROLE … with it";
                Failure::from(anyhow!("a bench needs a scratch database, and this login lacks {attribute}: {remedy}"))
            }
            _ => Failure::from(anyhow::Error::new(error).context("the scratch database cannot be made")),
        })
    }

    /// Drops both.
    pub async fn remove(self) -> Result<(), Failure> {
        let name = &self.name;
        // Each by itself, so that one that fails does not keep the other.
        let database = self.admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        let login = self.admin.batch_execute(&format!("DROP ROLE IF EXISTS {name}")).await;
        Ok(database.and(login).with_context(|| format!("{name} is left behind: drop the database and the role"))?)
    }
}

/// A file that goes with its companions.
pub struct ScratchFile(pub PathBuf);

impl ScratchFile {
    /// A new name in the same folder, so that it lies on the same disk.
    pub fn beside(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".bench-{:016x}", OsRandom.bits()));
        Self(name.into())
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            let mut path = self.0.clone().into_os_string();
            path.push(suffix);
            // Some of them never existed.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A scratch store, wherever the given one is.
pub enum Place {
    /// Beside a database.
    Database(Box<Scratch>),
    /// Beside a file.
    File(ScratchFile),
}

impl Place {
    /// Measures in a scratch store, and removes it whatever happens.
    pub async fn within<T>(
        beside: &Address,
        (catalogue, kinds): (&Catalogue, &[KindType]),
        measure: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let place = match beside {
            Address::Postgres(url) => Self::Database(Box::new(Scratch::make(url, catalogue, kinds).await?)),
            Address::Sqlite(path) => {
                let file = ScratchFile::beside(path);
                migrate(&Address::Sqlite(file.0.clone()), &[catalogue], kinds, &|_, _, _| {}).await?;
                Self::File(file)
            }
        };
        let measured = tokio::select! {
            measured = measure(&place) => measured,
            _ = tokio::signal::ctrl_c() => Err(Failure::from(anyhow!("interrupted; the scratch store is removed"))),
        };
        let removed = match place {
            Self::Database(scratch) => scratch.remove().await,
            Self::File(_) => Ok(()),
        };
        measured.and_then(|measured| removed.map(|()| measured))
    }

    /// As a node opens it.
    pub fn address(&self) -> Address {
        match self {
            Self::Database(scratch) => scratch.node.clone(),
            Self::File(file) => Address::Sqlite(file.0.clone()),
        }
    }
}

/// The same server with another database, and with another login where one is given.
pub fn beside(url: &str, database: &str, login: Option<(&str, &str)>) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split_once('/').map_or(place, |(authority, _)| authority);
    let (given, hosts) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
    let user = match login {
        Some((user, password)) => Some(format!("{user}:{password}")),
        None => given.map(str::to_owned),
    };
    let own = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        name == "dbname" || login.is_some() && (name == "user" || name == "password")
    };
    let kept: Vec<&str> = query.split('&').filter(|parameter| !parameter.is_empty() && !own(parameter)).collect();
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    format!("{scheme}://{user}{hosts}/{database}{query}")
}
