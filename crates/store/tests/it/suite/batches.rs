//! A consumer's batch: several units, several tenants, one commit.

use karwan_store::Error;
use karwan_store::consumer::Lane;
use karwan_store::log::LogRow;
use karwan_store::write_set::LaneHold;

use crate::fixture::Fixture;
use crate::shop::{Counter, Order, changed, context, counter, order, placed};

on_both! {
    a_batch_writes_a_document_once_as_its_last_unit_left_it,
    a_batch_of_several_tenants_commits_whole_and_keeps_them_apart,
    one_broken_rule_refuses_the_whole_batch,
    a_unit_of_a_batch_cannot_put_as_new_what_another_created,
    two_puts_under_one_guard_in_a_batch_are_one_write,
    the_effects_of_an_event_have_the_same_ids_whenever_it_is_handled,
    two_batches_over_one_document_do_not_both_commit,
    facts_of_a_batch_keep_the_order_of_its_units,
    of_two_settings_of_a_deadline_in_a_batch_the_later_counts,
    a_batch_past_its_bound_is_refused_whole,
}

const LANE: u16 = 3;

async fn hold(fixture: &Fixture) -> LaneHold {
    let lane = Lane { consumer: "mailer".to_owned(), number: LANE, of: LANE + 1 };
    let taken = fixture.store.take_lane(&lane, "n-1", 60_000).await.expect("it can be asked for").expect("it is free");
    LaneHold { consumer: lane.consumer, lane: LANE, epoch: taken.epoch }
}

/// Orders of the n-th tenant, one a row.
async fn events(fixture: &Fixture, tenants: &[u64]) -> Vec<LogRow> {
    for (number, tenant) in tenants.iter().enumerate() {
        fixture.place(*tenant, &format!("o-{number}")).await;
    }
    fixture.log().await
}

async fn a_batch_writes_a_document_once_as_its_last_unit_left_it(fixture: Fixture) {
    let rows = events(&fixture, &[1, 1, 1]).await;
    let hold = hold(&fixture).await;
    let mut batch = fixture.store.batch(&hold);
    for row in &rows {
        let tx = batch.handle(&context(1), row.claim());
        let sum: Option<Counter> = tx.find("sum").await.expect("it can be read");
        tx.put(counter("sum", sum.map_or(0, |sum| sum.value) + 1));
    }
    batch.commit().await.expect("the batch commits");
    assert_eq!(fixture.counter(1, "sum").await, Some(3));
    assert_eq!(fixture.version("counter", "sum"), "1", "one version for the three of them");
    let handled = fixture.store.handled("mailer", &rows.iter().map(|row| row.claim()).collect::<Vec<_>>()).await;
    assert_eq!(handled.expect("it can be asked").len(), 3);
}

async fn a_batch_of_several_tenants_commits_whole_and_keeps_them_apart(fixture: Fixture) {
    let rows = events(&fixture, &[2, 1, 2, 3]).await;
    let hold = hold(&fixture).await;
    let mut batch = fixture.store.batch(&hold);
    for (row, tenant) in rows.iter().zip([2, 1, 2, 3]) {
        let tx = batch.handle(&context(tenant), row.claim());
        assert_eq!(batch.len(), usize::try_from(row.seq - rows[0].seq).expect("small") + 1);
        let seen: Option<Counter> = tx.find("seen").await.expect("it can be read");
        tx.put(counter("seen", seen.map_or(0, |it| it.value) + 1));
        let order: Order = tx.get(&row.key).await.expect("a tenant's own order is seen");
        tx.put(Order { items: order.items + 1, ..order });
        tx.emit(changed(&row.key, 1));
    }
    batch.commit().await.expect("the batch commits");
    let mut seen = Vec::new();
    for tenant in 1..=4 {
        seen.push(fixture.counter(tenant, "seen").await);
    }
    assert_eq!(seen, [Some(1), Some(2), Some(1), None]);
    let tenants: Vec<u128> = fixture.log().await[4..].iter().map(|row| row.tenant).collect();
    assert_eq!(tenants, rows.iter().map(|row| row.tenant).collect::<Vec<_>>());
}

async fn one_broken_rule_refuses_the_whole_batch(fixture: Fixture) {
    let rows = events(&fixture, &[1, 2]).await;
    let hold = hold(&fixture).await;
    let mut batch = fixture.store.batch(&hold);
    batch.handle(&context(1), rows[0].claim()).put(counter("fine", 1));
    let tx = batch.handle(&context(2), rows[1].claim());
    tx.put(order("o-1"));
    tx.emit(placed("o-1"));
    let refused = batch.commit().await;
    assert!(matches!(refused, Err(Error::Exists { .. })), "{refused:?}");
    assert_eq!(fixture.counter(1, "fine").await, None);
    let handled = fixture.store.handled("mailer", &[rows[0].claim(), rows[1].claim()]).await;
    assert_eq!(handled.expect("it can be asked"), []);
}

/// Done singly, the second put would find the first one's document.
async fn a_unit_of_a_batch_cannot_put_as_new_what_another_created(fixture: Fixture) {
    let rows = events(&fixture, &[1, 1]).await;
    let hold = hold(&fixture).await;
    let mut batch = fixture.store.batch(&hold);
    for row in &rows {
        batch.handle(&context(1), row.claim()).put(counter("mail", row.seq));
    }
    let refused = batch.commit().await;
    assert!(matches!(&refused, Err(Error::Exists { id, .. }) if id == "mail"), "{refused:?}");
    assert_eq!(fixture.counter(1, "mail").await, None);
}

