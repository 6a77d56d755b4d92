//! The program that is killed, stopped and replaced: the test binary itself, started again with a [`Program`] in its
//! environment.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use karwan_broker::Broker;
use karwan_engine::{Answered, Call, Consumer, Engine, Options, Performer, Policy, Received, Refusal, Verdict, Work};
use karwan_envelope::cause::Residency;
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_store::kind::KindType;
use karwan_store::{Error, Store, TenantTx};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::shapes::{self, OrderOfNext};
use crate::fixture::STREAM;
use crate::shop::{self, Order, OrderChanged, OrderPlaced, ParcelSent};

/// Set in a started program.
pub const PROGRAM: &str = "KARWAN_TEST_NODE";
/// What it runs.
pub const CONSUMER: &str = "delivery-service.secretary";
/// A revision stands in the number of the event that tells of its handling, before as many digits of chance: an event that
/// were handled twice would be told twice.
pub const CHANCE: i64 = 1_000_000;

/// How long what has failed waits, where a test says nothing else.
pub const RETRY_MS: i64 = 300;
/// Nothing fails so often.
pub const PATIENT: u32 = 10_000;

/// What a started program does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    pub url: String,
    /// 1, or 2 for the release after, which keeps notes otherwise; 3 for another one, which handles a subject more.
    pub version: u32,
    pub lanes: u16,
    pub lease_ms: u64,
    /// How long a handler takes at most.
    pub slow_ms: u64,
    /// Takes that long every time, not up to it.
    pub always_slow: bool,
    /// Out of a hundred attempts.
    pub failing: u64,
    /// An event that has failed so often is given up.
    pub attempts_max: u32,
    /// How long one that has failed waits at most.
    pub retry_ms: i64,
    /// Blocks its only thread in the first handler.
    pub stuck: bool,
    /// A line for every attempt.
    pub attempts: PathBuf,
    /// Where calls go.
    pub vendor: Option<String>,
    /// The broker whose stream feeds it; the log of its store where there is none.
    pub broker: Option<String>,
}

/// A number below a bound.
pub fn below(bound: u64) -> u64 {
    OsRandom.bits() % bound.max(1)
}

/// Works until it is told to stop, or its starter is gone.
pub fn run(program: &str) {
    let program: Program = serde_json::from_str(program).expect("the starter wrote it");
    // Whoever started it holds the other end as long as it lives.
    std::thread::spawn(|| {
        drop(std::io::stdin().read_to_end(&mut Vec::new()));
        std::process::exit(9);
    });
    let threads = if program.stuck { 1 } else { 2 };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.expect("a runtime can be made").block_on(async {
        let kinds = match program.version {
            1 | 3 => shop::kinds(),
            _ => vec![KindType::of::<OrderOfNext>(), KindType::of::<shop::Counter>()],
        };
        let options = karwan_store::Options::new(shop::catalogue(), kinds);
        let address = program.url.parse().expect("a URL is an address");
        let store = Store::open(&address, options).await.expect("the store was migrated");
        let mut work = match &program.broker {
            None => Work::new().consumer(secretary(&program)),
            Some(url) => {
                let broker = Broker::connect(url, karwan_broker::Options::default()).await;
                let broker = broker.expect("a server that runs can be reached");
                Work::new().consumer(secretary(&program).from_stream(STREAM)).broker(broker)
            }
        };
        if let Some(vendor) = &program.vendor {
            work = work.performer(cashier(vendor));
        }
        let options = Options {
            lease: Duration::from_millis(program.lease_ms),
            ..Options::new(program.name.clone(), Residency::Eu)
        };
        Engine::start(&store, work, options).run_until_signal().await.expect("signals can be waited for");
    });
}

fn policy(attempts_max: u32, retry_ms: i64) -> Policy {
    Policy { attempts_max, first_ms: retry_ms, most_ms: retry_ms, later_ms: retry_ms, ..Policy::default() }
}

/// Notes every revision of an order behind those before, and tells of it; slowly, and not always at once. The third release
/// takes that it was placed for revision 0.
fn secretary(program: &Program) -> Consumer {
    let (changing, placing) = (program.clone(), program.clone());
    let consumer =
        Consumer::new("delivery-service", "secretary").on(move |tx: TenantTx, received: Received<OrderChanged>| {
            let program = changing.clone();
            async move { handle(&program, tx, received.event.order_id, received.event.revision).await }
        });
    let consumer = match program.version {
        3 => consumer.on(move |tx: TenantTx, received: Received<OrderPlaced>| {
            let program = placing.clone();
            async move { handle(&program, tx, received.event.order_id, 0).await }
        }),
        _ => consumer,
    };
    consumer.lanes(program.lanes).batch(8).policy(policy(program.attempts_max, program.retry_ms))
}

async fn handle(program: &Program, tx: TenantTx, order_id: String, revision: i64) -> Result<Verdict, Error> {
    append(&program.attempts, &format!("{} {order_id} {revision}", program.name));
    if program.stuck {
        let (_kept, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv();
    }
    let ms = if program.always_slow { program.slow_ms } else { below(program.slow_ms + 1) };
    tokio::time::sleep(Duration::from_millis(ms)).await;
    if below(100) < program.failing {
        return Ok(Verdict::Retry("no luck".to_owned()));
    }
    match program.version {
        2 => shapes::note(&tx, &order_id, revision).await?,
        _ => note(&tx, &order_id, revision).await?,
    }
    if program.vendor.is_some() {
        tx.effect("charge", &order_id, &revision);
    }
    let chance = i64::try_from(below(CHANCE.unsigned_abs())).expect("it is small");
    tx.emit(ParcelSent { parcel_id: order_id, count: revision * CHANCE + chance });
    Ok(Verdict::Done)
}

async fn note(tx: &TenantTx, id: &str, revision: i64) -> Result<(), Error> {
    let name = format!("notes-{id}");
    let notes: Option<Order> = tx.find(&name).await?;
    let notes = notes.unwrap_or_else(|| shop::order(&name));
    tx.put(Order { note: format!("{}{revision} ", notes.note), ..notes });
    Ok(())
}

/// Asks the vendor over a socket.
fn cashier(vendor: &str) -> Performer {
    let vendor = vendor.to_owned();
    let call = move |call: Call<i64>| {
        let vendor = vendor.clone();
        async move {
            let asked = ask(&vendor, &call).await;
            asked.map_err(|error| Refusal::Later(error.to_string()))
        }
    };
    let outcome = async |_: TenantTx, _: Answered<i64, String>| Ok::<_, Error>(());
    Performer::new("delivery-service", "charge", call, outcome).policy(policy(PATIENT, RETRY_MS))
}

async fn ask(vendor: &str, call: &Call<i64>) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(vendor).await?;
    stream.write_all(format!("{} {} {}\n", call.idempotency_key, call.key, call.told).as_bytes()).await?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).await?;
    if answer.is_empty() { Err(std::io::Error::other("no answer")) } else { Ok(answer) }
}

/// One write a line: what is there is whole, whoever is killed.
pub fn append(file: &PathBuf, line: &str) {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).expect("the file can be written");
}
