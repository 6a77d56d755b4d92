//! A look at a database from all sides.

use tokio_postgres::Client;

use super::connect::{Hat, Target};
use super::{error, is_there, log, migrate, probe, wear};
use crate::doctor::{Check, Health};
use crate::error::Error;
use crate::migrate::SCHEMA;

/// The clocks of this machine and of the server may differ by so much.
const CLOCK_SKEW_MS_MAX: i64 = 2000;
/// A transaction that holds readers back longer is worth a word.
const HOLD_MS_WARN: i64 = 1000;
/// And past this it is an accident.
const HOLD_MS_BAD: i64 = 60_000;

/// See [`crate::doctor::doctor`].
pub(crate) async fn doctor(url: &str, now_ms: i64) -> Result<Vec<Check>, Error> {
    let target = Target::parse(url)?;
    let client = target.connect().await?;
    let bad = |cause| error::error(&target.shown, cause);
    let mut checks = vec![server(&target.shown, &client).await?];
    if !is_there(&client).await.map_err(bad)? {
        let remedy = "run `karwan migrate --store …`";
        checks.push(Check::not_good("schema", Health::Bad, "the store has never been migrated", remedy));
        return Ok(checks);
    }
    checks.push(horizon(&client).await.map_err(bad)?);
    wear(&client, Hat::Relay).await;
    checks.push(schema(&client).await.map_err(bad)?);
    checks.extend(listed("roles", probe::roles(&client).await.map_err(bad)?, "the login is bound by every policy"));
    let mut findings = probe::tables(&client).await.map_err(bad)?;
    findings.extend(bites(&target).await?);
    checks.extend(listed("row-level security", findings, "forced on every table with a tenant, and it bites"));
    checks.push(clock(&client, now_ms).await.map_err(bad)?);
    checks.push(partitions(&client).await.map_err(bad)?);
    checks.push(incarnation(&client).await.map_err(bad)?);
    checks.extend(behind(&client).await.map_err(bad)?);
    checks.push(disk(&client).await.map_err(bad)?);
    Ok(checks)
}

/// Plants a document as one tenant and looks for it as another, as a node does at its start. A login that is no node's
/// cannot; its roles are told in their own line.
async fn bites(target: &Target) -> Result<Vec<String>, Error> {
    let mut client = target.connect().await?;
    if client.batch_execute("SET ROLE karwan_app").await.is_err() {
        return Ok(Vec::new());
    }
    probe::canary(&mut client).await.map_err(|cause| error::error(&target.shown, cause))
}

async fn server(store: &str, client: &Client) -> Result<Check, Error> {
    match migrate::check_server(store, client).await {
        Ok(()) => {
            let row = client.query_one("SELECT version()", &[]).await.map_err(|cause| error::error(store, cause))?;
            let version: String = row.get(0);
            Ok(Check::good("server", version.split(" on ").next().unwrap_or_default()))
        }
        Err(Error::OldServer { found, needed, .. }) => {
            Ok(Check::not_good("server", Health::Bad, format!("Postgres {found}"), format!("use {needed} or newer")))
        }
        Err(error) => Err(error),
    }
}

async fn schema(client: &Client) -> Result<Check, tokio_postgres::Error> {
    let row = client.query_opt("SELECT schema, admits_from FROM karwan.meta", &[]).await?;
    let (found, admits): (i64, i64) = row.map_or((0, 0), |row| (row.get(0), row.get(1)));
    Ok(if found < SCHEMA {
        let remedy = "run `karwan migrate --store …`";
        Check::not_good("schema", Health::Bad, format!("schema {found}, and this program needs {SCHEMA}"), remedy)
    } else if SCHEMA < admits {
        Check::not_good(
            "schema",
            Health::Bad,
            format!("schema {found}, and this program knows {SCHEMA}"),
            "use a newer program",
        )
    } else {
        Check::good("schema", format!("schema {found}"))
    })
}

/// A finding says after a colon what helps.
fn listed(name: &'static str, findings: Vec<String>, good: &str) -> Vec<Check> {
    if findings.is_empty() {
        return vec![Check::good(name, good)];
    }
    let check = |finding: String| {
        let (found, remedy) = finding.split_once(": ").unwrap_or((&finding, "run `karwan migrate --store …` again"));
        Check::not_good(name, Health::Bad, found, remedy)
    };
    findings.into_iter().map(check).collect()
}

