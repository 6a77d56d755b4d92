//! A writing process that is killed: whatever it acknowledged is there, and log and documents agree.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use karwan_store::{Address, Error, Options, Query, Store, TenantTx};

use crate::fixture::{Folder, block_on, first, log, migrate_shop};
use crate::shop::{self, Order, order, placed};

/// Set in the child, to the path that it writes.
const CHILD: &str = "KARWAN_TEST_KILLED_WRITER";
const ROUNDS: usize = 4;
const ACKNOWLEDGED_MIN: usize = 150;

fn options() -> Options {
    Options::new(shop::catalogue(), shop::kinds())
}

/// Writes until it is killed; says which unit was acknowledged, a line each.
fn child(path: &str) {
    block_on(async {
        let store =
            Store::open(&Address::Sqlite(path.into()), options()).await.expect("the lock died with its process");
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..8 {
            let store = store.clone();
            tasks.spawn(async move {
                for number in 0.. {
                    let id = format!("o-{}-{task}-{number}", std::process::id());
                    let place = async |tx: TenantTx| {
                        tx.put(order(&id));
                        tx.emit(placed(&id));
                        Ok::<(), Error>(())
                    };
                    store.unit(&first(), place).await.expect("the unit commits");
                    // One write a line, past the harness: a line that is there is whole.
                    std::io::stdout().write_all(format!("acknowledged {id}\n").as_bytes()).expect("somebody listens");
                }
            });
        }
        tasks.join_all().await;
    });
}

/// Starts a writer, kills it in the middle, and answers what it had acknowledged.
fn killed(path: &str) -> Vec<String> {
    let module = module_path!().split_once("::").expect("it stands in a module").1;
    let test = format!("{module}::what_a_killed_process_had_acknowledged_is_there_and_log_and_documents_agree");
    let own = std::env::current_exe().expect("this is a program");
    let mut writer = Command::new(own)
        .args([test.as_str(), "--exact", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test can start itself");
    let mut lines = BufReader::new(writer.stdout.take().expect("it was asked for")).lines();
    let mut acknowledged = Vec::new();
    let mut take = |line: std::io::Result<String>| {
        let line = line.expect("the writer speaks text");
        acknowledged.extend(line.split_once("acknowledged ").map(|(_, id)| id.to_owned()));
        acknowledged.len()
    };
    for line in lines.by_ref() {
        if take(line) >= ACKNOWLEDGED_MIN {
            break;
        }
    }
    writer.kill().expect("it still runs");
    for line in lines {
        take(line);
    }
    writer.wait().expect("it has ended");
    assert!(acknowledged.len() >= ACKNOWLEDGED_MIN, "the writer ended by itself: {acknowledged:?}");
    acknowledged
}

#[test]
fn what_a_killed_process_had_acknowledged_is_there_and_log_and_documents_agree() {
    if let Ok(path) = std::env::var(CHILD) {
        return child(&path);
    }
    let folder = Folder::new();
    let path = folder.path().join("shop.db");
    let address = Address::Sqlite(path.clone());
    block_on(migrate_shop(&address)).expect("a fresh path can be migrated");
    let mut acknowledged = BTreeSet::new();
    for _ in 0..ROUNDS {
        acknowledged.extend(killed(path.to_str().expect("a plain path")));
        block_on(async {
            let store = Store::open(&address, options()).await.expect("it opens again at once");
            let told: BTreeSet<String> = log(&store).await.into_iter().map(|row| row.key).collect();
            let documents = stored(&store).await;
            assert_eq!(told, documents, "log and documents disagree");
            assert!(acknowledged.is_subset(&told), "lost: {:?}", acknowledged.difference(&told).collect::<Vec<_>>());
        });
    }
}

async fn stored(store: &Store) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut after = None;
    loop {
        let query = Query::<Order>::new().limit(1_000);
        let query = match after {
            Some(after) => query.after(after),
            None => query,
        };
        let page = store.tenant(&first()).query(query).await.expect("it can be asked");
        ids.extend(page.items.into_iter().map(|order| order.id));
        after = page.next;
        if after.is_none() {
            return ids;
        }
    }
}
