//! The client of the card gateway, over sockets: what it asks and how it reads answers, and the gateway's own notices.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use karwan::envelope::money::{Micros, Money};
use karwan::envelope::time::SystemClock;
use karwan::{Refusal, TenantId};
use karwan_http::{Request, Response, Server, StatusCode};
use karwan_sandbox::gateway::{Fault, Gateway, MERCHANT, SECRET, WEBHOOK_SECRET};
use melmastoon::ids::{PaymentIntentId, PaymentMethodId, RefundId};
use melmastoon::payment::card::{self, Account, Card};
use melmastoon::payment::port::{Authorise, Authorised, Capture, Captured, Rail as _, Refund, Ruling, Void, Voided};
use melmastoon::payment::{IntentCaptured, IntentRefunded, PaymentFailure, commands as payment};
use melmastoon::reservation::booking::State;
use melmastoon::reservation::commands as reservation;
use melmastoon::values::PaymentRail;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::world::{FIRST_NIGHT, World, from};

const AT_ONCE: (Duration, Duration) = (Duration::ZERO, Duration::ZERO);
const KEY: &str = "pay_1";

fn rail(url: String) -> Card {
    let account = Account { url, merchant: MERCHANT.to_owned(), secret: SECRET.to_owned() };
    Card::new(account, Arc::new(SystemClock))
}

fn afghanis(micros: i128) -> Money {
    Money { amount_micro: Micros::new(micros), currency: "AFN".parse().expect("a currency") }
}

fn reserve(key: &str) -> Authorise {
    Authorise {
        idempotency_key: key.to_owned(),
        tenant: TenantId::from_bits(1),
        intent: PaymentIntentId::from_bits(2),
        method: PaymentMethodId::from_bits(3),
        amount: afghanis(7_000_001),
    }
}

fn undo(key: &str) -> Void {
    Void { charge_key: key.to_owned(), intent: PaymentIntentId::from_bits(2) }
}

/// What is reserved, under its key.
async fn reserved(card: &Card, key: &str) -> Capture {
    let Ok(Ruling::Granted(Authorised { gateway_ref })) = card.authorise(reserve(key)).await else {
        panic!("a good card is charged")
    };
    Capture { idempotency_key: key.to_owned(), gateway_ref, amount: afghanis(7_000_001) }
}

/// A charge of unknown fate is undone by its key alone: one that was taken, one that was only reserved, one that never came.
#[tokio::test]
async fn a_charge_that_is_undone_gives_everything_back_and_never_charges_again() {
    let gateway = Gateway::open(None, AT_ONCE).await.expect("it opens");
    let card = rail(gateway.url());
    let capture = reserved(&card, KEY).await;
    let taken = card.capture(capture.clone()).await.expect("it is answered");
    let all = Captured { gateway_ref: capture.gateway_ref.clone(), amount: afghanis(7_000_001) };
    assert_eq!(taken, Ruling::Granted(all));
    for _ in 0..2 {
        let undone = card.void(undo(KEY)).await.expect("it is answered");
        assert_eq!(undone, Ruling::Granted(Voided { given_back: Some(afghanis(7_000_001)) }));
    }
    let held = reserved(&card, "pay_2").await;
    for key in ["pay_2", "pay_3"] {
        let undone = card.void(undo(key)).await.expect("it is answered");
        assert_eq!(undone, Ruling::Granted(Voided { given_back: None }));
    }
    let late = card.capture(held).await.expect("it is answered");
    assert_eq!(late, Ruling::Declined(PaymentFailure::Abandoned));
    let late = card.authorise(reserve("pay_3")).await.expect("it is answered");
    assert_eq!(late, Ruling::Declined(PaymentFailure::Abandoned));
    let books: BTreeMap<String, (i64, i64, bool)> = gateway
        .charges()
        .into_iter()
        .map(|charge| (charge.key, (charge.captured_micros, charge.refunded_micros, charge.voided)))
        .collect();
    let voided = [("pay_1", (7_000_001, 7_000_001, true)), ("pay_2", (0, 0, true))];
    assert_eq!(books, voided.map(|(key, book)| (key.to_owned(), book)).into());
}

/// What a gateway answers that says the same to whoever asks.
async fn answers(status: StatusCode, body: &'static str) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let answer = move |_: Request| async move {
        Response { status, content_type: "application/json", body: body.as_bytes().to_vec().into() }
    };
    Server::start(listener, answer).expect("it listens")
}

/// Whether everything that is asked comes again, or never: each of the four calls reads answers the same way.
async fn read(status: StatusCode, body: &'static str) -> Vec<&'static str> {
    let server = answers(status, body).await;
    let card = rail(format!("http://{}", server.address()));
    let (gateway_ref, amount) = ("ch_1".to_owned(), afghanis(7));
    let capture = Capture { idempotency_key: KEY.to_owned(), gateway_ref: gateway_ref.clone(), amount };
    let refund = RefundId::from_bits(4);
    let refund = Refund { idempotency_key: refund.to_string(), gateway_ref, refund, amount };
    let mut all = vec![said(&card.authorise(reserve(KEY)).await), said(&card.capture(capture).await)];
    all.extend([said(&card.refund(refund).await), said(&card.void(undo(KEY)).await)]);
    all.dedup();
    all
}

fn said<A>(answer: &Result<Ruling<A>, Refusal>) -> &'static str {
    match answer {
        Ok(Ruling::Granted(_)) => "granted",
        Ok(Ruling::Declined(_)) => "declined",
        Err(Refusal::Later(_)) => "later",
        Err(Refusal::Never(_)) => "never",
    }
}

