//! The calls of a kind, made by the holder of its lane.
//!
//! `at_once` calls are under way all the time; a slow one holds its slot and its key. The store answers the first open
//! effect of every key, so that a key has one call under way; keys that have one are passed by.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use karwan_store::consumer::Share;
use karwan_store::effect::{self, Effect, EffectRef, Outcome};
use karwan_store::write_set::{LaneHold, TenantBits};
use karwan_store::{Error, Listening, TenantTx};
use tokio::time::Instant;

use super::breaker::{Admission, Breakers, PROBED_MS};
use super::performer::{Performer, Refusal};
use super::slots::Slots;
use super::{Broken, LOOK_AGAIN, LOOK_MAX, Undone, context, in_its_own_task};
use crate::engine::{Lease, STORE_DOWN, Stopping, pause};
use crate::leases::release;
use crate::node::Shared;
use crate::worker::told;

/// How often an answer is offered to a store that is away before the call is left to be repeated.
const RECORD_MAX: u32 = 20;

/// The least time between two looks of which the first found nothing.
const GATHER: Duration = Duration::from_millis(5);

/// Makes the calls of a kind whenever this process holds its lane, until it is stopped.
pub(crate) async fn run(
    shared: Arc<Shared>,
    performer: Arc<Performer>,
    (node, lease): (String, Lease),
    stopping: Arc<Stopping>,
) {
    while !stopping.is_now() {
        match hold(&shared, &performer, &node, lease.ms).await {
            Ok(Some(hold)) => {
                shared.admit_calls(&hold);
                Calls::new(&shared, &performer, hold.clone(), lease).make(&stopping).await;
                shared.dismiss(&hold);
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(kind = %performer.kind, error = %error, "calls cannot be looked for"),
        }
        pause(lease.beat, &stopping).await;
    }
}

/// Holds the lane of a performer, where it is free.
async fn hold(shared: &Shared, performer: &Performer, node: &str, lease_ms: i64) -> Result<Option<LaneHold>, Error> {
    let lane = effect::lane(&performer.kind);
    let taken = shared.store.take_lane(&lane, node, lease_ms).await?;
    Ok(taken.map(|taken| LaneHold { consumer: lane.consumer, lane: lane.number, epoch: taken.epoch }))
}

/// What every call of a kind needs.
#[derive(Clone)]
struct Desk {
    shared: Arc<Shared>,
    performer: Arc<Performer>,
    hold: LaneHold,
    breakers: Arc<Mutex<Breakers>>,
}

/// See the module.
struct Calls {
    desk: Desk,
    slots: Slots<(TenantBits, String)>,
    /// Found and not started yet.
    next: VecDeque<Effect>,
    looked: Instant,
    /// Where the last look found nothing, there is no other before this.
    again: Instant,
    /// Hears when effects are recorded here.
    listening: Listening,
    lease: Lease,
}

impl Calls {
    fn new(shared: &Arc<Shared>, performer: &Arc<Performer>, hold: LaneHold, lease: Lease) -> Self {
        let breakers = Arc::new(Mutex::new(Breakers::new(performer.breaker)));
        let slots = Slots::new(performer.at_once);
        let desk = Desk { shared: shared.clone(), performer: performer.clone(), hold, breakers };
        let (now, listening) = (Instant::now(), shared.store.listen_for_effects());
        Self { desk, slots, next: VecDeque::new(), looked: now, again: now, listening, lease }
    }

    /// Until the lane is lost, when what is under way is cut off, or until a stop, which finishes it.
    async fn make(mut self, stopping: &Stopping) {
        let kind = self.desk.performer.kind.clone();
        while !stopping.is_now() {
            match self.step(stopping).await {
                Ok(()) => {}
                Err(Error::LaneLost { .. }) => return,
                Err(error) => {
                    tracing::warn!(kind, error = %error, "a call cannot be looked for or recorded");
                    pause(STORE_DOWN, stopping).await;
                }
            }
        }
        self.slots.finish(&self.desk.shared.store, &kind).await;
        release(&self.desk.shared, &self.desk.hold).await;
    }

    async fn step(&mut self, stopping: &Stopping) -> Result<(), Error> {
        // Before the look, never between it and the starts: what ended after the look was taken is in it as open.
        self.slots.reap()?;
        if !self.desk.shared.calls_under(&self.desk.hold) {
            let LaneHold { consumer, lane, .. } = self.desk.hold.clone();
            return Err(Error::LaneLost { consumer, lane });
        }
        if self.looked.elapsed() >= LOOK_AGAIN {
            self.next.clear();
        }
        if self.slots.has_room() && self.next.is_empty() && Instant::now() >= self.again {
            self.look().await?;
        }
        if !self.slots.has_room() || self.next.is_empty() {
            let (listening, again, has_room) = (&mut self.listening, self.again, self.slots.has_room());
            let something_new = async move {
                if !has_room {
                    std::future::pending::<()>().await;
                }
                // First: what is recorded comes in bursts, and one look is for all of it.
                tokio::time::sleep_until(again).await;
                // no crash point: whoever waits for the slots hears of it
                listening.rung().await;
            };
            return self.slots.wait(&self.desk.shared.store, stopping, something_new).await;
        }
        self.start().await
    }

    async fn look(&mut self) -> Result<(), Error> {
        let Desk { shared, performer, hold, .. } = &self.desk;
        if self.looked.elapsed() >= Duration::from_millis(self.lease.ms.unsigned_abs()) {
            // This process may have slept past its lease: it asks whether the lane is still its own before it calls anybody.
            shared.store.save_position(hold, 0, false).await?;
        }
        let limit = performer.at_once + LOOK_MAX;
        let began = Instant::now();
        let due = shared.store.due_effects(&performer.kind, Share::ALL, shared.clock.now(), limit).await?;
        self.looked = Instant::now();
        self.next = due.into_iter().filter(|effect| !self.slots.is_taken(&key(effect))).collect();
        // The database has as long for others as it had for this.
        let gap = if self.next.is_empty() { GATHER.max(began.elapsed()) } else { Duration::ZERO };
        self.again = self.looked + gap;
        Ok(())
    }

    /// Starts what there is room for. What its target holds back waits in the store, out of everybody's way.
    async fn start(&mut self) -> Result<(), Error> {
        let now = self.desk.shared.now_ms();
        let mut held: BTreeMap<i64, Vec<EffectRef>> = BTreeMap::new();
        while self.slots.has_room()
            && let Some(effect) = self.next.pop_front()
        {
            let target = self.desk.performer.target_of(&effect);
            let admission = match effect.answer {
                // The call was made; acting on its answer needs nobody outside.
                Some(_) => Admission::Go,
                None => self.desk.breakers().admit(&target, effect.attempts, now),
            };
            match admission {
                Admission::HeldUntil(until) => held.entry(until).or_default().push(effect.of),
                Admission::Go | Admission::Probe => {
                    let probe = admission == Admission::Probe;
                    self.slots.start(key(&effect), perform(self.desk.clone(), effect, target, probe));
                }
            }
        }
        for (until, effects) in held {
            self.desk.shared.store.hold_back(&self.desk.hold, &effects, until).await?;
        }
        Ok(())
    }
}

fn key(effect: &Effect) -> (TenantBits, String) {
    (effect.of.tenant, effect.key.clone())
}

/// A call, the keeping of its answer, and what is done with it.
async fn perform(desk: Desk, mut effect: Effect, target: String, probe: bool) -> Result<(), Error> {
    if effect.answer.is_none() {
        let outcome = desk.call(&effect, &target, probe).await;
        if !desk.record(effect.of, &outcome).await? {
            // Whoever recorded it acts on it too.
            return Ok(());
        }
        let Outcome::Answered(answer) = outcome else { return Ok(()) };
        effect = Effect { answer: Some(answer), attempts: 0, ..effect };
    }
    desk.act(effect).await
}

/// Why a call has no answer.
enum Silence {
    Refused(Refusal),
    Broken(Broken),
}

impl From<Broken> for Silence {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl Desk {
    fn breakers(&self) -> MutexGuard<'_, Breakers> {
        self.breakers.lock().expect("nothing panics while holding it")
    }

    async fn call(&self, effect: &Effect, target: &str, probe: bool) -> Outcome {
        let (performer, of) = (self.performer.clone(), effect.clone());
        let work = async move { (performer.call)(&of).await.map_err(Silence::Refused) };
        let called = in_its_own_task(&self.shared.store, self.performer.limit, work).await;
        let now = self.shared.now_ms();
        let mut breakers = self.breakers();
        let silence = match called {
            Ok(answer) => {
                breakers.answered(target);
                return Outcome::Answered(answer);
            }
            Err(Silence::Refused(Refusal::Never(error))) => {
                breakers.undecided(target, now, probe);
                return Outcome::Dead { error };
            }
            // It is ours that broke, and says nothing of the other side.
            Err(Silence::Broken(broken @ Broken::Panicked(_))) => {
                breakers.undecided(target, now, probe);
                return self.failed(effect, broken.to_string());
            }
            Err(Silence::Broken(late @ Broken::Late(_))) => late.to_string(),
            Err(Silence::Refused(Refusal::Later(error))) => error,
        };
        let held = breakers.unanswered(target, now, probe);
        drop(breakers);
        tracing::warn!(kind = %effect.kind, target, attempts = effect.attempts, error = %silence, "a call has no answer");
        match held {
            // It found out that its target is still down, which is not its own failure. It goes behind those that waited
            // with it, so that one that can never be answered does not ask for all of them for ever.
            Some(until) if probe => Outcome::Held { due: until.saturating_add(PROBED_MS), error: silence },
            _ => self.failed(effect, silence),
        }
    }

    /// The unit that acts on an answer.
    async fn act(&self, effect: Effect) -> Result<(), Error> {
        let context = context(&self.shared, &self.performer.service, effect.of.tenant, &effect.cause);
        let act = async |tx: TenantTx| {
            let (performer, effect) = (self.performer.clone(), effect.clone());
            let work = async move { (performer.outcome)(tx, &effect).await };
            in_its_own_task(&self.shared.store, self.performer.limit, work).await.map_err(Undone)
        };
        let error = match self.shared.store.act_on(effect.of, &context, act).await {
            Ok(_) => return Ok(()),
            Err(undone) if undone.is_gone() => return Ok(()),
            Err(undone) => undone.unless_away()?,
        };
        let why = told(&*error);
        tracing::warn!(kind = %effect.kind, attempts = effect.attempts, error = %why, "an answer cannot be acted on");
        self.record(effect.of, &self.failed(&effect, why)).await.map(drop)
    }

    /// What becomes of a call without an answer, or of an answer that could not be acted on.
    fn failed(&self, effect: &Effect, error: String) -> Outcome {
        let policy = &self.performer.policy;
        let attempts = effect.attempts + 1;
        if attempts >= policy.attempts_max {
            return Outcome::Dead { error };
        }
        Outcome::Later { due: self.shared.now_ms() + policy.wait_ms(attempts, &*self.shared.random), error }
    }

    /// Keeps what became of a call; false where somebody else has. A store that is away is waited for: an answer that was not
    /// kept is a call that is made again.
    async fn record(&self, effect: EffectRef, outcome: &Outcome) -> Result<bool, Error> {
        let mut tries = 0;
        loop {
            match self.shared.store.record_effect(&self.hold, effect, outcome).await {
                Ok(()) => return Ok(true),
                Err(Error::Gone { .. }) => return Ok(false),
                Err(error) if error.is_away() && tries < RECORD_MAX => tries += 1,
                Err(error) => return Err(error),
            }
            tokio::time::sleep(STORE_DOWN).await;
        }
    }
}
