//! What payment does: it waits for a hold and its allocation, asks the rail, and gives back what a cancelled booking paid.

use std::sync::Arc;

use karwan::envelope::money::Money;
use karwan::{
    Answered, Call, Consumer, Error, Performer, Policy, Received, Refusal, Tenant, TenantTx, Timer, Verdict, Work,
};
use serde::{Deserialize, Serialize};

use super::decide::{Begin, begin, refund_of};
use super::port::{self, Authorise, Capture, Captured, Rail, Refunded, Ruling, Void, Voided};
use super::state::{Case, Due, FinanceAlert, Intent, IntentState, RefundRow, RefundState};
use super::{PaymentFailure, RefundReason, SERVICE};
use crate::ids::{PaymentIntentId, PaymentMethodId, RefundId, ReservationId};
use crate::inventory::AllocationCommitted;
use crate::reservation::{BookingCancelled, BookingHeld};
use crate::values::PaymentRail;

/// How often a gateway is asked for a charge before it is given up: a minute, well within a hold.
pub const CHARGE_ATTEMPTS: u32 = 5;
/// How often it is asked for a refund before finance hears of it: some hours.
pub const REFUND_ATTEMPTS: u32 = 20;
/// Waits double from a second to a minute. One attempt more than is asked: the one that says that nobody answered.
const CHARGE: Policy = Policy {
    attempts_max: CHARGE_ATTEMPTS + 2,
    first_ms: 1_000,
    most_ms: 60_000,
    later_ms: 1_000,
    later_most_ms: 60_000,
};
const REFUND: Policy = Policy { attempts_max: REFUND_ATTEMPTS + 2, most_ms: 600_000, ..CHARGE };
/// A charge of unknown fate is undone, however long the gateway is away: weeks.
const VOID: Policy = Policy { attempts_max: 10_000, most_ms: 600_000, ..CHARGE };

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::hotel::kinds(),
    bookings => crate::given::a_booking_is_allocated_and_cancelled,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work, card: &Arc<dyn Rail>) -> Work {
    let work = consumers().into_iter().fold(work, Work::consumer);
    let work = work.timer(Timer::new(SERVICE, REFUND_DUE, refund_due));
    let (charging, refunding, voiding) = (card.clone(), card.clone(), card.clone());
    let charge = move |call: Call<Charge>| charge(charging.clone(), call);
    let refund = move |call: Call<GiveBack>| refund(refunding.clone(), call);
    let void = move |call: Call<PaymentIntentId>| void(voiding.clone(), call);
    work.performer(Performer::new(SERVICE, port::CHARGE, charge, charged).policy(CHARGE).at_once(AT_ONCE))
        .performer(Performer::new(SERVICE, port::REFUND, refund, refunded).policy(REFUND).at_once(AT_ONCE))
        .performer(Performer::new(SERVICE, port::VOID, void, voided).policy(VOID).at_once(AT_ONCE))
}

/// The deadline of a cancellation's refund: it only alerts (U-12).
pub const REFUND_DUE: &str = "payment.refund_due";
/// How long a refund may take before finance hears of it.
pub const REFUND_DUE_MS: i64 = 60_000;
/// What spans call an intent.
const INTENT_SPAN: &str = "intent";
/// What spans call a refund.
pub(super) const REFUND_SPAN: &str = "refund";
/// Calls of a kind that are under way at once.
const AT_ONCE: usize = 32;

fn bookings() -> Consumer {
    Consumer::new(SERVICE, "bookings").on(held).on(committed).on(cancelled).lanes(crate::workers::LANES_MAX)
}

async fn case(tx: &TenantTx, id: ReservationId) -> Result<Case, Error> {
    Ok(tx.find::<Case>(&id.to_string()).await?.unwrap_or_else(|| Case::new(id)))
}

async fn held(tx: TenantTx, held: Received<BookingHeld>) -> Result<Verdict, Error> {
    let held = held.event;
    let mut case = case(&tx, held.reservation_id).await?;
    case.hold = Some(Due {
        saga_id: held.saga_id,
        property_id: held.property_id,
        folio_id: held.folio_id,
        payment: held.payment,
        now: held.due_now,
        total: held.quote.total,
    });
    start(&tx, case);
    Ok(Verdict::Done)
}

async fn committed(tx: TenantTx, committed: Received<AllocationCommitted>) -> Result<Verdict, Error> {
    let mut case = case(&tx, committed.event.reservation_id).await?;
    case.allocated = true;
    start(&tx, case);
    Ok(Verdict::Done)
}

