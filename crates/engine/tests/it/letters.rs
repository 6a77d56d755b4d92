//! Dead letters on their way to `<topic>.dlq`: whose they are, what they say, and what holds back none of the others.

use std::collections::BTreeMap;

use karwan_engine::{Consumer, Engine, Policy, Received, Relay, Verdict, Work};
use karwan_store::log::Filter;
use karwan_store::operator::{Deed, Target, Who};
use karwan_store::{Error, Operator, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::{self, Fixture};
use crate::logins::{guarded, login};
use crate::processes::yard::until;
use crate::relay::{broker, change, heal, server, topology};
use crate::shop::{OrderPlaced, ParcelSent, context_of, sent};

const NAME: &str = "sales-service.hopeless";

fn on_sqlite<F: Future<Output = ()>>(test: impl FnOnce(Fixture) -> F) {
    fixture::run(fixture::sqlite(), test);
}

/// Gives up orders after seven attempts, and parcels at once.
fn hopeless() -> Consumer {
    Consumer::new("sales-service", "hopeless")
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Retry("no\nroom".to_owned())))
        .on(async |_: TenantTx, _: Received<ParcelSent>| Ok::<_, Error>(Verdict::Dead("never".to_owned())))
        .policy(Policy { first_ms: 1, most_ms: 1, ..Policy::default() })
}

async fn send_parcel(fixture: &Fixture) {
    let context = context_of("delivery-service", 1);
    let unit = fixture.producer().unit(&context, async |tx: TenantTx| {
        tx.emit(sent("p-1", 1));
        Ok::<_, Error>(())
    });
    unit.await.expect("a parcel can be sent");
}

/// Waits until so many are dead, whatever time they wait for.
async fn given_up(fixture: &Fixture, count: usize) {
    until("what is given up", async || {
        fixture.clock.advance_ms(10);
        (fixture.dead(NAME).await.len() == count).then_some(())
    })
    .await;
}

/// Waits for the first message of a stream, and says what its headers say.
async fn letter(server: &Server, stream: &str) -> BTreeMap<String, String> {
    let broker = broker(server).await;
    until("a letter", async || {
        let found = broker.has_stream(stream).await.expect("it can be asked");
        if found { broker.headers_of(stream, 1).await.expect("it can be asked") } else { None }
    })
    .await
}

async fn letters_in(server: &Server, stream: &str) -> u64 {
    broker(server).await.last_sequence(stream).await.expect("it can be asked")
}

/// under the name that tools know, too.
#[test]
fn after_seven_attempts_a_letter_says_who_gave_it_up_and_why() {
    on_sqlite(async |fixture: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let relay = Relay::new(broker(&server).await, topology());
        let engine = fixture.start_work("n-1", Work::new().consumer(hopeless()).relay(relay));
        fixture.order(1, "o-1", 0).await;
        given_up(&fixture, 1).await;
        let headers = letter(&server, "SALES_DLQ").await;
        let dead = fixture.dead(NAME).await.remove(0);
        let event = dead.event.event.to_string();
        let expected = [
            ("Karwan-Consumer", NAME),
            ("Karwan-Attempts", "7"),
            ("googclient_deliveryattempt", "7"),
            ("Karwan-Error", "no room"),
            ("eventId", event.as_str()),
            ("Nats-Msg-Id", &format!("{NAME}:{event}:{}", dead.at)),
        ];
        for (name, value) in expected {
            assert_eq!(headers.get(name).map(String::as_str), Some(value), "{name} of {headers:?}");
        }
        engine.stop().await;
    });
}

