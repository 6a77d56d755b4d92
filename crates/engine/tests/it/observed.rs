//! What a process counts and tells of, and how it reads what other releases wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use karwan_engine::{Consumer, Received, Verdict, Work};
use karwan_envelope::cause::{Cause, Span, Traceparent};
use karwan_envelope::envelope::Context;
use karwan_store::log::Filter;
use karwan_store::metrics::{Result as Consumed, Subscription};
use karwan_store::operator::Place;
use karwan_store::simulation::{Fate, Simulation};
use karwan_store::trace::{consume_span, publish_span};
use karwan_store::{Error, Store, TenantTx};

use crate::fixture::{self, Fixture, note};
use crate::hand::Hand;
use crate::shop::{self, Order, OrderChanged, OrderPlaced};

on_both! {
    a_consumer_of_a_subject_that_nobody_knows_is_warned_of,
    the_second_consumer_of_a_name_is_left_out_and_told_of,
    events_are_counted_by_what_became_of_them,
    one_trace_reaches_from_the_request_through_every_consumer,
    a_transition_is_a_span_of_its_unit_if_the_unit_commits,
    an_event_that_refers_to_another_tenants_document_is_refused,
    a_row_whose_envelope_is_of_another_tenant_is_refused,
    the_schema_of_another_release_is_fetched_once_and_cached,
    values_that_a_later_release_has_brought_wait_for_it_and_are_passed_over_in_the_end,
}

fed_too! {
    events_are_counted_by_what_became_of_them,
    one_trace_reaches_from_the_request_through_every_consumer,
    an_event_that_refers_to_another_tenants_document_is_refused,
    a_row_whose_envelope_is_of_another_tenant_is_refused,
    the_schema_of_another_release_is_fetched_once_and_cached,
    values_that_a_later_release_has_brought_wait_for_it_and_are_passed_over_in_the_end,
    a_consumer_of_a_subject_that_nobody_knows_is_warned_of,
    the_second_consumer_of_a_name_is_left_out_and_told_of,
}

const NAME: &str = "sales-service.secretary";
const PLACED: &str = "shop.sales.order.placed.v1";
const CHANGED: &str = "shop.sales.order.changed.v1";

/// Changes what is placed; fails with order `bad`.
fn secretary() -> Consumer {
    Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderPlaced>| {
            let id = received.event.order_id;
            if id == "bad" {
                return Ok(Verdict::Dead("it is bad".to_owned()));
            }
            // In a database of its own there is none before.
            let order: Option<Order> = tx.find(&id).await?;
            tx.put(order.unwrap_or_else(|| shop::order(&id)));
            tx.emit(shop::changed(&id, 1));
            Ok::<_, Error>(Verdict::Done)
        })
        .on(async |tx: TenantTx, received: Received<OrderChanged>| {
            note(&tx, &received.event.order_id, "c").await?;
            Ok::<_, Error>(Verdict::Done)
        })
}

/// Notes what is placed and what is changed; fails with order `bad`.
fn clerk() -> Consumer {
    Consumer::new("sales-service", "secretary")
        .on(async |tx: TenantTx, received: Received<OrderPlaced>| {
            let id = received.event.order_id;
            if id == "bad" {
                return Ok(Verdict::Dead("it is bad".to_owned()));
            }
            note(&tx, &id, "p").await?;
            Ok::<_, Error>(Verdict::Done)
        })
        .on(async |tx: TenantTx, received: Received<OrderChanged>| {
            note(&tx, &received.event.order_id, "c").await?;
            Ok::<_, Error>(Verdict::Done)
        })
}

