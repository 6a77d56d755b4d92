//! Tables of one's own: `cargo run -p karwan --example own-tables -- postgres://postgres@localhost/scratch`.
#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::sync::Arc;

use karwan::store::tokio_postgres::{self, Client, NoTls};
use karwan::{
    Address, Catalogue, Consumer, Engine, Error, Event, Options, Platform, Received, Residency, Service, Store,
    TenantTx, Verdict, engine, events, migrate,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Something was sold.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "bazaar.till.item.sold.v1",
    owner = "till-service",
    retention = "year",
    key = "{item}",
    idempotency = "{sale_id}"
)]
struct ItemSold {
    /// Which sale.
    sale_id: String,
    /// What.
    item: String,
    /// How many.
    amount: i32,
}

static BAZAAR: Platform =
    Platform::plain("bazaar", &[Service { name: "till-service", token: "till" }], || events![ItemSold].into());

/// Tables that Karwan knows nothing of.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS sale (id text PRIMARY KEY, item text NOT NULL, amount integer NOT NULL);
    CREATE TABLE IF NOT EXISTS stock (item text PRIMARY KEY, pieces integer NOT NULL CHECK (pieces >= 0));
    INSERT INTO stock VALUES ('rug', 10) ON CONFLICT DO NOTHING;
    DO $$ BEGIN CREATE ROLE bazaar LOGIN PASSWORD 'bazaar'; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
    GRANT SELECT, INSERT, UPDATE ON sale, stock TO bazaar";

const TENANT: &str = "0190c2f0-0000-7000-8000-000000000001";

/// From plain SQL, in whatever language and by whatever client: a row and its event, or neither.
const SALE_IN_SQL: &str = r#"
    BEGIN;
    INSERT INTO sale VALUES ('s-1', 'rug', 2) ON CONFLICT DO NOTHING;
    SELECT karwan.append('0190c2f0-0000-7000-8000-000000000001', 'bazaar.till.item.sold.v1', 'rug', 's-1',
                         '{"saleId": "s-1", "item": "rug", "amount": 2}');
    COMMIT"#;

/// The same from a transaction in Rust. Whoever tells the same sale twice writes nothing.
async fn sell(client: &mut Client, sold: &ItemSold) -> Outcome<()> {
    let tx = client.transaction().await?;
    let sale = "INSERT INTO sale VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    tx.execute(sale, &[&sold.sale_id, &sold.item, &sold.amount]).await?;
    let append = "SELECT fresh FROM karwan.append($1::text::uuid, $2, $3, $4, $5)";
    let payload = serde_json::to_string(sold)?;
    let row = tx.query_one(append, &[&TENANT, &ItemSold::SUBJECT, &sold.item, &sold.sale_id, &payload]).await?;
    if row.get("fresh") {
        tx.commit().await?
    } else {
        tx.rollback().await?
    }
    Ok(())
}

/// Runs in the transaction that claims the event: the stock goes down once, however often the event is delivered.
async fn take_from_stock(tx: TenantTx, sold: Received<ItemSold>) -> Result<Verdict, Error> {
    let ItemSold { item, amount, .. } = &sold.event;
    let own = tx.postgres().await?;
    own.execute("UPDATE stock SET pieces = pieces - $2 WHERE item = $1", &[item, amount]).await?;
    Ok(Verdict::Done)
}

/// Sells three rugs in two ways, and looks what is left.
pub async fn run(url: &str) -> Outcome<i32> {
    // As the owner of the database: its schema, the tables, a login for the program, and what it may do.
    let (owner, catalogue): (Address, _) = (url.parse()?, Arc::new(Catalogue::of(&BAZAAR)?));
    migrate(&owner, &[&catalogue], &[], &|_, _, _| {}).await?;
    connect(url).await?.batch_execute(TABLES).await?;
    migrate::grant(&owner, "bazaar", &migrate::Purpose::Node).await?;
    migrate::grant(&owner, "bazaar", &migrate::Purpose::Appending("till-service".to_owned())).await?;

    // As the program.
    let place = url.rsplit_once('@').or_else(|| url.split_once("//")).ok_or("this is no URL")?.1;
    let url = format!("postgres://bazaar:bazaar@{place}");
    let store = Store::open(&url.parse()?, Options::new(catalogue, vec![])).await?;
    let consumer = Consumer::new("till-service", "stock").on(take_from_stock);
    let engine = Engine::start(&store, vec![consumer], engine::Options::new("node-1", Residency::Eu));
    let mut client = connect(&url).await?;
    client.batch_execute(SALE_IN_SQL).await?;
    for _ in 0..2 {
        sell(&mut client, &ItemSold { sale_id: "s-2".into(), item: "rug".into(), amount: 1 }).await?;
    }
    engine.settle().await?;
    let left = client.query_one("SELECT pieces FROM stock WHERE item = 'rug'", &[]).await?.get(0);
    println!("of ten rugs {left} are left");
    engine.stop().await;
    Ok(left)
}

async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let Some(url) = std::env::args().nth(1).or_else(|| std::env::var("KARWAN_STORE").ok()) else {
        println!(
            "It needs a Postgres database in which it may make tables and a login: name one as its argument, or in KARWAN_STORE,\n\
             such as postgres://postgres@localhost/scratch"
        );
        return Ok(());
    };
    run(&url).await.map(drop)
}
