//! From the log into streams: in order, once, with what the broker must know, whatever the broker does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use karwan_broker::{Broker, Delivery, Mode, Settings, Start, Subscription, Topology, raw};
use karwan_engine::{Consumer, Engine, Received, Relay, Verdict, Work};
use karwan_store::consumer::Lane;
use karwan_store::log::Filter;
use karwan_store::operator::{Deed, Operator, Target, Who};
use karwan_store::{Error, Facts, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::Fixture;
use crate::processes::yard::until;
use crate::shop::{self, OrderPlaced, changed, context_of, sent};

on_both! {
    what_is_committed_reaches_the_stream_of_its_service_in_order,
    a_message_is_the_stored_envelope_with_its_attributes,
    while_the_broker_is_away_the_log_holds_everything,
    a_broker_that_is_killed_again_and_again_gets_everything_once_and_in_order,
    a_broker_that_lost_everything_gets_what_the_log_still_has,
    a_stream_that_was_made_anew_gets_nothing_that_consumers_may_have_forgotten,
    a_stream_that_was_made_anew_gets_what_was_never_published_however_old_it_is,
    a_stream_that_was_deleted_is_made_anew_and_filled,
    a_stream_to_which_somebody_else_publishes_gets_everything_once_all_the_same,
    a_second_relay_stands_by_and_takes_over,
    an_event_that_the_broker_refuses_holds_back_its_key_alone,
    of_several_keys_that_the_broker_refuses_none_loses_a_successor,
    a_relay_with_more_waiting_keys_than_it_knows_publishes_nothing_new_and_says_so,
    an_event_is_locked_away_after_fifty_attempts_over_six_hours_and_not_before,
    what_was_locked_away_is_published_after_its_fix_in_the_order_of_its_key,
    what_was_locked_away_and_overtaken_is_published_for_whoever_says_that_order_does_not_matter,
    a_full_broker_loses_nothing,
    a_relay_that_is_paused_publishes_nothing_until_it_is_resumed,
    in_durable_mode_too_everything_arrives_once_and_in_order,
    a_dead_letter_reaches_the_dead_letter_topic,
}

pub fn server(options: Options) -> Option<Server> {
    Server::start(options).or_skip()
}

pub fn topology() -> Topology {
    Topology::of(&shop::catalogue())
}

pub async fn broker(server: &Server) -> Broker {
    let options = karwan_broker::Options { answer_ms_max: 2_000, ..karwan_broker::Options::default() };
    Broker::connect(&server.url(), options).await.expect("a server that runs can be reached")
}

async fn relay(server: &Server) -> Relay {
    Relay::new(broker(server).await, topology())
}

pub async fn start(fixture: &Fixture, server: &Server, node: &str) -> Engine {
    fixture.start_work(node, Work::new().relay(relay(server).await))
}

/// Everything that a stream holds now, in its order.
pub async fn held(server: &Server, stream: &str) -> Vec<Delivery> {
    let broker = broker(server).await;
    let of = topology().stream(stream).map(|stream| stream.subjects.clone()).unwrap_or_default();
    read(&broker, stream, &of).await
}

async fn read(broker: &Broker, stream: &str, subjects: &[String]) -> Vec<Delivery> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let durable = format!("test-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let settings = Settings::new(stream, &durable, subjects);
    let (mut subscription, floor) = match Subscription::open(broker, &settings, Start::Beginning).await {
        Ok(open) => open,
        Err(karwan_broker::Error::StreamGone { .. } | karwan_broker::Error::NoAnswer { .. }) => return Vec::new(),
        Err(error) => panic!("{stream} cannot be read: {error}"),
    };
    let mut all: Vec<Delivery> = Vec::new();
    while all.last().map_or(0, |last| last.stream_seq) < floor.last_seq {
        let some = subscription.next_batch(1000, Duration::from_millis(200)).await.expect("it can be read");
        all.extend(some);
    }
    Subscription::delete(broker, stream, &durable).await.expect("it can be deleted");
    all
}

/// Waits until a stream holds so many.
pub async fn filled(server: &Server, stream: &str, count: usize) -> Vec<Delivery> {
    until("a stream that is filled", async || {
        let held = held(server, stream).await;
        (held.len() >= count).then_some(held)
    })
    .await
}

/// The revisions of every order, in the order of a stream.
pub fn revisions(messages: &[Delivery]) -> BTreeMap<String, Vec<i64>> {
    let mut orders: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for message in messages.iter().filter(|message| message.subject.contains("changed")) {
        let envelope: serde_json::Value = serde_json::from_slice(&message.payload).expect("an envelope is JSON");
        let payload = &envelope["payload"];
        let order = format!("{}/{}", message.ordering_key.split(':').next().unwrap_or_default(), payload["orderId"]);
        orders.entry(order).or_default().push(payload["revision"].as_i64().expect("a revision is a number"));
    }
    orders
}

/// No order lacks a revision, has one twice, or has two turned around.
pub fn assert_whole(messages: &[Delivery], orders: usize, of_each: i64) {
    let revisions = revisions(messages);
    assert_eq!(revisions.len(), orders);
    for (order, revisions) in revisions {
        assert_eq!(revisions, (1..=of_each).collect::<Vec<_>>(), "{order}");
    }
}

pub async fn change(fixture: &Fixture, orders: std::ops::Range<u64>, revisions: std::ops::RangeInclusive<i64>) {
    for number in orders {
        let (id, context) = (format!("o-{number}"), shop::context(number % 3));
        let unit = fixture.store.unit(&context, async |tx: TenantTx| {
            let order: Option<shop::Order> = tx.find(&id).await?;
            tx.put(order.unwrap_or_else(|| shop::order(&id)));
            tx.emit(revisions.clone().map(|revision| changed(&id, revision)).collect::<Facts>());
            Ok::<_, Error>(())
        });
        unit.await.expect("an order can be changed");
    }
}

async fn what_is_committed_reaches_the_stream_of_its_service_in_order(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..30, 1..=9).await;
    let context = context_of("delivery-service", 1);
    let unit = fixture.store.unit(&context, async |tx: TenantTx| {
        tx.emit(sent("p-1", 1));
        Ok::<_, Error>(())
    });
    unit.await.expect("a parcel can be sent");
    let sales = filled(&server, "SALES", 270).await;
    assert_eq!(sales.len(), 270);
    assert_whole(&sales, 30, 9);
    let parcels = filled(&server, "DELIVERY", 1).await;
    assert_eq!(parcels[0].subject.as_ref(), "shop.delivery.parcel.sent.v1");
    engine.stop().await;
}

