//! The examples of `docs/guides/append.md`, run as they stand there.

use std::process::Command;

use karwan_store::log::Filter;
use karwan_store::stored;
use karwan_testkit::postgres::postgres;
use tokio_postgres::NoTls;
use uuid::Uuid;

use super::Fixture;
use crate::shop::tenant_bits;

const GUIDE: &str = include_str!("../../../../../docs/guides/append.md");

/// The code block of a language.
fn block(language: &str) -> &'static str {
    let start = GUIDE.find(&format!("```{language}\n")).expect("the guide has it") + language.len() + 4;
    &GUIDE[start..start + GUIDE[start..].find("```").expect("a block ends")]
}

async fn with_own_table(server: &'static karwan_testkit::postgres::Server) -> Fixture {
    let fixture = Fixture::new(server).await;
    let sql =
        format!("CREATE TABLE parcel (id text PRIMARY KEY, place text); GRANT ALL ON parcel TO {}", fixture.login);
    fixture.database.psql(&sql).unwrap();
    fixture
}

/// The key of the one event in the log, which is whole, and of the one row beside it.
async fn only(fixture: &Fixture) -> (String, String) {
    let relay = fixture.store.relay();
    let page = relay.page(relay.start().await.unwrap(), &Filter::default(), 10).await.unwrap();
    assert_eq!(page.rows.len(), 1);
    let envelope = stored::envelope(fixture.store.catalogue(), &page.rows[0]).unwrap();
    (envelope.key, fixture.database.psql("SELECT id FROM parcel").unwrap())
}

#[tokio::test]
async fn the_sql_of_the_guide_commits_a_row_and_its_event() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = with_own_table(server).await;
    fixture.database.psql_as(&fixture.login, block("sql")).unwrap();
    assert_eq!(only(&fixture).await, ("p-1".into(), "p-1".into()));
}

#[tokio::test]
async fn the_python_of_the_guide_commits_a_row_and_its_event() {
    let Some(server) = postgres().or_skip() else { return };
    let Some(python) = karwan_testkit::python().or_skip() else { return };
    let fixture = with_own_table(server).await;
    let ran = Command::new(python)
        .args(["-c", block("python")])
        .env("DATABASE_URL", fixture.database.url_as(&fixture.login))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(only(&fixture).await, ("p-2".into(), "p-2".into()));
}

#[tokio::test]
async fn the_rust_of_the_guide_commits_a_row_and_its_event() -> Result<(), tokio_postgres::Error> {
    let Some(server) = postgres().or_skip() else { return Ok(()) };
    let fixture = with_own_table(server).await;
    let (mut client, connection) = tokio_postgres::connect(&fixture.database.url_as(&fixture.login), NoTls).await?;
    tokio::spawn(connection);
    let tenant = Uuid::from_u128(tenant_bits(1));
    // The guide's block, word for word.
    let tx = client.transaction().await?;
    tx.execute("INSERT INTO parcel (id, place) VALUES ($1, $2)", &[&"p-3", &"Mazar"]).await?;
    let payload = serde_json::json!({ "parcelId": "p-3", "count": 1 }).to_string();
    let row = tx
        .query_one(
            "SELECT event_id, fresh FROM karwan.append($1, $2, $3, $4, $5)",
            &[&tenant, &"shop.delivery.parcel.sent.v1", &"p-3", &"p-3:1", &payload],
        )
        .await?;
    if row.get("fresh") {
        tx.commit().await?
    } else {
        tx.rollback().await?
    }
    // And so it stays.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words(include_str!("guide.rs")).contains(&words(block("rust"))),
        "the guide and this test say different things"
    );
    assert_eq!(only(&fixture).await, ("p-3".into(), "p-3".into()));
    Ok(())
}