async fn two_puts_under_one_guard_in_a_batch_are_one_write(fixture: Fixture) {
    let rows = events(&fixture, &[1, 1]).await;
    let hold = hold(&fixture).await;
    let guard = karwan_store::Guard::of("open counters");
    let mut batch = fixture.store.batch(&hold);
    let mut found = Vec::new();
    for row in &rows {
        let tx = batch.handle(&context(1), row.claim());
        let page = tx.query_under::<Counter>(&guard, karwan_store::Query::new()).await.expect("it can be asked");
        found.push(page.items.len());
        tx.put(counter(&row.key, 1));
    }
    // A unit outside of the batch takes the guard meanwhile.
    let other = fixture.store.tenant(&context(1));
    other.touch(&guard).await.expect("the guard can be read");
    other.commit().await.expect("it is the first");
    let refused = batch.commit().await;
    assert!(matches!(&refused, Err(Error::Conflict { what, .. }) if what.contains("open counters")), "{refused:?}");
    assert_eq!(found, [0, 1], "the second unit sees what the first one put");
    let mut again = fixture.store.batch(&hold);
    for row in &rows {
        let tx = again.handle(&context(1), row.claim());
        tx.query_under::<Counter>(&guard, karwan_store::Query::new()).await.expect("it can be asked");
        tx.put(counter(&row.key, 1));
    }
    again.commit().await.expect("nobody else writes the guard");
}

async fn the_effects_of_an_event_have_the_same_ids_whenever_it_is_handled(fixture: Fixture) {
    let rows = events(&fixture, &[1]).await;
    let hold = hold(&fixture).await;
    let first = fixture.store.batch(&hold);
    let call = async |mut batch: karwan_store::Batch, clash: bool| {
        let tx = batch.handle(&context(1), rows[0].claim());
        tx.effect("mail", &rows[0].key, &"hello");
        if clash {
            tx.put(order("o-0"));
        }
        batch.commit().await
    };
    assert!(call(first, true).await.is_err());
    call(fixture.store.batch(&hold), false).await.expect("the batch commits");
    let ids = async || {
        let found = fixture.store.due_effects("mail", karwan_store::consumer::Share::ALL, crate::fixture::later(), 10);
        found.await.expect("they can be asked for").iter().map(|effect| effect.of.id).collect::<Vec<_>>()
    };
    let before = ids().await;
    assert_eq!(before.len(), 1);
    // Forgotten claims, as after a seek back: the same event is handled again, and calls nobody again.
    fixture.forget_claims();
    call(fixture.store.batch(&hold), false).await.expect("the batch commits");
    assert_eq!(ids().await, before);
}

async fn two_batches_over_one_document_do_not_both_commit(fixture: Fixture) {
    let rows = events(&fixture, &[1, 1]).await;
    let hold = hold(&fixture).await;
    let [mut one, mut two] = [fixture.store.batch(&hold), fixture.store.batch(&hold)];
    for (batch, row) in [(&mut one, &rows[0]), (&mut two, &rows[1])] {
        let tx = batch.handle(&context(1), row.claim());
        let sum: Option<Counter> = tx.find("sum").await.expect("it can be read");
        tx.put(counter("sum", sum.map_or(0, |sum| sum.value) + 1));
    }
    one.commit().await.expect("it is the first");
    let refused = two.commit().await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    assert_eq!(fixture.counter(1, "sum").await, Some(1));
}

async fn facts_of_a_batch_keep_the_order_of_its_units(fixture: Fixture) {
    let rows = events(&fixture, &[2, 1, 2]).await;
    let hold = hold(&fixture).await;
    let mut batch = fixture.store.batch(&hold);
    for (row, tenant) in rows.iter().zip([2, 1, 2]) {
        let tx = batch.handle(&context(tenant), row.claim());
        tx.get::<Order>(&row.key).await.expect("it is there");
        tx.emit(karwan_store::Facts::from(changed(&row.key, 2)).and(changed(&row.key, 1)));
    }
    batch.commit().await.expect("the batch commits");
    let keys: Vec<String> = fixture.log().await[3..].iter().map(|row| row.key.clone()).collect();
    assert_eq!(keys, ["o-0", "o-0", "o-1", "o-1", "o-2", "o-2"]);
}

async fn of_two_settings_of_a_deadline_in_a_batch_the_later_counts(fixture: Fixture) {
    let rows = events(&fixture, &[1, 1]).await;
    let hold = hold(&fixture).await;
    let mut batch = fixture.store.batch(&hold);
    for (row, due) in rows.iter().zip(["2026-11-20T00:00:00Z", "2026-11-19T00:00:00Z"]) {
        let tx = batch.handle(&context(1), row.claim());
        tx.deadline("ship", "o", due.parse().expect("an instant"), &due);
    }
    batch.commit().await.expect("the batch commits");
    assert_eq!(fixture.deadlines(), [r#"ship o 1795046400000 "2026-11-19T00:00:00Z""#]);
}

async fn a_batch_past_its_bound_is_refused_whole(fixture: Fixture) {
    let rows = events(&fixture, &[1, 1]).await;
    let hold = hold(&fixture).await;
    let mut batch = fixture.store.batch(&hold);
    for row in &rows {
        let tx = batch.handle(&context(1), row.claim());
        (0..600).for_each(|number| tx.put(counter(&format!("{}-{number}", row.key), 1)));
    }
    let refused = batch.commit().await;
    assert!(matches!(refused, Err(Error::TooLarge { actual: 1200, max: 1000, .. })), "{refused:?}");
    assert_eq!(fixture.counter(1, "o-0-0").await, None);
}