async fn events_are_counted_by_what_became_of_them(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![clerk()]);
    for (id, changes) in [("one", 1), ("two", 1), ("bad", 0)] {
        fixture.order(1, id, changes).await;
    }
    fixture.settle(&engine).await;
    engine.stop().await;
    let metrics = fixture.store.metrics();
    let by = |topic| Subscription { service: "sales-service", topic, consumer: NAME };
    assert_eq!((metrics.count(&by(PLACED), Consumed::Ok), metrics.count(&by(CHANGED), Consumed::Ok)), (2, 2));
    assert_eq!(metrics.count(&by(PLACED), Consumed::Error), 1);
    Hand::on(&fixture, NAME).await.seek(Place::Start).await;
    let heir = fixture.start("n-2", vec![clerk()]);
    fixture.settle(&heir).await;
    let end = fixture.producer().relay().end().await.expect("it can be asked");
    fixture.wait_for(&heir, NAME, end).await.expect("it reads all of it again");
    heir.stop().await;
    // The one that was given up is not tried again either.
    // Rows that were read before a lane came are read again, and passed over again.
    assert!(metrics.count(&by(PLACED), Consumed::Noop) >= 3 && metrics.count(&by(CHANGED), Consumed::Noop) >= 2);
    assert_eq!((metrics.count(&by(PLACED), Consumed::Ok), metrics.count(&by(CHANGED), Consumed::Ok)), (2, 2));
    let labels = format!("service=\"sales-service\",topic=\"{PLACED}\"");
    let has = |text: &str, lines: &[String]| {
        for line in lines {
            assert!(text.contains(line), "{line}\n{text}");
        }
    };
    let handled = [
        format!("shop_events_dlq_total{{{labels},subscription=\"{NAME}\"}} 1\n"),
        format!("shop_inbox_dedup_skips_total{{{labels}}} "),
        format!("shop_event_processing_duration_seconds_count{{{labels},subscription=\"{NAME}\"}} 3\n"),
    ];
    has(&metrics.text(), &handled);
    let committed = [
        format!("shop_events_published_total{{{labels},tenant_id_class=\"small\"}} 3\n"),
        "shop_outbox_unpublished_count{service=\"sales-service\"} ".to_owned(),
    ];
    has(&fixture.producer().metrics().text(), &committed);
}

async fn one_trace_reaches_from_the_request_through_every_consumer(fixture: Fixture) {
    let engine = fixture.start("n-1", vec![secretary()]);
    let parent: Traceparent = "00-0190c2f0000070008000000000000077-00f067aa0ba902b7-01".parse().expect("a traceparent");
    let context = Context { cause: Cause::from(parent), ..shop::context(1) };
    let place = async |tx: TenantTx| {
        tx.put(shop::order("o"));
        tx.emit(shop::placed("o"));
        Ok::<_, Error>(())
    };
    fixture.producer().unit(&context, place).await.expect("it can be placed");
    fixture.settle(&engine).await;
    engine.stop().await;
    let rows = async |store: &Store| {
        let rows = store.relay().rows(0, i64::MAX, &Filter::default(), 10).await;
        rows.expect("they can be read")
    };
    // What a consumer tells lies in its own log; out of another database than its stream's, it is nobody's here.
    let (store, is_fed) = (&fixture.store, fixture.broker().is_some());
    let mut rows = [rows(fixture.producer()).await, if is_fed { rows(store).await } else { Vec::new() }].concat();
    let (Some(changed), Some(placed)) = (rows.pop(), rows.pop()) else { panic!("two events: {rows:?}") };
    let (placed, changed) = (&placed, &changed);
    assert_eq!((rows.len(), placed.subject.as_str(), changed.subject.as_str()), (0, PLACED, CHANGED));
    let spans = fixture.all_spans();
    assert!(spans.iter().all(|span| span.trace == parent.correlation && span.ok), "one trace: {spans:?}");
    let tree: Vec<(String, u64, u64)> = spans.iter().map(|span| (span.name.clone(), span.parent, span.id)).collect();
    let publish = |row: &karwan_store::log::LogRow| publish_span(row.event);
    let consume = |row: &karwan_store::log::LogRow| consume_span(row.event, NAME);
    for (name, from, to, times) in [
        (format!("publish {PLACED}"), parent.span.id, publish(placed), 1),
        (format!("consume {PLACED}"), publish(placed), consume(placed), 1),
        (format!("publish {CHANGED}"), consume(placed), publish(changed), 1),
        (format!("consume {CHANGED}"), publish(changed), consume(changed), usize::from(!is_fed)),
    ] {
        let found = tree.iter().filter(|span| **span == (name.clone(), from, to)).count();
        assert_eq!(found, times, "{name}: {tree:?}");
    }
    let consequence = karwan_store::stored::envelope(store.catalogue(), changed).expect("it can be read");
    assert_eq!(consequence.cause.correlation, parent.correlation);
    assert_eq!(consequence.cause.causation, Some(placed.event));
    // The shop's form of the envelope has no room for a span; where there is one, it is the handling's.
    assert!(consequence.cause.span.is_none_or(|span| span == Span { id: consume(placed), flags: 1 }));
}