/// Creates the intent, where both inputs are there.
fn start(tx: &TenantTx, mut case: Case) {
    if let Some(due) = case.ready() {
        let now = tx.now();
        let mut intent = Intent::of_booking(tx.fresh(), &case, due, &tx.context().cause);
        tx.emit(intent.created(now));
        match (begin(due), intent.method) {
            (Begin::Promise, _) => tx.emit(intent.promised(now)),
            (Begin::Charge, Some(method)) => {
                let charge = Charge { intent: intent.payment_intent_id, method, amount: intent.amount };
                tx.effect(port::CHARGE, &case.reservation_id.to_string(), &charge);
            }
            (Begin::Nothing, _) => {
                let nothing = Captured { gateway_ref: String::new(), amount: intent.money(0) };
                intent.captured(&nothing, now).into_iter().for_each(|fact| tx.emit(fact));
            }
            (Begin::Charge | Begin::Unserved, _) => {
                let failed = intent.failed(PaymentFailure::GatewayUnavailable, 1, now);
                failed.into_iter().for_each(|fact| tx.emit(fact));
            }
        }
        stepped(tx, "none", &intent);
        case.intent = Some(intent.payment_intent_id);
        tx.put(intent);
    }
    tx.put(case);
}

async fn cancelled(tx: TenantTx, cancelled: Received<BookingCancelled>) -> Result<Verdict, Error> {
    let cancelled = cancelled.event;
    let mut case = case(&tx, cancelled.reservation_id).await?;
    case.cancelled = true;
    if let Some(id) = case.intent {
        let mut intent: Intent = tx.get(&id.to_string()).await?;
        let (amount, reason) = refund_of(cancelled.previous_status, &cancelled.refund);
        // What is still to be heard of a charge belongs to the booking that asked for it, as the answer to the call does.
        if intent.state != IntentState::Created {
            intent.cause = (&tx.context().cause).into();
        }
        give_back(&tx, &mut intent, amount, reason);
        tx.put(intent);
    }
    tx.put(case);
    Ok(Verdict::Done)
}

/// Gives back what may be given back: through the gateway, or over the desk.
pub(super) fn give_back(tx: &TenantTx, intent: &mut Intent, amount: i128, reason: RefundReason) {
    let Some(row) = intent.claim(tx.fresh(), amount, reason) else { return };
    match (intent.rail, intent.gateway_ref.clone()) {
        (PaymentRail::Card | PaymentRail::Paypal | PaymentRail::Mfs, Some(gateway_ref)) => {
            tx.transition(REFUND_SPAN, "none", row.state.name());
            ask_back(tx, intent, &row, gateway_ref);
        }
        // The desk hands it over.
        _ => {
            tx.transition(REFUND_SPAN, "none", RefundState::Done.name());
            intent.refunded(row.refund_id, tx.now()).into_iter().for_each(|fact| tx.emit(fact));
        }
    }
}

/// Asks the gateway for a refund, under the row's key: asked again before there was an answer, it is the same refund.
pub(super) fn ask_back(tx: &TenantTx, intent: &Intent, row: &RefundRow, gateway_ref: String) {
    let (idempotency_key, amount) = (row.key(), intent.money(row.amount.get()));
    let ask = port::Refund { idempotency_key, gateway_ref, refund: row.refund_id, amount };
    let call = GiveBack { intent: intent.payment_intent_id, ask };
    let late = Late { intent: intent.payment_intent_id, refund: row.refund_id };
    tx.deadline(REFUND_DUE, &row.refund_id.to_string(), tx.now().plus_ms(REFUND_DUE_MS), &late);
    tx.effect(port::REFUND, &intent.reservation_id.to_string(), &call);
}

/// A charge that is asked for. It names the intent, which is the key.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Charge {
    intent: PaymentIntentId,
    method: PaymentMethodId,
    amount: Money,
}

/// A refund that is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct GiveBack {
    intent: PaymentIntentId,
    ask: port::Refund,
}

/// A refund that is not there in time.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Late {
    intent: PaymentIntentId,
    refund: RefundId,
}

/// What became of a call: a ruling, or nobody answered and it is given up, or the other side calls the request wrong. None of
/// them is left to whoever reads dead letters: each has its compensation.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Outcome<A> {
    Ruled {
        ruling: Ruling<A>,
        attempts: u32,
    },
    /// It was reserved, and its capture is declined.
    NotTaken {
        reason: PaymentFailure,
        attempts: u32,
    },
    Silent {
        attempts: u32,
    },
    Wrong {
        why: String,
        attempts: u32,
    },
}

