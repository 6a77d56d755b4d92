//! Tenants do not see each other, whatever SQL is written, unless it sets the other tenant.

use karwan_store::consumer::Lane;
use karwan_store::operator::{Operator, Who};
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, Options, Store, migrate};
use karwan_testkit::postgres::postgres;

use super::Fixture;
use super::options;
use crate::shop::{Order, catalogue, changed, context_of, kinds, order, sent};

async fn filled(server: &'static karwan_testkit::postgres::Server) -> Fixture {
    let fixture = Fixture::new(server).await;
    for number in [1, 2] {
        let ctx = context_of("sales-service", number);
        let done = fixture.store.unit(&ctx, |tx| async move {
            tx.put(Order { items: number as i64, ..order("o-1") });
            tx.emit(changed("o-1", 1));
            Ok::<_, Error>(())
        });
        done.await.unwrap();
    }
    fixture
}

const ONE: &str = "0190c2f0-0000-7000-8000-000000000001";
const TWO: &str = "0190c2f0-0000-7000-8000-000000000002";

#[tokio::test]
async fn hand_written_sql_sees_one_tenant_or_none() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = filled(server).await;
    let app = |sql: &str| {
        let sql = format!("SET ROLE karwan_app; {sql}");
        fixture.database.psql_as(&fixture.login, &sql)
    };
    assert_eq!(app("SELECT count(*) FROM karwan.doc_order").unwrap(), "0");
    // Nor without a hat.
    let bare = fixture.database.psql_as(&fixture.login, "SELECT count(*) FROM karwan.doc_order");
    assert!(bare.as_ref().is_ok_and(|seen| seen == "0") || bare.is_err_and(|it| it.contains("permission denied")));
    let one = format!(
        "BEGIN; SELECT set_config('app.tenant_id', '{ONE}', true); SELECT count(*), max(f_items) FROM karwan.doc_order; COMMIT"
    );
    assert_eq!(app(&one).unwrap().lines().last(), Some("1|1"));
    // A view or a function of the application's own changes nothing.
    let view = "CREATE TEMP VIEW mine AS SELECT * FROM karwan.doc_order; SELECT count(*) FROM mine";
    assert_eq!(app(view).unwrap(), "0");
    let function = "CREATE FUNCTION pg_temp.mine() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM karwan.doc_order'; SELECT pg_temp.mine()";
    assert_eq!(app(function).unwrap(), "0");
    // The log, its stretches and the tables behind it are out of reach.
    for table in ["log", "log_0", "intent", "unit", "effect", "outbox"] {
        let refused = app(&format!("SELECT count(*) FROM karwan.{table}")).unwrap_err();
        assert!(refused.contains("permission denied"), "{table}: {refused}");
    }
    let refused = app("UPDATE karwan.doc_order SET version = 7").unwrap_err();
    assert!(refused.contains("permission denied"), "{refused}");
}

/// the application has no business there; its policy holds all the same, should somebody let it in.
#[tokio::test]
async fn what_was_handled_is_seen_by_its_own_tenant_alone() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = filled(server).await;
    let lane = Lane { consumer: "sales-service.clerk".to_owned(), number: 0, of: 1 };
    let taken = fixture.store.take_lane(&lane, "n-1", 60_000).await.unwrap().unwrap();
    let hold = LaneHold { consumer: lane.consumer, lane: 0, epoch: taken.epoch };
    let row = crate::fixture::log(&fixture.store).await.remove(0);
    let mut batch = fixture.store.batch(&hold);
    drop(batch.handle(&context_of("sales-service", 1), row.claim()));
    batch.commit().await.unwrap();
    let claims = |who: &str| {
        let tenant = format!("set_config('app.tenant_id', '{who}', true)");
        let sql = format!("SET ROLE karwan_app; BEGIN; SELECT {tenant}; SELECT count(*) FROM karwan.inbox; COMMIT");
        fixture.database.psql_as(&fixture.login, &sql)
    };
    let refused = claims(ONE).unwrap_err();
    assert!(refused.contains("permission denied"), "{refused}");
    fixture.database.psql("GRANT SELECT ON karwan.inbox TO karwan_app").unwrap();
    let seen = [ONE, TWO, ""].map(|who| claims(who).unwrap().lines().last().map(str::to_owned));
    assert_eq!(seen, ["1", "0", "0"].map(|count| Some(count.to_owned())));
}