///
async fn a_transition_is_a_span_of_its_unit_if_the_unit_commits(fixture: Fixture) {
    let parent: Traceparent = "00-0190c2f0000070008000000000000078-00f067aa0ba902b7-01".parse().expect("a traceparent");
    let context = Context { cause: Cause::from(parent), ..shop::context(1) };
    let refused = async |tx: TenantTx| {
        tx.transition("order", "open", "lost");
        Err::<(), _>(Error::NotFound { kind: "order", id: "o".to_owned() })
    };
    assert!(fixture.store.unit(&context, refused).await.is_err());
    let place = async |tx: TenantTx| {
        tx.put(shop::order("o"));
        tx.transition("order", "none", "open");
        tx.transition("order", "open", "paid");
        Ok::<_, Error>(())
    };
    fixture.store.unit(&context, place).await.expect("it can be placed");
    let spans = fixture.spans.lock().expect("nobody panics");
    let named: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(named, ["order: none → open", "order: open → paid"]);
    assert!(spans.iter().all(|span| span.trace == parent.correlation && span.parent == parent.span.id));
    assert_ne!(spans[0].id, spans[1].id);
}

async fn an_event_that_refers_to_another_tenants_document_is_refused(fixture: Fixture) {
    // Where it could be taken.
    let keep = async |tx: TenantTx| {
        tx.put(shop::order("of-one"));
        Ok::<_, Error>(())
    };
    fixture.store.unit(&shop::context(1), keep).await.expect("it is one of its own");
    let engine = fixture.start("n-1", vec![secretary()]);
    let claim = async |tx: TenantTx| {
        tx.put(shop::order("of-two"));
        tx.emit(shop::placed("of-two"));
        tx.emit(shop::changed("of-two", 7));
        Ok::<_, Error>(())
    };
    fixture.producer().unit(&shop::context(2), claim).await.expect("it is one of its own");
    let meddler =
        Consumer::new("sales-service", "meddler").on(async |tx: TenantTx, received: Received<OrderChanged>| {
            if received.event.order_id != "of-two" {
                return Ok(Verdict::Done);
            }
            // Tenant two's event names an order of tenant one's.
            let order: Order = tx.get("of-one").await?;
            tx.put(Order { note: "stolen".to_owned(), ..order });
            Ok::<_, Error>(Verdict::Done)
        });
    let other = fixture.start("n-1", vec![meddler]);
    fixture.settle(&engine).await;
    fixture.settle(&other).await;
    for _ in 0..10 {
        fixture.clock.advance_ms(3_600_000);
        fixture.settle(&other).await;
    }
    let dead = fixture.dead("sales-service.meddler").await;
    let of_two = dead.iter().find(|dead| dead.event.key == "of-two").expect("it was given up");
    assert!(of_two.event.error.contains("of-one"), "{}", of_two.event.error);
    let kept: Order = fixture.store.tenant(&shop::context(1)).get("of-one").await.expect("it is there");
    assert_eq!(kept.note, shop::order("of-one").note);
    engine.stop().await;
    other.stop().await;
}

async fn a_row_whose_envelope_is_of_another_tenant_is_refused(mut fixture: Fixture) {
    fixture.order(1, "o", 0).await;
    let other = uuid::Uuid::from_u128(karwan_store::stored::tenant_bits(shop::context(2).tenant));
    let in_a_file = format!("UPDATE log SET tenant = X'{}'", other.simple());
    fixture.rewrite_log(&in_a_file, &format!("UPDATE karwan.log SET tenant_id = '{other}'")).await;
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.settle(&engine).await;
    engine.stop().await;
    let dead = fixture.dead(NAME).await;
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert!(dead[0].event.error.contains("tenant"), "{}", dead[0].event.error);
    let invalid = format!("shop_schema_validation_failures_total{{service=\"sales-service\",topic=\"{PLACED}\"");
    assert!(fixture.store.metrics().text().contains(&invalid));
}

/// The schema of changes by another release, and what brings what was committed there.
struct Newer {
    old: String,
    new: String,
    document: String,
    path: String,
}

