//! Brings a database to this program's schema: roles, tables, functions, the catalogue, the kinds, the backfill.
//!
//! Everything but roles and the backfill is one transaction: it happens or it does not. The backfill goes on where it
//! stopped.

use karwan_registry::Catalogue;
use serde_json::json;
use tokio_postgres::{Client, Transaction};

use super::connect::Target;
use super::kinds::Build;
use super::{backfill, error, kinds, template};
use crate::error::Error;
use crate::kind::{BadKind, FieldType, KindType, Kinds};
use crate::migrate::{ADMITS_FROM, Migrated, Progress, SCHEMA};
use crate::stored;

/// The oldest server that works: views with the rights of their caller came with it.
pub(super) const SERVER_MIN: u32 = 15;
/// How long a change of a table may wait for those who use it, and how often it is tried.
const LOCK_MS: u32 = 1000;
const LOCK_ATTEMPTS_MAX: u32 = 20;
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(500);
const ROLES: [&str; 5] = ["karwan_owner", "karwan_app", "karwan_relay", "karwan_append", "karwan_maintenance"];
/// The tables of one schema.
struct Step {
    schema: i64,
    sql: &'static str,
    /// Those of them that hold tenants' rows, besides the documents.
    tenant_tables: &'static [&'static str],
}
/// Every schema's addition to the one before it.
const STEPS: [Step; 3] = [
    Step {
        schema: 1,
        sql: include_str!("schema/tables.sql"),
        tenant_tables: &["log", "intent", "unit", "inbox", "deadline", "effect", "parked", "dead"],
    },
    Step {
        schema: 2,
        sql: include_str!("schema/tables_2.sql"),
        tenant_tables: &["action", "paused_key", "aside", "repair", "attempt"],
    },
    Step { schema: 6, sql: include_str!("schema/tables_6.sql"), tenant_tables: &["retried"] },
];

/// See [`crate::migrate::migrate`].
pub(crate) async fn migrate(
    url: &str,
    catalogues: &[&Catalogue],
    kinds: &Kinds,
    progress: Progress<'_>,
) -> Result<Migrated, Error> {
    let target = Target::parse(url)?;
    let bad = |cause| error::error(&target.shown, cause);
    let mut client = target.connect().await?;
    check_server(&target.shown, &client).await?;
    make_roles(&target.shown, &client).await?;
    // Asked for again and again: a statement that waits has a snapshot, and an index that is built beside writers waits for
    // every older one.
    let lock = "SELECT pg_try_advisory_lock(hashtext('karwan.migrate'), 0)";
    while !client.query_one(lock, &[]).await.map_err(bad)?.get::<_, bool>(0) {
        progress("another migration is under way", 0, 0);
        tokio::time::sleep(LOCK_PAUSE).await;
    }
    let mut migrated = expand_patiently(&target.shown, &mut client, catalogues, kinds).await?;
    client.execute("SELECT karwan.life()", &[]).await.map_err(bad)?;
    index_fields(&client, kinds, progress).await.map_err(bad)?;
    // The lock is held to the end: two backfills would overwrite each other's place.
    migrated.backfilled = backfill::run(&target.shown, &mut client, kinds, progress).await?;
    client.execute("SELECT pg_advisory_unlock(hashtext('karwan.migrate'), 0)", &[]).await.map_err(bad)?;
    Ok(migrated)
}

/// Refuses a server that is too old.
pub(super) async fn check_server(store: &str, client: &Client) -> Result<(), Error> {
    let row = client.query_one("SHOW server_version", &[]).await.map_err(|cause| error::error(store, cause))?;
    let found: String = row.get(0);
    let major = found.split(|c: char| !c.is_ascii_digit()).next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= SERVER_MIN) {
        return Ok(());
    }
    Err(Error::OldServer { store: store.to_owned(), found, needed: SERVER_MIN })
}

/// Roles belong to the whole server: they may be there already, and others may be making them at the same time.
async fn make_roles(store: &str, client: &Client) -> Result<(), Error> {
    for role in ROLES {
        let sql = format!(
            "DO $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
                    CREATE ROLE {role} NOLOGIN;
                END IF;
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
            END $$"
        );
        client.batch_execute(&sql).await.map_err(|cause| cannot_make(store, cause))?;
    }
    // Whoever migrates may also look.
    for role in ["karwan_owner", "karwan_maintenance", "karwan_relay"] {
        // Another migration may be granting on the same server; one of two concurrent grants fails, and is tried again.
        let sql = format!(
            "DO $$ BEGIN
                FOR attempt IN 1..20 LOOP
                    -- From version 16 on, who made a role is its member without being able to become it.
                    EXIT WHEN pg_has_role(current_user, '{role}',
                        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END);
                    BEGIN
                        EXECUTE format('GRANT {role} TO %I' || CASE WHEN current_setting('server_version_num')::integer >= 160000
                            THEN ' WITH SET TRUE, INHERIT TRUE' ELSE '' END, current_user);
                    EXCEPTION WHEN internal_error THEN PERFORM pg_sleep(0.05);
                    END;
                END LOOP;
            END $$"
        );
        client.batch_execute(&sql).await.map_err(|cause| cannot_make(store, cause))?;
    }
    Ok(())
}

