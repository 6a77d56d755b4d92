//! A unit of work: all of it or nothing, once, in order, for one tenant.

use karwan_envelope::ids::TenantId;
use karwan_store::stored::envelope;
use karwan_store::write_set::UNIT_KEYS_MAX;
use karwan_store::{Error, Facts, Repeated, TenantTx, UnitId};

use crate::fixture::{Fixture, first};
use crate::shop::{self, Counter, Order, OrderPaid, changed, counter, order, placed, sent, tenant_bits};

on_both! {
    data_and_facts_become_visible_together,
    a_refused_decision_leaves_nothing,
    facts_stand_in_the_log_in_the_order_of_their_emission,
    two_tenants_may_use_the_same_ids,
    a_fact_of_a_foreign_service_leaves_no_half_done_work,
    a_fact_that_names_another_tenant_leaves_no_half_done_work,
    an_invalid_payload_leaves_no_half_done_work,
    a_fact_needs_the_document_that_carries_its_key,
    a_unit_is_bounded,
    a_repeated_unit_commits_once,
    a_repeated_creation_is_told_as_repeated,
    a_unit_id_is_a_tenants_own,
    sixty_four_tasks_count_to_sixty_four,
    deadlines_are_set_moved_and_cancelled_with_their_unit,
    effects_are_recorded_once_a_command,
}

