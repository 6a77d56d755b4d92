//! Drills: the broker, then the database, is lost for good. The pages are followed as they are written, on real servers, and the
//! time that each took is printed. `KARWAN_DRILL_EVENTS` says with how many events.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use karwan::engine::{Consumer, Engine, Received, Verdict, Work};
use karwan_broker::Broker;
use karwan_registry::Catalogue;
use karwan_store::{Document, Error, Kind, KindType, Options, Store, TenantTx, migrate};
use karwan_testkit::nats;
use karwan_testkit::postgres::{Database, Server};
use melmastoon::payment::IntentCaptured;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::runtime::Runtime;

use super::pages::{self, Names, commands, prepared, shell};
use super::place::{Place, emit, objects};
use crate::folder::Folder;
use crate::karwan::{call, karwan};

/// The stream of the service whose events are carried.
const STREAM: &str = "PAYMENT_GATEWAY";
/// So many events are committed at once.
const A_UNIT: u64 = 200;

/// What a consumer elsewhere has of a payment: how often it was told of it.
#[derive(Clone, Serialize, Deserialize)]
struct Told {
    intent: String,
    times: u32,
}

impl Document for Told {
    const KIND: Kind = Kind::named("told");
    fn id(&self) -> String {
        self.intent.clone()
    }
}

/// A producer's database, and a consumer in another one that a stream feeds.
struct Yard {
    server: &'static Server,
    producer: Place<'static>,
    books: Database<'static>,
    store: Store,
    engine: Option<Engine>,
    relays: Vec<Child>,
    names: Names,
    folder: Folder,
    runtime: Runtime,
}

impl Yard {
    fn new() -> Option<Self> {
        let server = karwan_testkit::postgres().or_skip()?;
        let (producer, books, folder) = (Place::new(server), server.database(), Folder::new());
        let runtime = Runtime::new().expect("a runtime starts");
        let store = runtime.block_on(book_store(&books));
        let mut names = pages::environment();
        // pg_dump and pg_restore, of the server's own version.
        let programs = server.bin("pg_dump").parent().expect("a folder").display().to_string();
        names[0].1 = format!("{programs}:{}", names[0].1);
        names.push(("NODE_STORE", producer.url()));
        names.push(("KARWAN_STORE", producer.database.url()));
        names.push(("BOOKS_STORE", books.url()));
        Some(Self { server, producer, books, store, engine: None, relays: Vec::new(), names, folder, runtime })
    }

    fn name(&mut self, name: &'static str, value: String) {
        self.names.retain(|(other, _)| *other != name);
        self.names.push((name, value));
    }

    /// Runs a command of a page; one that runs until it is stopped is left to run.
    fn follow(&mut self, command: &str) -> String {
        if !command.starts_with("karwan relay") {
            return shell(command, self.folder.path(), &self.names);
        }
        let mut relay = prepared(command, self.folder.path(), &self.names);
        let said = std::fs::File::create(self.folder.at("relay.log")).expect("the folder is ours");
        self.relays.push(relay.stdin(Stdio::null()).stderr(said).spawn().expect("a shell runs"));
        String::new()
    }

    /// What the relay that was started last has said so far.
    fn relay_said(&self) -> String {
        String::from_utf8(self.folder.read("relay.log")).expect("what is said is text")
    }

    /// Relays that were running are gone, as with their machine.
    fn end_relays(&mut self) {
        for mut relay in self.relays.drain(..) {
            relay.kill().expect("it is our child");
            relay.wait().expect("it is our child");
        }
    }

    /// The consumer elsewhere, fed by a broker.
    fn consume_from(&mut self, broker: &str) {
        self.stop();
        let consumer = Consumer::new("billing-service", "books").from_stream(STREAM).batch(64).on(
            async |tx: TenantTx, got: Received<IntentCaptured>| {
                let intent = got.event.payment_intent_id.to_string();
                let before: Option<Told> = tx.find(&intent).await?;
                tx.put(Told { intent, times: before.map_or(0, |told| told.times) + 1 });
                Ok::<_, Error>(Verdict::Done)
            },
        );
        let engine = self.runtime.block_on(async {
            let broker = Broker::connect(broker, karwan_broker::Options::default()).await.expect("it runs");
            let options = karwan::engine::Options::new("books", karwan::Residency::Me);
            Engine::start(&self.store, Work::new().consumer(consumer).broker(broker), options)
        });
        self.engine = Some(engine);
    }