/// Asked with the login's own rights, which may be told more about other sessions than a role.
async fn horizon(client: &Client) -> Result<Check, tokio_postgres::Error> {
    client.batch_execute("RESET ROLE").await?;
    let holders = log::holders(client).await?;
    if let Some(hidden) = holders.iter().find(|holder| holder.held_ms.is_none()) {
        let found = format!("held by {}, for {}", hidden.who, hidden.held());
        let remedy = "look again; if it stays: GRANT pg_read_all_stats TO this login, which shows since when";
        return Ok(Check::not_good("horizon", Health::Warning, found, remedy));
    }
    let Some(longest) = holders.first() else {
        return Ok(Check::good("horizon", "nobody holds readers back"));
    };
    let found = format!("held by {} ({}), whose transaction is {} old", longest.who, longest.what, longest.held());
    Ok(match longest.held_ms.unwrap_or_default() {
        held if held >= HOLD_MS_BAD => Check::not_good(
            "horizon",
            Health::Bad,
            found,
            "end it: SELECT pg_terminate_backend(process), or ROLLBACK PREPARED",
        ),
        held if held >= HOLD_MS_WARN => {
            Check::not_good("horizon", Health::Warning, found, "a transaction that appends should end at once")
        }
        _ => Check::good("horizon", found),
    })
}

async fn clock(client: &Client, now_ms: i64) -> Result<Check, tokio_postgres::Error> {
    let row = client.query_one("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", &[]).await?;
    let skew = row.get::<_, i64>(0) - now_ms;
    let found = format!("the server's clock is {skew} ms ahead of this machine's");
    Ok(if skew.abs() <= CLOCK_SKEW_MS_MAX {
        Check::good("clock", found)
    } else {
        Check::not_good("clock", Health::Warning, found, "let both follow a time server")
    })
}

async fn partitions(client: &Client) -> Result<Check, tokio_postgres::Error> {
    let sql = "SELECT count(*) FILTER (WHERE lower > (SELECT karwan.highest())), count(*),
                      (SELECT count(*) FROM pg_inherits WHERE inhparent = 'karwan.inbox'::regclass) FROM karwan.partition";
    let row = client.query_one(sql, &[]).await?;
    let (ahead, all, inbox): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    let found = format!("{ahead} stretches of the log are ahead, {all} in all; {inbox} leaves of the inbox");
    Ok(if ahead > 0 {
        Check::good("partitions", found)
    } else {
        Check::not_good("partitions", Health::Bad, found, "SELECT karwan.keep_ahead(), or run `karwan migrate`")
    })
}

async fn incarnation(client: &Client) -> Result<Check, tokio_postgres::Error> {
    let sql = "SELECT number, suspended, karwan.is_home(system_identifier) FROM karwan.incarnation ORDER BY number DESC LIMIT 1";
    let row = client.query_opt(sql, &[]).await?;
    let (number, suspended, home) =
        row.map_or((0, false, true), |row| (row.get::<_, i64>(0), row.get(1), row.get::<_, bool>(2)));
    let remedy = "if this is not a copy: `karwan restore --store … --resume --reason …`";
    Ok(if !home {
        let found =
            format!("a copy of incarnation {number} that nobody has opened: the next start begins another, suspended");
        Check::not_good("incarnation", Health::Warning, found, remedy)
    } else if suspended {
        let found = format!("incarnation {number}, effects and relay suspended");
        Check::not_good("incarnation", Health::Warning, found, remedy)
    } else {
        Check::good("incarnation", format!("incarnation {number}"))
    })
}

/// Documents that a program of the last release wrote without columns that this one's queries use. Only maintenance sees
/// every tenant's; another login is told nothing.
async fn behind(client: &Client) -> Result<Option<Check>, tokio_postgres::Error> {
    if client.batch_execute("SET ROLE karwan_maintenance").await.is_err() {
        return Ok(None);
    }
    let mut kinds = Vec::new();
    for row in client.query("SELECT name FROM karwan.kind ORDER BY name", &[]).await? {
        let kind: String = row.get(0);
        let sql = format!("SELECT EXISTS (SELECT FROM karwan.doc_{kind} WHERE behind)");
        if client.query_one(&sql, &[]).await?.get(0) {
            kinds.push(kind);
        }
    }
    client.batch_execute("RESET ROLE").await?;
    if kinds.is_empty() {
        return Ok(Some(Check::good("documents", "every document has its declared fields")));
    }
    let found =
        format!("an older program wrote without newer fields: {}; queries by those do not find them", kinds.join(", "));
    let remedy = "run `karwan migrate` of the newest program once the older ones are gone";
    Ok(Some(Check::not_good("documents", Health::Warning, found, remedy)))
}

async fn disk(client: &Client) -> Result<Check, tokio_postgres::Error> {
    let row = client.query_one("SELECT pg_size_pretty(pg_database_size(current_database()))", &[]).await?;
    Ok(Check::good(
        "disk",
        format!("the database takes {}; what is left, the server does not tell", row.get::<_, String>(0)),
    ))
}