/// the attributes that the document names, the key, and the stored bytes.
async fn a_message_is_the_stored_envelope_with_its_attributes(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    fixture.order(1, "o-1", 0).await;
    let message = filled(&server, "SALES", 1).await.remove(0);
    let rows = fixture.store.relay();
    let row = rows
        .rows(0, rows.safe().await.expect("it can be asked"), &Filter::default(), 10)
        .await
        .expect("rows")
        .remove(0);
    assert_eq!(message.payload, row.envelope.as_bytes());
    assert_eq!(message.event_id.replace('-', ""), format!("{:032x}", row.event.bits()));
    assert_eq!(message.logged_ms, Some(row.at));
    let envelope: serde_json::Value = serde_json::from_str(&row.envelope).expect("an envelope is JSON");
    let tenant = envelope["tenantId"].as_str().expect("it has a tenant").to_owned();
    assert_eq!(message.ordering_key, format!("{tenant}:o-1"));
    assert_eq!(message.subject.as_ref(), "shop.sales.order.placed.v1");
    engine.stop().await;
}

async fn while_the_broker_is_away_the_log_holds_everything(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    server.kill();
    // Nobody who commits notices.
    change(&fixture, 0..3, 4..=9).await;
    server.start_again();
    assert_whole(&filled(&server, "SALES", 27).await, 3, 9);
    engine.stop().await;
}

