//! The gate judges rows as it judges schemas: names, keys and policy are promises too.

use expect_test::{Expect, expect};
use karwan_registry::contract::contract;
use karwan_registry::evolution::gate;
use karwan_registry::files::{self, Topics};
use serde_json::{Value, json};

use crate::shop::catalogue;

/// Changes the row of the placed basket, and expects these findings.
#[track_caller]
fn check(change: impl FnOnce(&mut Value), expected: Expect) {
    let base = files::emit(&catalogue());
    let mut changed = base.clone();
    let mut topics: Value = serde_json::from_slice(&base["shop/topics.json"]).expect("topics are JSON");
    let mut rows = topics["topics"].as_array_mut().expect("a list").iter_mut();
    change(rows.find(|row| row["subject"] == "shop.order.basket.placed.v1").expect("its row"));
    serde_json::from_value::<Topics>(topics.clone()).expect("the change leaves topics");
    changed.insert("shop/topics.json".to_owned(), files::pretty(&topics));
    let (base, new) = (contract(&base).expect("a tree"), contract(&changed).expect("a tree"));
    let mut report = gate(&base.schemas, &new.schemas).expect("schemas");
    report.compare_rows(&base.rows, &new.rows);
    let lines: Vec<String> = report
        .subjects
        .iter()
        .flat_map(|subject| &subject.findings)
        .map(|finding| {
            format!("{:?} {} at {}: {}", finding.severity, finding.rule.id(), finding.pointer, finding.change)
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn an_untouched_row_is_no_finding() {
    check(|_| {}, expect![""]);
    check(|row| row["summary"] = json!("Other words."), expect![""]);
}

#[test]
fn a_published_name_that_is_gone_is_breaking() {
    check(
        |row| row["aliases"] = json!([]),
        expect!["Breaking alias-removed at /aliases: the alias `till.basket.placed.v1` is gone"],
    );
    check(
        |row| row["aliases"] = json!(["shop.cart.placed.v1"]),
        expect![[r#"
        Breaking alias-removed at /aliases: the alias `till.basket.placed.v1` is gone
        Note alias-added at /aliases: the alias `shop.cart.placed.v1` was added"#]],
    );
}

#[test]
fn another_key_or_owner_or_tenancy_is_breaking() {
    check(
        |row| row["key"] = json!("{tenantId}:{other}"),
        expect!["Breaking ordering-key-changed at /key: `{tenantId}:{orderId}` → `{tenantId}:{other}`"],
    );
    check(
        |row| row["idempotencyKey"] = json!("{other}"),
        expect!["Breaking idempotency-key-changed at /idempotencyKey: `{orderId}:placed:{rev}` → `{other}`"],
    );
    check(
        |row| row["owner"] = json!("till-service"),
        expect!["Breaking owner-changed at /owner: `order-service` → `till-service`"],
    );
    check(|row| row["tenancy"] = json!("platform"), expect!["Breaking tenancy-changed at /tenancy: Tenant → Platform"]);
}

#[test]
fn keeping_or_proving_less_needs_an_audit() {
    check(|row| row["retention"]["warehouseDays"] = json!(9999), expect![""]);
    check(
        |row| row["retention"]["brokerDays"] = json!(0),
        expect!["Audit retention-shortened at /retention: `kept` (365 days) → `kept` (365 days)"],
    );
    check(
        |row| row["merkle"] = json!(false),
        expect!["Audit merkle-dropped at /merkle: no longer anchored in the Merkle tree"],
    );
}
