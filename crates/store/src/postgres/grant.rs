//! Prepares a login: for a node, for appending the events of one service from SQL, or for operators' commands.

use super::connect::Target;
use super::error;
use crate::error::Error;
use crate::migrate::Purpose;

/// Grants an existing login what its purpose needs.
pub(crate) async fn grant(url: &str, login: &str, purpose: &Purpose) -> Result<(), Error> {
    let target = Target::parse(url)?;
    let bad = |cause| error::error(&target.shown, cause);
    let client = target.connect().await?;
    let known = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)";
    if !client.query_one(known, &[&login]).await.map_err(bad)?.get::<_, bool>(0) {
        let remedy = format!("there is no such login: CREATE ROLE {login} LOGIN PASSWORD '…'");
        return Err(Error::Login { store: target.shown, login: login.to_owned(), remedy });
    }
    // A node reads documents of one tenant and the log of all, never as one, so it inherits neither role. Before version 16
    // that is said of the login as a whole, and one that also appends from SQL has to inherit.
    let roles = match purpose {
        Purpose::Node => "karwan_app, karwan_relay",
        Purpose::Appending(_) => "karwan_append",
        // Operators look at what consumers keep, as those do, before they change it.
        Purpose::Operating => "karwan_maintenance, karwan_relay",
    };
    let grant = format!(
        "DO $$ BEGIN EXECUTE format('GRANT {roles} TO %I' || CASE
             WHEN current_setting('server_version_num')::integer >= 160000 AND '{roles}' <> 'karwan_append'
             THEN ' WITH INHERIT FALSE, SET TRUE' ELSE '' END, LOGIN); END $$"
    );
    let quoted: String = client.query_one("SELECT quote_literal($1::text)", &[&login]).await.map_err(bad)?.get(0);
    client.batch_execute(&grant.replace("LOGIN", &quoted)).await.map_err(bad)?;
    let inherit = "DO $$ BEGIN
             IF current_setting('server_version_num')::integer < 160000 THEN
                 EXECUTE format('ALTER ROLE %I ' || CASE WHEN pg_has_role(LOGIN, 'karwan_append', 'MEMBER') THEN 'INHERIT'
                     ELSE 'NOINHERIT' END, LOGIN);
             END IF;
         -- Whoever may grant roles and not change logins leaves them as they are.
         EXCEPTION WHEN insufficient_privilege THEN NULL;
         END $$";
    client.batch_execute(&inherit.replace("LOGIN", &quoted)).await.map_err(bad)?;
    if let Purpose::Appending(service) = purpose {
        let sql = "INSERT INTO karwan.login VALUES ($1::text::name, $2)
                   ON CONFLICT (login) DO UPDATE SET service = excluded.service";
        client.batch_execute("SET ROLE karwan_owner").await.map_err(bad)?;
        client.execute(sql, &[&login, service]).await.map_err(bad)?;
    }
    Ok(())
}
