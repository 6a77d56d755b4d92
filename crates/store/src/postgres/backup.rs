//! Postgres has `pg_dump`; the store says what it must include, and looks at what was restored.

use std::path::Path;

use tokio_postgres::error::SqlState;

use super::connect::{Hat, Target};
use super::{check_schema, error, probe, wear};
use crate::backup::Copied;
use crate::error::Error;
use crate::kind::Kinds;

/// What to run; nothing is copied.
pub(crate) async fn backup(url: &str, out: &Path) -> Result<Copied, Error> {
    let target = Target::parse(url)?;
    // A wrong address is found now, and not by pg_dump.
    target.connect().await?;
    Ok(Copied {
        done: vec!["nothing was copied: pg_dump does it, and must include the whole schema karwan and your own schemas".to_owned()],
        to_do: vec![
            format!("pg_dump --format=custom --file={} \"{}\"", out.display(), target.shown),
            "pg_dumpall --roles-only  (the roles karwan_owner, karwan_app, karwan_relay, karwan_append, karwan_maintenance and your logins)".to_owned(),
            "as a login that row-level security does not bind (a superuser), or the dump is refused".to_owned(),
        ],
    })
}

/// Checks a database into which a dump was restored, and starts a new life with effects and relay suspended.
pub(crate) async fn restore(url: &str, over: bool) -> Result<Copied, Error> {
    let target = Target::parse(url)?;
    let bad = |cause| maintenance_error(&target.shown, cause);
    let client = target.connect().await?;
    wear(&client, Hat::Maintenance).await;
    check_schema(&target.shown, &client, &Kinds::new(&[])?).await?;
    let sql = "SELECT karwan.is_home(system_identifier) FROM karwan.incarnation ORDER BY number DESC LIMIT 1";
    let home = client.query_opt(sql, &[]).await.map_err(bad)?.is_some_and(|row| row.get(0));
    if home && !over {
        let reason = "this is the store itself and no copy of it: nothing was changed. If a dump was restored over this very \
                      database, say so with --over";
        return Err(Error::Damaged { store: target.shown, reason: reason.to_owned() });
    }
    let findings = probe::tables(&client).await.map_err(bad)?;
    if !findings.is_empty() {
        return Err(Error::Unsafe { store: target.shown, findings });
    }
    // The sequence must be past every row: a dump taken table by table may have left it behind.
    let sql = "SELECT (SELECT last_value FROM karwan.log_seq) >= karwan.highest(), karwan.highest()";
    let row = client.query_one(sql, &[]).await.map_err(bad)?;
    if !row.get::<_, bool>(0) {
        let reason =
            format!("karwan.log_seq is behind the log: SELECT setval('karwan.log_seq', {})", row.get::<_, i64>(1));
        return Err(Error::Damaged { store: target.shown, reason });
    }
    let life: i64 = client.query_one("SELECT karwan.new_life(true)", &[]).await.map_err(bad)?.get(0);
    Ok(Copied {
        done: vec![
            format!("the restored log ends at {life}-{}", row.get::<_, i64>(1)),
            format!("incarnation {life} has begun: positions of the one before are answered with reset"),
        ],
        to_do: vec![
            "effects and relay are suspended; `karwan restore --store … --resume --reason …` lets them run".to_owned(),
        ],
    })
}

pub(crate) async fn resume_consumer(url: &str, consumer: &str) -> Result<bool, Error> {
    let target = Target::parse(url)?;
    let client = target.connect().await?;
    wear(&client, Hat::Maintenance).await;
    let gone = client.execute("DELETE FROM karwan.suspension WHERE consumer = $1", &[&consumer]).await;
    Ok(gone.map_err(|cause| maintenance_error(&target.shown, cause))? > 0)
}

/// A login that is none of maintenance's is told what it lacks.
pub(super) fn maintenance_error(store: &str, cause: tokio_postgres::Error) -> Error {
    if cause.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return error::error(store, cause);
    }
    let remedy =
        "use the login that migrates, or one with karwan_maintenance (`karwan migrate --grant-operator LOGIN`)"
            .to_owned();
    Error::Permission { store: store.to_owned(), remedy, cause: cause.into() }
}