/// A gateway in trouble is asked again; what it calls wrong is not, and neither is what it decides.
#[tokio::test]
async fn trouble_is_asked_again_and_a_wrong_request_never() {
    const DECLINED: &str = r#"{"error":{"code":"insufficient_funds"}}"#;
    for status in [500, 502, 503, 504, 429] {
        let status = StatusCode::from_u16(status).expect("a status");
        assert_eq!(read(status, DECLINED).await, ["later"], "{status}");
    }
    for status in [400, 401, 403, 404, 409, 422] {
        let status = StatusCode::from_u16(status).expect("a status");
        assert_eq!(read(status, DECLINED).await, ["never"], "{status}");
    }
    assert_eq!(read(StatusCode::PAYMENT_REQUIRED, DECLINED).await, ["declined"]);
    // Nobody knows what these mean, so nobody knows whether it was done.
    assert_eq!(read(StatusCode::PAYMENT_REQUIRED, "no").await, ["later"]);
    assert_eq!(read(StatusCode::OK, "[]").await, ["later"]);
    let gone = answers(StatusCode::OK, "{}").await;
    let card = rail(format!("http://{}", gone.address()));
    gone.stop().await;
    assert_eq!(said(&card.void(undo(KEY)).await), "later");
}

/// A hotel whose gateway is over sockets and misbehaves for its guest's card, and where its notices arrive: their ids.
async fn hotel(faults: &[Fault]) -> (World, Gateway, Server, UnboundedReceiver<String>) {
    let mut world = World::stopped(1).await;
    let gateway = Gateway::open(None, AT_ONCE).await.expect("it opens");
    let method = PaymentMethodId::from_bits(world.plan.bits() + 1);
    faults.iter().for_each(|fault| gateway.fault(&method.to_string(), *fault).expect("it is kept"));
    let (tell, told) = unbounded_channel();
    let store = world.store().clone();
    let hear = move |request: Request| {
        let (store, tell) = (store.clone(), tell.clone());
        async move {
            let signed = request.header(card::SIGNATURE);
            let (_, notice) = card::notice(WEBHOOK_SECRET, &SystemClock, &request.body, signed).expect("it is signed");
            let taken = payment::notice(&store, &from("payment-gateway-service"), &notice).await;
            taken.expect("an intent that is known takes notices");
            tell.send(notice.notice_id).expect("the test listens");
            Response::empty(StatusCode::NO_CONTENT)
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let hooks = Server::start(listener, hear).expect("it listens");
    gateway.notify(format!("http://{}/hooks", hooks.address())).await;
    world.card = Some(Arc::new(rail(gateway.url())));
    world.run(&[]).await;
    (world, gateway, hooks, told)
}

async fn next(told: &mut UnboundedReceiver<String>, notices: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..notices {
        ids.push(told.recv().await.expect("the gateway tells"));
    }
    ids
}

/// The money came once and went back once, by the log and by the gateway's books.
async fn once(world: &World, gateway: &Gateway) {
    let captured = world.told::<IntentCaptured>().await;
    let refunded = world.told::<IntentRefunded>().await;
    assert_eq!((captured.len(), refunded.len()), (1, 1));
    assert_eq!(refunded[0].amount, captured[0].received);
    let charges = gateway.charges();
    let books: Vec<(i64, i64)> = charges.iter().map(|it| (it.captured_micros, it.refunded_micros)).collect();
    let micros = i64::try_from(captured[0].received.amount_micro.get()).expect("it is small");
    assert_eq!(books, [(micros, micros)]);
}

/// The answer to the capture never comes: the gateway's notice tells of it, three times, before the call is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_tells_everything_three_times_is_heard_once() {
    let (world, gateway, _hooks, mut told) = hotel(&[Fault::TimeoutAfterCharge, Fault::DuplicateNotices]).await;
    let id = world.book(FIRST_NIGHT, 1, PaymentRail::Card).await.reservation_id;
    let ids = next(&mut told, 3).await;
    assert!(ids.iter().all(|it| *it == ids[0]), "{ids:?}");
    world.settle().await;
    assert!(matches!(world.state(id).await, State::Confirmed(_)), "nobody has asked again yet");
    world.pass_ms(5_000).await;
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.expect("it is confirmed");
    world.settle().await;
    next(&mut told, 3).await;
    world.settle().await;
    once(&world, &gateway).await;
}

/// Both notices arrive when everything that they tell of is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_tells_everything_late_changes_nothing_any_more() {
    let (world, gateway, _hooks, mut told) = hotel(&[Fault::LateNotices]).await;
    let id = world.book(FIRST_NIGHT, 1, PaymentRail::Card).await.reservation_id;
    reservation::cancel_for_guest(world.store(), &from("reservation-service"), id).await.expect("it is confirmed");
    world.settle().await;
    once(&world, &gateway).await;
    let before = world.log().await.len();
    next(&mut told, 2).await;
    world.settle().await;
    assert_eq!(world.log().await.len(), before);
    once(&world, &gateway).await;
}
