//! Calls to the outside by real clients over sockets, and what goes on in the store while a vendor holds one.
//!
//! The services that call vendors run in this process, with vendors that the test holds; all others in a node beside it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use karwan::engine::Engine;
use karwan_envelope::cause::Residency;
use karwan_envelope::time::SystemClock;
use karwan_http::{Client, Request, Response, Server, StatusCode};
use karwan_sandbox::{Stage, StageOptions, gateway, locks, messages};
use karwan_testkit::postgres::Server as Postgres;
use melmastoon::hotel::{self, Vendors};
use melmastoon::lock_integration::latch::{self, Latch};
use melmastoon::notification::carrier::{self, HttpCarrier};
use melmastoon::payment::card::{self, Card};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::place::{On, Place};
use super::{LONG, Node, begin, facts, pause, until};

/// Those that call vendors.
const CALLERS: [&str; 3] = ["payment", "lock_integration", "notification"];
/// All others that a booking needs.
const OTHERS: &str = "tenant,property,pricing,reservation,inventory,billing";

/// Holds a call at the vendor's door until it may go on; given what was called.
trait Door: Send + Sync + 'static {
    fn pass(&self, path: &str) -> impl Future<Output = ()> + Send;

    /// What the door answers in the vendor's place; nothing, where the vendor is asked.
    fn answer(&self, _path: &str) -> Option<Response> {
        None
    }
}

/// A server in front of a vendor: it lets a call through when the door does.
async fn front(vendor: String, door: Arc<impl Door>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let client = Client::new(LONG);
    let answer = move |request: Request| {
        let (vendor, door, client) = (vendor.clone(), door.clone(), client.clone());
        async move {
            door.pass(&request.path).await;
            if let Some(answer) = door.answer(&request.path) {
                return answer;
            }
            forwarded(&client, &vendor, request).await
        }
    };
    Server::start(listener, answer).expect("it listens")
}

async fn forwarded(client: &Client, vendor: &str, request: Request) -> Response {
    let headers = request.headers.iter().filter(|(name, _)| !["host", "content-length"].contains(&name.as_str()));
    let headers: Vec<(&str, &str)> =
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    let url = format!("{vendor}{}", request.path);
    let answer = client.send(request.method.clone(), &url, &headers, request.body.clone()).await;
    let answer = answer.expect("a vendor on loopback answers");
    Response { status: answer.status, content_type: "application/json", body: answer.body }
}

/// Who calls, and the vendors' doors.
struct Callers {
    runtime: Runtime,
    engine: Engine,
    /// They answer as long as they are held.
    _vendors: (Stage, Vec<Server>),
}

impl Callers {
    /// Starts them on the store of a place, behind these doors.
    fn start(place: &Place, door: &Arc<impl Door>, lock_door: &Arc<impl Door>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address = place.store.as_ref().and_then(|(_, url)| url.parse().ok());
        let address = address.expect("a database: a file has one process");
        let (engine, vendors) = runtime.block_on(async {
            let stage = Stage::open(&StageOptions::default()).await.expect("vendors on loopback");
            let cards = front(stage.gateway.url(), door.clone()).await;
            let keys = front(stage.locks.url(), lock_door.clone()).await;
            let post = front(stage.messages.url(), door.clone()).await;
            let url = |server: &Server| format!("http://{}", server.address());
            let (merchant, secret) = (gateway::MERCHANT.to_owned(), gateway::SECRET.to_owned());
            let card = card::Account { url: url(&cards), merchant, secret };
            let (client, secret) = (locks::CLIENT.to_owned(), locks::SECRET.to_owned());
            let latch = latch::Account { url: url(&keys), client, secret };
            let carrier = carrier::Account { url: url(&post), token: messages::TOKEN.to_owned() };
            let vendors = Vendors {
                card: Arc::new(Card::new(card, Arc::new(SystemClock))),
                locks: Arc::new(Latch::new(latch)),
                messages: Arc::new(HttpCarrier::new(carrier)),
            };
            let catalogue = karwan::Catalogue::of(&melmastoon::platform::PLATFORM).expect("it is sound");
            let options = karwan_store::Options::new(Arc::new(catalogue), hotel::kinds());
            let store = karwan_store::Store::open(&address, options).await.expect("it opens");
            let work = hotel::work(&CALLERS, &vendors).expect("they exist");
            let engine = Engine::start(&store, work, karwan::engine::Options::new("callers", Residency::Me));
            engine.at_work().await;
            (engine, (stage, vec![cards, keys, post]))
        });
        Self { runtime, engine, _vendors: vendors }
    }