async fn nodes_login(fixture: &Fixture) -> String {
    let login = format!("node_{}", fixture.database.name());
    fixture.database.psql(&format!("CREATE ROLE {login} LOGIN")).unwrap();
    let owner = fixture.database.url().parse().unwrap();
    migrate::grant(&owner, &login, &migrate::Purpose::Node).await.unwrap();
    login
}

/// A node puts one of its roles on for each session; without, it is nobody.
#[tokio::test]
async fn a_nodes_login_without_a_hat_reads_nothing() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = filled(server).await;
    let login = nodes_login(&fixture).await;
    for table in ["log", "doc_order", "outbox", "meta", "effect"] {
        let refused = fixture.database.psql_as(&login, &format!("SELECT * FROM karwan.{table}")).unwrap_err();
        assert!(refused.contains("permission denied"), "{table}: {refused}");
    }
    let address = fixture.database.url_as(&login).parse().unwrap();
    let store = Store::open(&address, options()).await.unwrap();
    assert!(store.relay().safe().await.unwrap() > 0);
    let checks = karwan_store::doctor::doctor(&address, 0).await.unwrap();
    let bad: Vec<_> = checks.iter().filter(|check| check.health == karwan_store::doctor::Health::Bad).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

#[tokio::test]
async fn a_nodes_login_stops_keys_and_consumers_and_cannot_hide_it() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let login = nodes_login(&fixture).await;
    let operator = Operator::new(&fixture.database.url_as(&login).parse().unwrap(), Vec::new());
    let (who, consumer) = (Who { actor: login, reason: "slow".to_owned() }, "sales-service.orders");
    assert!(operator.pause_key(&who, consumer, 1, "o-1").await.unwrap());
    assert!(operator.resume_key(&who, consumer, 1, "o-1").await.unwrap());
    assert!(operator.pause_consumer(&who, consumer).await.unwrap());
    assert!(operator.resume_consumer(&who, consumer).await.unwrap());
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.action").unwrap(), "4");
    let hide = "SET ROLE karwan_relay; DELETE FROM karwan.action";
    assert!(fixture.database.psql_as(&who.actor, hide).unwrap_err().contains("permission denied"));
}

#[tokio::test]
async fn the_relay_reads_the_log_and_no_document() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = filled(server).await;
    let relay = |sql: &str| fixture.database.psql_as(&fixture.login, &format!("SET ROLE karwan_relay; {sql}"));
    assert_eq!(relay("SELECT count(*), count(DISTINCT tenant_id) FROM karwan.log").unwrap(), "2|2");
    assert!(relay("SELECT count(*) FROM karwan.doc_order").unwrap_err().contains("permission denied"));
    assert!(relay("SELECT count(*) FROM karwan.log_0").unwrap_err().contains("permission denied"));
    assert!(relay("DELETE FROM karwan.log").unwrap_err().contains("permission denied"));
    // What happened has happened.
    assert!(relay("UPDATE karwan.log SET envelope = '{}'").unwrap_err().contains("permission denied"));
    let columns = "SELECT id IS NOT NULL, occurred_at IS NOT NULL, tenant_id IS NOT NULL, aggregate_type, aggregate_id, topic,
                          envelope ->> 'eventType', idempotency_key, attempts, last_error, published_at FROM karwan.outbox LIMIT 1";
    assert_eq!(
        relay(columns).unwrap(),
        "t|t|t|order|o-1|shop.sales.order.changed.v1|shop.sales.order.changed|o-1:changed:1|0||"
    );
}

