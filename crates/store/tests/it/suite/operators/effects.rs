//! Calls to the outside that were given up are letters, too.

use karwan_envelope::ids::EventId;
use karwan_store::TenantTx;
use karwan_store::consumer::Share;
use karwan_store::effect::{self, Effect, Outcome};
use karwan_store::operator::{Deed, LetterFilter, State, Target};
use karwan_store::write_set::LaneHold;

use super::{RETRY, RETRY_ANYHOW, ann, letters, refused};
use crate::fixture::{Fixture, Folder, later};

on_both! {
    a_dead_call_is_listed_with_the_letters_and_retried,
    a_dead_call_whose_successors_were_made_is_retried_out_of_order_only,
    a_dead_call_is_skipped_quarantined_and_deleted_and_brought_back,
    a_call_that_is_tried_by_itself_is_not_set_aside,
}

async fn call(fixture: &Fixture, numbers: &[i64]) -> LaneHold {
    let unit = fixture.unit(1, async |tx: TenantTx| {
        for number in numbers {
            tx.effect("charge", "card-1", number);
        }
        Ok(())
    });
    unit.await.expect("the unit commits");
    let taken = fixture.store.take_lane(&effect::lane("charge"), "n-1", 60_000).await.expect("it can be asked for");
    LaneHold { consumer: "effect.charge".to_owned(), lane: 0, epoch: taken.expect("it is free").epoch }
}

async fn open(fixture: &Fixture) -> Vec<Effect> {
    fixture.store.due_effects("charge", Share::ALL, later(), 10).await.expect("they can be asked for")
}

/// The first call is given up; answers its name.
async fn dead(fixture: &Fixture, hold: &LaneHold) -> Target {
    let effect = open(fixture).await.remove(0);
    let dead = Outcome::Dead { error: "no such card".to_owned() };
    fixture.store.record_effect(hold, effect.of, &dead).await.expect("it was waiting");
    Target { consumer: "effect.charge".to_owned(), event: EventId::from_bits(effect.of.id) }
}

async fn a_dead_call_is_listed_with_the_letters_and_retried(fixture: Fixture) {
    let hold = call(&fixture, &[1, 2]).await;
    let name = dead(&fixture, &hold).await;
    let all = letters(&fixture).await;
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0].target, all[0].state, all[0].key.as_str()), (&name, State::Dead, "card-1"));
    assert_eq!((all[0].subject.as_str(), all[0].error.as_str()), ("charge", "no such card"));
    let other = LetterFilter { consumer: Some("effect.mail".to_owned()), ..LetterFilter::default() };
    assert_eq!(fixture.operator().letters(&other, None, 10).await.expect("they can be listed").letters, []);
    let story = fixture.operator().letter(&name).await.expect("it is there");
    assert_eq!(story.envelope, "1");
    let retried = fixture.operator().act(&ann(), &name, &RETRY).await.expect("no later call was made");
    let first = open(&fixture).await.remove(0);
    assert_eq!((first.of.id, first.body.as_str(), first.attempts), (name.event.bits(), "1", 0));
    fixture.operator().undo(&ann(), retried, false).await.expect("it was not tried yet");
    assert_eq!(open(&fixture).await.remove(0).body, "2");
    assert_eq!(letters(&fixture).await, all);
}

async fn a_dead_call_whose_successors_were_made_is_retried_out_of_order_only(fixture: Fixture) {
    let hold = call(&fixture, &[1, 2]).await;
    let name = dead(&fixture, &hold).await;
    let next = open(&fixture).await.remove(0);
    fixture.store.record_effect(&hold, next.of, &Outcome::Answered("yes".to_owned())).await.expect("it was waiting");
    let context = crate::shop::context(1);
    let acted = fixture.store.act_on(next.of, &context, async |_: TenantTx| Ok::<_, karwan_store::Error>(()));
    acted.await.expect("it was answered");
    assert_eq!(refused(&fixture, &name, &RETRY).await, "store-out-of-order");
    fixture.operator().act(&ann(), &name, &RETRY_ANYHOW).await.expect("it was said");
    assert_eq!(open(&fixture).await.remove(0).body, "1");
}

async fn a_dead_call_is_skipped_quarantined_and_deleted_and_brought_back(fixture: Fixture) {
    let folder = Folder::new();
    let hold = call(&fixture, &[1]).await;
    let name = dead(&fixture, &hold).await;
    let operator = fixture.operator();
    let before = letters(&fixture).await;
    for deed in [Deed::Skip, Deed::Quarantine { folder: folder.path().to_owned() }] {
        let action = operator.act(&ann(), &name, &deed).await.expect("it is dead");
        let aside = letters(&fixture).await;
        assert_ne!(aside[0].state, State::Dead);
        assert_eq!((aside[0].error.as_str(), open(&fixture).await), ("no such card", vec![]));
        operator.undo(&ann(), action, false).await.expect("nothing happened since");
        assert_eq!(letters(&fixture).await, before);
    }
    operator.act(&ann(), &name, &Deed::Delete { sign_off: "bob".to_owned() }).await.expect("bob agreed");
    assert_eq!((letters(&fixture).await, open(&fixture).await), (vec![], vec![]));
}

async fn a_call_that_is_tried_by_itself_is_not_set_aside(fixture: Fixture) {
    let hold = call(&fixture, &[1]).await;
    let effect = open(&fixture).await.remove(0);
    let held = Outcome::Later { due: 3_000_000_000_000, error: "no connection".to_owned() };
    fixture.store.record_effect(&hold, effect.of, &held).await.expect("it was waiting");
    let name = Target { consumer: "effect.charge".to_owned(), event: EventId::from_bits(effect.of.id) };
    assert_eq!(refused(&fixture, &name, &Deed::Skip).await, "store-letter-state");
    fixture.operator().act(&ann(), &name, &RETRY).await.expect("it is tried now, and not then");
    let now = karwan_envelope::time::Timestamp::from_unix_ms(1);
    let due = fixture.store.due_effects("charge", Share::ALL, now, 10).await.expect("they can be asked for");
    assert_eq!((due.len(), due[0].attempts), (1, 1));
}
