//! The answer of a flush is lost: a deadline fires once, and an answer is acted on once, and the caller is told so.
//!
//! Between the store and the server stands a proxy that breaks the connection at the one flush that carries a mark.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use karwan_envelope::time::Timestamp;
use karwan_store::consumer::Share;
use karwan_store::deadline::Deadline;
use karwan_store::effect::{self, Effect, Outcome};
use karwan_store::write_set::LaneHold;
use karwan_store::{Done, Error, Repeated, Store, TenantTx};
use karwan_testkit::postgres::postgres;

use super::{Fixture, options};
use crate::shop::{Counter, Order, context, counter, order, placed};

const MARK: &[u8] = b"the marked flush";
/// What a server says when it has committed and is ready for more.
const READY: &[u8] = b"Z\0\0\0\x05I";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// The server has committed, and its answer is lost.
    Answer,
    /// The server never hears of it.
    Request,
    /// The server hears of it when the caller has given it up and is deciding again.
    Late,
}

/// See the module.
struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    loss: Loss,
    /// Broken once; from then on everything passes.
    broken: AtomicBool,
    /// For one that is late: it may go on, and it has arrived.
    released: AtomicBool,
    arrived: AtomicBool,
}

impl Proxy {
    fn start(server: u16, loss: Loss) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (broken, released, arrived) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        let state = Arc::new(State { loss, broken, released, arrived });
        let shared = state.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let swallows = Arc::new(AtomicBool::new(false));
                let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                let (state, flag) = (shared.clone(), swallows.clone());
                std::thread::spawn(move || requests(client, server, &state, &flag));
                let (state, [client, server]) = (shared.clone(), ends);
                std::thread::spawn(move || answers(server, client, &state, &swallows));
            }
        });
        Self { port, state }
    }

    /// Lets one that is late arrive, and waits until the server has answered it.
    async fn let_it_arrive(&self) {
        self.state.released.store(true, Ordering::SeqCst);
        while !self.state.arrived.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }
}

fn requests(mut client: TcpStream, mut server: TcpStream, state: &State, swallows: &AtomicBool) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let marked = buffer[..read].windows(MARK.len()).any(|window| window == MARK);
        if marked && !state.broken.swap(true, Ordering::SeqCst) {
            match state.loss {
                Loss::Answer => swallows.store(true, Ordering::SeqCst),
                Loss::Request => break,
                Loss::Late => {
                    swallows.store(true, Ordering::SeqCst);
                    drop(client.shutdown(Shutdown::Both));
                    while !state.released.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                }
            }
        }
        if server.write_all(&buffer[..read]).is_err() {
            break;
        }
        if swallows.load(Ordering::SeqCst) {
            return;
        }
    }
    drop((client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both)));
}

fn answers(mut server: TcpStream, mut client: TcpStream, state: &State, swallows: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = server.read(&mut buffer) {
        if swallows.load(Ordering::SeqCst) {
            if buffer[..read].ends_with(READY) {
                state.arrived.store(true, Ordering::SeqCst);
                break;
            }
        } else if client.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    drop((client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both)));
}

/// Counts, marks its flush, emits, and calls: all of it once.
async fn decide(tx: TenantTx, runs: &AtomicU32, proxy: &Proxy) -> Result<(), Error> {
    if runs.fetch_add(1, Ordering::SeqCst) == 1 && proxy.state.loss == Loss::Late {
        proxy.let_it_arrive().await;
    }
    let done: Option<Counter> = tx.find("done").await?;
    tx.put(counter("done", done.map_or(1, |done| done.value + 1)));
    tx.put(Order { note: String::from_utf8_lossy(MARK).into_owned(), ..order("marked") });
    tx.emit(placed("marked"));
    tx.effect("mail", "m", &1);
    Ok(())
}