    fn stop(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.runtime.block_on(engine.stop());
        }
    }

    /// The consumer has everything that its stream has.
    fn settle(&self) {
        let engine = self.engine.as_ref().expect("it runs");
        self.runtime.block_on(engine.settle()).expect("it settles");
    }

    /// How many payments the consumer was told of, and how often at most of one.
    fn told(&self) -> (u64, u64) {
        let sql = "SELECT count(*), coalesce(max((body::json->>'times')::int), 0) FROM karwan.doc_told";
        let told = self.books.psql(sql).expect("a superuser may");
        let (count, most) = told.split_once('|').expect("two numbers");
        (count.parse().expect("a number"), most.parse().expect("a number"))
    }

    fn publish(&mut self, broker: &str) {
        self.name("KARWAN_BROKER", broker.to_owned());
        self.follow(&format!(
            "karwan relay --store \"$NODE_STORE\" --platform melmastoon --services {}",
            super::place::SERVICE
        ));
        self.published();
    }

    fn published(&self) {
        shell("karwan outbox --wait", self.folder.path(), &self.names);
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.stop();
        self.end_relays();
    }
}

async fn book_store(books: &Database<'_>) -> Store {
    let login = format!("books_{}", books.name());
    books.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
    let catalogue = Arc::new(Catalogue::of(&melmastoon::platform::PLATFORM).expect("it has a catalogue"));
    let (owner, kinds) = (books.url().parse().expect("an address"), vec![KindType::of::<Told>()]);
    migrate(&owner, &[&catalogue], &kinds, &|_, _, _| {}).await.expect("it is migrated");
    migrate::grant(&owner, &login, &migrate::Purpose::Node).await.expect("it is granted");
    let node = books.url_as(&login).parse().expect("an address");
    Store::open(&node, Options::new(catalogue, kinds)).await.expect("it opens")
}

