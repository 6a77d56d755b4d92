//! A vendor over real sockets: it speaks HTTP/1.1, charges once for every idempotency key, and has moods.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use karwan_engine::{Answered, Call, Performer, Refusal};
use karwan_store::TenantTx;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::fixture::{Fixture, note};
use crate::shop::context;

/// What is asked of a vendor: its port, and how much.
pub type Asked = (u16, i64);

/// How the vendor treats one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Charges, and says nothing for as long as anybody waits.
    Silent,
    /// Charges, and answers when it is asked again: whoever asked first has given up.
    Late,
    /// Charges, and closes the connection.
    Cut,
    /// Charges, and answers twice.
    Twice,
    /// Charges nothing and answers 500.
    Broken,
}

/// See the module.
pub struct Vendor {
    address: SocketAddr,
    open: Mutex<Option<JoinHandle<()>>>,
    books: Arc<Mutex<Books>>,
}

/// What the vendor remembers.
#[derive(Default)]
pub struct Books {
    /// By idempotency key: the card and the amount.
    ledger: BTreeMap<String, (String, i64)>,
    /// Cards and amounts, as they were charged.
    pub charges: Vec<(String, i64)>,
    /// The idempotency key of every request, as they came.
    pub requests: Vec<String>,
    /// For the requests to come; none is a good one.
    pub moods: VecDeque<Mood>,
    /// Told of every request.
    asked: Arc<Notify>,
}

impl Vendor {
    pub async fn open() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let vendor = Self { address, open: Mutex::new(None), books: Arc::default() };
        vendor.serve(listener);
        Arc::new(vendor)
    }

    fn serve(&self, listener: TcpListener) {
        let books = self.books.clone();
        let serving = tokio::spawn(async move {
            // Dropped with the task: whoever is connected is cut off.
            let mut served = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let books = books.clone();
                served.spawn(async move { drop(answer(socket, &books).await) });
            }
        });
        *self.open.lock().expect("nobody panics") = Some(serving);
    }

    /// From now on connections are refused.
    pub async fn goes_down(&self) {
        let serving = self.open.lock().expect("nobody panics").take().expect("it is open");
        serving.abort();
        drop(serving.await);
    }

    /// It is there again, at the same port.
    pub async fn comes_up(&self) {
        self.serve(TcpListener::bind(self.address).await.expect("the port is still free"));
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("nobody panics")
    }

    /// The amounts that a card was charged, in order.
    pub fn charged(&self, card: &str) -> Vec<i64> {
        self.books().charges.iter().filter(|(of, _)| of == card).map(|(_, amount)| *amount).collect()
    }

    pub fn is_in_the_mood(&self, moods: impl IntoIterator<Item = Mood>) {
        self.books().moods.extend(moods);
    }
}

/// One request, one answer, usually.
async fn answer(mut socket: TcpStream, books: &Mutex<Books>) -> io::Result<()> {
    let request = read_message(&mut socket).await?;
    let field = |name: &str| {
        let lines = request.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(field, _)| *field == name).map(|(_, value)| value.to_owned()).next().unwrap_or_default()
    };
    let (key, card) = (field("idempotency-key"), field("card"));
    let amount: i64 = request.lines().last().and_then(|body| body.parse().ok()).unwrap_or_default();
    let (mood, asked_again) = {
        let mut books = books.lock().expect("nobody panics");
        books.requests.push(key.clone());
        books.asked.notify_waiters();
        let mood = books.moods.pop_front();
        if mood != Some(Mood::Broken) && amount >= 0 && books.ledger.insert(key, (card.clone(), amount)).is_none() {
            books.charges.push((card, amount));
        }
        (mood, books.asked.clone().notified_owned())
    };
    let good = format!("charged {amount};");
    let good = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{good}", good.len());
    match mood {
        None if amount < 0 => socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await,
        None => socket.write_all(good.as_bytes()).await,
        Some(Mood::Silent) => std::future::pending().await,
        Some(Mood::Late) => {
            asked_again.await;
            socket.write_all(good.as_bytes()).await
        }
        Some(Mood::Cut) => Ok(()),
        Some(Mood::Twice) => socket.write_all(good.repeat(2).as_bytes()).await,
        Some(Mood::Broken) => socket.write_all(b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n").await,
    }
}

/// Head and body of a message, as long as its head says.
async fn read_message(socket: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
            if body.len() >= length {
                return Ok(format!("{head}\r\n\r\n{}", &body[..length]));
            }
        }
        if socket.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The client of it: what a performer does.
pub async fn charge(call: Call<Asked>) -> Result<String, Refusal> {
    let (port, amount) = call.told;
    let asked = async {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).await?;
        let amount = amount.to_string();
        let (key, card, length) = (&call.idempotency_key, &call.key, amount.len());
        let head = format!("idempotency-key: {key}\r\ncard: {card}\r\ncontent-length: {length}");
        socket.write_all(format!("POST /charge HTTP/1.1\r\n{head}\r\n\r\n{amount}").as_bytes()).await?;
        read_message(&mut socket).await
    };
    let answer: String = asked.await.map_err(|error: io::Error| Refusal::Later(error.to_string()))?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    match answer.split(' ').nth(1) {
        Some("200") => Ok(body),
        Some("400") => Err(Refusal::Never("the vendor takes no such amount".to_owned())),
        _ => Err(Refusal::Later(answer.lines().next().unwrap_or_default().to_owned())),
    }
}

/// Calls vendors, each a target of its own, and notes their answers under the card.
pub fn performer() -> Performer {
    Performer::new("sales-service", "charge", charge, noted).target(|asked: &Asked| asked.0.to_string())
}

pub async fn noted(tx: TenantTx, answered: Answered<Asked, String>) -> Result<(), karwan_store::Error> {
    note(&tx, &answered.key, &answered.answer).await
}

/// Records charges of a vendor: a card and an amount.
pub async fn record(fixture: &Fixture, vendor: &Vendor, charges: &[(&str, i64)]) {
    let (context, port) = (context(1), vendor.port());
    let unit = fixture.store.unit(&context, async |tx: TenantTx| {
        charges.iter().for_each(|(card, amount)| tx.effect("charge", card, &(port, *amount)));
        Ok::<_, karwan_store::Error>(())
    });
    unit.await.expect("it can be recorded");
}