/// What the caller was told, and what is there.
async fn assert_once(fixture: &Fixture, proxy: &Proxy, told: Result<Done<()>, Error>, runs: &AtomicU32) {
    let loss = proxy.state.loss;
    assert!(proxy.state.broken.load(Ordering::SeqCst), "nothing was lost: this test shows nothing");
    let done = told.unwrap_or_else(|error| panic!("{loss:?}: {error:?}"));
    let expected = match loss {
        Loss::Answer => (1, None),
        Loss::Request => (2, None),
        // It met its own first try, which is not somebody else's.
        Loss::Late => (2, Some(Repeated::Unit)),
    };
    assert_eq!((runs.load(Ordering::SeqCst), done.repeated), expected, "{loss:?}");
    let unit = fixture.store.tenant(&context(1));
    assert_eq!(unit.peek::<Counter>("done").await.unwrap().map(|done| done.value), Some(1), "{loss:?}");
    let counts = "SELECT (SELECT count(*) FROM karwan.log), (SELECT count(*) FROM karwan.effect WHERE kind = 'mail'),
                         (SELECT count(*) FROM karwan.deadline), (SELECT count(*) FROM karwan.effect WHERE state = 'answered')";
    assert_eq!(fixture.database.psql(counts).unwrap(), "1|1|0|0", "{loss:?}");
}

/// A store of a server, and the same one behind a proxy.
async fn behind(loss: Loss) -> Option<(Fixture, Proxy, Store)> {
    let server = postgres().or_skip()?;
    let fixture = Fixture::new(server).await;
    let proxy = Proxy::start(server.port(), loss);
    let (port, through) = (format!(":{}/", server.port()), format!(":{}/", proxy.port));
    let url = fixture.database.url_as(&fixture.login).replace(&port, &through);
    let store = Store::open(&url.parse().unwrap(), options()).await.unwrap();
    Some((fixture, proxy, store))
}

async fn fires_once(loss: Loss) {
    let Some((fixture, proxy, store)) = behind(loss).await else { return };
    let context = context(1);
    let set = fixture.store.unit(&context, async |tx: TenantTx| {
        tx.deadline("ship", "a", Timestamp::from_unix_ms(1_000), &1);
        Ok::<_, Error>(())
    });
    set.await.unwrap();
    let due = store.due_deadlines("ship", Share::ALL, Timestamp::from_unix_ms(1_000), 1).await.unwrap();
    let deadline: &Deadline = &due[0];
    let runs = AtomicU32::new(0);
    let fired = store.fire(deadline, &context, async |tx: TenantTx| decide(tx, &runs, &proxy).await).await;
    assert_once(&fixture, &proxy, fired, &runs).await;
    // And it is gone for everybody else.
    let again = fixture.store.fire(deadline, &context, async |_: TenantTx| Ok::<_, Error>(())).await;
    assert!(matches!(again, Err(Error::Gone { .. })), "{again:?}");
}

async fn acts_once(loss: Loss) {
    let Some((fixture, proxy, store)) = behind(loss).await else { return };
    let context = context(1);
    let call = fixture.store.unit(&context, async |tx: TenantTx| {
        tx.effect("charge", "card", &1);
        Ok::<_, Error>(())
    });
    call.await.unwrap();
    let lane = effect::lane("charge");
    let taken = store.take_lane(&lane, "n-1", 5_000).await.unwrap().unwrap();
    let hold = LaneHold { consumer: lane.consumer, lane: lane.number, epoch: taken.epoch };
    let due = store.due_effects("charge", Share::ALL, Timestamp::from_unix_ms(1_000), 1).await.unwrap();
    let effect: &Effect = &due[0];
    store.record_effect(&hold, effect.of, &Outcome::Answered("yes".to_owned())).await.unwrap();
    let runs = AtomicU32::new(0);
    let acted = store.act_on(effect.of, &context, async |tx: TenantTx| decide(tx, &runs, &proxy).await).await;
    assert_once(&fixture, &proxy, acted, &runs).await;
    let again = fixture.store.act_on(effect.of, &context, async |_: TenantTx| Ok::<_, Error>(())).await;
    assert!(matches!(again, Err(Error::Gone { .. })), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_whose_answer_is_lost_has_fired_once() {
    for loss in [Loss::Answer, Loss::Request, Loss::Late] {
        fires_once(loss).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_acting_is_lost_was_acted_on_once() {
    for loss in [Loss::Answer, Loss::Request, Loss::Late] {
        acts_once(loss).await;
    }
}
