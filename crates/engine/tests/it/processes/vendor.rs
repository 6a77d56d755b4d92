//! The outside: a vendor behind a socket, who charges once for every idempotency key and counts what is asked.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What was asked: the idempotency key, and `key amount`.
type Asked = (String, String);

#[derive(Clone, Default)]
pub struct Vendor {
    asked: Arc<Mutex<Vec<Asked>>>,
    /// Told of the next call, which then is not answered.
    silent: Arc<Mutex<Option<UnboundedSender<()>>>>,
}

impl Vendor {
    /// Listens; answers where.
    pub fn open(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let vendor = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (vendor, stream) = (vendor.clone(), stream.expect("somebody calls"));
                std::thread::spawn(move || vendor.serve(stream));
            }
        });
        address
    }

    /// Charges, and answers unless it was asked to be silent once.
    fn serve(&self, stream: TcpStream) {
        let mut line = String::new();
        if BufReader::new(&stream).read_line(&mut line).is_err() || !line.ends_with('\n') {
            return;
        }
        let (idempotency, what) = line.trim().split_once(' ').expect("a key and what is asked");
        self.asked.lock().expect("nobody panics").push((idempotency.to_owned(), what.to_owned()));
        if let Some(told) = self.silent.lock().expect("nobody panics").take() {
            told.send(()).expect("the test listens");
            // Until the caller is gone.
            drop(BufReader::new(&stream).read_line(&mut line));
            return;
        }
        drop((&stream).write_all(b"charged\n"));
    }

    /// The next call is charged and not answered; tells when it came.
    pub fn be_silent_once(&self) -> UnboundedReceiver<()> {
        let (told, hears) = unbounded_channel();
        *self.silent.lock().expect("nobody panics") = Some(told);
        hears
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panics").clone()
    }

    /// What was charged: one thing for each idempotency key, in the order of the first calls.
    pub fn charged(&self) -> Vec<String> {
        let mut seen = BTreeMap::new();
        let mut charged = Vec::new();
        for (idempotency, what) in self.asked() {
            match seen.insert(idempotency.clone(), what.clone()) {
                None => charged.push(what),
                Some(before) => assert_eq!(before, what, "{idempotency} was used for two things"),
            }
        }
        charged
    }
}
