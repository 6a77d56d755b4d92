//! `karwan.append` from plain SQL and from a Rust transaction.

use karwan_store::log::Filter;
use karwan_store::stored;
use karwan_testkit::postgres::postgres;
use tokio_postgres::NoTls;
use uuid::Uuid;

use super::Fixture;
use crate::shop::tenant_bits;

const SCANNED: &str = "shop.delivery.parcel.sent.v1";

fn call(tenant: &str, subject: &str, key: &str, intent: &str, payload: &str) -> String {
    format!("SELECT fresh FROM karwan.append('{tenant}', '{subject}', '{key}', '{intent}', '{payload}')")
}

const ONE: &str = "0190c2f0-0000-7000-8000-000000000001";

#[tokio::test]
async fn an_appended_event_is_an_envelope_that_readers_accept() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let (mut client, connection) =
        tokio_postgres::connect(&fixture.database.url_as(&fixture.login), NoTls).await.unwrap();
    tokio::spawn(connection);
    let tx = client.transaction().await.unwrap();
    let sql = "SELECT event_id, fresh FROM karwan.append($1, $2, $3, $4, $5, causation => $6, actor_kind => 'user', actor_id => $7)";
    let (key, cause) = ("q\"\\\u{1}ش", Uuid::from_u128(0x0190_c2f0_0000_7000_8000_0000_0000_0009));
    let payload = serde_json::json!({ "parcelId": key, "count": 1 }).to_string();
    let row = tx
        .query_one(sql, &[&Uuid::from_u128(tenant_bits(1)), &SCANNED, &key, &"i-1", &payload, &cause, &"u\"1"])
        .await
        .unwrap();
    let (event, fresh): (Uuid, bool) = (row.get(0), row.get(1));
    assert!(fresh);
    tx.commit().await.unwrap();
    let relay = fixture.store.relay();
    let page = relay.page(relay.start().await.unwrap(), &Filter::default(), 10).await.unwrap();
    let envelope = stored::envelope(fixture.store.catalogue(), &page.rows[0]).unwrap();
    assert_eq!(envelope.id.bits(), event.as_u128());
    assert!(envelope.id.is_v7());
    assert_eq!((envelope.key.as_str(), envelope.payload.get()), (key, payload.as_str()));
    assert_eq!(&*envelope.actor.id, "u\"1");
    assert_eq!(&*envelope.producer.service, "delivery-service");
    assert_eq!(envelope.cause.causation.map(|id| id.bits()), Some(cause.as_u128()));
    assert_eq!(page.rows[0].slot, karwan_store::write_set::slot(tenant_bits(1), key));
}

#[tokio::test]
async fn an_intent_is_taken_once() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let psql = |sql: &str| fixture.database.psql_as(&fixture.login, sql);
    let first = call(ONE, SCANNED, "p-1", "i-1", r#"{"parcelId":"p-1","count":1}"#);
    assert_eq!(psql(&first).unwrap(), "t");
    assert_eq!(psql(&first).unwrap(), "f");
    // The same intent of another tenant is another intent.
    assert_eq!(psql(&first.replace(ONE, "0190c2f0-0000-7000-8000-000000000002")).unwrap(), "t");
    let differs = call(ONE, SCANNED, "p-1", "i-1", r#"{"parcelId":"p-1","count":2}"#);
    assert!(psql(&differs).unwrap_err().contains("another payload"));
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.log").unwrap(), "2");
}

#[tokio::test]
async fn what_the_catalogue_does_not_allow_is_refused() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let good = r#"{"parcelId":"p","count":1}"#;
    let long = "k".repeat(201);
    let cases = [
        (call(ONE, "shop.delivery.parcel.lost.v1", "p", "i", good), "not in the catalogue"),
        (
            call(ONE, "shop.sales.order.changed.v1", "p", "i", r#"{"orderId":"p","revision":1}"#),
            "ordered by the document kind order",
        ),
        (call("00000000-0000-0000-0000-000000000000", SCANNED, "p", "i", good), "tenancy tenant"),
        (call(ONE, SCANNED, "", "i", good), "a key has 1 to 200 bytes"),
        (call(ONE, SCANNED, &long, "i", good), "a key has 1 to 200 bytes"),
        (call(ONE, SCANNED, "p", "", good), "an idempotency key has"),
        (call(ONE, SCANNED, "p", "i", "{"), "not JSON"),
        (call(ONE, SCANNED, "p", "i", "[]"), "a payload is a JSON object"),
        (
            call(ONE, SCANNED, "p", "i", r#"{"parcelId":"p","count":1,"tenantId":"tnt_01J31F00000000000000000002"}"#),
            "names another tenant",
        ),
        (
            format!(
                "SELECT set_config('app.tenant_id', '0190c2f0-0000-7000-8000-000000000002', false); {}",
                call(ONE, SCANNED, "p", "i", good)
            ),
            "app.tenant_id names another tenant",
        ),
    ];
    for (sql, expected) in cases {
        let refused = fixture.database.psql_as(&fixture.login, &sql).unwrap_err();
        assert!(refused.contains(expected), "{sql}\n{refused}");
    }
    // What stands beside the payload cannot break out of its place either.
    let forged = format!(
        "SELECT karwan.append('{ONE}', '{SCANNED}', 'p', 'i', '{good}', ai_provenance => '{{}}, \"tenantId\": \"x\"')"
    );
    assert!(fixture.database.psql_as(&fixture.login, &forged).unwrap_err().contains("no JSON object"));
    let long = format!("SELECT karwan.append('{ONE}', '{SCANNED}', 'p', 'i', '{good}', actor_id => repeat('x', 201))");
    assert!(fixture.database.psql_as(&fixture.login, &long).unwrap_err().contains("1 to 200 bytes"));
    // A login that speaks for another service, or for none.
    fixture.database.psql("UPDATE karwan.login SET service = 'sales-service'").unwrap();
    let sql = call(ONE, SCANNED, "p", "i", good);
    assert!(fixture.database.psql_as(&fixture.login, &sql).unwrap_err().contains("only delivery-service publishes"));
    fixture.database.psql("DELETE FROM karwan.login").unwrap();
    assert!(fixture.database.psql_as(&fixture.login, &sql).unwrap_err().contains("speaks for no service"));
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.log").unwrap(), "0");
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.intent").unwrap(), "0");
}

#[tokio::test]
async fn an_aborted_transaction_leaves_no_event() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let append = call(ONE, SCANNED, "p", "i", r#"{"parcelId":"p","count":1}"#);
    fixture.database.psql_as(&fixture.login, &format!("BEGIN; {append}; ROLLBACK")).unwrap();
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.log").unwrap(), "0");
    assert_eq!(fixture.database.psql_as(&fixture.login, &append).unwrap(), "t");
}
