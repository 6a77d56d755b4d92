//! A consumer that suspends itself while its process asks the store who is suspended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use karwan_engine::{Consumer, Received, Verdict, Work};
use karwan_store::simulation::{Fate, Simulation};
use karwan_store::{Error, Store, TenantTx};
use tokio::sync::Notify;

use crate::fixture::{self, Fixture};
use crate::processes::yard::until;
use crate::shop::{self, OrderPlaced};

const NAME: &str = "sales-service.secretary";
/// As many keys as suspend who fails for all of them.
const KEYS: u32 = 50;

/// Holds an answer back that says who is suspended, and then whoever has heard it before it asks for anything else.
#[derive(Default)]
struct Held {
    is_held: AtomicBool,
    reached: Notify,
    goes_on: Notify,
    has_heard: Notify,
}

impl Held {
    /// No answer is held back any more.
    fn is_over(&self) {
        self.is_held.store(false, Ordering::Relaxed);
        self.goes_on.notify_one();
    }
}

/// A call that goes on when it may.
fn held(of: Arc<Held>, reached: fn(&Held) -> &Notify) -> Fate {
    Box::pin(async move {
        reached(&of).notify_one();
        of.goes_on.notified().await;
        Ok(())
    })
}

struct Hand(Arc<Held>);

impl Simulation for Hand {
    fn before(&self, call: &'static str) -> Fate {
        if self.0.is_held.load(Ordering::Relaxed) && call.contains("::revisions") {
            return held(self.0.clone(), |held| &held.has_heard);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, call: &'static str) -> Fate {
        if self.0.is_held.load(Ordering::Relaxed) && call.contains("::suspensions") {
            return held(self.0.clone(), |held| &held.reached);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

#[test]
fn a_consumer_that_suspends_while_the_store_is_asked_who_is_suspended_is_not_set_going_again() {
    fixture::run(fixture::sqlite(), async |fixture: Fixture| {
        let (held, tries) = (Arc::new(Held::default()), Arc::new(AtomicU32::new(0)));
        let options = karwan_store::Options {
            clock: fixture.clock.clone(),
            simulation: Some(Arc::new(Hand(held.clone()))),
            ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
        };
        let store = Store::open(&fixture.address, options).await.expect("a migrated store opens");
        let counted = tries.clone();
        let broken = Consumer::new("sales-service", "secretary").on(move |_: TenantTx, _: Received<OrderPlaced>| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, Error>(Verdict::Retry("the printer is on fire".to_owned())) }
        });
        let engine = fixture.start_over(&store, "n-1", Work::new().consumer(broken.lanes(1).batch(1)));
        engine.settle().await.expect("it has its lane");
        held.is_held.store(true, Ordering::Relaxed);
        held.reached.notified().await;
        for number in 0..KEYS {
            fixture.order(1, &format!("o-{number}"), 0).await;
        }
        let end = store.relay().end().await.expect("it can be asked");
        let is_told = async || matches!(engine.wait_for(NAME, end).await, Err(Error::ConsumerSuspended { .. }));
        assert!(is_told().await);
        let before = tries.load(Ordering::Relaxed);
        // What nobody had suspended when the store answered is heard now.
        held.goes_on.notify_one();
        held.has_heard.notified().await;
        fixture.order(1, "one-more", 0).await;
        let end = store.relay().end().await.expect("it can be asked");
        let told = tokio::time::timeout(std::time::Duration::from_secs(5), engine.wait_for(NAME, end)).await;
        assert!(matches!(told, Ok(Err(Error::ConsumerSuspended { .. }))), "{told:?}");
        assert_eq!(tries.load(Ordering::Relaxed), before, "it handles events");
        held.is_over();
        until("nothing else than before", async || is_told().await.then_some(())).await;
        engine.stop().await;
    });
}