impl Newer {
    fn of(fixture: &Fixture, change: impl FnOnce(&mut serde_json::Value)) -> Self {
        let catalogue = fixture.store.catalogue();
        let schema = catalogue.schema(CHANGED).expect("it is known").document.clone();
        let mut newer = schema.clone();
        change(&mut newer);
        let path = catalogue.directory().resolve(CHANGED).expect("it is known").schema.path.clone();
        let document = newer.to_string().replace('\'', "''");
        Self { old: hash_of(&schema), new: hash_of(&newer), document, path }
    }

    /// It wrote what is in the log, and that value in another way.
    async fn has_written(&self, fixture: &mut Fixture, (was, is): (&str, &str)) {
        let Self { old, new, .. } = self;
        let set = format!("SET envelope = replace(replace(envelope, '{old}', '{new}'), '{was}', '{is}')");
        fixture.rewrite_log(&format!("UPDATE log {set}"), &format!("UPDATE karwan.log {set}")).await;
    }

    /// Its schemas are in the consumer's store.
    fn has_migrated(&self, fixture: &Fixture) {
        let Self { new, document, path, .. } = self;
        let values = format!("VALUES ('{new}', '{path}', '{document}')");
        fixture.sql(&format!("INSERT INTO schema {values}"), &format!("INSERT INTO karwan.schema {values}"));
    }
}

const AS_IT_WAS: (&str, &str) = ("no such text", "");

fn late() -> Consumer {
    Consumer::new("sales-service", "late").lanes(1).on(async |tx: TenantTx, it: Received<OrderChanged>| {
        note(&tx, "late", &it.event.revision.to_string()).await?;
        Ok::<_, Error>(Verdict::Done)
    })
}

/// A release that writes another schema of the same event, and one that does not know it.
async fn the_schema_of_another_release_is_fetched_once_and_cached(mut fixture: Fixture) {
    let newer =
        Newer::of(&fixture, |schema| schema["description"] = "An order was changed, says the next release.".into());
    fixture.order(1, "o", 3).await;
    newer.has_written(&mut fixture, AS_IT_WAS).await;
    let engine = fixture.start("n-1", vec![secretary()]);
    fixture.settle(&engine).await;
    engine.stop().await;
    let dead = fixture.dead(NAME).await;
    assert_eq!(dead.len(), 3, "nobody knows the schema: {dead:?}");
    assert!(dead[0].event.error.contains(&newer.new), "{}", dead[0].event.error);
    newer.has_migrated(&fixture);
    let engine = fixture.start("n-1", vec![late()]);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "late").await, "123");
    engine.stop().await;
    // What is known is not asked for again.
    fixture.sql("DELETE FROM schema", "DELETE FROM karwan.schema");
    fixture.order(1, "p", 2).await;
    newer.has_written(&mut fixture, AS_IT_WAS).await;
    let engine = fixture.start("n-1", vec![late()]);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "late").await, "12312");
    assert_eq!(fixture.dead("sales-service.late").await, []);
    engine.stop().await;
}

/// Counts how often a store is asked for a schema.
#[derive(Default)]
struct Fetched(AtomicU32);

