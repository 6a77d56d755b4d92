//! A store of the schema before operators is brought to theirs, and keeps what it has.

use karwan_store::Address;
use karwan_store::migrate::SCHEMA;
use karwan_store::operator::State;

use super::{RETRY, ann, bury, hold, letters, order_rows, target};
use crate::fixture::Fixture;

on_both! {
    a_store_of_the_first_schema_gets_those_after_it_once_and_keeps_its_letters,
}

/// What the schemas after the first added, taken away again: read from what adds it.
fn to_the_first(fixture: &Fixture) -> String {
    let added = match fixture.address {
        Address::Sqlite(_) => concat!(
            include_str!("../../../../src/sqlite/schema_2.sql"),
            include_str!("../../../../src/sqlite/schema_6.sql")
        ),
        Address::Postgres(_) => concat!(
            include_str!("../../../../src/postgres/schema/tables_2.sql"),
            include_str!("../../../../src/postgres/schema/tables_6.sql")
        ),
    };
    let mut statements = vec!["UPDATE karwan.meta SET schema = 1, admits_from = 1".to_owned()];
    if let Address::Postgres(_) = fixture.address {
        // Every migration makes it anew.
        statements.push("DROP VIEW karwan.handled, karwan.outbox".to_owned());
    }
    for line in added.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["CREATE", "TABLE", table, ..] => statements.push(format!("DROP TABLE {table}")),
            ["ALTER", "TABLE", table, "ADD", "COLUMN", column, ..] => {
                statements.push(format!("ALTER TABLE {table} DROP COLUMN {column}"));
            }
            // One over a table that was there before goes first, or a column of it could not.
            ["CREATE", "INDEX", index, "ON", table, ..] if table.ends_with("dead") || table.ends_with("effect") => {
                statements.insert(0, format!("DROP INDEX karwan.{index}"));
            }
            _ => {}
        }
    }
    assert!(statements.len() > 10, "{statements:?}");
    statements.join("; ")
}

async fn a_store_of_the_first_schema_gets_those_after_it_once_and_keeps_its_letters(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 0).await;
    let held = hold(&fixture).await;
    bury(&fixture, &held, &rows[0]).await;
    fixture.spoil(&to_the_first(&fixture));
    let (fixture, migrated) = fixture.migrated(2).await;
    let now = [format!("schema {SCHEMA}")];
    assert_eq!((migrated[0].from, migrated[0].to, &*migrated[0].steps), (Some(1), SCHEMA, &now[..]));
    assert_eq!((migrated[1].from, migrated[1].to, migrated[1].steps.len()), (Some(SCHEMA), SCHEMA, 0), "twice is once");
    assert_eq!(letters(&fixture).await[0].state, State::Dead);
    assert_eq!(fixture.store.dead_unfed(0, 10).await.expect("they can be asked for").len(), 1);
    fixture.operator().act(&ann(), &target(&rows[0]), &RETRY).await.expect("nothing of its key ran");
    assert_eq!(letters(&fixture).await[0].state, State::Parked);
}