async fn a_broker_that_is_killed_again_and_again_gets_everything_once_and_in_order(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    for round in 0..5 {
        change(&fixture, 0..20, (20 * round + 1)..=(20 * round + 20)).await;
        server.kill();
        server.start_again();
    }
    let messages = filled(&server, "SALES", 2000).await;
    assert_eq!(messages.len(), 2000);
    assert_whole(&messages, 20, 100);
    engine.stop().await;
}

/// Consumers remember for 30 days what they have handled; what is older is not sent to them again.
async fn a_stream_that_was_made_anew_gets_nothing_that_consumers_may_have_forgotten(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    fixture.log_grows_older(31).await;
    change(&fixture, 3..6, 1..=3).await;
    filled(&server, "SALES", 18).await;
    server.kill();
    server.start_again_empty();
    change(&fixture, 6..9, 1..=3).await;
    let messages = filled(&server, "SALES", 18).await;
    assert_eq!(messages.len(), 18);
    assert_whole(&messages, 6, 3);
    engine.stop().await;
}

/// The broker was away for longer than consumers remember: nobody can have handled what it never had.
async fn a_stream_that_was_made_anew_gets_what_was_never_published_however_old_it_is(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    let end = fixture.store.relay().end().await.expect("it can be asked");
    engine.published("SALES", end).await.expect("it is this life's");
    engine.stop().await;
    change(&fixture, 3..6, 1..=3).await;
    fixture.log_grows_older(31).await;
    server.kill();
    server.start_again_empty();
    let engine = start(&fixture, &server, "n-2").await;
    change(&fixture, 6..9, 1..=3).await;
    let messages = filled(&server, "SALES", 18).await;
    assert_eq!(messages.len(), 18);
    assert_whole(&messages, 6, 3);
    engine.stop().await;
}

async fn a_broker_that_lost_everything_gets_what_the_log_still_has(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    server.kill();
    server.start_again_empty();
    change(&fixture, 0..3, 4..=6).await;
    assert_whole(&filled(&server, "SALES", 18).await, 3, 6);
    engine.stop().await;
}

async fn a_stream_that_was_deleted_is_made_anew_and_filled(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    broker(&server).await.delete_stream("SALES").await.expect("it can be deleted");
    change(&fixture, 0..3, 4..=6).await;
    let messages: Vec<Delivery> = until("a stream that is filled again", async || {
        let found = broker(&server).await.has_stream("SALES").await.expect("it can be asked");
        let held = if found { held(&server, "SALES").await } else { Vec::new() };
        (held.len() >= 18).then_some(held)
    })
    .await;
    assert_whole(&messages, 3, 6);
    engine.stop().await;
}

/// Its last message says nothing of a log, and is told from one that is gone.
async fn a_stream_to_which_somebody_else_publishes_gets_everything_once_all_the_same(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    engine.stop().await;
    let broker = broker(&server).await;
    assert!(!broker.stream_end("SALES").await.expect("it can be asked").unmarked);
    let topic = "shop.sales.order.changed.v1";
    raw::publish(&broker, topic, "{}".into(), ["mine".to_owned()].into_iter()).await.expect("nobody keeps it out");
    let end = broker.stream_end("SALES").await.expect("it can be asked");
    assert_eq!((end.last_seq, end.position, end.unmarked), (10, None, true));
    change(&fixture, 0..3, 4..=6).await;
    let engine = start(&fixture, &server, "n-2").await;
    let mut messages = filled(&server, "SALES", 19).await;
    messages.retain(|message| message.logged_ms.is_some());
    assert_eq!(messages.len(), 18);
    assert_whole(&messages, 3, 6);
    engine.stop().await;
}