impl Simulation for Fetched {
    fn before(&self, call: &'static str) -> Fate {
        self.0.fetch_add(u32::from(call.contains("::schema::")), Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(())))
    }

    fn after(&self, _: &'static str) -> Fate {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[test]
fn a_schema_is_fetched_once_for_all_of_its_events_and_another_one_once_more() {
    fixture::run(fixture::sqlite(), async |mut fixture: Fixture| {
        let fetched = Arc::new(Fetched::default());
        let options = karwan_store::Options {
            clock: fixture.clock.clone(),
            simulation: Some(fetched.clone()),
            ..karwan_store::Options::new(shop::catalogue(), shop::kinds())
        };
        let store = Store::open(&fixture.address, options).await.expect("a migrated store opens");
        for (number, order) in [(1, "o"), (2, "p")] {
            let release = Newer::of(&fixture, |schema| schema["description"] = format!("Release {number}.").into());
            release.has_migrated(&fixture);
            fixture.order(1, order, 9).await;
            release.has_written(&mut fixture, AS_IT_WAS).await;
            let engine = fixture.start_over(&store, "n-1", Work::new().consumer(late().batch(2)));
            fixture.settle(&engine).await;
            engine.stop().await;
            assert_eq!(fixture.notes(1, "late").await, "123456789".repeat(number as usize));
            assert_eq!(fetched.0.load(Ordering::Relaxed), number);
        }
    });
}

/// A release that knows one more value, and one that does not.
async fn values_that_a_later_release_has_brought_wait_for_it_and_are_passed_over_in_the_end(mut fixture: Fixture) {
    let newer = Newer::of(&fixture, |schema| {
        schema["properties"]["revision"] =
            serde_json::json!({ "description": "Which change.", "enum": [1, 2, 3, "last"] });
    });
    fixture.order(1, "o", 3).await;
    newer.has_migrated(&fixture);
    newer.has_written(&mut fixture, ("\"revision\":2", "\"revision\":\"last\"")).await;
    let keeper = Consumer::new("sales-service", "keeper").on(async |tx: TenantTx, it: Received<OrderChanged>| {
        note(&tx, "kept", &it.event.revision.to_string()).await?;
        Ok::<_, Error>(Verdict::Done)
    });
    let engine = fixture.start("n-1", vec![keeper]);
    fixture.settle(&engine).await;
    assert_eq!(fixture.notes(1, "kept").await, "1", "its key waits for the release that knows the value");
    fixture.parked_for_hours(1).await;
    fixture.clock.advance_ms(10_000);
    fixture.settle(&engine).await;
    engine.stop().await;
    assert_eq!(fixture.notes(1, "kept").await, "13");
    assert_eq!(fixture.dead("sales-service.keeper").await, []);
    let by = Subscription { service: "sales-service", topic: CHANGED, consumer: "sales-service.keeper" };
    assert_eq!(fixture.store.metrics().count(&by, Consumed::Noop), 1);
}

fn hash_of(schema: &serde_json::Value) -> String {
    karwan_registry::hash::hash(schema).expect("it has one").to_string()
}

/// Something that happens elsewhere.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema, karwan_registry::Event)]
#[event(
    subject = "shop.sales.order.vanished.v1",
    owner = "sales-service",
    retention = "year",
    key = "{id}",
    idempotency = "{id}"
)]
struct Vanished {
    /// Which.
    id: String,
}

/// Keeps what is said on this thread.
#[derive(Default)]
struct Heard(std::sync::Mutex<String>);

struct Words<'a>(&'a mut String);

impl tracing::field::Visit for Words<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl tracing::Subscriber for Heard {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut heard = self.0.lock().expect("nobody panics");
        heard.push_str(&format!("{} ", event.metadata().level()));
        event.record(&mut Words(&mut heard));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

async fn a_consumer_of_a_subject_that_nobody_knows_is_warned_of(fixture: Fixture) {
    let seeker = Consumer::new("sales-service", "seeker")
        .on(async |_: TenantTx, _: Received<Vanished>| Ok::<_, Error>(Verdict::Done))
        .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Done));
    let heard = Arc::new(Heard::default());
    let engine = tracing::subscriber::with_default(heard.clone(), || fixture.start("n-1", vec![seeker]));
    engine.stop().await;
    let heard = heard.0.lock().expect("nobody panics");
    assert!(heard.contains("WARN") && heard.contains("shop.sales.order.vanished.v1"), "{heard}");
    assert!(!heard.contains(PLACED), "{heard}");
}

async fn the_second_consumer_of_a_name_is_left_out_and_told_of(fixture: Fixture) {
    let double = || {
        Consumer::new("sales-service", "double")
            .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Done))
    };
    let heard = Arc::new(Heard::default());
    let engine = tracing::subscriber::with_default(heard.clone(), || {
        fixture.start("n-1", vec![double(), double().lanes(7), secretary()])
    });
    fixture.settle(&engine).await;
    engine.stop().await;
    let lanes = fixture.store.relay().positions("sales-service.double").await.expect("it can be asked");
    assert_eq!(lanes.len(), 4, "the first one runs");
    let heard = heard.0.lock().expect("nobody panics");
    assert!(heard.contains("ERROR") && heard.contains("consumer=sales-service.double"), "{heard}");
    assert!(!heard.contains("secretary"), "{heard}");
}
