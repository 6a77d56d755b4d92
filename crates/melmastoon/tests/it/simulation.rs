//! Whole hotels from a seed: guests book, pay, cancel, services crash in the middle of whatever they do and come back, their calls
//! to the store come late, fail and lose their answers, time passes, the gateway misbehaves, and in the end everything adds up.
//!
//! A hotel has one thread and a clock that stands still while anybody has something to do, so it takes processor time alone. The seed
//! decides who does what, when, and what goes wrong; what is ready at the same instant may still take turns in another order, so a seed
//! that failed is played again more than once. A few seeds run with the tests, thousands through `cargo xtask slow hotel --seeds N`.

mod documents;
mod planted;
mod projections;
mod repair;
mod rules;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use karwan::engine::LEASE_MS;
use karwan::envelope::mint::Random;
use karwan::envelope::money::Currency;
use karwan::envelope::time::Clock as _;
use karwan::testing::SeededRandom;
use melmastoon::iam::decide::NewUser;
use melmastoon::iam::{self as iam, AccountKind, SignInMethod};
use melmastoon::ids::ReservationId;
use melmastoon::lock_integration::state::Credential;
use melmastoon::lock_integration::{commands as locks, port as lock};
use melmastoon::notification::{commands as messages, port as message};
use melmastoon::payment::PaymentFailure;
use melmastoon::payment::commands as payment;
use melmastoon::payment::decide::Count;
use melmastoon::payment::port::{Captured, Notice, Told};
use melmastoon::payment::state::{Case, Intent};
use melmastoon::pricing::commands as pricing;
use melmastoon::reservation::commands as reservation;
use melmastoon::tenant::commands::{self as tenant, Grant};
use melmastoon::values::{PaymentRail, StaffRole};

use crate::desk::Trouble;
use crate::world::gateway::Fault;
use crate::world::{World, from};

/// Seeds that run with the tests.
const SEEDS: u64 = 3;
/// What happens in one hotel.
const STEPS: u64 = 40;
/// Long enough for every retry of a refund, in steps of ten minutes.
const DRAIN_STEPS: u32 = 40;
const DRAIN_MS: i64 = 600_000;

/// Must hold: no room-night sold twice, money conserved, one folio, every saga ends, partial is visible and can be repaired, no key
/// outlives its booking, figures and listings are what the log says, one correlation, causation exists, replay changes no document of
/// any service.
#[test]
fn hotels_from_seeds_keep_every_rule() {
    let crate::desk::Seeds { first, count: seeds } = crate::desk::Seeds::asked(SEEDS);
    let next = AtomicU64::new(first);
    let broken = Mutex::new(Vec::new());
    // A hotel never waits: one a core.
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    std::thread::scope(|scope| {
        for _ in 0..seeds.min(cores) {
            scope.spawn(|| {
                while let seed = next.fetch_add(1, Ordering::Relaxed)
                    && seed < first + seeds
                    && broken.lock().unwrap().is_empty()
                {
                    if seeds > SEEDS {
                        eprintln!("hotel {} of {seeds}: seed={seed}", seed - first + 1);
                    }
                    let rules = play(seed);
                    broken.lock().unwrap().extend(named(seed, rules));
                }
            });
        }
    });
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new(), "these rules are broken");
}

/// Each rule that is broken, with the seed that broke it.
fn named(seed: u64, rules: Vec<String>) -> Vec<String> {
    rules.into_iter().map(|rule| format!("seed={seed}: {rule}")).collect()
}

/// Runs on one thread, by a clock that stands still while anybody has something to do.
pub fn on_one_thread<T>(hotel: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime can be made").block_on(Box::pin(hotel))
}

/// Somebody with an account and a role, so that iam has something to hear.
async fn hire(world: &World) {
    let wanted = NewUser {
        kind: AccountKind::Staff,
        full_name: "Ahmad Shah".to_owned(),
        email: "ahmad@example.af".to_owned(),
        phone: None,
        preferred_locale: "fa-AF".parse().expect("a locale"),
        sign_in: SignInMethod::Password,
    };
    let user_id = iam::commands::create(world.store(), &from(iam::SERVICE), &wanted).await.expect("an account");
    let role = StaffRole::FrontDesk;
    let grant = Grant { user_id, role, property_ids: vec![world.property], by: user_id };
    tenant::grant_role(world.store(), &from("tenant-service"), &grant).await.expect("a role is granted");
}

