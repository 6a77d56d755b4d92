//! Processes that share a database wake each other.

use std::time::Duration;

use karwan_store::{Error, Store, TenantTx};
use karwan_testkit::postgres::postgres;

use super::{Fixture, options};
use crate::fixture::block_on;
use crate::shop;

async fn place(store: &Store, id: &str) {
    let context = shop::context(1);
    let unit = store.unit(&context, async |tx: TenantTx| {
        tx.put(shop::order(id));
        tx.emit(shop::placed(id));
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
}

#[test]
fn a_commit_of_one_process_wakes_another() {
    let Some(server) = postgres().or_skip() else { return };
    block_on(async {
        let fixture = Fixture::new(server).await;
        let address = fixture.database.url_as(&fixture.login).parse().unwrap();
        let other = Store::open(&address, options()).await.unwrap();
        let mut listening = other.relay().listen();
        // They need a moment to find each other; nobody commits in the other one, so that whatever is heard came from here.
        for number in 0..100 {
            place(&fixture.store, &format!("o-{number}")).await;
            if tokio::time::timeout(Duration::from_millis(200), listening.rung()).await.is_ok() {
                return;
            }
        }
        panic!("a hundred commits were heard by nobody");
    });
}
