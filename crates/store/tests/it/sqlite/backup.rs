//! Copies and what a restored store is.

use std::sync::Mutex;

use karwan_store::backup::{backup, restore};
use karwan_store::doctor::{Health, doctor};
use karwan_store::log::Filter;
use karwan_store::operator::{ActionFilter, Who};
use karwan_store::{Address, Error, Operator, Options, Store, TenantTx};

use crate::fixture::{Fixture, Folder, log, run, sqlite};
use crate::shop::{self, Order, order};

async fn open(address: &Address) -> Store {
    Store::open(address, Options::new(shop::catalogue(), shop::kinds())).await.expect("it opens")
}

#[test]
fn a_copy_is_taken_while_units_commit_and_is_one_moment_of_them() {
    run(sqlite(), async |fixture: Fixture| {
        // Large enough for several steps.
        let put = fixture.unit(1, async |tx: TenantTx| {
            (0..60).for_each(|number| tx.put(Order { note: "x".repeat(150_000), ..order(&format!("o-{number}")) }));
            Ok(())
        });
        put.await.expect("orders can be put");
        let folder = Folder::new();
        let out = folder.path().join("copy.db");
        let told = Mutex::new(Vec::new());
        // The store goes on while the copy is made: a commit between two steps neither fails it nor starts it over.
        let raw = Mutex::new(fixture.raw());
        let progress = |what: &str, done: u64, total: u64| {
            told.lock().expect("not poisoned").push((what.to_owned(), done, total));
            let raw = raw.lock().expect("not poisoned");
            raw.execute("INSERT INTO subject (name) VALUES (?)", [format!("late-{done}")]).expect("it can be written");
        };
        let copied = backup(&fixture.address, &out, &progress).await.expect("it can be copied");
        assert!(copied.done[0].contains("copy.db"), "{copied:?}");
        let told = told.into_inner().expect("not poisoned");
        assert!(told.len() > 1, "{told:?}");
        assert!(matches!(told.last(), Some((_, done, total)) if done == total && *total > 0), "{told:?}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1, "only the copy is left");
        let copy = rusqlite::Connection::open(&out).expect("it opens");
        let late = "SELECT count(*) FROM subject WHERE name LIKE 'late-%'";
        assert_eq!(copy.query_row(late, [], |row| row.get::<_, i64>(0)).expect("it tells"), 0);
        assert!(matches!(backup(&fixture.address, &out, &|_, _, _| {}).await, Err(Error::TargetExists { .. })));
    });
}

#[test]
fn a_restored_store_is_another_life_suspended_with_the_same_rows() {
    run(sqlite(), async |fixture: Fixture| {
        let position = fixture.place(1, "o-1").await.position;
        let folder = Folder::new();
        let copy = folder.path().join("copy.db");
        backup(&fixture.address, &copy, &|_, _, _| {}).await.expect("it can be copied");
        fixture.place(1, "lost").await;
        let address = Address::Sqlite(folder.path().join("restored.db"));
        restore(&address, &copy, false, &|_, _, _| {}).await.expect("it can be restored");
        let again = restore(&address, &copy, false, &|_, _, _| {}).await;
        assert!(matches!(again, Err(Error::TargetExists { .. })), "{again:?}");
        let suspended = doctor(&address, 0).await.expect("it can be looked at");
        let life = suspended.iter().find(|check| check.name == "incarnation").expect("it is looked at");
        assert_eq!(life.health, Health::Warning, "{life:?}");
        let store = open(&address).await;
        let reset = store.relay().page(position, &Filter::default(), 10).await;
        assert!(matches!(&reset, Err(Error::Reset { asked, .. }) if *asked == position), "{reset:?}");
        assert_eq!(log(&store).await.iter().map(|row| row.key.clone()).collect::<Vec<_>>(), ["o-1"]);
        drop(store);
        let operator = Operator::new(&address, Vec::new());
        let nobody = Who { actor: String::new(), reason: "INC-7".to_owned() };
        let unsigned = operator.resume_store(&nobody).await;
        assert!(matches!(unsigned, Err(Error::Unsigned { .. })), "{unsigned:?}");
        let ann = Who { actor: "ann".to_owned(), ..nobody };
        let action = operator.resume_store(&ann).await.expect("it can be resumed");
        let done = operator.actions(&ActionFilter::default(), None, 1).await.expect("they are kept").actions.remove(0);
        assert_eq!((done.id, done.verb.name(), done.who), (action, "resume-store", ann));
        let resumed = doctor(&address, 0).await.expect("it can be looked at");
        assert!(resumed.iter().all(|check| check.name != "incarnation" || check.health == Health::Good), "{resumed:?}");
    });
}

#[test]
fn two_restores_of_one_copy_are_two_lives() {
    run(sqlite(), async |fixture: Fixture| {
        fixture.place(1, "o-1").await;
        let folder = Folder::new();
        let copy = folder.path().join("copy.db");
        backup(&fixture.address, &copy, &|_, _, _| {}).await.expect("it can be copied");
        let mut lives = vec![fixture.store.relay().end().await.expect("it has an end").incarnation];
        for name in ["one.db", "two.db"] {
            let address = Address::Sqlite(folder.path().join(name));
            restore(&address, &copy, false, &|_, _, _| {}).await.expect("it can be restored");
            lives.push(open(&address).await.relay().end().await.expect("it has an end").incarnation);
        }
        assert!(lives.windows(2).all(|two| two[0] != two[1]), "{lives:?}");
    });
}

#[test]
fn what_is_no_store_is_not_restored_and_leaves_nothing() {
    let folder = Folder::new();
    let letter = folder.path().join("letter.txt");
    std::fs::write(&letter, "Dear customer, ".repeat(100)).expect("a file can be written");
    let target = folder.path().join("shop.db");
    let restored = crate::fixture::block_on(restore(&Address::Sqlite(target.clone()), &letter, false, &|_, _, _| {}));
    assert!(matches!(restored, Err(Error::Damaged { .. })), "{restored:?}");
    assert!(!target.exists());
    assert!(!folder.path().join("shop.db.partial").exists());
}