async fn a_second_relay_stands_by_and_takes_over(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    // Of one service each: they have one stream between them.
    let of_sales = async |node: &str| {
        let relay = relay(&server).await.services(["sales-service".to_owned()]);
        fixture.start_work(node, Work::new().relay(relay))
    };
    let first = of_sales("n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    let second = of_sales("n-2").await;
    change(&fixture, 0..3, 4..=6).await;
    filled(&server, "SALES", 18).await;
    let holders = |reports: Vec<karwan_store::report::ConsumerReport>| {
        let report = reports.into_iter().find(|report| report.consumer == "relay.SALES").expect("it is listed");
        report.lanes[0].holder.clone().expect("somebody holds it")
    };
    let observed = async || karwan_store::Store::observe(&fixture.address).await.expect("it can be observed");
    let holder = holders(observed().await.consumers().await.expect("it can be asked"));
    assert!(holder.starts_with("n-1#"), "{holder}");
    drop(first);
    fixture.lease_runs_out().await;
    change(&fixture, 0..3, 7..=9).await;
    let messages = filled(&server, "SALES", 27).await;
    assert_eq!(messages.len(), 27);
    assert_whole(&messages, 3, 9);
    second.stop().await;
}

pub async fn parked(fixture: &Fixture) -> Vec<karwan_store::consumer::Parked> {
    let lane = Lane { consumer: "relay.SALES".to_owned(), number: 0, of: 1 };
    fixture.store.parked(&lane, 100).await.expect("it can be asked")
}

/// A broker that takes small messages alone, and orders whose names make their events too large for it.
pub async fn refused(fixture: &Fixture, orders: usize) -> Option<(Server, Engine)> {
    change(fixture, 0..1, 1..=1).await;
    let relay = fixture.store.relay();
    let rows = relay.rows(0, relay.safe().await.expect("it can be asked"), &Filter::default(), 1).await.expect("rows");
    // The attributes take about as much as that; a name of 90 letters stands in six places.
    let most = u32::try_from(rows[0].envelope.len() + 650).expect("it is small");
    let server = server(Options { payload_bytes_max: Some(most), ..Options::default() })?;
    let engine = start(fixture, &server, "n-1").await;
    for number in 0..orders {
        change_large(fixture, number, 1..=2).await;
    }
    Some((server, engine))
}

/// Revisions of an order with a long name.
pub async fn change_large(fixture: &Fixture, number: usize, revisions: std::ops::RangeInclusive<i64>) {
    let (large, context) = (format!("{number}{}", "x".repeat(89)), shop::context(1));
    let unit = fixture.store.unit(&context, async |tx: TenantTx| {
        let order: Option<shop::Order> = tx.find(&large).await?;
        tx.put(order.unwrap_or_else(|| shop::order(&large)));
        tx.emit(revisions.clone().map(|revision| changed(&large, revision)).collect::<Facts>());
        Ok::<_, Error>(())
    });
    unit.await.expect("it can be placed");
}

/// It takes messages of any size from now on.
pub fn heal(server: &Server) {
    server.stop();
    let file = server.directory().join("nats.conf");
    let text = std::fs::read_to_string(&file).expect("it has a configuration");
    let healed: String =
        text.lines().filter(|line| !line.starts_with("max_payload")).map(|it| format!("{it}\n")).collect();
    std::fs::write(&file, healed).expect("it can be written");
    server.start_again();
}

async fn an_event_that_the_broker_refuses_holds_back_its_key_alone(fixture: Fixture) {
    let Some((server, engine)) = refused(&fixture, 1).await else { return };
    change(&fixture, 1..4, 1..=3).await;
    let messages = filled(&server, "SALES", 10).await;
    assert_eq!(messages.len(), 10);
    let waiting = until("both of its key", async || Some(parked(&fixture).await).filter(|it| it.len() == 2)).await;
    assert_eq!((waiting[0].attempts, waiting[1].attempts), (1, 0));
    engine.stop().await;
}

/// Each refusal breaks a page off behind successors of those before: they wait, too.
async fn of_several_keys_that_the_broker_refuses_none_loses_a_successor(fixture: Fixture) {
    let Some((_server, engine)) = refused(&fixture, 3).await else { return };
    let waiting = until("all of their keys", async || Some(parked(&fixture).await).filter(|it| it.len() == 6)).await;
    assert_eq!(waiting.iter().map(|it| it.attempts).collect::<Vec<_>>(), [1, 0, 1, 0, 1, 0]);
    engine.stop().await;
}

/// Its bound is two keys, and five wait: it does not know all of them, and any new event may be a successor of one.
async fn a_relay_with_more_waiting_keys_than_it_knows_publishes_nothing_new_and_says_so(fixture: Fixture) {
    let Some((server, engine)) = refused(&fixture, 5).await else { return };
    until("five keys that wait", async || (parked(&fixture).await.len() == 10).then_some(())).await;
    engine.stop().await;
    heal(&server);
    for number in 0..5 {
        change_large(&fixture, number, 3..=3).await;
    }
    let bounded = relay(&server).await.waiting_max(2);
    let engine = fixture.start_work("n-2", Work::new().relay(bounded));
    let said = until("a suspension", async || {
        fixture.store.suspensions().await.expect("it can be asked").into_iter().find(|it| it.consumer == "relay.SALES")
    });
    assert_eq!(said.await.reason, "more than 2 keys wait");
    assert_eq!(held(&server, "SALES").await.len(), 1, "a successor has overtaken");
    fixture.clock.advance_ms(60 * 60 * 1000);
    assert!(fixture.resume("relay.SALES").await);
    let messages = filled(&server, "SALES", 16).await;
    let revisions = revisions(&messages);
    assert_eq!((messages.len(), revisions.len()), (16, 6));
    let large = revisions.iter().filter(|(order, _)| order.contains("xxx"));
    large.for_each(|(order, revisions)| assert_eq!(revisions, &[1, 2, 3], "{order}"));
    engine.stop().await;
}

/// both conditions are needed, and somebody is called for what was locked away and for nothing before.
async fn an_event_is_locked_away_after_fifty_attempts_over_six_hours_and_not_before(fixture: Fixture) {
    let Some((_server, engine)) = refused(&fixture, 1).await else { return };
    let attempts = async |count: u32| {
        until("an attempt", async || {
            let head = parked(&fixture).await.into_iter().next()?;
            if head.attempts < count {
                let due = head.due.unwrap_or_default();
                let now = karwan_envelope::time::Clock::now(&*fixture.clock).unix_ms();
                fixture.clock.advance_ms((due - now).max(0));
                return None;
            }
            Some(head)
        })
        .await
    };
    let head = attempts(50).await;
    assert!(head.attempts >= 50, "fifty attempts alone are not enough");
    assert_eq!(fixture.dead("relay.SALES").await, []);
    assert_eq!(depths(&fixture).await, Vec::<String>::new(), "it is tried again by itself");
    fixture.parked_for_hours(7).await;
    until("its end", async || {
        let head = parked(&fixture).await.into_iter().next();
        let due = head.and_then(|head| head.due).unwrap_or_default();
        let now = karwan_envelope::time::Clock::now(&*fixture.clock).unix_ms();
        fixture.clock.advance_ms((due - now).max(0));
        (!fixture.dead("relay.SALES").await.is_empty()).then_some(())
    })
    .await;
    assert!(fixture.dead("relay.SALES").await[0].event.attempts > 50);
    let labels = "service=\"relay\",topic=\"shop.sales.order.changed.v1\",subscription=\"relay.SALES\"";
    assert_eq!(depths(&fixture).await, [format!("shop_dlq_depth{{{labels}}} 1")]);
    engine.stop().await;
}

/// The first of an order's two revisions is locked away, the other one waits, and the broker was healed since; nobody relays.
pub async fn locked_away(fixture: &Fixture) -> Option<(Server, Target)> {
    let (server, target) = given_up(fixture).await?;
    heal(&server);
    Some((server, target))
}

/// The same where the broker still refuses both.
pub async fn given_up(fixture: &Fixture) -> Option<(Server, Target)> {
    let (server, engine) = refused(fixture, 1).await?;
    until("both of its key", async || (parked(fixture).await.len() == 2).then_some(())).await;
    engine.stop().await;
    fixture.sql(
        "UPDATE parked SET attempts = 60 WHERE attempts > 0",
        "UPDATE karwan.parked SET attempts = 60 WHERE attempts > 0",
    );
    fixture.parked_for_hours(7).await;
    fixture.clock.advance_ms(60 * 60 * 1000);
    let engine = start(fixture, &server, "n-1").await;
    let dead = async || fixture.dead("relay.SALES").await.pop();
    let dead = until("what is locked away", dead).await;
    until("its successor's first attempt", async || (parked(fixture).await[0].attempts > 0).then_some(())).await;
    engine.stop().await;
    Some((server, Target { consumer: "relay.SALES".to_owned(), event: dead.event.event }))
}

/// What is in the stream of the order that was refused.
pub fn refused_revisions(messages: &[Delivery]) -> Vec<i64> {
    revisions(messages).into_iter().find(|(order, _)| order.contains("xxx")).map(|it| it.1).unwrap_or_default()
}

pub fn desk(fixture: &Fixture) -> (Operator, Who) {
    let who = Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() };
    (Operator::new(&fixture.owner, vec![shop::catalogue()]), who)
}

