//! Kill −9 in the middle of everything that can go wrong with a booking, on both stores, at moments that the seed chooses.
//!
//! A moment is a number of facts: the node is killed when so many of the trace are in the log, so that it means the same on a slow
//! machine. A sample runs with the tests; `cargo xtask slow kills --moments N` kills in each fault N times on each store, and once in
//! each so that the node is back only after the saga's deadline.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use karwan::Tenant;
use karwan_testkit::postgres::{Database, Server};
use melmastoon::reservation::booking::{ALLOCATION_MS, Booking, State};
use serde_json::{Value, json};

use super::{LONG, Node, begin, pause};
use crate::folder::Folder;
use crate::karwan::karwan;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fault {
    name: &'static str,
    /// How the booking ends, as the node says it.
    ends: &'static str,
    /// What is left for a person: the saga.
    left: Option<&'static str>,
    /// The last of its moments: so many facts are told of it at least.
    facts: u64,
}

const FAULTS: [Fault; 7] = [
    Fault { name: "hold-expired", ends: EXPIRED, left: None, facts: 4 },
    Fault { name: "oversold", ends: "refused: MELMASTOON.RESERVATION.OVERBOOKING_BLOCKED", left: None, facts: 3 },
    Fault { name: "payment-declined", ends: "refused: MELMASTOON.PAYMENT.DECLINED", left: None, facts: 6 },
    Fault { name: "payment-timeout", ends: "confirmed", left: None, facts: 10 },
    Fault { name: "vendor-error", ends: "confirmed", left: Some("booking"), facts: 10 },
    Fault { name: "cash-pending", ends: "confirmed, cash pending", left: None, facts: 8 },
    Fault { name: REFUND, ends: "cancelled", left: Some("cancellation"), facts: 5 },
];
/// The only one that is met by a cancellation.
const REFUND: &str = "refund-failed";
const EXPIRED: &str = "refused: MELMASTOON.RESERVATION.HOLD_EXPIRED";

/// Where the node keeps everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Sqlite,
    Postgres,
}

/// One kill.
#[derive(Debug, Clone, Copy)]
struct Kill {
    fault: Fault,
    on: On,
    /// When so many facts are told.
    moment: u64,
    /// Whether it is back only when the saga has no time left.
    late: bool,
}

/// A node's directory and store, which outlive it.
struct Place {
    folder: Folder,
    store: Option<(Database<'static>, String)>,
}

impl Place {
    fn new(on: On, server: Option<&'static Server>) -> Self {
        let store = server.filter(|_| on == On::Postgres).map(|server| {
            let database = server.database();
            let login = format!("node_{}", database.name());
            database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
            karwan(&["migrate", "--store", &database.url(), "--grant", &login, "--node"]).exits(0);
            let url = database.url_as(&login);
            (database, url)
        });
        Self { folder: Folder::new(), store }
    }

    fn up(&self, more: &[&str]) -> Node {
        let store: Vec<&str> = self.store.iter().flat_map(|(_, url)| ["--store", url, "--demo"]).collect();
        Node::up(&self.folder.at("data"), &[&store, more].concat())
    }

    /// How a booking was left by a node that is gone.
    fn left(&self, booking: &Value) -> State {
        let text = |name: &str| booking[name].as_str().expect("a text");
        let address = match &self.store {
            Some((_, url)) => url.parse().expect("a URL is an address"),
            None => karwan_store::Address::Sqlite(self.folder.at("data").join("karwan.db")),
        };
        let tenant = Tenant::One(text("tenant").parse().expect("a tenant"));
        let context = karwan::Context { tenant, ..karwan::context("reservation-service", 1) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let catalogue = karwan::Catalogue::of(&melmastoon::platform::PLATFORM).expect("it is sound");
            let options = karwan_store::Options::new(Arc::new(catalogue), melmastoon::hotel::kinds());
            let store = karwan_store::Store::open(&address, options).await.expect("it opens");
            let booking = store.tenant(&context).find::<Booking>(text("reservation")).await.expect("the store answers");
            booking.expect("it is there").state
        })
    }
}

fn status(node: &Node, booking: &Value) -> String {
    let text = |name: &str| booking[name].as_str().expect("a text");
    let path = format!("booking/{}/{}", text("tenant"), text("reservation"));
    node.control(&path).as_str().expect("a status").to_owned()
}

/// Looks until it is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < LONG, "waited in vain for {what}");
        pause();
    }
}

