//! Kill −9 in the middle of a booking and of a cancellation, with everything that can go wrong, on both stores, at moments that the
//! seed chooses.
//!
//! A moment is a number of facts: the node is killed when so many of the trace are in the log, so that it means the same on a slow
//! machine. A sample runs with the tests; `cargo xtask slow kills --moments N` kills in each case N times on each store, and once in
//! each booking so that the node is back only after the saga's deadline.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use karwan::Tenant;
use karwan_testkit::postgres::Server;
use melmastoon::reservation::booking::{ALLOCATION_MS, Booking, State};
use serde_json::{Value, json};

use super::place::{On, Place};
use super::{LONG, Node, begin, facts, pause};

/// What is tried, and what goes wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    fault: Option<&'static str>,
    /// Whether the booking is cancelled once it is confirmed, and the node killed in the middle of that.
    cancels: bool,
    /// How the booking ends, as the node says it.
    ends: &'static str,
    /// What is left for a person: the saga.
    left: Option<&'static str>,
    /// The last of its moments: so many facts are told of it at least.
    facts: u64,
}

const fn booking(fault: Option<&'static str>, ends: &'static str, left: Option<&'static str>, facts: u64) -> Case {
    Case { fault, cancels: false, ends, left, facts }
}

const fn cancellation(fault: Option<&'static str>, left: Option<&'static str>, facts: u64) -> Case {
    Case { fault, cancels: true, ends: "cancelled", left, facts }
}

const CASES: [Case; 13] = [
    booking(None, "confirmed", None, 10),
    booking(Some("hold-expired"), EXPIRED, None, 4),
    booking(Some("oversold"), "refused: MELMASTOON.RESERVATION.OVERBOOKING_BLOCKED", None, 3),
    booking(Some("payment-declined"), "refused: MELMASTOON.PAYMENT.DECLINED", None, 6),
    booking(Some("payment-timeout"), "confirmed", None, 10),
    booking(Some("vendor-error"), "confirmed", Some("booking"), 10),
    booking(Some("key-timeout"), "confirmed", None, 10),
    booking(Some("cash-pending"), "confirmed, cash pending", None, 8),
    cancellation(None, None, 5),
    cancellation(Some("payment-timeout"), None, 5),
    cancellation(Some("vendor-error"), None, 5),
    cancellation(Some("cash-pending"), None, 3),
    cancellation(Some("refund-failed"), Some("cancellation"), 5),
];
const EXPIRED: &str = "refused: MELMASTOON.RESERVATION.HOLD_EXPIRED";

/// One kill.
#[derive(Debug, Clone, Copy)]
struct Kill {
    case: Case,
    on: On,
    /// When so many facts are told.
    moment: u64,
    /// Whether it is back only when the saga has no time left.
    late: bool,
}

impl Place {
    /// How a booking was left by a node that is gone.
    fn left(&self, booking: &Value) -> State {
        let text = |name: &str| booking[name].as_str().expect("a text");
        let tenant = Tenant::One(text("tenant").parse().expect("a tenant"));
        let context = karwan::Context { tenant, ..karwan::context("reservation-service", 1) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let catalogue = karwan::Catalogue::of(&melmastoon::platform::PLATFORM).expect("it is sound");
            let options = karwan_store::Options::new(Arc::new(catalogue), melmastoon::hotel::kinds());
            let store = karwan_store::Store::open(&self.address(), options).await.expect("it opens");
            let booking = store.tenant(&context).find::<Booking>(text("reservation")).await.expect("the store answers");
            booking.expect("it is there").state
        })
    }
}

/// What is told of a booking, and how often: nobody is paid, let in or written to twice, and nothing of it is left out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Told {
    committed: usize,
    released: usize,
    captured: usize,
    refunded: usize,
    /// What billing has posted of that.
    refunds_posted: usize,
    confirmed: usize,
    cancelled: usize,
    keys: usize,
    keys_revoked: usize,
    messages: usize,
}

impl Told {
    /// What the log has after a position; there is one booking in it.
    fn after(node: &Node, position: &str) -> Self {
        let facts = facts(node, position);
        let count = |what: &str| {
            let is_it = |fact: &&Value| fact["subject"].as_str().is_some_and(|subject| subject.contains(what));
            facts.iter().filter(is_it).count()
        };
        Self {
            committed: count(".inventory.allocation.committed."),
            released: count(".inventory.allocation.released."),
            captured: count(".payment.intent.captured."),
            refunded: count(".payment.intent.refunded."),
            refunds_posted: count(".billing.folio.refund_posted."),
            confirmed: count(".reservation.booking.confirmed."),
            cancelled: count(".reservation.booking.cancelled."),
            keys: count(".key_credential.issued."),
            keys_revoked: count(".key_credential.revoked."),
            messages: count(".notification.message.dispatched."),
        }
    }
}

impl Case {
    /// A message goes by mail, SMS and WhatsApp; one about a cancellation by mail and SMS.
    const WAYS: (usize, usize) = (3, 2);

    fn is_by_card(&self) -> bool {
        self.fault != Some("cash-pending")
    }