fn dollar() -> Currency {
    "USD".parse().expect("a currency")
}

fn play(seed: u64) -> Vec<String> {
    on_one_thread(async {
        let mut play = Play::new(seed).await.lived().await;
        rules::broken(&mut play.world).await
    })
}

/// One hotel.
struct Play {
    world: World,
    chance: SeededRandom,
    booked: Vec<ReservationId>,
}

impl Play {
    async fn new(seed: u64) -> Self {
        let chance = SeededRandom::new(seed);
        let rooms = 1 + (chance.bits() % 3) as usize;
        let world = World::in_a_storm(rooms, seed).await;
        world.locks.spoil(Trouble::Chance(SeededRandom::new(seed)));
        hire(&world).await;
        let (dollar, afghani) = (dollar(), "AFN".parse().expect("a currency"));
        let set = pricing::set_exchange_rate(world.store(), &from("pricing-service"), dollar, afghani, "70.525").await;
        set.expect("a rate");
        Self { world, chance, booked: Vec::new() }
    }

    /// Everything has happened, and is drained.
    async fn lived(mut self) -> Self {
        for _ in 0..STEPS {
            self.step().await;
        }
        self.world.locks.mend();
        self.world.calm_down();
        self.world.run(&[]).await;
        // A last time for all, also for what is not seen here; then until nobody is asked for anything any more.
        self.world.pass_ms(DRAIN_MS).await;
        for _ in 0..DRAIN_STEPS {
            if rules::is_drained(&self.world).await {
                break;
            }
            self.world.pass_ms(DRAIN_MS).await;
        }
        self
    }

    fn below(&self, bound: u64) -> u64 {
        self.chance.bits() % bound
    }

    async fn step(&mut self) {
        match self.below(20) {
            0..=7 => self.book().await,
            8..=10 => self.cancel().await,
            11 => self.count_cash().await,
            12 => match self.below(3) {
                0 => self.webhook().await,
                1 => self.notice_of_a_key().await,
                _ => self.notice_of_a_message().await,
            },
            13 => self.crash().await,
            14 => self.world.pass_ms(self.below(700) as i64 * 1_000).await,
            15..=17 => self.world.pass_ms(self.below(20_000) as i64).await,
            _ => self.world.settle().await,
        }
    }

    /// Books some nights of a busy week; what goes wrong is waiting at the gateway.
    async fn book(&mut self) {
        self.world.gateway.next(match self.below(10) {
            0 => Fault::Declined(PaymentFailure::Declined),
            1 => Fault::SilentBefore(self.below(8) as u32),
            2 => Fault::SilentAfter(self.below(8) as u32),
            3 => Fault::SilentAfter(1_000),
            4 => Fault::RefundDeclined(1 + self.below(2) as u32),
            5 => Fault::RefundSilentAfter(self.below(5) as u32),
            6 if self.below(3) == 0 => Fault::Wrong { reserved: self.below(2) == 0 },
            6 if self.below(3) == 0 => Fault::RefundWrong,
            _ => Fault::None,
        });
        let check_in = format!("2026-03-{}", 10 + self.below(4));
        let mut ask = self.world.ask(&check_in, 1 + self.below(3) as i32);
        // Some pay in another currency than the house's.
        ask.currency = (self.below(4) == 0).then(dollar);
        let offer = pricing::quote(self.world.store(), &from("pricing-service"), &ask).await.expect("it has a price");
        let rail = if self.below(4) == 0 { PaymentRail::Cash } else { PaymentRail::Card };
        let wish = self.world.wish(offer, rail);
        let placed = reservation::book(self.world.store(), &from("reservation-service"), &wish).await;
        self.booked.push(placed.expect("the offer is fresh").reservation_id);
    }

