//! What simulated processes do: two consumers in a chain, a timer, and calls to a vendor.

use std::sync::Arc;
use std::time::Duration;

use karwan_engine::{Answered, Call, Consumer, Due, Performer, Policy, Received, Timer, Verdict, Work};
use karwan_envelope::time::Timestamp;
use karwan_store::{Error, TenantTx};

use crate::simulation::platform::{Booked, Course, DESK, Journal, LEDGER, Requested, Total};
use crate::simulation::vendor::{self, Charge};
use crate::simulation::world::World;

/// Who books requests; and who counts what was booked.
pub const BOOK: &str = "book";
/// See [`BOOK`].
pub const COUNT: &str = "count";
/// Deadlines, and calls to the vendor.
pub const REMIND: &str = "remind";
/// See [`REMIND`].
pub const PAY: &str = "pay";

/// How long a handler may take.
const LIMIT: Duration = Duration::from_secs(8);
/// Attempts before an event is given up: more than any course fails.
const POLICY: Policy = Policy { attempts_max: 6, first_ms: 200, most_ms: 1_500, later_ms: 300, later_most_ms: 600_000 };

/// All that a process does.
pub fn work(world: &Arc<World>) -> Work {
    let performer = performer(world).at_once(4).limit(vendor::LIMIT);
    // An answer that cannot be acted on because the store is away counts as an attempt, so there are many.
    let performer = performer.policy(Policy { attempts_max: 1_000, ..POLICY });
    Work::new().consumer(booking(world)).consumer(counting(world)).timer(timer(world)).performer(performer)
}

fn consumer(world: &World, service: &str, what: &str) -> Consumer {
    let consumer = Consumer::new(service, what).lanes(world.weather.lanes).batch(world.weather.batch);
    consumer.limit(LIMIT).policy(POLICY)
}

fn booking(world: &Arc<World>) -> Consumer {
    let shared = world.clone();
    consumer(world, LEDGER, BOOK).on(move |tx: TenantTx, received: Received<Requested>| {
        let world = shared.clone();
        async move { book(&world, &tx, &received.event).await }
    })
}

async fn book(world: &World, tx: &TenantTx, event: &Requested) -> Result<Verdict, Error> {
    let Requested { order_id, revision, course, .. } = event;
    let tries = world.tried(BOOK, tx, order_id, *revision);
    enter(tx, BOOK, order_id, *revision).await?;
    match course {
        Course::Plain => {}
        Course::Fails if tries <= 3 => return Ok(Verdict::Retry("not yet".to_owned())),
        Course::Waits if tries <= 3 => return Ok(Verdict::Later("something is missing".to_owned())),
        Course::Hangs if tries == 1 && world.chance.once_in(3) => tokio::time::sleep(LIMIT * 2).await,
        Course::Slow if world.chance.once_in(4) => world.wait(3_000, 7_000).await,
        Course::Slow => world.wait(0, 300).await,
        Course::Poisoned if world.chance.once_in(2) => return Ok(Verdict::Dead("never".to_owned())),
        Course::Poisoned => return Ok(Verdict::Retry("never".to_owned())),
        Course::Charged => {
            tx.effect(PAY, order_id, &Charge { order: order_id.clone(), revision: *revision });
        }
        Course::Reminded => {
            let due = world.now_ms() + world.chance.between(0, 4_000).cast_signed();
            tx.deadline(REMIND, &format!("{order_id} {revision}"), Timestamp::from_unix_ms(due), revision);
        }
        Course::Fails | Course::Waits | Course::Hangs => {}
    }
    tx.emit(Booked { order_id: order_id.clone(), revision: *revision });
    Ok(Verdict::Done)
}

fn counting(world: &Arc<World>) -> Consumer {
    let shared = world.clone();
    consumer(world, DESK, COUNT).on(move |tx: TenantTx, received: Received<Booked>| {
        let world = shared.clone();
        async move {
            let Booked { order_id, revision } = received.event;
            let tries = world.tried(COUNT, &tx, &order_id, revision);
            enter(&tx, COUNT, &order_id, revision).await?;
            if tries == 1 && world.chance.once_in(12) {
                return Ok(Verdict::Retry("not now".to_owned()));
            }
            Ok::<_, Error>(Verdict::Done)
        }
    })
}

fn timer(world: &Arc<World>) -> Timer {
    let shared = world.clone();
    Timer::new(LEDGER, REMIND, move |tx: TenantTx, due: Due<i64>| {
        let world = shared.clone();
        async move {
            let early = due.due.unix_ms() - world.now_ms();
            if early > world.weather.skew_ms.cast_signed() {
                world.wrong(format!("the deadline {} fired {early} ms early", due.id));
            }
            let (order, _) = due.id.split_once(' ').unwrap_or((&due.id, ""));
            enter(&tx, REMIND, order, due.told).await?;
            let tries = world.tried(REMIND, &tx, order, due.told);
            if tries == 1 && world.chance.once_in(6) { Err(Error::Repeated) } else { Ok(()) }
        }
    })
}

fn performer(world: &Arc<World>) -> Performer {
    let (calling, acting) = (world.clone(), world.clone());
    let call = move |call: Call<Charge>| {
        let world = calling.clone();
        async move { world.vendor.charge(&world, call).await }
    };
    let act = move |tx: TenantTx, answered: Answered<Charge, String>| {
        let world = acting.clone();
        async move {
            let Charge { order, revision } = answered.told;
            enter(&tx, PAY, &order, revision).await?;
            let tries = world.tried(PAY, &tx, &order, revision);
            if tries == 1 && world.chance.once_in(6) { Err(Error::Repeated) } else { Ok(()) }
        }
    };
    Performer::new(LEDGER, PAY, call, act)
}

/// The name of somebody's journal of an order.
pub fn journal(who: &str, order: &str) -> String {
    format!("{who} {order}")
}

/// Enters a revision into somebody's journal of an order, and counts it.
async fn enter(tx: &TenantTx, who: &str, order: &str, revision: i64) -> Result<(), Error> {
    let id = journal(who, order);
    let kept: Option<Journal> = tx.find(&id).await?;
    let mut kept = kept.unwrap_or(Journal { id, entries: Vec::new() });
    kept.entries.push(revision);
    tx.put(kept);
    let total: Option<Total> = tx.find(who).await?;
    let total = total.unwrap_or(Total { id: who.to_owned(), count: 0 });
    tx.put(Total { count: total.count + 1, ..total });
    Ok(())
}
