//! Queries against a model: stored documents, a unit's own writes over them, page by page.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use karwan_envelope::time::Timestamp;
use karwan_store::kind::{Document as _, FieldValue};
use karwan_store::query::Cursor;
use karwan_store::{Error, OpenUnit, Query, TenantTx};
use proptest::collection::{btree_map, vec};
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::fixture::{Fixture, first};
use crate::shop::{self, Order, order};

on_both! {
    pages_over_own_writes_are_what_the_model_answers,
    fields_of_every_type_are_found_and_ordered,
    texts_are_ordered_by_their_bytes,
    a_query_finds_no_other_tenants_documents,
    a_query_over_what_is_not_declared_is_refused,
}

/// One change that a unit makes on top of what is stored.
#[derive(Debug, Clone)]
enum Own {
    Put(Order),
    Delete(String),
}

#[derive(Debug, Clone)]
struct Ask {
    status: Option<&'static str>,
    order: Option<&'static str>,
    from: Option<i64>,
    until: Option<i64>,
    limit: usize,
}

#[derive(Debug, Clone)]
struct Case {
    stored: BTreeMap<String, Order>,
    own: Vec<Own>,
    asks: Vec<Ask>,
}

fn ids() -> impl Strategy<Value = String> {
    (0..12_u8).prop_map(|number| format!("o-{number}"))
}

/// Few values, so that many documents share them.
fn orders() -> impl Strategy<Value = Order> {
    let status = select(vec!["open", "paid", "sent"]);
    (status, 0..4_i64, proptest::option::of(0..4_i64), proptest::option::of(any::<bool>()))
        .prop_map(|(status, items, due, express)| Order { status: status.to_owned(), items, due, express, ..order("") })
}

fn with_id((id, order): (String, Order)) -> Order {
    Order { id, ..order }
}