/// the way back.
async fn what_was_locked_away_is_published_after_its_fix_in_the_order_of_its_key(fixture: Fixture) {
    let Some((server, target)) = locked_away(&fixture).await else { return };
    let (operator, who) = desk(&fixture);
    let retried = operator.act(&who, &target, &Deed::Retry { out_of_order: false }).await;
    retried.expect("its successor waits: order is kept");
    assert_eq!(fixture.dead("relay.SALES").await, []);
    change_large(&fixture, 0, 3..=3).await;
    fixture.clock.advance_ms(60 * 60 * 1000);
    let engine = start(&fixture, &server, "n-2").await;
    let messages = filled(&server, "SALES", 4).await;
    assert_eq!((messages.len(), refused_revisions(&messages)), (4, vec![1, 2, 3]));
    until("nothing that waits", async || parked(&fixture).await.is_empty().then_some(())).await;
    engine.stop().await;
}

async fn what_was_locked_away_and_overtaken_is_published_for_whoever_says_that_order_does_not_matter(fixture: Fixture) {
    let Some((server, target)) = locked_away(&fixture).await else { return };
    fixture.clock.advance_ms(60 * 60 * 1000);
    let engine = start(&fixture, &server, "n-2").await;
    assert_eq!(refused_revisions(&filled(&server, "SALES", 2).await), [2], "its key went on without it");
    until("nothing that waits", async || parked(&fixture).await.is_empty().then_some(())).await;
    let (operator, who) = desk(&fixture);
    let refused = operator.act(&who, &target, &Deed::Retry { out_of_order: false }).await;
    assert!(matches!(refused, Err(Error::OutOfOrder { .. })), "{refused:?}");
    operator.act(&who, &target, &Deed::Retry { out_of_order: true }).await.expect("it was said");
    assert_eq!(refused_revisions(&filled(&server, "SALES", 3).await), [2, 1]);
    assert_eq!(fixture.dead("relay.SALES").await, []);
    engine.stop().await;
}

