//! The answer of the COMMIT is lost on its way, or the COMMIT itself is.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use karwan_store::{Error, Store, TenantTx};

use super::{INSERT, packed, shop};
use crate::postgres::options;
use crate::shop::context;

const THROUGH: u8 = 0;
/// The next COMMIT does not arrive.
const BEFORE: u8 = 1;
/// The next COMMIT arrives, and its answer does not.
const AFTER: u8 = 2;

/// Stands between a store and its server, and cuts the connection that commits next.
fn proxy(server: u16) -> (u16, Arc<AtomicU8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let order = Arc::new(AtomicU8::new(THROUGH));
    let told = order.clone();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
            let silent = Arc::new(AtomicBool::new(false));
            let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let (quiet, told) = (silent.clone(), told.clone());
            std::thread::spawn(move || {
                let mut bytes = [0; 1 << 16];
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    if bytes[..count].windows(7).any(|word| word == b"COMMIT\0") {
                        match told.swap(THROUGH, Ordering::SeqCst) {
                            BEFORE => break,
                            AFTER => quiet.store(true, Ordering::SeqCst),
                            _ => {}
                        }
                    }
                    if to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                drop((to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both)));
            });
            let (mut from, mut to) = (far, near);
            std::thread::spawn(move || {
                let mut bytes = [0; 1 << 16];
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    if silent.load(Ordering::SeqCst) || to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                drop((to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both)));
            });
        }
    });
    (port, order)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_looked_up_by_its_claim() {
    let Some((fixture, hold, row)) = shop().await else { return };
    let (port, order) = proxy(fixture.database.server().port());
    let url = format!("postgres://{}@127.0.0.1:{port}/{}", fixture.login, fixture.database.name());
    let store = Store::open(&url.parse().unwrap(), options()).await.unwrap();
    // A consumer's: its claim says what became of it.
    let (batch, _) = packed(&store, &hold, row.claim(), "p-1").await;
    order.store(BEFORE, Ordering::SeqCst);
    let lost = batch.commit().await;
    assert!(matches!(lost, Err(Error::OutcomeUnknown { .. })), "{lost:?}");
    assert!(fixture.nothing(&row).await);
    let (batch, _) = packed(&store, &hold, row.claim(), "p-1").await;
    order.store(AFTER, Ordering::SeqCst);
    assert_eq!(batch.commit().await.unwrap().repeated, None);
    assert_eq!(fixture.seen(&row).await, ("p-1".into(), 1, 1, vec!["p-1".into()]));
    // A command's: its id does, and one that did not arrive is done again.
    for (how, id) in [(BEFORE, "p-2"), (AFTER, "p-3")] {
        order.store(how, Ordering::SeqCst);
        let pack = async |tx: TenantTx| {
            tx.postgres().await?.execute(INSERT, &[&id]).await?;
            Ok::<_, Error>(())
        };
        store.unit(&context(1), pack).await.unwrap();
        assert_eq!(order.load(Ordering::SeqCst), THROUGH);
    }
    assert_eq!(fixture.parcels(), "p-1 p-2 p-3");
}