    fn stop(self) {
        self.runtime.block_on(self.engine.stop());
    }
}

/// The node of a place, without those who call.
fn others(place: &Place) -> Node {
    // Once with all of them: whoever sells, and whoever makes keys, knows of the houses then.
    assert_eq!(place.up(&[]).stop(), Some(0));
    place.up(&["--services", OTHERS])
}

fn count(node: &Node, position: &str, what: &str) -> usize {
    let told = facts(node, position);
    told.iter().filter(|fact| fact["subject"].as_str().is_some_and(|subject| subject.contains(what))).count()
}

fn text<'a>(booking: &'a Value, name: &str) -> &'a str {
    booking[name].as_str().expect("a text")
}

fn status(node: &Node, booking: &Value) -> Value {
    node.control(&format!("booking/{}/{}", text(booking, "tenant"), text(booking, "reservation")))
}

/// Lets a call through once no transaction is open that is older than the call. One that was open around the call would stay open
/// until it is answered, and so for ever; one that has nothing to do with it ends.
struct NothingOpen {
    client: tokio_postgres::Client,
    /// What was let through.
    called: Mutex<BTreeSet<String>>,
    /// What was last seen open behind a call that is held.
    open: Mutex<Vec<String>>,
    /// Whether what is reserved is declined when it is to be taken, so that it has to be undone.
    declines: AtomicBool,
}

/// Connections to this database, whoever's, in a transaction that began before an instant: at work or idle.
const OLDER: &str = "SELECT state || ': ' || query FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
      AND xact_start < $1::text::timestamptz";

/// A connection of a superuser, who sees what everybody does.
async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("it answers");
    tokio::spawn(connection);
    client
}

impl NothingOpen {
    async fn new(url: &str) -> Self {
        Self {
            client: connect(url).await,
            called: Mutex::default(),
            open: Mutex::default(),
            declines: AtomicBool::default(),
        }
    }

    async fn now(&self) -> String {
        self.client.query_one("SELECT clock_timestamp()::text", &[]).await.expect("it answers").get(0)
    }

