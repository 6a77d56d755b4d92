//! Business intents: the same one twice is one, and nothing is swallowed beside it.

use karwan_store::{Error, Facts, Repeated, TenantTx};

use crate::fixture::{Fixture, first};
use crate::shop::{self, Order, OrderPlaced, changed, counter, order, placed};

on_both! {
    a_repeated_intent_rolls_back_its_whole_unit_and_names_the_first_event,
    an_intent_with_another_payload_is_an_error,
    old_and_new_intents_in_one_unit_are_an_error,
    an_intent_twice_in_one_unit_is_an_error,
    a_refused_unit_leaves_no_intent,
    intents_of_two_tenants_are_two,
    pruned_intents_and_units_are_new_again,
}

async fn change(fixture: &Fixture, items: i64, facts: impl Fn() -> Facts) -> Result<karwan_store::Done<()>, Error> {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        let order: Order = tx.get("o-1").await?;
        tx.put(Order { items, ..order });
        tx.put(counter(&format!("beside-{items}"), 1));
        tx.deadline("ship", "o-1", "2026-11-20T00:00:00Z".parse().expect("an instant"), &items);
        tx.effect("charge", "card", &items);
        tx.emit(facts());
        Ok(())
    });
    unit.await
}

/// The swallowed fact: data that commits beside a fact that does not.
async fn a_repeated_intent_rolls_back_its_whole_unit_and_names_the_first_event(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    change(&fixture, 2, || changed("o-1", 1).into()).await.expect("the unit commits");
    let first_event = fixture.log().await[1].event;
    let again = change(&fixture, 3, || changed("o-1", 1).into()).await.expect("a repetition is no failure");
    assert_eq!(again.repeated, Some(Repeated::Intent(first_event)));
    assert_eq!(fixture.order(1, "o-1").await.map(|order| order.items), Some(2));
    assert_eq!(fixture.counter(1, "beside-3").await, None);
    assert_eq!(fixture.told().await, ["order.placed o-1", "order.changed o-1"]);
    assert_eq!(fixture.deadlines().len(), 1);
    assert!(fixture.deadlines()[0].ends_with(" 2"), "{:?}", fixture.deadlines());
    assert_eq!(fixture.effects(), ["charge card 2"]);
    // Several facts, all known: the answer is the first one's event.
    let both = || Facts::from(changed("o-1", 7)).and(changed("o-1", 8));
    change(&fixture, 4, both).await.expect("the unit commits");
    let seventh = fixture.log().await[2].event;
    let again = change(&fixture, 5, both).await.expect("a repetition is no failure");
    assert_eq!(again.repeated, Some(Repeated::Intent(seventh)));
    assert_eq!(fixture.order(1, "o-1").await.map(|order| order.items), Some(4));
}

async fn an_intent_with_another_payload_is_an_error(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    let event = fixture.log().await[0].event;
    let other = change(&fixture, 2, || OrderPlaced { items: 2, ..placed("o-1") }.into()).await;
    match other {
        Err(Error::IntentDiffers { intent, event: known, .. }) => {
            assert_eq!((intent.as_str(), known), ("o-1:placed", event));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.order(1, "o-1").await.map(|order| order.items), Some(1));
    assert_eq!(fixture.counter(1, "beside-2").await, None);
}

async fn old_and_new_intents_in_one_unit_are_an_error(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    change(&fixture, 2, || changed("o-1", 1).into()).await.expect("the unit commits");
    for mixed in [
        || Facts::from(changed("o-1", 1)).and(changed("o-1", 2)),
        || Facts::from(changed("o-1", 2)).and(changed("o-1", 1)),
    ] {
        let refused = change(&fixture, 3, mixed).await;
        assert!(matches!(&refused, Err(Error::IntentMixed { intent, .. }) if intent == "o-1:changed:1"), "{refused:?}");
    }
    assert_eq!(fixture.order(1, "o-1").await.map(|order| order.items), Some(2));
    assert_eq!(fixture.told().await.len(), 2);
    change(&fixture, 3, || changed("o-1", 2).into()).await.expect("a refused unit left no intent");
}

/// It is new and known at once: whichever of the two were dropped would be a swallowed fact.
async fn an_intent_twice_in_one_unit_is_an_error(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    let twice = change(&fixture, 2, || Facts::from(changed("o-1", 1)).and(changed("o-1", 1))).await;
    assert!(matches!(twice, Err(Error::IntentMixed { .. })), "{twice:?}");
    assert_eq!(fixture.told().await, ["order.placed o-1"]);
}

async fn a_refused_unit_leaves_no_intent(fixture: Fixture) {
    let unit = fixture.store.tenant(&first());
    unit.find::<Order>("o-1").await.expect("it can be asked for");
    unit.put(order("o-1"));
    unit.emit(placed("o-1"));
    let other = fixture.unit(1, async |tx: TenantTx| {
        tx.put(order("o-1"));
        Ok(())
    });
    other.await.expect("the unit commits");
    assert!(matches!(unit.commit().await, Err(Error::Conflict { .. })));
    let later = change(&fixture, 2, || placed("o-1").into()).await.expect("the intent is new");
    assert_eq!(later.repeated, None);
}

async fn intents_of_two_tenants_are_two(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    let other = fixture.place(2, "o-1").await;
    assert_eq!(other.repeated, None);
    assert_eq!(fixture.told().await.len(), 2);
    assert_ne!(shop::tenant_bits(1), shop::tenant_bits(2));
}

async fn pruned_intents_and_units_are_new_again(fixture: Fixture) {
    fixture.place(1, "o-1").await;
    let before = fixture.log().await[0].at;
    assert_eq!(fixture.store.prune(before - 1_000).await.expect("it can be pruned"), 0, "nothing is that old");
    let known = change(&fixture, 2, || placed("o-1").into()).await.expect("a repetition is no failure");
    assert!(known.repeated.is_some());
    fixture.pass(10);
    let gone = fixture.store.prune(before + 5).await.expect("it can be pruned");
    assert_eq!(gone, 2, "one intent and one unit id");
    let again = change(&fixture, 2, || placed("o-1").into()).await.expect("the intent is new again");
    assert_eq!(again.repeated, None);
}