/// The letters that a scrape tells of.
async fn depths(fixture: &Fixture) -> Vec<String> {
    fixture.store.count_letters().await.expect("they can be counted");
    let text = fixture.store.metrics().text();
    text.lines().filter(|line| line.starts_with("shop_dlq_depth{")).map(str::to_owned).collect()
}

async fn a_full_broker_loses_nothing(fixture: Fixture) {
    let Some(full) = server(Options { store_bytes_max: Some(1 << 20), ..Options::default() }) else { return };
    let engine = start(&fixture, &full, "n-1").await;
    change(&fixture, 0..30, 1..=40).await;
    let broker = broker(&full).await;
    broker.make_plain_stream("PROBE", "probe").await.expect("there is room for a stream");
    until("a full store", async || {
        let before = broker.last_sequence("PROBE").await.expect("it can be asked");
        let ids = (0..20).map(|number| format!("{before}-{number}"));
        raw::publish(&broker, "probe", vec![0; 4_096].into(), ids).await.expect("it answers");
        (broker.last_sequence("PROBE").await.expect("it can be asked") == before).then_some(())
    })
    .await;
    let troubles = engine.relay_troubles();
    let met = until("a trouble", async || troubles.now().into_iter().next()).await;
    assert_eq!((&*met.stream, met.code), ("SALES", "broker-full"));
    assert!(held(&full, "SALES").await.len() < 1200, "there was room for everything");
    assert_whole_prefix(&held(&full, "SALES").await);
    assert_eq!(parked(&fixture).await, [], "it is no event's fault");
    engine.stop().await;
    // What the log still has reaches a broker with room.
    let Some(roomy) = server(Options::default()) else { return };
    let engine = start(&fixture, &roomy, "n-2").await;
    assert_whole(&filled(&roomy, "SALES", 1200).await, 30, 40);
    engine.stop().await;
}