impl<A> Outcome<A> {
    /// What a rail answered; that it calls the request wrong is an answer, too, and only silence is asked again.
    fn of(asked: Result<Ruling<A>, Refusal>, attempts: u32) -> Result<Self, Refusal> {
        match asked {
            Ok(ruling) => Ok(Self::Ruled { ruling, attempts }),
            Err(Refusal::Never(why)) => Ok(Self::Wrong { why, attempts }),
            Err(later @ Refusal::Later(_)) => Err(later),
        }
    }
}

/// Authorises and captures under one key. The attempt after the last asks nobody: it says so.
async fn charge(rail: Arc<dyn Rail>, call: Call<Charge>) -> Result<Outcome<Captured>, Refusal> {
    let attempts = call.attempt;
    if attempts > CHARGE_ATTEMPTS {
        return Ok(Outcome::Silent { attempts: CHARGE_ATTEMPTS });
    }
    let Tenant::One(tenant) = call.tenant else { return Err(Refusal::Never("only tenants are paid".to_owned())) };
    let Charge { intent, method, amount } = call.told;
    let key = intent.to_string();
    let ask = Authorise { idempotency_key: key.clone(), tenant, intent, method, amount };
    let gateway_ref = match Outcome::of(rail.authorise(ask).await, attempts)? {
        Outcome::Ruled { ruling: Ruling::Granted(done), .. } => done.gateway_ref,
        Outcome::Ruled { ruling: Ruling::Declined(reason), attempts } => {
            return Ok(Outcome::Ruled { ruling: Ruling::Declined(reason), attempts });
        }
        Outcome::NotTaken { reason, attempts } => return Ok(Outcome::NotTaken { reason, attempts }),
        Outcome::Silent { attempts } => return Ok(Outcome::Silent { attempts }),
        Outcome::Wrong { why, attempts } => return Ok(Outcome::Wrong { why, attempts }),
    };
    Ok(match Outcome::of(rail.capture(Capture { idempotency_key: key, gateway_ref, amount }).await, attempts)? {
        Outcome::Ruled { ruling: Ruling::Declined(reason), attempts } => Outcome::NotTaken { reason, attempts },
        answer
        @ (Outcome::Ruled { .. } | Outcome::NotTaken { .. } | Outcome::Silent { .. } | Outcome::Wrong { .. }) => answer,
    })
}

async fn charged(tx: TenantTx, answered: Answered<Charge, Outcome<Captured>>) -> Result<(), Error> {
    let mut intent: Intent = tx.get(&answered.told.intent.to_string()).await?;
    let before = intent.state.name();
    match answered.answer {
        Outcome::Ruled { ruling: Ruling::Granted(done), .. } => came(&tx, &mut intent, &done).await?,
        Outcome::Ruled { ruling: Ruling::Declined(reason), attempts } => {
            intent.failed(reason, attempts, tx.now()).into_iter().for_each(|fact| tx.emit(fact));
        }
        // What is reserved would keep the guest from that money for days.
        Outcome::NotTaken { reason, attempts } => undo(&tx, &mut intent, (reason, attempts)),
        // It may have been charged or reserved: nobody knows.
        Outcome::Silent { attempts } | Outcome::Wrong { attempts, .. } => {
            undo(&tx, &mut intent, (PaymentFailure::GatewayUnavailable, attempts));
        }
    }
    stepped(&tx, before, &intent);
    tx.put(intent);
    Ok(())
}

/// The money will not come, and whatever the gateway has of it is undone; nothing where it has come by a notice.
fn undo(tx: &TenantTx, intent: &mut Intent, (reason, attempts): (PaymentFailure, u32)) {
    if let Some(failed) = intent.failed(reason, attempts, tx.now()) {
        tx.emit(failed);
        tx.effect(port::VOID, &intent.reservation_id.to_string(), &intent.payment_intent_id);
    }
}

/// Whoever changes where an intent stands says so: an answer, a notice, a count of cash.
pub(super) fn stepped(tx: &TenantTx, before: &'static str, intent: &Intent) {
    let now = intent.state.name();
    if now != before {
        tx.transition(INTENT_SPAN, before, now);
    }
}

/// The money came, by an answer or a webhook. For a booking that is over it goes back at once.
pub(super) async fn came(tx: &TenantTx, intent: &mut Intent, done: &Captured) -> Result<(), Error> {
    let Some(captured) = intent.captured(done, tx.now()) else { return Ok(()) };
    tx.emit(captured);
    if case(tx, intent.reservation_id).await?.cancelled {
        give_back(tx, intent, i128::MAX, RefundReason::LateCapture);
    }
    Ok(())
}