impl Kill {
    /// Begins, kills, comes back and compares: what is not as it must be.
    fn run(&self, server: Option<&'static Server>) -> Option<String> {
        let place = Place::new(self.on, server);
        let (begun, since) = self.killed(&place);
        let left = place.left(&begun);
        // Only whoever waits for rooms has a deadline that can be waited for; there is another one, of ten minutes.
        let waits = matches!(left, State::Held { allocated: false, .. });
        if self.late {
            assert!(waits, "nobody gave it rooms, and it is {left:?}");
            let deadline = since + Duration::from_millis(ALLOCATION_MS.unsigned_abs() + 1_000);
            until("the deadline", || Instant::now() > deadline);
        }
        let node = place.up(&[]);
        until("its end", || status(&node, &begun) != "held");
        let violations = node.violations();
        let rows = node.karwan(&["saga", "list", "--format", "json"]).exits(0).json();
        let rows = rows.as_array().expect("rows").iter().filter(|row| row["reservation"] == begun["reservation"]);
        let rows: Vec<Value> = rows.map(|row| json!([row["saga"], row["state"], row["stuck"]])).collect();
        let ended = (status(&node, &begun), rows, violations);
        assert_eq!(node.stop(), Some(0));
        (ended != self.expected()).then(|| format!("{self:?} was {left:?} and ended as {ended:?}"))
    }

    /// As if nobody had killed it; compensated where it had no time left.
    fn expected(&self) -> (String, Vec<Value>, Value) {
        let (ends, left) = if self.late { (EXPIRED, None) } else { (self.fault.ends, self.fault.left) };
        (ends.to_owned(), left.iter().map(|saga| json!([saga, "partial", true])).collect(), json!([]))
    }

    /// What was begun by a node that is gone, and when.
    fn killed(&self, place: &Place) -> (Value, Instant) {
        if self.late {
            // Everybody knows of rooms and prices; then nobody gives rooms.
            assert_eq!(place.up(&[]).stop(), Some(0));
            let node = place.up(&["--services", "reservation,pricing,payment"]);
            let begun = begin(&node, Some(self.fault.name));
            node.kill();
            return (begun, Instant::now());
        }
        let node = place.up(&[]);
        let mut begun = begin(&node, Some(self.fault.name));
        if self.fault.name == REFUND {
            until("the confirmation", || status(&node, &begun) == "confirmed");
            assert_eq!(node.violations(), json!([]));
            let cancel = json!({ "tenant": null, "fault": REFUND, "cancel": begun["reservation"] });
            begun = node.tell("try", &cancel);
        }
        let since = Instant::now();
        let text = |name: &str| begun[name].as_str().expect("a text");
        let facts = format!("facts?after={}&correlation={}", text("position"), text("correlation"));
        let told = || node.control(&facts)["facts"].as_array().map_or(0, Vec::len) as u64;
        let is_over = || status(&node, &begun) != "held" && node.control("drained") == Value::Bool(true);
        until("its moment", || told() >= self.moment || is_over());
        node.kill();
        (begun, since)
    }
}

/// What the seed draws.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn kill(&mut self, fault: Fault, on: On) -> Kill {
        Kill { fault, on, moment: self.below(fault.facts + 1), late: false }
    }
}

const STORES: [On; 2] = [On::Sqlite, On::Postgres];

/// A few: three faults, and one after which the node is back too late.
fn sample(chance: &mut Chance) -> Vec<Kill> {
    let first = chance.below(FAULTS.len() as u64) as usize;
    let mut faults = FAULTS.into_iter().cycle().skip(first);
    let mut kills: Vec<Kill> =
        (0..3).zip(STORES.into_iter().cycle()).filter_map(|(_, on)| Some(chance.kill(faults.next()?, on))).collect();
    let on = STORES[chance.below(2) as usize];
    kills.extend(faults.find(|fault| fault.can_be_late()).map(|fault| Kill { fault, on, moment: 0, late: true }));
    kills
}

/// All, each fault so many times on each store.
fn all(chance: &mut Chance, moments: u64) -> Vec<Kill> {
    let mut kills = Vec::new();
    for (fault, on) in FAULTS.into_iter().flat_map(|fault| STORES.map(|on| (fault, on))) {
        kills.extend((0..moments).map(|_| chance.kill(fault, on)));
        kills.extend(fault.can_be_late().then_some(Kill { fault, on, moment: 0, late: true }));
    }
    kills
}

impl Fault {
    /// A cancellation has no deadline.
    fn can_be_late(&self) -> bool {
        self.name != REFUND
    }
}

/// The same end as without the kill where the node is back in time, else the compensated one; and everything holds.
#[test]
fn killed_in_the_middle_of_a_fault_everything_ends_as_it_should() {
    /// Nodes wait for vendors and deadlines most of the time.
    const AT_ONCE: usize = 4;
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("KARWAN_KILL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let mut chance = Chance(seed);
    let mut kills = match number("KARWAN_KILL_MOMENTS") {
        Some(moments) => all(&mut chance, moments),
        None => sample(&mut chance),
    };
    let server = karwan_testkit::postgres().or_skip();
    kills.retain(|kill| kill.on == On::Sqlite || server.is_some());
    println!("seed={seed}: {} kills", kills.len());
    let (kills, wrong) = (Mutex::new(kills), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(kill) = { kills.lock().unwrap().pop() } {
                    println!("{:?}: {}, {} facts, late: {}", kill.on, kill.fault.name, kill.moment, kill.late);
                    wrong.lock().unwrap().extend(kill.run(server));
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<String>::new(), "seed={seed}");
}
