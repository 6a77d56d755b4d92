//! What alerts are raised by: how many letters wait for a person, and what breaks its contract.

use karwan_engine::{Consumer, Received, Verdict};
use karwan_store::operator::{Deed, Target, Who};
use karwan_store::{Error, Operator, Store, TenantTx};

use crate::fixture::Fixture;
use crate::shop::{self, OrderChanged, OrderPlaced};

on_both! {
    letters_that_wait_for_a_person_are_counted_until_somebody_has_acted,
    an_event_that_is_refused_before_it_is_told_is_counted,
}

fed_too! {
    letters_that_wait_for_a_person_are_counted_until_somebody_has_acted,
}

const NAME: &str = "sales-service.secretary";
const PLACED: &str = "shop.sales.order.placed.v1";
const CHANGED: &str = "shop.sales.order.changed.v1";

/// Gives up what was placed; what was changed waits: first for a person, later for its next attempt.
fn hopeless() -> Consumer {
    Consumer::new("sales-service", "secretary")
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Dead("never".to_owned())))
        .on(async |_: TenantTx, got: Received<OrderChanged>| {
            let asks = got.event.order_id == "asks";
            let verdict = if asks { Verdict::Park("ask".to_owned()) } else { Verdict::Retry("soon".to_owned()) };
            Ok::<_, Error>(verdict)
        })
}

/// The samples of a metric, as a scrape finds them.
fn told(store: &Store, metric: &str) -> Vec<String> {
    let name = format!("shop_{metric}{{");
    store.metrics().text().lines().filter(|line| line.starts_with(&name)).map(str::to_owned).collect()
}

fn depth(topic: &str, count: u64) -> String {
    format!("shop_dlq_depth{{service=\"sales-service\",topic=\"{topic}\",subscription=\"{NAME}\"}} {count}")
}

/// of the whole store, also where another process has given them up.
async fn letters_that_wait_for_a_person_are_counted_until_somebody_has_acted(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![hopeless()]);
    fixture.order(1, "asks", 1).await;
    fixture.order(1, "tries", 1).await;
    fixture.settle(&engine).await;
    engine.stop().await;
    assert_eq!(told(&fixture.store, "dlq_depth"), Vec::<String>::new(), "nobody has counted yet");
    // A file is one process's.
    let other = if fixture.database.is_some() { fixture.open(&fixture.address).await } else { fixture.store.clone() };
    other.count_letters().await.expect("they can be counted");
    // The one that is tried again by itself needs nobody.
    assert_eq!(told(&other, "dlq_depth"), [depth(CHANGED, 1), depth(PLACED, 2)]);
    let operator = Operator::new(&fixture.owner, vec![shop::catalogue()]).with_clock(fixture.clock.clone());
    let who = Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() };
    for dead in fixture.dead(NAME).await {
        let target = Target { consumer: NAME.to_owned(), event: dead.event.event };
        operator.act(&who, &target, &Deed::Skip).await.expect("it can be skipped");
    }
    other.count_letters().await.expect("they can be counted");
    assert_eq!(told(&other, "dlq_depth"), [depth(CHANGED, 1)]);
}

/// at produce.
async fn an_event_that_is_refused_before_it_is_told_is_counted(fixture: Fixture) {
    let context = shop::context(1);
    let refused = fixture.store.unit(&context, async |tx: TenantTx| {
        tx.emit(OrderPlaced { items: 0, ..shop::placed("none") });
        Ok::<_, Error>(())
    });
    let refused = refused.await.expect_err("an order has items");
    assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
    let expected = format!(
        "shop_schema_validation_failures_total{{service=\"sales-service\",topic=\"{PLACED}\",subscription=\"\"}} 1"
    );
    assert_eq!(told(&fixture.store, "schema_validation_failures_total"), [expected]);
}