    /// What is told of it in the end, where nobody is killed.
    fn told(&self) -> Told {
        let key = usize::from(self.is_by_card() && self.fault != Some("vendor-error"));
        let (confirmed, over) = Self::WAYS;
        let booked = Told {
            committed: 1,
            captured: 1,
            confirmed: 1,
            keys: key,
            messages: confirmed * (1 + key),
            ..Told::default()
        };
        let back = usize::from(self.is_by_card() && self.fault != Some("refund-failed"));
        match (self.cancels, self.ends.starts_with("confirmed")) {
            (true, _) => Told {
                released: 1,
                cancelled: 1,
                refunded: back,
                refunds_posted: back,
                keys_revoked: key,
                messages: booked.messages + over,
                ..booked
            },
            (false, true) => booked,
            (false, false) => self.given_up(0),
        }
    }

    /// The same, where it was compensated. A charge that rooms came too late for was made in time or was not: then it went back.
    fn given_up(&self, captured: usize) -> Told {
        let rooms = usize::from(self.fault != Some("oversold"));
        let captured = captured.min(usize::from(self.fault != Some("payment-declined") && rooms == 1));
        Told {
            committed: rooms,
            released: rooms,
            captured,
            refunded: if self.is_by_card() { captured } else { 0 },
            cancelled: 1,
            messages: Self::WAYS.1,
            ..Told::default()
        }
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
        let (before, begun, since) = self.killed(&place);
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
        let told = Told::after(&node, &before);
        let ended = (status(&node, &begun), rows, violations, told);
        assert_eq!(node.stop(), Some(0));
        let expected = self.expected(told.captured);
        (ended != expected).then(|| format!("{self:?} was {left:?} and ended as {ended:?}, not as {expected:?}"))
    }

    /// As if nobody had killed it, each fact as often as then; compensated where it had no time left.
    fn expected(&self, captured: usize) -> (String, Vec<Value>, Value, Told) {
        let (ends, left) = if self.late { (EXPIRED, None) } else { (self.case.ends, self.case.left) };
        let told = if ends == EXPIRED { self.case.given_up(captured) } else { self.case.told() };
        (ends.to_owned(), left.iter().map(|saga| json!([saga, "partial", true])).collect(), json!([]), told)
    }

    /// Where the log was before anything was begun by a node that is gone, what was, and when.
    fn killed(&self, place: &Place) -> (String, Value, Instant) {
        if self.late {
            // Everybody knows of rooms and prices; then nobody gives rooms.
            assert_eq!(place.up(&[]).stop(), Some(0));
            let node = place.up(&["--services", "reservation,pricing,payment"]);
            let begun = begin(&node, self.case.fault);
            node.kill();
            return (position(&begun), begun, Instant::now());
        }
        let node = place.up(&[]);
        let mut begun = begin(&node, self.case.fault);
        let before = position(&begun);
        if self.case.cancels {
            until("the confirmation", || status(&node, &begun).starts_with("confirmed"));
            assert_eq!(node.violations(), json!([]));
            let cancel = json!({ "tenant": null, "fault": self.case.fault, "cancel": begun["reservation"] });
            begun = node.tell("try", &cancel);
        }
        let since = Instant::now();
        let text = |name: &str| begun[name].as_str().expect("a text");
        let facts = format!("facts?after={}&correlation={}", text("position"), text("correlation"));
        let told = || node.control(&facts)["facts"].as_array().map_or(0, Vec::len) as u64;
        let is_over = || status(&node, &begun) != "held" && node.control("drained") == Value::Bool(true);
        until("its moment", || told() >= self.moment || is_over());
        node.kill();
        (before, begun, since)
    }
}

fn position(begun: &Value) -> String {
    begun["position"].as_str().expect("a position").to_owned()
}

/// What the seed draws.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn kill(&mut self, case: Case, on: On) -> Kill {
        Kill { case, on, moment: self.below(case.facts + 1), late: false }
    }
}

const STORES: [On; 2] = [On::Sqlite, On::Postgres];

/// A few: three cases, and one after which the node is back too late.
fn sample(chance: &mut Chance) -> Vec<Kill> {
    let first = chance.below(CASES.len() as u64) as usize;
    let mut cases = CASES.into_iter().cycle().skip(first);
    let mut kills: Vec<Kill> =
        (0..3).zip(STORES.into_iter().cycle()).filter_map(|(_, on)| Some(chance.kill(cases.next()?, on))).collect();
    let on = STORES[chance.below(2) as usize];
    kills.extend(cases.find(|case| !case.cancels).map(|case| Kill { case, on, moment: 0, late: true }));
    kills
}

/// All, each case so many times on each store. A cancellation has no deadline to be late for.
fn all(chance: &mut Chance, moments: u64) -> Vec<Kill> {
    let mut kills = Vec::new();
    for (case, on) in CASES.into_iter().flat_map(|case| STORES.map(|on| (case, on))) {
        kills.extend((0..moments).map(|_| chance.kill(case, on)));
        kills.extend((!case.cancels).then_some(Kill { case, on, moment: 0, late: true }));
    }
    kills
}

/// The same end as without the kill where the node is back in time, else the compensated one; each fact is told as often as without
/// it, so nothing is done twice or left out; and everything holds.
#[test]
fn killed_in_the_middle_everything_ends_as_it_should() {
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
                    println!("{kill:?}");
                    let found = kill.run(server);
                    // All of them take minutes: whoever watches is told at once.
                    found.iter().for_each(|found| println!("WRONG: {found}"));
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<String>::new(), "seed={seed}");
}