async fn data_and_facts_become_visible_together(fixture: Fixture) {
    let done = fixture.place(1, "o-1").await;
    assert_eq!(fixture.order(1, "o-1").await, Some(order("o-1")));
    let log = fixture.log().await;
    assert_eq!(log.len(), 1);
    assert_eq!(done.position.seq, log[0].seq);
    assert_eq!((log[0].tenant, log[0].key.as_str()), (tenant_bits(1), "o-1"));
    let read = envelope(fixture.store.catalogue(), &log[0]).expect("what was stored can be read and is valid");
    assert_eq!(read.id, log[0].event);
    assert_eq!(read.payload.get(), r#"{"orderId":"o-1","items":1}"#);
}

async fn a_refused_decision_leaves_nothing(fixture: Fixture) {
    let refused = fixture.unit(1, async |tx: TenantTx| {
        tx.put(order("o-1"));
        tx.emit(placed("o-1"));
        tx.deadline("ship", "o-1", "2026-11-20T00:00:00Z".parse().expect("an instant"), &1);
        tx.get::<Counter>("none").await.map(drop)
    });
    assert!(matches!(refused.await, Err(Error::NotFound { kind: "counter", .. })));
    assert_eq!(fixture.order(1, "o-1").await, None);
    assert_eq!(fixture.told().await, Vec::<String>::new());
    assert_eq!(fixture.deadlines(), Vec::<String>::new());
}

async fn facts_stand_in_the_log_in_the_order_of_their_emission(fixture: Fixture) {
    // Keys, intents and subjects all sort the other way.
    let emitted = fixture.unit(1, async |tx: TenantTx| {
        for id in ["z", "m", "a"] {
            tx.put(order(id));
        }
        tx.emit(Facts::from(placed("z")).and(changed("z", 9)).and(changed("z", 1)));
        tx.emit(placed("m"));
        tx.emit(placed("a"));
        Ok(())
    });
    emitted.await.expect("the unit commits");
    let expected = ["order.placed z", "order.changed z", "order.changed z", "order.placed m", "order.placed a"];
    assert_eq!(fixture.told().await, expected);
    let revisions: Vec<bool> = fixture.log().await.iter().map(|row| row.envelope.contains(r#""revision":9"#)).collect();
    assert_eq!(revisions, [false, true, false, false, false]);
}

async fn two_tenants_may_use_the_same_ids(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    let other = fixture.unit(2, async |tx: TenantTx| {
        assert_eq!(tx.find::<Order>("o-1").await?, None);
        tx.put(Order { items: 7, ..order("o-1") });
        tx.emit(placed("o-1"));
        Ok(())
    });
    assert_eq!(other.await.expect("another tenant's order is another").repeated, None);
    assert_eq!(fixture.order(1, "o-1").await.map(|it| it.items), Some(1));
    assert_eq!(fixture.order(2, "o-1").await.map(|it| it.items), Some(7));
    let tenants: Vec<u128> = fixture.log().await.iter().map(|row| row.tenant).collect();
    assert_eq!(tenants, [tenant_bits(1), tenant_bits(2)]);
    assert_eq!(fixture.order(3, "o-1").await, None);
}

async fn nothing_is_left(fixture: &Fixture) {
    assert_eq!(fixture.order(1, "o-1").await, None);
    assert_eq!(fixture.told().await, Vec::<String>::new());
}

async fn a_fact_of_a_foreign_service_leaves_no_half_done_work(fixture: Fixture) {
    let refused = fixture.unit(1, async |tx: TenantTx| {
        tx.put(order("o-1"));
        tx.emit(placed("o-1"));
        tx.emit(sent("p-1", 1));
        Ok(())
    });
    assert!(matches!(refused.await, Err(Error::Refused { subject, .. }) if subject == "shop.delivery.parcel.sent.v1"));
    nothing_is_left(&fixture).await;
}

async fn a_fact_that_names_another_tenant_leaves_no_half_done_work(fixture: Fixture) {
    let pay = async |tenant| {
        let paid = OrderPaid { order_id: "o-1".to_owned(), tenant_id: TenantId::from_bits(tenant_bits(tenant)) };
        let unit = fixture.unit(1, async |tx: TenantTx| {
            tx.put(order("o-1"));
            tx.emit(paid.clone());
            Ok(())
        });
        unit.await
    };
    assert!(matches!(pay(2).await, Err(Error::Refused { .. })));
    nothing_is_left(&fixture).await;
    pay(1).await.expect("the own tenant may be named");
}

async fn an_invalid_payload_leaves_no_half_done_work(fixture: Fixture) {
    let refused = fixture.unit(1, async |tx: TenantTx| {
        tx.put(order("o-1"));
        tx.emit(shop::OrderPlaced { items: 0, ..placed("o-1") });
        Ok(())
    });
    assert!(matches!(refused.await, Err(Error::Refused { .. })));
    nothing_is_left(&fixture).await;
}

async fn a_fact_needs_the_document_that_carries_its_key(fixture: Fixture) {
    let refused = fixture.unit(1, async |tx: TenantTx| {
        tx.put(order("o-2"));
        tx.emit(placed("o-1"));
        Ok(())
    });
    assert!(matches!(refused.await, Err(Error::KeyNotHeld { kind: "order", .. })));
    assert_eq!(fixture.told().await, Vec::<String>::new());
}

async fn a_unit_is_bounded(fixture: Fixture) {
    let counters = async |count: usize| {
        let unit = fixture.unit(1, async |tx: TenantTx| {
            for number in 0..count {
                tx.put(counter(&format!("c-{number}"), 1));
            }
            Ok(())
        });
        unit.await
    };
    let refused = counters(UNIT_KEYS_MAX + 1).await;
    assert!(matches!(refused, Err(Error::TooLarge { actual: 1001, max: UNIT_KEYS_MAX, .. })));
    assert_eq!(fixture.counter(1, "c-0").await, None);
    counters(UNIT_KEYS_MAX).await.expect("as many as allowed");
    assert_eq!(fixture.counter(1, "c-999").await, Some(1));
    let large = fixture.unit(1, async |tx: TenantTx| {
        tx.put(Order { note: "x".repeat(1024 * 1024), ..order("o-1") });
        Ok(())
    });
    assert!(matches!(large.await, Err(Error::TooLarge { .. })));
    nothing_is_left(&fixture).await;
}

async fn count_up(tx: TenantTx) -> Result<(), Error> {
    let value = tx.find::<Counter>("c").await?.map_or(0, |counter| counter.value);
    tx.put(counter("c", value + 1));
    Ok(())
}

/// The answer of the first was lost: the caller asks again under the same id.
async fn a_repeated_unit_commits_once(fixture: Fixture) {
    let id = UnitId::named("till-7", "receipt-1");
    let first_time = fixture.store.once(id, &first(), count_up).await.expect("the unit commits");
    assert_eq!(first_time.repeated, None);
    let second = fixture.store.once(id, &first(), count_up).await.expect("a repetition is no failure");
    assert_eq!(second.repeated, Some(Repeated::Unit));
    assert_eq!(fixture.counter(1, "c").await, Some(1));
    let fixture = fixture.reopened().await;
    let third = fixture.store.once(id, &first(), count_up).await.expect("a repetition is no failure");
    assert_eq!(third.repeated, Some(Repeated::Unit));
    fixture.store.once(UnitId::named("till-7", "receipt-2"), &first(), count_up).await.expect("another id is another");
    assert_eq!(fixture.counter(1, "c").await, Some(2));
}

/// Its own first run made the documents that it would find in its way.
async fn a_repeated_creation_is_told_as_repeated(fixture: Fixture) {
    let id = UnitId::named("till-7", "order-1");
    let create = async |tx: TenantTx| {
        tx.put(order("o-1"));
        tx.emit(placed("o-1"));
        Ok::<(), Error>(())
    };
    fixture.store.once(id, &first(), create).await.expect("the unit commits");
    let again = fixture.store.once(id, &first(), create).await.expect("a repetition is no failure");
    assert_eq!(again.repeated, Some(Repeated::Unit));
    assert_eq!(fixture.told().await, ["order.placed o-1"]);
}

async fn a_unit_id_is_a_tenants_own(fixture: Fixture) {
    let id = UnitId::from_bits(7);
    fixture.store.once(id, &first(), count_up).await.expect("the unit commits");
    let other = fixture.store.once(id, &shop::context(2), count_up).await.expect("the unit commits");
    assert_eq!(other.repeated, None);
    assert_eq!(fixture.counter(2, "c").await, Some(1));
}

async fn sixty_four_tasks_count_to_sixty_four(fixture: Fixture) {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let store = fixture.store.clone();
        tasks.spawn(async move { store.unit(&first(), count_up).await });
    }
    while let Some(counted) = tasks.join_next().await {
        counted.expect("no task panics").expect("every task gets its turn");
    }
    assert_eq!(fixture.counter(1, "c").await, Some(64));
}

async fn deadlines_are_set_moved_and_cancelled_with_their_unit(fixture: Fixture) {
    let due = |text: &str| text.parse().expect("an instant");
    let set = fixture.unit(1, async |tx: TenantTx| {
        tx.deadline("ship", "o-1", due("2026-11-20T00:00:00Z"), &"early");
        tx.deadline("ship", "o-2", due("2026-11-20T00:00:00Z"), &2);
        tx.deadline("ship", "o-1", due("2026-11-21T00:00:00Z"), &"late");
        Ok(())
    });
    set.await.expect("the unit commits");
    assert_eq!(fixture.deadlines(), [r#"ship o-1 1795219200000 "late""#, "ship o-2 1795132800000 2"]);
    let moved = fixture.unit(1, async |tx: TenantTx| {
        tx.deadline("ship", "o-1", due("2026-11-20T00:00:00Z"), &"again");
        tx.cancel_deadline("ship", "o-2");
        tx.cancel_deadline("ship", "none");
        Ok(())
    });
    moved.await.expect("the unit commits");
    assert_eq!(fixture.deadlines(), [r#"ship o-1 1795132800000 "again""#]);
}

async fn effects_are_recorded_once_a_command(fixture: Fixture) {
    let charge = async |tx: TenantTx| {
        tx.effect("charge", "card-1", &10);
        tx.effect("charge", "card-1", &20);
        Ok::<(), Error>(())
    };
    let id = UnitId::named("till-7", "charge-1");
    fixture.store.once(id, &first(), charge).await.expect("the unit commits");
    fixture.store.once(id, &first(), charge).await.expect("a repetition is no failure");
    assert_eq!(fixture.effects(), ["charge card-1 10", "charge card-1 20"]);
    // Also when nobody remembers the command any more: the calls' ids do.
    fixture.place(1, "later").await;
    let now = fixture.log().await[0].at;
    fixture.pass(10);
    fixture.store.prune(now + 5).await.expect("it can be pruned");
    let forgotten = fixture.store.once(id, &first(), charge).await.expect("the unit commits");
    assert_eq!(forgotten.repeated, None);
    assert_eq!(fixture.effects(), ["charge card-1 10", "charge card-1 20"]);
}