/// Deaths are told apart, and a letter that is published again around a crash is the one that is there.
#[test]
fn an_event_that_is_retried_and_dies_again_is_another_letter_and_one_that_is_published_again_is_not() {
    on_sqlite(async |fixture: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let start = async |node: &str| {
            let relay = Relay::new(broker(&server).await, topology());
            fixture.start_work(node, Work::new().consumer(hopeless()).relay(relay))
        };
        let engine = start("n-1").await;
        fixture.order(1, "o-1", 0).await;
        let all_are_fed = async || {
            until("letters that are told of", async || {
                let unfed = fixture.store.dead_unfed(0, 10).await.expect("they can be asked for");
                (unfed.is_empty() && fixture.dead(NAME).await.len() == 1).then_some(())
            })
            .await;
        };
        given_up(&fixture, 1).await;
        all_are_fed().await;
        assert_eq!(letters_in(&server, "SALES_DLQ").await, 1);
        let event = fixture.dead(NAME).await[0].event.event;
        let operator = Operator::new(&fixture.owner, vec![crate::shop::catalogue()]);
        let who = Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() };
        let target = Target { consumer: NAME.to_owned(), event };
        operator.act(&who, &target, &Deed::Retry { out_of_order: false }).await.expect("it can be retried");
        given_up(&fixture, 1).await;
        all_are_fed().await;
        assert_eq!(letters_in(&server, "SALES_DLQ").await, 2);
        engine.stop().await;
        // As a crash leaves it that comes before anybody is told.
        fixture.sql("UPDATE dead SET fed_at = NULL", "UPDATE karwan.dead SET fed_at = NULL");
        let engine = start("n-2").await;
        all_are_fed().await;
        assert_eq!(letters_in(&server, "SALES_DLQ").await, 2);
        engine.stop().await;
    });
}

/// One relay does the dead letters of its store for all: also those of topics whose streams others feed.
#[test]
fn a_relay_of_some_services_publishes_the_letters_of_all() {
    on_sqlite(async |fixture: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let relay = Relay::new(broker(&server).await, topology()).services(["delivery-service".to_owned()]);
        let engine = fixture.start_work("n-1", Work::new().consumer(hopeless()).relay(relay));
        fixture.order(1, "o-1", 0).await;
        given_up(&fixture, 1).await;
        // Its stream is nobody's yet: it is made for the letter.
        assert_eq!(letter(&server, "SALES_DLQ").await["Karwan-Consumer"], NAME);
        engine.stop().await;
    });
}

#[test]
fn what_a_consumer_of_a_stream_gives_up_reaches_its_topic_without_a_relay_beside_it() {
    on_sqlite(async |producer: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let Some(consumer) = fixture::sqlite().await else { return };
        let relay = Relay::new(broker(&server).await, topology());
        let relay = producer.start_work("relay", Work::new().relay(relay));
        let work = Work::new().consumer(hopeless().from_stream("SALES")).broker(broker(&server).await);
        let engine = consumer.start_work("n-1", work);
        producer.order(1, "o-1", 0).await;
        given_up(&consumer, 1).await;
        assert_eq!(letter(&server, "SALES_DLQ").await["Karwan-Consumer"], NAME);
        engine.stop().await;
        relay.stop().await;
    });
}

/// A program with another catalogue beside this one knows the topic, or will: what this one does not know stays to be fed.
#[test]
fn a_letter_whose_topic_a_program_does_not_know_is_left_for_another() {
    on_sqlite(async |fixture: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let engine = fixture.start_work("n-1", Work::new().consumer(hopeless()));
        fixture.order(1, "o-1", 0).await;
        given_up(&fixture, 1).await;
        engine.stop().await;
        fixture.sql("UPDATE dead SET subject = 'shop.sales.order.mystery.v1'", "");
        let relay = Relay::new(broker(&server).await, topology());
        let engine = fixture.start_work("n-2", Work::new().consumer(hopeless()).relay(relay));
        send_parcel(&fixture).await;
        letter(&server, "DELIVERY_DLQ").await;
        let unfed = async || fixture.store.dead_unfed(0, 10).await.expect("they can be asked for");
        let left = until("one letter", async || Some(unfed().await).filter(|left| left.len() == 1)).await;
        assert_eq!(left[0].1.event.subject, "shop.sales.order.mystery.v1");
        engine.stop().await;
    });
}

