use serde_json::json;

use super::place::{Place, SUBJECT, TENANT, file};
use crate::karwan::karwan;

#[test]
fn rows_are_counted_by_subject() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["pay_1", "pay_2", "pay_3"]);
    let stats = karwan(&["log", "stats", "--store", &place.url(), "--format", "json"]).exits(0).json();
    assert_eq!(stats["end"], "1-3");
    assert_eq!(stats["safe"], 3);
    assert_eq!(stats["subjects"], json!([{ "subject": SUBJECT, "rows": 3 }]));
    assert_eq!(stats["holders"], json!([]));
    assert!(stats.get("sizes").is_none());
    // An operator may be a superuser: it only looks.
    karwan(&["log", "stats", "--store", &place.database.url()]).exits(0).prints(SUBJECT).prints("end    1-3");
}

#[test]
fn sizes_are_told_table_by_table() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["pay_1"]);
    let stats = karwan(&["log", "stats", "--store", &place.url(), "--sizes", "--format", "json"]).exits(0).json();
    let tables: Vec<&str> =
        stats["sizes"].as_array().expect("a list").iter().filter_map(|it| it["table"].as_str()).collect();
    for table in ["log", "intent", "unit", "inbox", "subject"] {
        assert!(tables.contains(&table), "{tables:?}");
    }
    assert_eq!(tables.iter().filter(|table| table.starts_with("log_")).count(), 0, "stretches are one table");
    karwan(&["log", "stats", "--store", &place.url(), "--sizes"]).exits(0).prints("BYTES").prints("intent");
}

#[test]
fn an_empty_file_has_no_rows() {
    let (_folder, address) = file();
    let stats = karwan(&["log", "stats", "--store", &address, "--sizes", "--format", "json"]).exits(0).json();
    assert!(stats["end"].as_str().is_some_and(|end| end.ends_with("-0")), "{stats}");
    assert_eq!(stats["subjects"], json!([]));
    assert!(stats["sizes"].as_array().is_some_and(|tables| tables.iter().any(|table| table["table"] == "log")));
}