async fn refund(rail: Arc<dyn Rail>, call: Call<GiveBack>) -> Result<Outcome<Refunded>, Refusal> {
    let attempts = call.attempt;
    if attempts > REFUND_ATTEMPTS {
        return Ok(Outcome::Silent { attempts: REFUND_ATTEMPTS });
    }
    Outcome::of(rail.refund(call.told.ask).await, attempts)
}

async fn refunded(tx: TenantTx, answered: Answered<GiveBack, Outcome<Refunded>>) -> Result<(), Error> {
    let GiveBack { intent, ask } = answered.told;
    let mut intent: Intent = tx.get(&intent.to_string()).await?;
    match answered.answer {
        Outcome::Ruled { ruling: Ruling::Granted(_), .. } => went_back(&tx, &mut intent, ask.refund).await?,
        Outcome::Ruled { ruling: Ruling::Declined(reason), .. } | Outcome::NotTaken { reason, .. } => {
            alert(&tx, &mut intent, &ask, (reason, true)).await?
        }
        Outcome::Wrong { .. } => alert(&tx, &mut intent, &ask, (PaymentFailure::GatewayUnavailable, true)).await?,
        Outcome::Silent { .. } => alert(&tx, &mut intent, &ask, (PaymentFailure::GatewayUnavailable, false)).await?,
    }
    tx.put(intent);
    Ok(())
}

/// The money went back, by an answer or a webhook; an alert that was raised about it is closed.
pub(super) async fn went_back(tx: &TenantTx, intent: &mut Intent, refund: RefundId) -> Result<(), Error> {
    let before = intent.refunds.iter().find(|row| row.refund_id == refund).map(|row| row.state.name());
    let Some(refunded) = intent.refunded(refund, tx.now()) else { return Ok(()) };
    tx.transition(REFUND_SPAN, before.unwrap_or("none"), RefundState::Done.name());
    tx.cancel_deadline(REFUND_DUE, &refund.to_string());
    tx.emit(refunded);
    if let Some(alert) = tx.find::<FinanceAlert>(&refund.to_string()).await? {
        tx.put(FinanceAlert { open: false, ..alert });
    }
    Ok(())
}

/// Finance hears of a refund that failed, and whether the gateway said so. The booking stays cancelled.
async fn alert(
    tx: &TenantTx,
    intent: &mut Intent,
    ask: &port::Refund,
    (reason, answered): (PaymentFailure, bool),
) -> Result<(), Error> {
    if !intent.refund_failed(ask.refund, reason, answered) {
        return Ok(());
    }
    tx.transition(REFUND_SPAN, RefundState::Asked.name(), RefundState::Failed(reason).name());
    tx.cancel_deadline(REFUND_DUE, &ask.refund.to_string());
    raise(tx, intent, (ask.refund, ask.amount), reason).await
}

async fn raise(
    tx: &TenantTx,
    intent: &Intent,
    (refund_id, amount): (RefundId, Money),
    reason: PaymentFailure,
) -> Result<(), Error> {
    tx.find::<FinanceAlert>(&refund_id.to_string()).await?;
    let (payment_intent_id, reservation_id) = (intent.payment_intent_id, intent.reservation_id);
    let raised_at = tx.now();
    tx.put(FinanceAlert { refund_id, payment_intent_id, reservation_id, amount, reason, open: true, raised_at });
    Ok(())
}

/// A minute is over, and the gateway is still being asked: finance hears of it, and nothing else changes (U-12). The alert is
/// closed when the money has gone back.
async fn refund_due(tx: TenantTx, due: karwan::Due<Late>) -> Result<(), Error> {
    let Late { intent, refund } = due.told;
    let intent: Intent = tx.get(&intent.to_string()).await?;
    let asked = |row: &&RefundRow| row.refund_id == refund && row.state == RefundState::Asked;
    match intent.refunds.iter().find(asked) {
        Some(row) => {
            let amount = intent.money(row.amount.get());
            raise(&tx, &intent, (refund, amount), PaymentFailure::GatewayUnavailable).await
        }
        None => Ok(()),
    }
}

async fn void(rail: Arc<dyn Rail>, call: Call<PaymentIntentId>) -> Result<Ruling<Voided>, Refusal> {
    rail.void(Void { charge_key: call.told.to_string(), intent: call.told }).await
}

/// The gateway has seen to it that nothing is taken; there is nothing to tell anybody.
async fn voided(_: TenantTx, _: Answered<PaymentIntentId, Ruling<Voided>>) -> Result<(), Error> {
    Ok(())
}