async fn a_relay_that_is_paused_publishes_nothing_until_it_is_resumed(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let engine = start(&fixture, &server, "n-1").await;
    change(&fixture, 0..3, 1..=3).await;
    filled(&server, "SALES", 9).await;
    engine.stop().await;
    let operator = Operator::new(&fixture.owner, vec![shop::catalogue()]);
    let who = Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() };
    assert!(operator.pause_consumer(&who, "relay.SALES").await.expect("it can be paused"));
    let engine = start(&fixture, &server, "n-2").await;
    change(&fixture, 0..3, 4..=6).await;
    let context = context_of("delivery-service", 1);
    let unit = fixture.store.unit(&context, async |tx: TenantTx| {
        tx.emit(sent("p-1", 1));
        Ok::<_, Error>(())
    });
    unit.await.expect("a parcel can be sent");
    // Behind the changes in the log, and in its stream.
    filled(&server, "DELIVERY", 1).await;
    assert_eq!(held(&server, "SALES").await.len(), 9);
    assert!(operator.resume_consumer(&who, "relay.SALES").await.expect("it can be resumed"));
    assert_whole(&filled(&server, "SALES", 18).await, 3, 6);
    engine.stop().await;
}

/// Every order's revisions begin at 1 and have no hole.
fn assert_whole_prefix(messages: &[Delivery]) {
    for (order, revisions) in revisions(messages) {
        let count = i64::try_from(revisions.len()).expect("it is few");
        assert_eq!(revisions, (1..=count).collect::<Vec<_>>(), "{order}");
    }
}

async fn in_durable_mode_too_everything_arrives_once_and_in_order(fixture: Fixture) {
    let Some(server) = server(Options { sync_always: true, ..Options::default() }) else { return };
    let relay = relay(&server).await.mode(Mode::Durable);
    let engine = fixture.start_work("n-1", Work::new().relay(relay));
    for round in 0..3 {
        change(&fixture, 0..20, (20 * round + 1)..=(20 * round + 20)).await;
        server.kill();
        server.start_again();
    }
    let messages = filled(&server, "SALES", 1200).await;
    assert_eq!(messages.len(), 1200);
    assert_whole(&messages, 20, 60);
    engine.stop().await;
}

async fn a_dead_letter_reaches_the_dead_letter_topic(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let hopeless = Consumer::new("sales-service", "hopeless")
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Dead("never".to_owned())));
    let work = Work::new().consumer(hopeless).relay(relay(&server).await);
    let engine = fixture.start_work("n-1", work);
    fixture.order(1, "o-1", 0).await;
    let topic = ["shop.sales.order.placed.v1.dlq".to_owned()];
    let letters = until("a letter", async || {
        let broker = broker(&server).await;
        let found = broker.has_stream("SALES_DLQ").await.expect("it can be asked");
        let letters = if found { read(&broker, "SALES_DLQ", &topic).await } else { Vec::new() };
        (!letters.is_empty()).then_some(letters)
    });
    let letters = letters.await;
    let dead = fixture.dead("sales-service.hopeless").await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].payload, dead[0].event.envelope.as_bytes());
    engine.stop().await;
}