fn asks() -> impl Strategy<Value = Ask> {
    let status = proptest::option::of(select(vec!["open", "paid", "none"]));
    let field = proptest::option::of(select(vec!["items", "due", "status", "express"]));
    let bound = || proptest::option::weighted(0.3, 0..4_i64);
    (status, field, bound(), bound(), 1..5_usize).prop_map(|(status, order, from, until, limit)| Ask {
        status,
        order,
        from,
        until,
        limit,
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let own = prop_oneof![(ids(), orders()).prop_map(|it| Own::Put(with_id(it))), ids().prop_map(Own::Delete)];
    let stored = btree_map(ids(), orders(), 0..12)
        .prop_map(|stored| stored.into_iter().map(|(id, order)| (id.clone(), with_id((id, order)))).collect());
    (stored, vec(own, 0..8), vec(asks(), 1..4)).prop_map(|(stored, own, asks)| Case { stored, own, asks })
}

/// A bound for whichever field orders; none where it has no such type.
fn bound(field: &str, bound: Option<i64>) -> Option<FieldValue> {
    match field {
        "items" => bound.map(FieldValue::Integer),
        "due" => bound.map(FieldValue::Time),
        _ => None,
    }
}

impl Ask {
    fn query(&self, after: Option<Cursor>) -> Query<Order> {
        let mut query = Query::new().limit(self.limit);
        if let Some(status) = self.status {
            query = query.equal("status", status);
        }
        if let Some(field) = self.order {
            query = query.ordered_by(field);
            if let Some(from) = bound(field, self.from) {
                query = query.at_least(field, from);
            }
            if let Some(until) = bound(field, self.until) {
                query = query.less_than(field, until);
            }
        }
        match after {
            Some(after) => query.after(after),
            None => query,
        }
    }

    /// The whole answer, by the plainest code that can give it.
    fn model(&self, documents: &BTreeMap<String, Order>) -> Vec<Order> {
        let value = |order: &Order| {
            let place = self.order.map(|name| Order::KIND.fields.iter().position(|field| field.name == name));
            place.map(|place| order.fields()[place.expect("it is declared")].clone())
        };
        let mut found: Vec<Order> = documents
            .values()
            .filter(|order| self.status.is_none_or(|status| order.status == status))
            .filter(|order| value(order) != Some(FieldValue::Absent))
            .filter(|order| {
                let within = |field| {
                    let from = bound(field, self.from).is_none_or(|from| value(order) >= Some(from));
                    from && bound(field, self.until).is_none_or(|until| value(order) < Some(until))
                };
                self.order.is_none_or(within)
            })
            .cloned()
            .collect();
        found.sort_by_key(|order| (value(order), order.id.clone()));
        found
    }
}

async fn store(fixture: &Fixture, tenant: u64, case: &Case) {
    let put = fixture.unit(tenant, async |tx: TenantTx| {
        case.stored.values().for_each(|order| tx.put(order.clone()));
        Ok(())
    });
    put.await.expect("documents can be stored");
}

async fn change(unit: &OpenUnit, own: &Own, documents: &mut BTreeMap<String, Order>) -> Result<(), Error> {
    match own {
        Own::Put(order) => {
            unit.find::<Order>(&order.id).await?;
            unit.put(order.clone());
            documents.insert(order.id.clone(), order.clone());
        }
        Own::Delete(id) => {
            unit.find::<Order>(id).await?;
            unit.delete::<Order>(id);
            documents.remove(id);
        }
    }
    Ok(())
}

/// All pages; each at most as long as asked for, and the last one without a cursor.
async fn pages(unit: &OpenUnit, ask: &Ask) -> Result<Vec<Order>, TestCaseError> {
    let mut found = Vec::new();
    let mut after = None;
    for _ in 0..100 {
        let page = unit.query(ask.query(after)).await.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        proptest::prop_assert!(page.items.len() <= ask.limit);
        found.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
    Err(TestCaseError::fail("the pages do not end"))
}

async fn judge(fixture: &Fixture, case: &Case) -> Result<(), TestCaseError> {
    // A tenant of its own is an empty store.
    static TENANTS: AtomicU64 = AtomicU64::new(1_000);
    let tenant = TENANTS.fetch_add(1, Ordering::Relaxed);
    store(fixture, tenant, case).await;
    let unit = fixture.store.tenant(&shop::context(tenant));
    let mut documents = case.stored.clone();
    for (place, ask) in case.asks.iter().enumerate() {
        // Questions before, between and after the own writes.
        let share = case.own.len() * place / case.asks.len()..case.own.len() * (place + 1) / case.asks.len();
        proptest::prop_assert_eq!(pages(&unit, ask).await?, ask.model(&documents));
        for own in &case.own[share] {
            change(&unit, own, &mut documents).await.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        }
        proptest::prop_assert_eq!(pages(&unit, ask).await?, ask.model(&documents));
    }
    unit.commit().await.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
    let reader = fixture.store.tenant(&shop::context(tenant));
    for ask in &case.asks {
        proptest::prop_assert_eq!(pages(&reader, ask).await?, ask.model(&documents));
    }
    Ok(())
}

async fn pages_over_own_writes_are_what_the_model_answers(fixture: Fixture) {
    let runtime = tokio::runtime::Handle::current();
    let mut runner = TestRunner::new(Config::default());
    tokio::task::block_in_place(|| {
        let judged = runner.run(&cases(), |case| runtime.block_on(judge(&fixture, &case)));
        judged.unwrap_or_else(|failure| panic!("{failure}"));
    });
}

async fn fields_of_every_type_are_found_and_ordered(fixture: Fixture) {
    let due = |ms| Some(Timestamp::from_unix_ms(ms).unix_ms());
    let orders = [
        Order { items: -5, due: due(-1), express: Some(true), customer: Some("ff".to_owned()), ..order("a") },
        Order { items: i64::MAX, due: due(5), express: Some(false), customer: None, ..order("b") },
        Order { items: i64::MIN, due: None, express: None, customer: Some("1".repeat(32)), ..order("c") },
    ];
    let put = fixture.unit(1, async |tx: TenantTx| {
        orders.iter().for_each(|order| tx.put(order.clone()));
        Ok(())
    });
    put.await.expect("documents can be stored");
    let found = async |query: Query<Order>| {
        let page = fixture.store.tenant(&first()).query(query).await.expect("it can be asked");
        page.items.iter().map(|order| order.id.clone()).collect::<String>()
    };
    assert_eq!(found(Query::new().ordered_by("items")).await, "cab");
    assert_eq!(found(Query::new().at_least("items", -5)).await, "ab");
    assert_eq!(found(Query::new().less_than("items", -5)).await, "c");
    assert_eq!(found(Query::new().ordered_by("due")).await, "ab");
    assert_eq!(found(Query::new().equal("due", Timestamp::from_unix_ms(-1))).await, "a");
    assert_eq!(found(Query::new().ordered_by("express")).await, "ba");
    assert_eq!(found(Query::new().equal("express", true)).await, "a");
    assert_eq!(found(Query::new().ordered_by("customer")).await, "ac");
    assert_eq!(found(Query::new().equal("customer", FieldValue::Id(0xff))).await, "a");
    assert_eq!(found(Query::new().equal("due", FieldValue::Absent)).await, "");
    assert_eq!(found(Query::new().equal("status", "open").equal("express", false)).await, "b");
}

async fn texts_are_ordered_by_their_bytes(fixture: Fixture) {
    let texts = ["B", "a", "Z", "é", "z", "", "ä", "aa", "🦉", "\u{ffff}"];
    let put = fixture.unit(1, async |tx: TenantTx| {
        for (number, text) in texts.iter().enumerate() {
            tx.put(Order { status: (*text).to_owned(), ..order(&format!("{text}-{number}")) });
        }
        Ok(())
    });
    put.await.expect("documents can be stored");
    let mut sorted = texts.to_vec();
    sorted.sort_unstable();
    let unit = fixture.store.tenant(&first());
    let page = unit.query::<Order>(Query::new().ordered_by("status")).await.expect("it can be asked");
    assert_eq!(page.items.iter().map(|order| order.status.as_str()).collect::<Vec<_>>(), sorted);
    let mut ids: Vec<String> = page.items.iter().map(|order| order.id.clone()).collect();
    ids.sort_unstable();
    let page = fixture.store.tenant(&first()).query::<Order>(Query::new()).await.expect("it can be asked");
    assert_eq!(page.items.iter().map(|order| order.id.clone()).collect::<Vec<_>>(), ids);
}

async fn a_query_finds_no_other_tenants_documents(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    fixture.place(2, "o-2").await;
    let unit = fixture.store.tenant(&first());
    for query in [Query::<Order>::new(), Query::new().equal("status", "open"), Query::new().ordered_by("items")] {
        let page = unit.query(query).await.expect("it can be asked");
        assert_eq!(page.items.iter().map(|order| order.id.as_str()).collect::<Vec<_>>(), ["o-1"]);
    }
}

async fn a_query_over_what_is_not_declared_is_refused(fixture: Fixture) {
    let unit = fixture.store.tenant(&first());
    let wrong = [
        Query::<Order>::new().equal("colour", "red"),
        Query::new().equal("items", "many"),
        Query::new().at_least("items", FieldValue::Absent),
        Query::new().less_than("due", FieldValue::Absent),
        Query::new().after(Cursor { value: Some(FieldValue::Integer(1)), id: "o-1".to_owned() }),
    ];
    for query in wrong {
        let refused = unit.query(query.clone()).await;
        assert!(matches!(refused, Err(Error::Query { kind: "order", .. })), "{query:?}");
    }
}