async fn relay_of_deliveries(fixture: &Fixture, server: &Server) -> Engine {
    let relay = Relay::new(login(server, "delivery-service").await, topology());
    let relay = relay.services(["delivery-service".to_owned()]);
    fixture.start_work("n-1", Work::new().consumer(hopeless()).relay(relay))
}

/// Its login may not publish letters of orders, and those are older.
#[test]
fn a_letter_that_is_denied_holds_back_no_other() {
    on_sqlite(async |fixture: Fixture| {
        let Some(server) = guarded(&topology()).await else { return };
        let engine = relay_of_deliveries(&fixture, &server).await;
        for number in 0..3 {
            fixture.order(1, &format!("o-{number}"), 0).await;
        }
        given_up(&fixture, 3).await;
        send_parcel(&fixture).await;
        let keeper = login(&server, "karwan-topology").await;
        let fed = async || Some(keeper.last_sequence("DELIVERY_DLQ").await.expect("it can be asked"));
        until("the letter of a parcel", async || fed().await.filter(|last| *last == 1)).await;
        assert_eq!(keeper.last_sequence("SALES_DLQ").await.expect("it can be asked"), 0);
        let unfed = async || fixture.store.dead_unfed(0, 10).await.expect("they can be asked for");
        let left = until("what is told", async || Some(unfed().await).filter(|left| left.len() == 3)).await;
        assert!(left.iter().all(|(_, dead)| dead.event.subject == "shop.sales.order.placed.v1"), "{left:?}");
        let troubles = engine.relay_troubles();
        let met = until("a trouble", async || troubles.now().into_iter().next()).await;
        assert_eq!((&*met.stream, met.code), ("SALES_DLQ", "broker-denied"), "of parcels nothing is wrong");
        engine.stop().await;
        // Somebody who may, publishes them.
        let relay = Relay::new(login(&server, "sales-service").await, topology());
        let relay = relay.services(["sales-service".to_owned()]);
        let engine = fixture.start_work("n-2", Work::new().relay(relay));
        let fed = async || Some(keeper.last_sequence("SALES_DLQ").await.expect("it can be asked"));
        until("the letters of orders", async || fed().await.filter(|last| *last == 3)).await;
        engine.stop().await;
    });
}

/// A stream of that name that does not take the topic is nothing that waiting mends; one that is missing is made.
#[test]
fn a_stream_that_takes_no_letters_is_a_trouble_until_it_takes_them() {
    on_sqlite(async |fixture: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let relay = Relay::new(broker(&server).await, topology());
        let engine = fixture.start_work("n-1", Work::new().consumer(hopeless()).relay(relay));
        fixture.order(1, "o-1", 0).await;
        given_up(&fixture, 1).await;
        letter(&server, "SALES_DLQ").await;
        let troubles = engine.relay_troubles();
        until("no trouble", async || troubles.now().is_empty().then_some(())).await;
        let keeper = broker(&server).await;
        keeper.delete_stream("SALES_DLQ").await.expect("it can be deleted");
        keeper.make_plain_stream("SALES_DLQ", "shop.sales.order.changed.v1.dlq").await.expect("it can be made");
        fixture.order(1, "o-2", 0).await;
        given_up(&fixture, 2).await;
        let met = until("a trouble", async || troubles.now().into_iter().next()).await;
        assert_eq!(met.stream, "SALES_DLQ", "{met:?}");
        assert!(met.why.contains("does not take shop.sales.order.placed.v1.dlq"), "{met:?}");
        keeper.delete_stream("SALES_DLQ").await.expect("it can be deleted");
        until("its end", async || troubles.now().is_empty().then_some(())).await;
        letter(&server, "SALES_DLQ").await;
        engine.stop().await;
    });
}

