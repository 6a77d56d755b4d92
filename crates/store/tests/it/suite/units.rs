//! A unit of work: all of it or nothing, once, in order, for one tenant.

use std::sync::atomic::{AtomicU32, Ordering};

use karwan_envelope::cause::Tenant;
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::TenantId;
use karwan_store::stored::envelope;
use karwan_store::write_set::UNIT_KEYS_MAX;
use karwan_store::{Error, Facts, PlatformTx, Repeated, TenantTx, UnitId};

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
    a_pipelined_duplicate_commits_once,
    a_repeated_command_that_is_refused_now_says_that_it_was_committed,
    a_unit_that_only_reads_leaves_nothing_behind,
    a_unit_that_only_reads_is_re_run_until_what_it_read_belongs_together,
    the_platform_has_a_door_of_its_own,
    a_name_with_a_nul_is_refused_by_its_name,
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

async fn a_repeated_command_that_is_refused_now_says_that_it_was_committed(fixture: Fixture) {
    let id = UnitId::named("api", "place o-1");
    let context = first();
    let place = async || {
        let unit = fixture.store.once(id, &context, async |tx: TenantTx| {
            if tx.find::<Order>("o-1").await?.is_some() {
                return Err(Error::Exists { kind: "order".to_owned(), id: "o-1".to_owned() });
            }
            tx.put(order("o-1"));
            tx.emit(placed("o-1"));
            Ok(())
        });
        unit.await
    };
    place().await.expect("it is new");
    let again = place().await;
    assert!(matches!(again, Err(Error::Repeated)), "{again:?}");
    // The same refusal of a command that was never committed is a refusal.
    let other = UnitId::named("api", "place o-1 again");
    let refused = fixture.store.once(other, &context, async |tx: TenantTx| {
        tx.get::<Order>("none").await?;
        Ok::<_, Error>(())
    });
    assert!(matches!(refused.await, Err(Error::NotFound { .. })));
}

async fn a_unit_that_only_reads_leaves_nothing_behind(fixture: Fixture) {
    let end = fixture.place(1, "o-1").await.position;
    let rows = fixture.rows_of(&["order", "unit"]);
    let read = fixture.unit(1, async |tx: TenantTx| {
        tx.find::<Order>("o-1").await?;
        tx.find::<Order>("none").await?;
        Ok(())
    });
    assert_eq!(read.await.expect("it can be read").position, end);
    let nothing = fixture.unit(1, async |_| Ok(()));
    assert_eq!(nothing.await.expect("nothing can be done").position, end);
    assert_eq!(fixture.rows_of(&["order", "unit"]), rows);
}

/// It reads one document, another unit writes both, and it reads the other: the two do not belong together.
async fn a_unit_that_only_reads_is_re_run_until_what_it_read_belongs_together(fixture: Fixture) {
    let write = async |value| {
        let unit = fixture.unit(1, async |tx: TenantTx| {
            for id in ["a", "b"] {
                tx.find::<Counter>(id).await?;
                tx.put(counter(id, value));
            }
            Ok(())
        });
        unit.await.expect("it commits")
    };
    write(1).await;
    let runs = AtomicU32::new(0);
    let context = first();
    let read = fixture.store.unit(&context, async |tx: TenantTx| {
        let a: Counter = tx.get("a").await?;
        if runs.fetch_add(1, Ordering::Relaxed) == 0 {
            write(2).await;
        }
        let b: Counter = tx.get("b").await?;
        Ok::<_, Error>((a.value, b.value))
    });
    assert_eq!(read.await.expect("it can be read").answer, (2, 2));
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

async fn the_platform_has_a_door_of_its_own(fixture: Fixture) {
    let platform = Context { tenant: Tenant::Platform, ..first() };
    let kept = fixture.store.platform(&platform, async |tx: PlatformTx| {
        tx.put(counter("tenants", 2));
        Ok::<_, Error>(())
    });
    kept.await.expect("the platform may keep documents");
    assert_eq!(fixture.counter(1, "tenants").await, None, "a tenant does not see them");
    let wrong = fixture.store.unit(&platform, async |_: TenantTx| Ok::<_, Error>(()));
    assert!(matches!(wrong.await, Err(Error::PlatformDoor)));
    let open = fixture.store.tenant(&platform);
    open.put(counter("tenants", 3));
    assert!(matches!(open.commit().await, Err(Error::PlatformDoor)));
    let context = first();
    let wrong = fixture.store.platform(&context, async |_: PlatformTx| Ok::<_, Error>(()));
    assert!(matches!(wrong.await, Err(Error::PlatformDoor)));
    let read = fixture
        .store
        .platform(&platform, async |tx: PlatformTx| Ok::<_, Error>(tx.get::<Counter>("tenants").await?.value));
    assert_eq!(read.await.expect("it is there").answer, 2);
}

async fn a_name_with_a_nul_is_refused_by_its_name(fixture: Fixture) {
    let name = "o\0";
    let named = |outcome: Result<_, Error>| matches!(outcome, Err(Error::Nul { .. }));
    assert!(named(fixture.unit(1, async |tx: TenantTx| tx.find::<Order>(name).await.map(drop)).await.map(drop)));
    let writes: [fn(&TenantTx, &str); 4] = [
        |tx, name| tx.put(counter(name, 1)),
        |tx, name| tx.effect("charge", name, &1),
        |tx, name| tx.deadline(name, "o", crate::fixture::later(), &1),
        |tx, name| tx.put(Order { status: name.to_owned(), ..order("o-1") }),
    ];
    for write in writes {
        let unit = fixture.unit(1, async |tx: TenantTx| {
            write(&tx, name);
            Ok(())
        });
        assert!(named(unit.await.map(drop)));
    }
    nothing_is_left(&fixture).await;
}

/// Both are under way before either is answered.
async fn a_pipelined_duplicate_commits_once(fixture: Fixture) {
    for number in 0..20 {
        let key = format!("o-{number}");
        let id = UnitId::named("api", &key);
        let context = first();
        let place = || {
            fixture.store.once(id, &context, async |tx: TenantTx| {
                tx.put(order(&key));
                tx.put(counter(&key, 1));
                tx.emit(placed(&key));
                tx.effect("charge", &key, &1);
                Ok::<_, Error>(())
            })
        };
        let (one, two, three) = tokio::join!(place(), place(), place());
        let repeated = [one, two, three].map(|done| done.expect("a duplicate is no failure").repeated.is_some());
        assert_eq!(repeated.iter().filter(|repeated| !**repeated).count(), 1, "{repeated:?}");
    }
    assert_eq!(fixture.log().await.len(), 20);
    assert_eq!(fixture.effects().len(), 20);
}
