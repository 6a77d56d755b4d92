//! Deadlines fire once at their time; calls are made once under their key, in order, whatever happens in between.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use karwan_engine::{Answered, Call, Consumer, Due, Performer, Policy, Received, Refusal, Timer, Verdict, Work};
use karwan_envelope::time::Clock as _;
use karwan_registry::Event as _;
use karwan_store::metrics::{Result as Consumed, Subscription};
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::hand::Hand;
use crate::processes::yard::until;
use crate::shop::{Counter, OrderPlaced, context, counter};

on_both! {
    a_deadline_fires_at_its_time_and_once,
    a_deadline_whose_handler_fails_is_tried_again,
    a_call_is_made_after_its_cause_and_its_answer_is_acted_on,
    a_target_that_is_down_is_called_until_it_answers_and_charged_once,
    calls_of_a_key_keep_their_order_and_other_keys_go_on,
    a_call_that_can_never_be_answered_lets_its_key_go_on,
    a_crash_after_the_call_repeats_it_under_the_same_key,
    a_call_keeps_its_key_when_a_call_of_another_kind_is_made_no_more,
}

async fn a_deadline_fires_at_its_time_and_once(fixture: Fixture) {
    let due = fixture.clock.now().unix_ms() + 60_000;
    let consumer = Consumer::new("sales-service", "reminder").on(
        move |tx: TenantTx, received: Received<OrderPlaced>| async move {
            let due = karwan_envelope::time::Timestamp::from_unix_ms(due);
            tx.deadline("remind", &received.event.order_id, due, &received.event.items);
            Ok::<_, Error>(Verdict::Done)
        },
    );
    let timer = Timer::new("sales-service", "remind", async |tx: TenantTx, due: Due<i64>| {
        note(&tx, &due.id, &format!("after {}", due.told)).await
    });
    let engine = fixture.start_work("n-1", Work::new().consumer(consumer).timer(timer));
    fixture.order(1, "o", 0).await;
    engine.settle().await.expect("it settles");
    fixture.clock.advance_ms(59_999);
    engine.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "o").await, "");
    fixture.clock.advance_ms(1);
    engine.settle().await.expect("it settles");
    fixture.clock.advance_ms(86_400_000);
    engine.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "o").await, "after 1");
    engine.stop().await;
}

async fn a_deadline_whose_handler_fails_is_tried_again(fixture: Fixture) {
    let tries = Arc::new(Mutex::new(0));
    let counted = tries.clone();
    let timer = Timer::new("sales-service", "remind", move |tx: TenantTx, due: Due<i64>| {
        let mut tries = counted.lock().expect("nobody panics");
        *tries += 1;
        let fails = *tries < 3;
        async move {
            if fails {
                return Err(Error::Repeated);
            }
            note(&tx, &due.id, "done").await
        }
    });
    let context = context(1);
    let set = fixture.store.unit(&context, async |tx: TenantTx| {
        tx.deadline("remind", "o", karwan_envelope::time::Timestamp::from_unix_ms(0), &1);
        Ok::<_, Error>(())
    });
    set.await.expect("it can be set");
    let engine = fixture.start_work("n-1", Work::new().timer(timer));
    for _ in 0..4 {
        engine.settle().await.expect("it settles");
        fixture.clock.advance_ms(700_000);
    }
    assert_eq!(fixture.notes(1, "o").await, "done");
    assert_eq!(*tries.lock().expect("nobody panics"), 3);
    engine.stop().await;
}

/// A vendor as vendors are: it does a thing once for every idempotency key, and may fail before or after.
#[derive(Default)]
struct Vendor {
    charged: Mutex<BTreeMap<String, i64>>,
    calls: Mutex<Vec<i64>>,
    moods: Mutex<Vec<Mood>>,
}

#[derive(Clone, Copy)]
enum Mood {
    Down,
    ChargesAndTimesOut,
}

impl Vendor {
    async fn charge(&self, call: Call<i64>) -> Result<String, Refusal> {
        self.calls.lock().expect("nobody panics").push(call.told);
        let mood = self.moods.lock().expect("nobody panics").pop();
        if let Some(Mood::Down) = mood {
            return Err(Refusal::Later("connection refused".to_owned()));
        }
        self.charged.lock().expect("nobody panics").insert(call.idempotency_key, call.told);
        match mood {
            Some(Mood::ChargesAndTimesOut) => Err(Refusal::Later("no answer".to_owned())),
            _ if call.told < 0 => Err(Refusal::Never("no such amount".to_owned())),
            _ => Ok(format!("charged {}", call.told)),
        }
    }

    fn charges(&self) -> Vec<i64> {
        let mut charges: Vec<i64> = self.charged.lock().expect("nobody panics").values().copied().collect();
        charges.sort_unstable();
        charges
    }

    fn calls(&self) -> Vec<i64> {
        self.calls.lock().expect("nobody panics").clone()
    }
}

fn performer(vendor: &Arc<Vendor>) -> Performer {
    let vendor = vendor.clone();
    let call = move |call: Call<i64>| {
        let vendor = vendor.clone();
        async move { vendor.charge(call).await }
    };
    let outcome =
        async |tx: TenantTx, answered: Answered<i64, String>| note(&tx, &answered.key, &answered.answer).await;
    Performer::new("sales-service", "charge", call, outcome)
}

async fn charge(fixture: &Fixture, calls: &[(&str, i64)]) {
    let context = context(1);
    let unit = fixture.store.unit(&context, async |tx: TenantTx| {
        calls.iter().for_each(|(key, amount)| tx.effect("charge", key, amount));
        Ok::<_, Error>(())
    });
    unit.await.expect("it can be recorded");
}