#[tokio::test]
async fn a_pooled_connection_carries_no_tenant_into_its_next_use() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let address = fixture.database.url_as(&fixture.login).parse().unwrap();
    let store = Store::open(&address, Options { connections_max: 1, ..options() }).await.unwrap();
    for number in [1, 2] {
        let ctx = context_of("sales-service", number);
        let found = store.unit(&ctx, |tx| async move {
            let found = tx.find::<Order>("o-1").await?;
            let page = tx.query(karwan_store::Query::<Order>::new()).await?;
            tx.put(order("o-1"));
            Ok::<_, Error>((found.is_some(), page.items.len()))
        });
        assert_eq!(found.await.unwrap().answer, (false, 0), "tenant {number} sees another one's order");
    }
}

#[tokio::test]
async fn a_login_that_policies_do_not_bind_is_refused() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let refusal = |url: String| async move {
        match Store::open(&url.parse().unwrap(), options()).await {
            Err(Error::Unsafe { findings, .. }) => findings.join("; "),
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it was opened"),
        }
    };
    assert!(refusal(fixture.database.url()).await.contains("superuser"));
    let login = &fixture.login;
    fixture.database.psql(&format!("ALTER ROLE {login} BYPASSRLS")).unwrap();
    assert!(refusal(fixture.database.url_as(login)).await.contains("BYPASSRLS"));
    fixture.database.psql(&format!("ALTER ROLE {login} NOBYPASSRLS; GRANT karwan_owner TO {login}")).unwrap();
    assert!(refusal(fixture.database.url_as(login)).await.contains("member of karwan_owner"));
    fixture
        .database
        .psql(&format!("REVOKE karwan_owner FROM {login}; ALTER TABLE karwan.doc_order NO FORCE ROW LEVEL SECURITY"))
        .unwrap();
    assert!(refusal(fixture.database.url_as(login)).await.contains("doc_order"));
    fixture
        .database
        .psql("ALTER TABLE karwan.doc_order FORCE ROW LEVEL SECURITY; GRANT SELECT ON karwan.log_0 TO karwan_app")
        .unwrap();
    assert!(refusal(fixture.database.url_as(login)).await.contains("log_0"));
    // A policy that lets everything through is found by the canary alone.
    fixture.database.psql("REVOKE ALL ON karwan.log_0 FROM karwan_app; CREATE POLICY open ON karwan.doc_guard TO karwan_app USING (true)").unwrap();
    assert!(refusal(fixture.database.url_as(login)).await.contains("as another"));
    fixture.database.psql("DROP POLICY open ON karwan.doc_guard").unwrap();
    assert!(Store::open(&fixture.database.url_as(login).parse().unwrap(), options()).await.is_ok());
}

#[tokio::test]
async fn an_owner_that_is_no_superuser_suffices() {
    let Some(server) = postgres().or_skip() else { return };
    let database = server.database();
    let (owner, login) = (format!("owner_{}", database.name()), format!("app_{}", database.name()));
    let sql = format!(
        "CREATE ROLE {owner} LOGIN CREATEROLE; CREATE ROLE {login} LOGIN; GRANT CREATE ON DATABASE {} TO {owner}",
        database.name()
    );
    database.psql(&sql).unwrap();
    // On a server where the roles were made by somebody else, they must be granted.
    for role in ["karwan_owner", "karwan_app", "karwan_relay", "karwan_append", "karwan_maintenance"] {
        let made = format!(
            "DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        );
        database.psql(&format!("{made}; GRANT {role} TO {owner} WITH ADMIN OPTION")).unwrap();
    }
    let address = database.url_as(&owner).parse().unwrap();
    migrate(&address, &[&catalogue()], &kinds(), &|_, _, _| {}).await.unwrap();
    migrate::grant(&address, &login, &migrate::Purpose::Node).await.unwrap();
    let store = Store::open(&database.url_as(&login).parse().unwrap(), options()).await.unwrap();
    let ctx = context_of("delivery-service", 1);
    let done = store.unit(&ctx, |tx| async move {
        tx.emit(sent("p", 1));
        Ok::<_, Error>(())
    });
    assert_eq!(done.await.unwrap().position.seq, 1);
}