    /// What is open since before an instant.
    async fn older(&self, than: &str) -> Vec<String> {
        let rows = self.client.query(OLDER, &[&than]).await.expect("it answers");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

impl Door for NothingOpen {
    async fn pass(&self, path: &str) {
        let called = self.now().await;
        loop {
            let open = self.older(&called).await;
            if open.is_empty() {
                break;
            }
            *self.open.lock().expect("nobody panics with it") = open;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The gateway's own ids are another every time.
        let path = path.split('/').map(|part| if part.starts_with("ch_") { "*" } else { part }).collect::<Vec<_>>();
        self.called.lock().expect("nobody panics with it").insert(path.join("/"));
    }

    fn answer(&self, path: &str) -> Option<Response> {
        let declined = self.declines.load(Ordering::Relaxed) && path.ends_with("/capture");
        let why = json!({ "error": { "code": "do_not_honor" } });
        declined.then(|| Response::json(StatusCode::PAYMENT_REQUIRED, &why))
    }
}

/// That a transaction which is open would be seen: idle in it, or at work.
fn sees_what_is_open(runtime: &Runtime, door: &NothingOpen, server: &Postgres, database: &str) {
    runtime.block_on(async {
        let idle = connect(&server.url(database, server.superuser())).await;
        idle.batch_execute("BEGIN; SELECT 'idle on purpose'").await.expect("it begins");
        let at_work = connect(&server.url(database, server.superuser())).await;
        idle.batch_execute("SELECT pg_advisory_xact_lock(7)").await.expect("nobody has it");
        let waits = tokio::spawn(async move { at_work.batch_execute("SELECT pg_advisory_xact_lock(7)").await });
        let seen = async |what: &str| door.older(&door.now().await).await.iter().any(|open| open.starts_with(what));
        while !(seen("idle in transaction: ").await && seen("active: SELECT pg_advisory_xact_lock(7)").await) {
            tokio::task::yield_now().await;
        }
        idle.batch_execute("ROLLBACK").await.expect("it ends");
        waits.await.expect("it ends").expect("it has the lock then");
    });
}

#[test]
fn no_transaction_is_open_while_a_vendor_is_called() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(On::Postgres, Some(server));
    let node = others(&place);
    let watching = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let watching = watching.expect("a runtime");
    let database = place.store.as_ref().map(|(database, _)| database).expect("it is on Postgres");
    let door = Arc::new(watching.block_on(NothingOpen::new(&database.url())));
    sees_what_is_open(&watching, &door, server, database.name());
    let callers = Callers::start(&place, &door, &door);
    let reached = |what: &str, is_so: &dyn Fn() -> bool| {
        let since = Instant::now();
        while !is_so() {
            assert!(since.elapsed() < LONG, "{what} waits; open behind a call: {:?}", door.open.lock().unwrap());
            pause();
        }
    };
    let booking = begin(&node, None);
    let position = text(&booking, "position").to_owned();
    reached("the confirmation", &|| status(&node, &booking) == "confirmed");
    reached("the key", &|| count(&node, &position, ".key_credential.issued.") == 1);
    node.tell("try", &json!({ "tenant": null, "fault": null, "cancel": booking["reservation"] }));
    reached("the refund", &|| count(&node, &position, ".intent.refunded.") == 1);
    reached("the key's end", &|| count(&node, &position, ".key_credential.revoked.") == 1);
    door.declines.store(true, Ordering::Relaxed);
    begin(&node, None);
    reached("the charge's end", &|| door.called.lock().unwrap().contains("/v2/voids"));
    let called = door.called.lock().unwrap().clone();
    let all = [
        "/api/keys",
        "/api/keys/revoke",
        "/messages",
        "/oauth/token",
        "/v2/charges",
        "/v2/charges/*/capture",
        "/v2/charges/*/refunds",
        "/v2/voids",
    ];
    assert_eq!(called, all.map(str::to_owned).into());
    callers.stop();
    assert_eq!(node.stop(), Some(0));
}

/// Lets everybody through.
struct Open;

impl Door for Open {
    async fn pass(&self, _: &str) {}
}

/// Lets nobody through until it is opened.
struct Gate {
    open: watch::Sender<bool>,
    arrived: Mutex<usize>,
}

impl Door for Gate {
    async fn pass(&self, path: &str) {
        if path == "/api/keys" {
            *self.arrived.lock().expect("nobody panics with it") += 1;
            self.open.subscribe().wait_for(|open| *open).await.expect("the gate outlives its calls");
        }
    }
}

/// The maker of locks is called, and answers nobody: that holds back keys and nothing else.
#[test]
fn bookings_are_confirmed_while_the_maker_of_locks_answers_nobody() {
    const BOOKINGS: usize = 6;
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(On::Postgres, Some(server));
    let node = others(&place);
    let gate = Arc::new(Gate { open: watch::Sender::new(false), arrived: Mutex::default() });
    let callers = Callers::start(&place, &Arc::new(Open), &gate);
    let before = node.control("status")["position"].as_str().expect("a position").to_owned();
    let first = begin(&node, None);
    until("a call at the gate", || *gate.arrived.lock().unwrap() > 0);
    // These come when the maker of locks is at work already, and has not answered.
    let mut bookings: Vec<Value> = (1..BOOKINGS).map(|_| begin(&node, None)).collect();
    bookings.push(first);
    until("all confirmations", || bookings.iter().all(|booking| status(&node, booking) == "confirmed"));
    assert_eq!(count(&node, &before, ".booking.confirmed."), BOOKINGS);
    assert_eq!(count(&node, &before, ".key_credential.issued."), 0);
    gate.open.send_replace(true);
    until("all keys", || count(&node, &before, ".key_credential.issued.") == BOOKINGS);
    callers.stop();
    assert_eq!(node.stop(), Some(0));
}