#[test]
fn a_letter_is_published_once_also_where_its_mark_was_lost() {
    on_sqlite(async |fixture: Fixture| {
        let Some(server) = server(Options::default()) else { return };
        let relay = Relay::new(broker(&server).await, topology());
        let engine = fixture.start_work("n-1", Work::new().consumer(hopeless()).relay(relay));
        fixture.order(1, "o-1", 0).await;
        given_up(&fixture, 1).await;
        letter(&server, "SALES_DLQ").await;
        let unfed = async || fixture.store.dead_unfed(0, 10).await.expect("they can be asked for").len();
        until("its mark", async || (unfed().await == 0).then_some(())).await;
        fixture.sql("UPDATE dead SET fed_at = NULL", "");
        until("its mark once more", async || (unfed().await == 0).then_some(())).await;
        assert_eq!(letters_in(&server, "SALES_DLQ").await, 1);
        engine.stop().await;
    });
}

/// Gives up orders at once, and says at length why.
fn verbose() -> Consumer {
    Consumer::new("sales-service", "hopeless")
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Dead("no room ".repeat(1_000))))
        .on(async |_: TenantTx, _: Received<ParcelSent>| Ok::<_, Error>(Verdict::Dead("never".to_owned())))
}

/// A server counts headers as payload: the event went through, and so does its letter.
#[test]
fn a_letter_with_a_long_error_is_no_larger_than_the_server_takes() {
    on_sqlite(async |fixture: Fixture| {
        let options = Options { payload_bytes_max: Some(4_096), ..Options::default() };
        let Some(server) = server(options) else { return };
        let relay = Relay::new(broker(&server).await, topology());
        let engine = fixture.start_work("n-1", Work::new().consumer(verbose()).relay(relay));
        fixture.order(1, "o-1", 0).await;
        given_up(&fixture, 1).await;
        let told = letter(&server, "SALES_DLQ").await.remove("Karwan-Error").expect("it says why");
        assert!(told.len() <= 512 && told.starts_with("no room no room") && told.ends_with('…'), "{told}");
        assert_eq!(fixture.dead(NAME).await[0].event.error.len(), 8_000, "the store has all of it");
        engine.stop().await;
    });
}

/// It is in the store, and nothing says so but this: its topic lacks it until the broker takes larger messages.
#[test]
fn a_letter_that_is_refused_is_a_trouble_until_it_is_taken_and_holds_back_no_other() {
    on_sqlite(async |fixture: Fixture| {
        change(&fixture, 0..1, 1..=1).await;
        let rows = fixture.store.relay().rows(0, i64::MAX, &Filter::default(), 1).await.expect("rows");
        let most = u32::try_from(rows[0].envelope.len() + 900).expect("it is small");
        let Some(server) = server(Options { payload_bytes_max: Some(most), ..Options::default() }) else { return };
        let relay = Relay::new(broker(&server).await, topology());
        let engine = fixture.start_work("n-1", Work::new().consumer(verbose()).relay(relay));
        fixture.order(1, &"x".repeat(90), 0).await;
        given_up(&fixture, 1).await;
        let troubles = engine.relay_troubles();
        let met = until("a trouble", async || troubles.now().into_iter().find(|it| it.stream == "SALES_DLQ")).await;
        assert_eq!(met.code, "broker-refused");
        send_parcel(&fixture).await;
        until("the letter of a parcel", async || (letters_in(&server, "DELIVERY_DLQ").await == 1).then_some(())).await;
        let unfed = fixture.store.dead_unfed(0, 10).await.expect("they can be asked for");
        assert!(unfed.iter().any(|(_, dead)| dead.event.subject == "shop.sales.order.placed.v1"), "{unfed:?}");
        heal(&server);
        letter(&server, "SALES_DLQ").await;
        until("no trouble", async || troubles.now().is_empty().then_some(())).await;
        engine.stop().await;
    });
}
