//! Prepares a login: membership in the roles, and the service for which `karwan.append` takes it.

use super::connect::Target;
use super::error;
use crate::error::Error;

/// Grants an existing login what a node needs; with a service, it may append that service's events from SQL.
pub(crate) async fn grant(url: &str, login: &str, service: Option<&str>) -> Result<(), Error> {
    let target = Target::parse(url)?;
    let bad = |cause| error::error(&target.shown, cause);
    let client = target.connect().await?;
    let known = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)";
    if !client.query_one(known, &[&login]).await.map_err(bad)?.get::<_, bool>(0) {
        let remedy = format!("there is no such login: CREATE ROLE {login} LOGIN PASSWORD '…'");
        return Err(Error::Login { store: target.shown, login: login.to_owned(), remedy });
    }
    let grant = "DO $$ BEGIN EXECUTE format('GRANT karwan_app, karwan_relay, karwan_maintenance TO %I', LOGIN); END $$";
    let quoted: String = client.query_one("SELECT quote_literal($1::text)", &[&login]).await.map_err(bad)?.get(0);
    client.batch_execute(&grant.replace("LOGIN", &quoted)).await.map_err(bad)?;
    if let Some(service) = service {
        let sql = "INSERT INTO karwan.login VALUES ($1::text::name, $2)
                   ON CONFLICT (login) DO UPDATE SET service = excluded.service";
        client.batch_execute("SET ROLE karwan_owner").await.map_err(bad)?;
        client.execute(sql, &[&login, &service]).await.map_err(bad)?;
    }
    Ok(())
}