fn cannot_make(store: &str, cause: tokio_postgres::Error) -> Error {
    let remedy = "as a login with CREATEROLE, or after a superuser has run: CREATE ROLE karwan_owner; CREATE ROLE karwan_app; \
                  CREATE ROLE karwan_relay; CREATE ROLE karwan_append; CREATE ROLE karwan_maintenance; GRANT karwan_owner, karwan_maintenance, karwan_relay TO this login";
    Error::Permission { store: store.to_owned(), remedy: remedy.to_owned(), cause: cause.into() }
}

/// A table that is being written is changed in a moment, or not now: whoever waits for it makes all others wait.
async fn expand_patiently(
    store: &str,
    client: &mut Client,
    catalogues: &[&Catalogue],
    kinds: &Kinds,
) -> Result<Migrated, Error> {
    let bad = |cause| error::error(store, cause);
    let mut attempts = 0;
    loop {
        let tx = client.transaction().await.map_err(bad)?;
        tx.batch_execute(&format!("SET LOCAL lock_timeout = {LOCK_MS}")).await.map_err(bad)?;
        match expand(store, &tx, catalogues, kinds).await {
            Ok(migrated) => {
                tx.commit().await.map_err(bad)?;
                return Ok(migrated);
            }
            Err(error) if attempts < LOCK_ATTEMPTS_MAX && error::is_lock_timeout(&error) => attempts += 1,
            Err(error) => return Err(error),
        }
        tx.rollback().await.map_err(bad)?;
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

/// Indexes of fields that were added to tables with rows, built while others write. Building also waits for every
/// transaction that began before the column was there, so that the backfill after it misses none of their documents.
async fn index_fields(client: &Client, kinds: &Kinds, progress: Progress<'_>) -> Result<(), tokio_postgres::Error> {
    client.batch_execute("SET ROLE karwan_owner; SET client_min_messages = warning").await?;
    for kind in kinds.all() {
        for field in kind.kind.fields {
            let name = kinds::index_name(kind.kind.name, field.name);
            let sql = "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass('karwan.' || $1)";
            match client.query_opt(sql, &[&name]).await?.map(|row| row.get::<_, bool>(0)) {
                Some(true) => continue,
                // A build that was interrupted leaves one that is not used.
                Some(false) => client.batch_execute(&format!("DROP INDEX CONCURRENTLY karwan.{name}")).await?,
                None => {}
            }
            progress(&format!("index of {}.{}", kind.kind.name, field.name), 0, 0);
            client.batch_execute(&kinds::index(kind.kind.name, field.name, Build::BesideWriters)).await?;
        }
    }
    client.batch_execute("RESET ROLE; RESET client_min_messages").await
}

async fn expand(
    store: &str,
    tx: &Transaction<'_>,
    catalogues: &[&Catalogue],
    kinds: &Kinds,
) -> Result<Migrated, Error> {
    let bad = |cause| error::error(store, cause);
    let found = present(store, tx).await?;
    let mut steps = Vec::new();
    if found.is_none() {
        let remedy = "the login needs CREATE on the database: GRANT CREATE ON DATABASE … TO …";
        tx.batch_execute("CREATE SCHEMA IF NOT EXISTS karwan AUTHORIZATION karwan_owner").await.map_err(|cause| {
            Error::Permission { store: store.to_owned(), remedy: remedy.to_owned(), cause: cause.into() }
        })?;
    }
    tx.batch_execute("SET LOCAL ROLE karwan_owner; SET LOCAL client_min_messages = warning").await.map_err(bad)?;
    for step in STEPS.iter().filter(|step| step.schema > found.unwrap_or_default()) {
        tx.batch_execute(step.sql).await.map_err(bad)?;
        for table in step.tenant_tables {
            tx.batch_execute(&kinds::secured(table)).await.map_err(bad)?;
        }
    }
    if found.is_some_and(|found| found < 3) {
        tx.batch_execute(&kinds::secured_again()).await.map_err(bad)?;
    }
    if found != Some(SCHEMA) {
        steps.push(format!("schema {SCHEMA}"));
    }
    for sql in [
        include_str!("schema/functions.sql"),
        include_str!("schema/older.sql"),
        include_str!("schema/operator.sql"),
        include_str!("schema/lanes.sql"),
        include_str!("schema/append.sql"),
        include_str!("schema/lives.sql"),
    ] {
        tx.batch_execute(sql).await.map_err(bad)?;
    }
    for kind in kinds.all() {
        steps.extend(expand_kind(store, tx, kind).await?);
    }
    dispatch(tx).await.map_err(bad)?;
    tx.batch_execute(include_str!("schema/access.sql")).await.map_err(bad)?;
    for name in stored_kinds(tx).await.map_err(bad)? {
        tx.batch_execute(&kinds::granted(&name)).await.map_err(bad)?;
    }
    steps.extend(load_catalogues(tx, catalogues).await.map_err(bad)?);
    tx.batch_execute("SELECT karwan.make_partitions()").await.map_err(bad)?;
    let sql = "INSERT INTO karwan.meta (schema, admits_from) VALUES ($1, $2)
               ON CONFLICT (only_row) DO UPDATE SET schema = excluded.schema, admits_from = excluded.admits_from";
    tx.execute(sql, &[&SCHEMA, &ADMITS_FROM]).await.map_err(bad)?;
    Ok(Migrated { from: found, to: SCHEMA, steps, backfilled: 0 })
}

/// The schema that is there; a newer one is refused.
async fn present(store: &str, tx: &Transaction<'_>) -> Result<Option<i64>, Error> {
    let bad = |cause| error::error(store, cause);
    let there: bool = tx.query_one("SELECT to_regclass('karwan.meta') IS NOT NULL", &[]).await.map_err(bad)?.get(0);
    if !there {
        return Ok(None);
    }
    let found: Option<i64> =
        tx.query_opt("SELECT schema FROM karwan.meta", &[]).await.map_err(bad)?.map(|row| row.get(0));
    match found {
        Some(found) if found > SCHEMA => Err(Error::Newer { store: store.to_owned(), found, known: SCHEMA }),
        found => Ok(found),
    }
}

async fn expand_kind(store: &str, tx: &Transaction<'_>, of: &KindType) -> Result<Vec<String>, Error> {
    let bad = |cause| error::error(store, cause);
    let kind = &of.kind;
    let name = kind.name;
    let mut steps = Vec::new();
    let row = tx.query_opt("SELECT shape FROM karwan.kind WHERE name = $1", &[&name]).await.map_err(bad)?;
    let stored: Option<i32> = row.map(|row| row.get(0));
    let new = stored.is_none();
    if let Some(found) = stored.map(i32::unsigned_abs).filter(|found| *found > kind.shape) {
        return Err(Error::ShapeNewer { kind: name.to_owned(), found, known: kind.shape });
    }
    if new {
        tx.batch_execute(&kinds::table(name)).await.map_err(bad)?;
        tx.batch_execute(&kinds::secured(&format!("doc_{name}"))).await.map_err(bad)?;
        steps.push(format!("table {name}"));
    }
    let sql = "INSERT INTO karwan.kind (name, shape, carries) VALUES ($1, $2, $3)
               ON CONFLICT (name) DO UPDATE SET shape = greatest(kind.shape, excluded.shape), carries = excluded.carries";
    tx.execute(sql, &[&name, &of.writes.cast_signed(), &kind.carries]).await.map_err(bad)?;
    if stored.is_some_and(|stored| stored.unsigned_abs() < of.writes) {
        // What is read in another shape may have other fields: all of them are filled in again.
        let sql = "UPDATE karwan.field SET filled = false, at_tenant = NULL, at_id = NULL WHERE kind = $1";
        tx.execute(sql, &[&name]).await.map_err(bad)?;
        steps.push(format!("shape {} of {name}", of.writes));
    }
    for field in kind.fields {
        let sql = "INSERT INTO karwan.field (kind, name, of, filled) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        let added = tx.execute(sql, &[&name, &field.name, &type_name(field.of), &new]).await.map_err(bad)?;
        if added > 0 {
            tx.batch_execute(&kinds::column(name, field.name, field.of)).await.map_err(bad)?;
            if new {
                tx.batch_execute(&kinds::index(name, field.name, Build::AtOnce)).await.map_err(bad)?;
            } else {
                steps.push(format!("column {name}.{}", field.name));
            }
            continue;
        }
        let sql = "SELECT of FROM karwan.field WHERE kind = $1 AND name = $2";
        let of: String = tx.query_one(sql, &[&name, &field.name]).await.map_err(bad)?.get(0);
        if of != type_name(field.of) {
            return Err(BadKind::Retyped { kind: name, name: field.name }.into());
        }
    }
    let names: Vec<&str> = kind.fields.iter().map(|field| field.name).collect();
    let sql = "INSERT INTO karwan.signature (kind, token, fields) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    tx.execute(sql, &[&name, &kinds::token(kind), &names]).await.map_err(bad)?;
    Ok(steps)
}

/// The puts of every signature that any program of this store declared, and the dispatch over them.
async fn dispatch(tx: &Transaction<'_>) -> Result<(), tokio_postgres::Error> {
    let mut tokens = Vec::new();
    for row in tx.query("SELECT kind, token, fields FROM karwan.signature ORDER BY token COLLATE \"C\"", &[]).await? {
        let (kind, token, names): (String, String, Vec<String>) = (row.get(0), row.get(1), row.get(2));
        let sql = "SELECT name, of FROM karwan.field WHERE kind = $1 ORDER BY name";
        let fields = tx.query(sql, &[&kind]).await?;
        let all: Vec<(String, FieldType)> =
            fields.iter().map(|row| (row.get::<_, String>(0), type_of(row.get(1)))).collect();
        let known = names.iter().filter_map(|name| all.iter().find(|(field, _)| field == name).cloned());
        tx.batch_execute(&kinds::put(&kind, &known.collect::<Vec<_>>(), &all)).await?;
        tokens.push((kind, token));
    }
    tx.batch_execute(&kinds::dispatch(&tokens)).await?;
    let mut names: Vec<String> = tokens.into_iter().map(|(kind, _)| kind).collect();
    names.sort();
    names.dedup();
    // Also of kinds that the program which migrates does not know: the dispatch calls them all as it knows them.
    for name in &names {
        tx.batch_execute(&kinds::locking(name)).await?;
    }
    tx.batch_execute(&kinds::reading(&names)).await
}

async fn stored_kinds(tx: &Transaction<'_>) -> Result<Vec<String>, tokio_postgres::Error> {
    Ok(tx.query("SELECT name FROM karwan.kind ORDER BY name", &[]).await?.iter().map(|row| row.get(0)).collect())
}

async fn load_catalogues(
    tx: &Transaction<'_>,
    catalogues: &[&Catalogue],
) -> Result<Vec<String>, tokio_postgres::Error> {
    let mut subjects = Vec::new();
    for catalogue in catalogues {
        for entry in catalogue.directory().entries() {
            let row = &entry.row;
            let mut templates = Vec::new();
            for (actor, kind) in template::ACTORS {
                for caused in [false, true] {
                    let pieces = template::pieces(catalogue, entry, kind, caused);
                    if !pieces.is_empty() {
                        templates.push(json!({ "actor": actor, "caused": caused, "pieces": pieces }));
                    }
                }
            }
            subjects.push(json!({
                "name": row.subject, "aliases": row.aliases, "producers": row.producers, "tenancy": row.tenancy,
                "retention": row.retention, "ai": row.ai_provenance, "local_only": row.local_only,
                "tenant_forms": template::tenant_forms(catalogue), "templates": templates,
            }));
        }
    }
    let subjects = serde_json::Value::Array(subjects).to_string();
    let row = tx.query_one(include_str!("schema/load_subjects.sql"), &[&subjects]).await?;
    let added: i64 = row.get(0);
    tx.execute(include_str!("schema/load_templates.sql"), &[&subjects]).await?;
    tx.execute(include_str!("schema/load_carriers.sql"), &[]).await?;
    let schemas: Vec<_> = catalogues.iter().flat_map(|catalogue| stored::schemas(catalogue)).collect();
    let column = |of: fn(&(String, String, String)) -> &String| schemas.iter().map(of).collect::<Vec<_>>();
    let sql =
        "INSERT INTO karwan.schema SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING";
    tx.execute(sql, &[&column(|it| &it.0), &column(|it| &it.1), &column(|it| &it.2)]).await?;
    Ok(if added > 0 { vec![format!("{added} subjects")] } else { Vec::new() })
}

pub(super) const fn type_name(of: FieldType) -> &'static str {
    match of {
        FieldType::Text => "text",
        FieldType::Integer => "integer",
        FieldType::Time => "time",
        FieldType::Flag => "flag",
        FieldType::Id => "id",
    }
}

fn type_of(name: &str) -> FieldType {
    match name {
        "integer" => FieldType::Integer,
        "time" => FieldType::Time,
        "flag" => FieldType::Flag,
        "id" => FieldType::Id,
        // `karwan.field.of` is written by `type_name` alone.
        _ => FieldType::Text,
    }
}