fn events() -> u64 {
    std::env::var("KARWAN_DRILL_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(2 * A_UNIT)
}

fn commit(address: &str, serials: std::ops::Range<u64>) {
    let mut from = serials.start;
    while from < serials.end {
        let to = (from + A_UNIT).min(serials.end);
        emit(address, from..to);
        from = to;
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// the log holds what is committed meanwhile, and the second broker gets all of it.
#[test]
fn a_lost_broker_is_replaced_by_an_empty_one_as_the_page_says() {
    let Some(mut yard) = Yard::new() else { return };
    let Some(first) = nats().or_skip() else { return };
    let all = events();
    let (before, meanwhile) = (all / 2, all);
    commit(&yard.producer.url(), 0..before);
    yard.consume_from(&first.url());
    yard.publish(&first.url());
    yard.settle();
    assert_eq!(yard.told(), (before, 1));

    drop(first);
    commit(&yard.producer.url(), before..meanwhile);
    yard.end_relays();
    let Some(second) = nats().or_skip() else { return };
    yard.name("KARWAN_BROKER", second.url());
    let began = Instant::now();
    let mut refilled = Duration::ZERO;
    for command in commands("docs/runbooks/broker-lost.md") {
        if command.contains("consumer list") {
            refilled = began.elapsed();
            yard.consume_from(&second.url());
            yard.settle();
        }
        yard.follow(&command);
    }
    let outbox = call(&["outbox", "--store", &yard.producer.database.url(), "--format", "json"]);
    let outbox = outbox.variable("KARWAN_BROKER", &second.url()).run().exits(0).json();
    assert!(outbox["relays"][0]["publishedAt"].is_string(), "{outbox}");
    assert!(yard.relay_said().contains("was made anew"), "{}", yard.relay_said());
    println!(
        "drill: {all} events; the empty broker had them after {}, the consumer after {}",
        seconds(refilled),
        seconds(began.elapsed())
    );
    assert_eq!(yard.told(), (all, 1), "nothing is lost, and nothing is handled twice");
    // Positions are saved a few times a second, and with a stop.
    yard.stop();
    let listed = call(&["consumer", "list", "--store", &yard.books.url(), "--format", "json"]);
    let listed = listed.variable("KARWAN_BROKER", &second.url()).run().exits(0).json();
    assert_eq!((&listed[0]["consumer"], &listed[0]["behind"]), (&json!("billing-service.books"), &json!(0)));
    let shown = karwan(&["consumer", "show", "billing-service.books", "--store", &yard.books.url()]).exits(0);
    shown.says("--broker URL says how far").prints("fed from PAYMENT_GATEWAY;");
    let away = ["consumer", "list", "--store", &yard.books.url(), "--broker", "nats://127.0.0.1:1"];
    karwan(&away).exits(0).says("is not known").prints("billing-service.books");
    // And it goes on.
    yard.consume_from(&second.url());
    commit(&yard.producer.url(), all..all + 5);
    yard.published();
    yard.settle();
    assert_eq!(yard.told(), (all + 5, 1));
}

/// what was published is not published again, what the copy lacks is listed, and new events flow.
#[test]
fn a_database_is_restored_from_an_older_backup_as_the_page_says() {
    let Some(mut yard) = Yard::new() else { return };
    let Some(broker) = nats().or_skip() else { return };
    let all = events();
    let (saved, lost) = (all / 2, all - all / 2);
    commit(&yard.producer.url(), 0..saved);
    yard.consume_from(&broker.url());
    yard.publish(&broker.url());

    let restored = yard.server.database();
    let mut began = Instant::now();
    let mut serving = Duration::ZERO;
    for command in commands("docs/runbooks/store-restored.md") {
        let said = yard.follow(&command);
        if command.starts_with("pg_dump") {
            // What is committed from here on is lost with the database, and others have acted on it.
            commit(&yard.producer.url(), saved..all);
            yard.published();
            yard.settle();
            assert_eq!(yard.told(), (all, 1));
            yard.end_relays();
            yard.name("KARWAN_STORE", restored.url());
            yard.name("NODE_STORE", restored.url_as(&yard.producer.login));
            began = Instant::now();
        } else if command.starts_with("karwan lost") {
            assert!(said.contains(&format!("{lost} events were published and are not in this store")), "{said}");
        } else if command.starts_with("karwan relay") {
            serving = began.elapsed();
            // The numbers of what was lost are given to other events.
            commit(&restored.url_as(&yard.producer.login), all..all + 7);
        }
    }
    println!(
        "drill: {saved} events in the backup, {lost} lost; restored and listed after {}, published on after {}",
        seconds(serving),
        seconds(began.elapsed())
    );
    assert!(yard.relay_said().contains("this store is a restored copy"), "{}", yard.relay_said());
    let listed = String::from_utf8(yard.folder.read("lost.jsonl")).expect("it is text");
    assert_eq!(listed.lines().count() as u64, lost);
    yard.settle();
    assert_eq!(yard.told(), (all + 7, 1), "nothing is handled twice, and what is new is handled");
    let rows = karwan(&["log", "tail", "--store", &restored.url(), "--format", "json"]).exits(0);
    assert_eq!(objects(&rows).len() as u64, saved + 7);
}

/// A transaction that was open when the copy was taken: its number lies below the copy's last one.
#[test]
fn what_was_committed_late_under_an_early_number_is_lost_and_listed() {
    let Some(mut yard) = Yard::new() else { return };
    let Some(broker) = nats().or_skip() else { return };
    commit(&yard.producer.url(), 0..20);
    yard.publish(&broker.url());
    let dump = yard.server.dump(yard.producer.database.name()).expect("it is dumped");
    let restored = yard.server.database();
    yard.server.restore(restored.name(), &dump).expect("it is restored");
    // As if its transaction had committed after the copy was taken.
    restored.psql("DELETE FROM karwan.log WHERE seq = 12").expect("a superuser may");
    karwan(&["restore", "--store", &restored.url()]).exits(0);
    let lost = ["lost", "--store", &restored.url(), "--broker", &broker.url(), "--platform", "melmastoon"];
    let told = karwan(&lost).exits(0).says("1 events were published and are not in this store");
    assert!(told.stdout.contains("      12  "), "{}", told.stdout);
    let whole =
        ["lost", "--store", &yard.producer.database.url(), "--broker", &broker.url(), "--platform", "melmastoon"];
    karwan(&whole).exits(0).says("this store has everything");
}
