//! Does row-level security bite for this login? Asked at every start; a store that cannot say yes is not opened.

use deadpool_postgres::Pool;

use super::connect::pool_error;
use super::error;
use crate::error::Error;

/// What is wrong, each with its remedy; empty where tenants are kept apart.
pub(super) async fn probe(store: &str, client: &tokio_postgres::Client, app: &Pool) -> Result<Vec<String>, Error> {
    let bad = |cause| error::error(store, cause);
    let mut findings = roles(client).await.map_err(bad)?;
    findings.extend(tables(client).await.map_err(bad)?);
    if findings.is_empty() {
        let mut app = app.get().await.map_err(|cause| pool_error(store, cause))?;
        findings.extend(canary(&mut app).await.map_err(bad)?);
    }
    Ok(findings)
}

/// The login is no superuser, cannot bypass row-level security, and is no member of the owner.
pub(super) async fn roles(client: &tokio_postgres::Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let sql = "SELECT session_user::text, rolsuper, rolbypassrls, pg_has_role(session_user, 'karwan_owner', 'MEMBER'),
                      pg_has_role(session_user, 'karwan_app', 'MEMBER'), pg_has_role(session_user, 'karwan_relay', 'MEMBER'),
                      pg_has_role(session_user, 'karwan_maintenance', 'MEMBER')
               FROM pg_roles WHERE rolname = session_user";
    let row = client.query_one(sql, &[]).await?;
    let login: String = row.get(0);
    let mut findings = Vec::new();
    let superuser: bool = row.get(1);
    let remedy = "use a login of the application's own (`karwan migrate --grant LOGIN` prepares one)";
    if superuser {
        findings.push(format!("login {login} is a superuser, which no policy binds: {remedy}"));
    } else {
        if row.get(2) {
            findings.push(format!("login {login} has BYPASSRLS: ALTER ROLE {login} NOBYPASSRLS"));
        }
        if row.get(3) {
            // It migrates; what else it lacks for a node is beside the point.
            return Ok(vec![format!("login {login} is a member of karwan_owner, which migrates: {remedy}")]);
        }
        if row.get(6) {
            findings.push(format!(
                "login {login} is a member of karwan_maintenance, which sees every tenant: REVOKE karwan_maintenance FROM {login}, \
                 and name another login for maintenance"
            ));
        }
        for (role, member) in [("karwan_app", row.get::<_, bool>(4)), ("karwan_relay", row.get::<_, bool>(5))] {
            if !member {
                findings.push(format!("login {login} is no member of {role}: GRANT {role} TO {login}"));
            }
        }
    }
    Ok(findings)
}

/// Every table with a tenant has forced row-level security, and no stretch of the log has grants.
pub(super) async fn tables(client: &tokio_postgres::Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let rows = client.query(include_str!("schema/probe.sql"), &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// A document of tenant A is not seen as B, nor without a tenant. Rolled back.
pub(super) async fn canary(app: &mut tokio_postgres::Client) -> Result<Vec<String>, tokio_postgres::Error> {
    let tx = app.transaction().await?;
    let row = tx.query_one("SELECT karwan.canary()", &[]).await?;
    let tenant: uuid::Uuid = row.get(0);
    let mut seen = Vec::new();
    for as_tenant in [tenant.to_string(), uuid::Uuid::from_u128(tenant.as_u128() ^ 1).to_string(), String::new()] {
        tx.execute("SELECT set_config('app.tenant_id', $1, true)", &[&as_tenant]).await?;
        let row = tx.query_one("SELECT count(*) FROM karwan.doc_guard WHERE id = 'karwan.canary'", &[]).await?;
        seen.push(row.get::<_, i64>(0));
    }
    tx.rollback().await?;
    Ok(if seen == [1, 0, 0] {
        Vec::new()
    } else {
        vec![format!(
            "a document of one tenant was seen {}, {} and {} times as its own, as another and as no tenant; \
                      1, 0 and 0 are right: run `karwan migrate` again",
            seen[0], seen[1], seen[2]
        )]
    })
}
