//! A throw-away store with some services over it, and vendors that do as a test tells them.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use karwan::envelope::Envelope;
use karwan::envelope::mint::Random;
use karwan::store::log::Filter;
use karwan::store::stored;
use karwan::testing::{SeededRandom, Throwaway};
use karwan::{Catalogue, Engine, Event, KindType, Work};
use melmastoon::ids::{KeyCredentialId, RoomId};
use melmastoon::lock_integration::port::{self as lock, Failed, Issue, Issued, Revoke, Revoked};
use melmastoon::lock_integration::vendor::VendorFailure;
use melmastoon::notification::port::{self as message, Outgoing, Ruling, Taken};
use melmastoon::platform::PLATFORM;

/// Runs a test on a runtime of its own.
pub fn run<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime can be made").block_on(test());
}

/// Seeds to play, one behind the other: `KARWAN_HOTEL_SEEDS` of them from `KARWAN_HOTEL_SEED` on.
#[derive(Debug, Clone, Copy)]
pub struct Seeds {
    pub first: u64,
    pub count: u64,
}

impl Seeds {
    /// Those that are asked for; so many from 1 on where nobody asks.
    pub fn asked(usual: u64) -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let first = number("KARWAN_HOTEL_SEED").unwrap_or(1);
        Self { first, count: number("KARWAN_HOTEL_SEEDS").unwrap_or(usual) }
    }
}

/// Tries a property with each seed, and names them: the last one is the one that went wrong.
#[expect(clippy::print_stdout, reason = "a test says which seed it is at")]
pub fn each_seed<F: Future<Output = ()>>(play: impl Fn(u64) -> F) {
    let Seeds { first, count } = Seeds::asked(4);
    for seed in first..first.saturating_add(count) {
        println!("{}: seed={seed}", std::thread::current().name().unwrap_or_default());
        run(|| play(seed));
    }
}

/// A store, and an engine over it.
pub struct Desk {
    pub place: Throwaway,
    engine: Option<Engine>,
}

impl Desk {
    /// An empty store with this work at it.
    pub async fn open(kinds: Vec<KindType>, work: Work) -> Self {
        let catalogue = Catalogue::of(&PLATFORM).expect("a good catalogue");
        let place = Throwaway::new(Arc::new(catalogue), kinds).await.expect("an empty store");
        let engine = Some(Engine::start(place.store(), work, place.engine()));
        Self { place, engine }
    }

    /// Waits until nothing is left to do at this instant.
    pub async fn settle(&self) {
        self.engine.as_ref().expect("it runs").settle().await.expect("it settles");
    }

    /// Lets time pass, and waits until nothing is left to do.
    pub async fn pass_ms(&self, ms: i64) {
        self.place.clock().advance_ms(ms);
        self.settle().await;
    }

    /// Tells an event of another service's, as tenant 1.
    pub async fn tell<E: Event + Clone + Send>(&self, event: &E) {
        crate::told::tell(self.place.store(), 1, event).await.expect("it can be told");
    }

    /// Reads the log as it is, and what is said in it by type.
    pub async fn log(&self) -> Vec<Envelope> {
        let store = self.place.store();
        let mut rows = Vec::new();
        loop {
            let after = rows.last().map_or(0, |row: &karwan::store::log::LogRow| row.seq);
            let page = store.relay().rows(after, i64::MAX, &Filter::default(), 1000).await.expect("rows");
            let full = page.len() == 1000;
            rows.extend(page);
            if !full {
                break;
            }
        }
        let envelope = |row| stored::envelope(store.catalogue(), row).expect("it can be read");
        rows.iter().map(envelope).collect()
    }

    /// The events of one type, in the order of the log.
    pub async fn told<E: Event>(&self) -> Vec<E> {
        let log = self.log().await;
        let of = log.iter().filter(|envelope| envelope.subject.as_str() == E::SUBJECT);
        of.map(|envelope| serde_json::from_str(envelope.payload.get()).expect("it can be read")).collect()
    }

    /// Delivers every event to a consumer once more.
    pub async fn replay(&mut self, consumers: &[&str], work: Work) {
        self.engine.take().expect("it runs").stop().await;
        for consumer in consumers {
            assert!(self.place.store().seek(consumer, 0).await.expect("nobody holds a lane"), "{consumer} is moved");
        }
        self.engine = Some(Engine::start(self.place.store(), work, self.place.engine()));
        self.settle().await;
    }