    fn somebody(&self) -> Option<ReservationId> {
        let count = self.booked.len() as u64;
        (count > 0).then(|| self.booked[self.below(count) as usize])
    }

    /// A guest cancels, at whatever moment; where it is too late, that is an answer.
    async fn cancel(&self) {
        let Some(id) = self.somebody() else { return };
        drop(reservation::cancel_for_guest(self.world.store(), &from("reservation-service"), id).await);
    }

    async fn count_cash(&self) {
        let Some(id) = self.somebody() else { return };
        let received = self.world.booking(id).await.offer.quote.total;
        let by = melmastoon::ids::StaffId::from_bits(1 << 80);
        let count = Count { received, by, shift_id: None, device_id: None };
        drop(payment::reconcile_cash(self.world.store(), &from("payment-gateway-service"), id, &count).await);
    }

    /// The gateway tells, truly, that it has taken money, twice.
    async fn webhook(&self) {
        let Some(id) = self.somebody() else { return };
        let case: Option<Case> = self.world.read(&id.to_string()).await;
        let Some(intent) = case.and_then(|case| case.intent) else { return };
        let books = self.world.gateway.books();
        let Some(charge) = books.get(&intent.to_string()).filter(|it| !it.taken.is_empty() && !it.voided) else {
            return;
        };
        let told = Told::Captured(Captured { gateway_ref: format!("ch_{intent}"), amount: charge.amount });
        let notice = Notice { notice_id: "evt".to_owned(), intent, told };
        for _ in 0..2 {
            let taken = payment::notice(self.world.store(), &from("payment-gateway-service"), &notice).await;
            taken.expect("an intent that is known takes notices");
        }
        drop(self.world.read::<Intent>(&intent.to_string()).await);
    }

    /// The vendor tells, truly, what became of a key, twice.
    async fn notice_of_a_key(&self) {
        let keys: Vec<Credential> = rules::all(&self.world).await;
        let Some(key) = keys.get(self.below(keys.len().max(1) as u64) as usize) else { return };
        let told = match self.world.locks.made(&key.issue_key) {
            Some(issued) => lock::Told::Issued(issued),
            None if self.world.locks.ended(&key.issue_key) => lock::Told::Revoked,
            None => return,
        };
        let notice_id = format!("{} {}", key.key_credential_id, matches!(told, lock::Told::Revoked));
        let notice = lock::Notice { notice_id, credential: key.key_credential_id, told };
        for _ in 0..2 {
            let heard = locks::hear(self.world.store(), &from("lock-integration-service"), &notice).await;
            heard.expect("a notice is heard");
        }
    }

    /// The carrier tells that a message arrived.
    async fn notice_of_a_message(&self) {
        let taken: Vec<_> =
            self.world.post.taken.lock().expect("nobody panics").iter().map(|message| message.message).collect();
        let Some(message) = taken.get(self.below(taken.len().max(1) as u64) as usize) else { return };
        let at = self.world.place.clock().now();
        let notice =
            message::Notice { notice_id: "n".to_owned(), message: *message, at, told: message::Told::Delivered };
        let heard = messages::hear(self.world.store(), &from("notification-service"), &notice).await;
        heard.expect("a message that was handed over is known");
    }

    /// Everything stops where it is, at whatever it asks of its store or hears of; some services come back, and then all.
    async fn crash(&mut self) {
        if let Some(storm) = &self.world.storm {
            storm.ends_after(self.below(400));
        }
        tokio::time::sleep(Duration::from_millis(self.below(3_000))).await;
        drop(self.world.engine.take());
        // Its leases run out, by the clock that it shares with whoever comes.
        self.world.place.clock().advance_ms(LEASE_MS + 1_000);
        let services = melmastoon::hotel::PARTS.iter().map(|part| part.name);
        let some: Vec<&str> = services.filter(|_| self.below(2) == 0).collect();
        self.world.run(&some).await;
        self.world.pass_ms(self.below(40_000) as i64).await;
        self.world.run(&[]).await;
    }
}