async fn a_call_is_made_after_its_cause_and_its_answer_is_acted_on(fixture: Fixture) {
    let vendor = Arc::new(Vendor::default());
    let engine = fixture.start_work("n-1", Work::new().performer(performer(&vendor)));
    charge(&fixture, &[("a", 5)]).await;
    engine.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "a").await, "charged 5");
    assert_eq!(vendor.calls(), [5]);
    engine.stop().await;
}

async fn a_target_that_is_down_is_called_until_it_answers_and_charged_once(fixture: Fixture) {
    let vendor = Arc::new(Vendor::default());
    *vendor.moods.lock().expect("nobody panics") = vec![Mood::ChargesAndTimesOut, Mood::Down, Mood::Down];
    let engine = fixture.start_work("n-1", Work::new().performer(performer(&vendor)));
    charge(&fixture, &[("a", 5)]).await;
    for _ in 0..5 {
        engine.settle().await.expect("it settles");
        fixture.clock.advance_ms(700_000);
    }
    assert_eq!(fixture.notes(1, "a").await, "charged 5");
    assert_eq!((vendor.calls(), vendor.charges()), (vec![5; 4], vec![5]));
    engine.stop().await;
}

async fn calls_of_a_key_keep_their_order_and_other_keys_go_on(fixture: Fixture) {
    let vendor = Arc::new(Vendor::default());
    charge(&fixture, &[("a", 1), ("a", 2), ("a", 3)]).await;
    *vendor.moods.lock().expect("nobody panics") = vec![Mood::Down];
    let engine = fixture.start_work("n-1", Work::new().performer(performer(&vendor)));
    engine.settle().await.expect("it settles");
    charge(&fixture, &[("b", 9)]).await;
    engine.settle().await.expect("it settles");
    assert_eq!((fixture.notes(1, "a").await, fixture.notes(1, "b").await), (String::new(), "charged 9".to_owned()));
    fixture.clock.advance_ms(700_000);
    engine.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "a").await, "charged 1charged 2charged 3");
    engine.stop().await;
}

async fn a_call_that_can_never_be_answered_lets_its_key_go_on(fixture: Fixture) {
    let vendor = Arc::new(Vendor::default());
    charge(&fixture, &[("a", -1), ("a", 2)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(performer(&vendor)));
    engine.settle().await.expect("it settles");
    assert_eq!(fixture.notes(1, "a").await, "charged 2");
    engine.stop().await;
}

/// A mail goes out the first time alone; the charge behind it is the same one when its event is handled again.
async fn a_call_keeps_its_key_when_a_call_of_another_kind_is_made_no_more(fixture: Fixture) {
    let clerk = Consumer::new("sales-service", "clerk").on(async |tx: TenantTx, received: Received<OrderPlaced>| {
        let order = received.event.order_id;
        let mailed = tx.peek::<Counter>("mailed").await?.is_some();
        if !mailed {
            tx.find::<Counter>("mailed").await?;
            tx.put(counter("mailed", 1));
            tx.effect("mail", &order, &"thank you");
        }
        tx.effect("charge", &order, &5);
        Ok::<_, Error>(Verdict::Done)
    });
    let vendor = Arc::new(Vendor::default());
    let mail = async |_: Call<String>| Ok::<_, Refusal>(());
    let sent = async |tx: TenantTx, answered: Answered<String, ()>| note(&tx, &answered.key, "mailed;").await;
    let mail = Performer::new("sales-service", "mail", mail, sent);
    let engine = fixture.start_work("n-1", Work::new().consumer(clerk).performer(mail).performer(performer(&vendor)));
    fixture.order(1, "o", 0).await;
    fixture.settle(&engine).await;
    Hand::on(&fixture, "sales-service.clerk").await.seek_and_clear().await;
    let handled = || {
        let consumed =
            Subscription { service: "sales-service", topic: OrderPlaced::SUBJECT, consumer: "sales-service.clerk" };
        fixture.store.metrics().count(&consumed, Consumed::Ok)
    };
    until("an event that is handled again", async || (handled() >= 2).then_some(())).await;
    fixture.settle(&engine).await;
    assert_eq!((vendor.charges(), vendor.calls()), (vec![5], vec![5]));
    assert!(fixture.notes(1, "o").await.contains("mailed;"));
    engine.stop().await;
}

/// The process is gone between the vendor's answer and its recording.
async fn a_crash_after_the_call_repeats_it_under_the_same_key(fixture: Fixture) {
    let vendor = Arc::new(Vendor::default());
    let (told, mut charged) = tokio::sync::mpsc::unbounded_channel();
    let of_it = vendor.clone();
    let call = move |call: Call<i64>| {
        let (vendor, told) = (of_it.clone(), told.clone());
        async move {
            vendor.charge(call).await?;
            told.send(()).expect("the test listens");
            std::future::pending::<Result<String, Refusal>>().await
        }
    };
    let outcome = async |_: TenantTx, _: Answered<i64, String>| Ok::<_, Error>(());
    let hangs = Performer::new("sales-service", "charge", call, outcome).limit(Duration::from_secs(60));
    charge(&fixture, &[("a", 5)]).await;
    let engine = fixture.start_work("n-1", Work::new().performer(hangs.policy(Policy::default())));
    charged.recv().await.expect("it is called");
    drop(engine);
    fixture.lease_runs_out().await;
    let heir = fixture.start_work("n-2", Work::new().performer(performer(&vendor)));
    while fixture.notes(1, "a").await.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.notes(1, "a").await, "charged 5");
    assert_eq!((vendor.calls(), vendor.charges()), (vec![5, 5], vec![5]));
    heir.stop().await;
}
