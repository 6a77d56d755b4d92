//! The file: who may open it, and what is said where it cannot be.

use std::fs;

use karwan_store::log::Filter;
use karwan_store::{Address, Error, Options, Store, TenantTx};

use crate::fixture::{Fixture, Folder, block_on, first, migrate_shop, run, sqlite};
use crate::shop::{self, Counter, counter};

fn options() -> Options {
    Options::new(shop::catalogue(), shop::kinds())
}

async fn refused(address: &Address) -> Error {
    Store::open(address, options()).await.err().expect("it cannot be opened")
}

#[test]
fn a_path_where_nothing_is_has_never_been_migrated_and_stays_empty() {
    let folder = Folder::new();
    let address = Address::Sqlite(folder.path().join("none.db"));
    let error = block_on(refused(&address));
    assert!(matches!(error, Error::NotMigrated { .. }), "{error:?}");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
}

#[test]
fn a_file_that_is_no_database_is_told_with_a_remedy_and_left_alone() {
    let folder = Folder::new();
    let path = folder.path().join("letter.txt");
    let text = "Dear customer, ".repeat(100);
    fs::write(&path, &text).expect("a file can be written");
    let address = Address::Sqlite(path.clone());
    for error in block_on(async { [refused(&address).await, migrate_shop(&address).await.expect_err("no store")] }) {
        assert!(matches!(&error, Error::Damaged { reason, .. } if reason.contains("no SQLite database")), "{error:?}");
    }
    assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path().join("theirs.db");
    let theirs = rusqlite::Connection::open(&path).expect("a database can be made");
    theirs.execute_batch("CREATE TABLE log (line TEXT)").expect("a table can be made");
    let address = Address::Sqlite(path);
    let error = block_on(migrate_shop(&address)).expect_err("it is not ours");
    assert!(matches!(&error, Error::Damaged { reason, .. } if reason.contains("another program")), "{error:?}");
    assert!(matches!(block_on(refused(&address)), Error::NotMigrated { .. }));
}

#[test]
fn a_file_is_opened_by_one_at_a_time() {
    run(sqlite(), async |fixture: Fixture| {
        assert!(matches!(refused(&fixture.address).await, Error::InUse { .. }));
        assert!(matches!(migrate_shop(&fixture.address).await, Err(Error::InUse { .. })));
        let address = fixture.address.clone();
        let fixture = fixture.reopened().await;
        assert!(matches!(refused(&address).await, Error::InUse { .. }), "{:?}", fixture.address);
    });
}

#[test]
fn a_reader_follows_a_file_that_another_writes_and_writes_nothing() {
    run(sqlite(), async |fixture: Fixture| {
        let reader = Options { read_only: true, ..Options::new(shop::catalogue(), Vec::new()) };
        let reader = Store::open(&fixture.address, reader).await.expect("a reader needs no lock");
        let start = reader.relay().start().await.expect("the log has a start");
        fixture.place(1, "o-1").await;
        let page = reader.relay().page(start, &Filter::default(), 10).await.expect("the log can be read");
        assert_eq!(page.rows.len(), 1);
        assert_eq!(reader.stats().await.expect("it can be told").end, page.position);
        let known = Options { read_only: true, ..options() };
        let reader = Store::open(&fixture.address, known).await.expect("a reader needs no lock");
        let write = async |tx: TenantTx| {
            tx.put(counter("c", 1));
            Ok(())
        };
        let refused: Result<_, Error> = reader.unit(&first(), write).await;
        assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
        assert!(matches!(reader.prune(0).await, Err(Error::ReadOnly { .. })));
        fixture.place(1, "o-2").await;
    });
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_is_told_as_read_only() {
    use std::os::unix::fs::PermissionsExt as _;
    run(sqlite(), async |fixture: Fixture| {
        let address = fixture.address.clone();
        let path = fixture.path().to_owned();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("it is our own");
        if fs::File::options().write(true).open(&path).is_ok() {
            return karwan_testkit::skip::record("this user may write whatever a file's mode says");
        }
        let fixture = fixture.reopened().await;
        let write = fixture.unit(1, async |tx: TenantTx| {
            tx.put(counter("c", 1));
            Ok(())
        });
        let refused = write.await;
        assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{address}: {refused:?}");
    });
}

#[test]
fn a_file_that_a_shell_holds_for_long_is_told_as_in_use() {
    run(sqlite(), async |fixture: Fixture| {
        let shell = fixture.raw();
        shell.execute_batch("BEGIN IMMEDIATE").expect("nobody writes yet");
        let write = fixture.unit(1, async |tx: TenantTx| {
            tx.put(counter("c", 1));
            Ok(())
        });
        let refused = write.await;
        assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
        shell.execute_batch("ROLLBACK").expect("it can be ended");
        fixture.place(1, "o-1").await;
    });
}

#[test]
fn a_damaged_file_is_told_as_damaged() {
    run(sqlite(), async |fixture: Fixture| {
        for number in 0..200 {
            fixture.place(1, &format!("o-{number}")).await;
        }
        let path = fixture.path().to_owned();
        fixture.raw().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("it can be written back");
        let copy = path.with_extension("damaged.db");
        let mut bytes = fs::read(&path).expect("it is there");
        let page = 4096;
        assert!(bytes.len() > 20 * page, "{}", bytes.len());
        // The tables' own pages go, the first one with the schema stays.
        bytes[page..].fill(0x5a);
        fs::write(&copy, bytes).expect("a file can be written");
        let damaged = Address::Sqlite(copy);
        let error = match Store::open(&damaged, options()).await {
            Err(error) => error,
            Ok(store) => store.stats().await.expect_err("it is damaged"),
        };
        assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    });
}

/// A row that is gone though it had a version was removed past the store: a put must not make it again.
#[test]
fn a_put_onto_a_row_that_is_gone_creates_nothing() {
    run(sqlite(), async |fixture: Fixture| {
        for value in 1..4 {
            let set = fixture.unit(1, async |tx: TenantTx| {
                tx.find::<Counter>("c").await?;
                tx.put(counter("c", value));
                Ok(())
            });
            set.await.expect("a counter can be set");
        }
        let unit = fixture.store.tenant(&first());
        assert_eq!(unit.get::<Counter>("c").await.expect("it is there").value, 3);
        unit.put(counter("c", 4));
        fixture.raw().execute_batch("DELETE FROM doc_counter").expect("a shell can do that");
        assert!(matches!(unit.commit().await, Err(Error::Conflict { .. })));
        assert_eq!(fixture.counter(1, "c").await, None);
    });
}

#[test]
fn odd_names_are_files_like_any_other() {
    let folder = Folder::new();
    for name in [":memory:", "file:shop.db?mode=memory", "with space.db"] {
        let address = Address::Sqlite(folder.path().join(name));
        block_on(async {
            migrate_shop(&address).await.expect("it can be migrated");
            Store::open(&address, options()).await.expect("it opens");
        });
        assert!(folder.path().join(name).is_file(), "{name}");
    }
}