    /// Ends it.
    pub async fn close(mut self) {
        self.engine.take().expect("it runs").stop().await;
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A lock vendor that keeps its own books of which keys open which rooms.
pub struct Locks {
    books: Mutex<LockBooks>,
}

#[derive(Default)]
struct LockBooks {
    /// What was answered under a key; none where the key is barred.
    issued: BTreeMap<String, Option<(KeyCredentialId, Vec<RoomId>, Issued)>>,
    open: BTreeMap<KeyCredentialId, BTreeSet<RoomId>>,
    calls: u32,
    /// The most keys that ever opened one room at once.
    crowd: usize,
    trouble: Trouble,
}

/// What a vendor does wrong.
#[derive(Default)]
pub enum Trouble {
    /// Nothing.
    #[default]
    None,
    /// No call gets through.
    Down,
    /// It says no, and means it.
    Refuses,
    /// Chance decides: a call is lost on the way there, or on the way back, after it was done.
    Chance(SeededRandom),
}

enum Fate {
    Good,
    LostThere,
    LostBack,
    Refused,
}

impl Locks {
    pub fn with(trouble: Trouble) -> Arc<Self> {
        Arc::new(Self { books: Mutex::new(LockBooks { trouble, ..LockBooks::default() }) })
    }

    /// From now on it does this wrong.
    pub fn spoil(&self, trouble: Trouble) {
        self.books.lock().expect("nobody panics").trouble = trouble;
    }

    pub fn mend(&self) {
        self.books.lock().expect("nobody panics").trouble = Trouble::None;
    }

    /// What was made under a key; none where nothing was, or it was ended.
    pub fn made(&self, issue_key: &str) -> Option<Issued> {
        let books = self.books.lock().expect("nobody panics");
        books.issued.get(issue_key)?.as_ref().map(|(_, _, issued)| issued.clone())
    }

    /// Whether what was made under a key, or would be, was ended.
    pub fn ended(&self, issue_key: &str) -> bool {
        self.books.lock().expect("nobody panics").issued.get(issue_key).is_some_and(Option::is_none)
    }

    pub fn calls(&self) -> u32 {
        self.books.lock().expect("nobody panics").calls
    }

    /// The keys that open a door.
    pub fn open(&self) -> Vec<KeyCredentialId> {
        self.books.lock().expect("nobody panics").open.keys().copied().collect()
    }

    pub fn crowd(&self) -> usize {
        self.books.lock().expect("nobody panics").crowd
    }
}

impl LockBooks {
    fn fate(&mut self) -> Fate {
        self.calls += 1;
        match &self.trouble {
            Trouble::None => Fate::Good,
            Trouble::Down => Fate::LostThere,
            Trouble::Refuses => Fate::Refused,
            Trouble::Chance(random) => match random.bits() % 10 {
                0..=5 => Fate::Good,
                6..=7 => Fate::LostThere,
                _ => Fate::LostBack,
            },
        }
    }

    fn issue(&mut self, ask: &Issue) -> Result<Issued, Failed> {
        let number = self.issued.len();
        let fresh = || {
            let vendor_ref = format!("vendor-secret-{number}");
            Some((ask.credential, ask.rooms.clone(), Issued { vendor_ref, kind: ask.kinds[0], warnings: Vec::new() }))
        };
        let under = self.issued.entry(ask.operation_key.clone());
        let known = matches!(under, std::collections::btree_map::Entry::Occupied(_));
        let Some((credential, rooms, issued)) = under.or_insert_with(fresh).clone() else {
            return Err(failed(VendorFailure::Rejected, true));
        };
        if !known {
            self.open.insert(credential, rooms.iter().copied().collect());
            let doors = |room: &RoomId| self.open.values().filter(|opens| opens.contains(room)).count();
            let crowd = rooms.iter().map(doors).max().unwrap_or_default();
            self.crowd = self.crowd.max(crowd);
        }
        Ok(issued)
    }

    fn revoke(&mut self, ask: &Revoke) -> Revoked {
        self.issued.insert(ask.issue_key.clone(), None);
        Revoked { existed: self.open.remove(&ask.credential).is_some() }
    }
}

fn failed(failure: VendorFailure, final_word: bool) -> Failed {
    Failed { failure, final_word, message: Some("gate 7 says 48213 to guest@example.af".to_owned()) }
}

impl lock::Vendor for Locks {
    fn issue(&self, ask: Issue) -> lock::Asked<'_, Issued> {
        let mut books = self.books.lock().expect("nobody panics");
        let answer = match books.fate() {
            Fate::Good => books.issue(&ask),
            Fate::LostThere => Err(failed(VendorFailure::Unreachable, false)),
            Fate::Refused => Err(failed(VendorFailure::Rejected, true)),
            Fate::LostBack => books.issue(&ask).and(Err(failed(VendorFailure::TimedOut, false))),
        };
        Box::pin(std::future::ready(answer)) as Boxed<_>
    }

    fn revoke(&self, ask: Revoke) -> lock::Asked<'_, Revoked> {
        let mut books = self.books.lock().expect("nobody panics");
        let answer = match books.fate() {
            Fate::Good => Ok(books.revoke(&ask)),
            Fate::LostThere | Fate::Refused => Err(failed(VendorFailure::Unreachable, false)),
            Fate::LostBack => {
                books.revoke(&ask);
                Err(failed(VendorFailure::TimedOut, false))
            }
        };
        Box::pin(std::future::ready(answer)) as Boxed<_>
    }
}

/// A carrier of messages that keeps what it was given.
#[derive(Default)]
pub struct Post {
    pub taken: Mutex<Vec<Outgoing>>,
    /// Whether every request is called wrong.
    pub wrong: std::sync::atomic::AtomicBool,
    /// The ways on which nothing goes.
    pub closed: Mutex<Vec<melmastoon::notification::events::Channel>>,
}

impl message::Carrier for Post {
    fn send(&self, message: Outgoing) -> message::Asked<'_> {
        if self.wrong.load(std::sync::atomic::Ordering::Relaxed) {
            return Box::pin(std::future::ready(Err(karwan::Refusal::Never("400 Bad Request".to_owned()))));
        }
        let ruling = if self.closed.lock().expect("nobody panics").contains(&message.channel) {
            Ruling::Bounced(melmastoon::notification::events::BounceReason::UnknownAddress)
        } else {
            Ruling::Taken(Taken { provider: "sandbox".to_owned(), provider_ref: message.message.to_string() })
        };
        self.taken.lock().expect("nobody panics").push(message);
        Box::pin(std::future::ready(Ok(ruling)))
    }
}
