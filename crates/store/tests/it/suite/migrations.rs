//! Migrations: twice is once, interrupted goes on, and newer is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};

use karwan_store::kind::{Document, Field, FieldType, FieldValue, Kind, KindType};
use karwan_store::{Address, Error, Options, Query, Store, TenantTx, migrate};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fixture::{Folder, block_on, first, migrate_kinds, migrate_shop};
use crate::shop;

/// A parcel as releases saw it: each declares other fields of the same bodies.
macro_rules! parcel {
    ($name:ident, shape $shape:literal, writes $writes:literal, [$($field:literal: $of:ident),*], |$parcel:ident| $values:expr) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        struct $name {
            id: String,
            weight: i64,
            #[serde(default)]
            town: String,
        }

        impl Document for $name {
            const KIND: Kind = Kind {
                name: "parcel",
                shape: $shape,
                carries: None,
                fields: &[$(Field { name: $field, of: FieldType::$of }),*],
            };
            const WRITES: u32 = $writes;
            fn id(&self) -> String {
                self.id.clone()
            }
            fn fields(&self) -> Vec<FieldValue> {
                let $parcel = self;
                $values
            }
            fn downcast(mut body: Value) -> Result<Value, karwan_store::kind::UnknownShape> {
                body["weight"] = Value::from(body["weight"].as_i64().unwrap_or_default() * 1000);
                Ok(body)
            }
            fn upcast(_: u32, mut body: Value) -> Result<Value, karwan_store::kind::UnknownShape> {
                // Grams became kilograms.
                body["weight"] = Value::from(body["weight"].as_i64().unwrap_or_default() / 1000);
                Ok(body)
            }
        }
    };
}

parcel!(Plain, shape 1, writes 1, [], |_parcel| Vec::new());
parcel!(Weighed, shape 1, writes 1, ["weight": Integer], |parcel| vec![parcel.weight.into()]);
parcel!(Sorted, shape 1, writes 1, ["weight": Integer, "town": Text], |parcel| {
    vec![parcel.weight.into(), parcel.town.as_str().into()]
});
parcel!(Retyped, shape 1, writes 1, ["weight": Text], |parcel| vec![parcel.weight.to_string().into()]);
parcel!(Bilingual, shape 2, writes 1, ["weight": Integer], |parcel| vec![parcel.weight.into()]);
parcel!(Kilograms, shape 2, writes 2, ["weight": Integer], |parcel| vec![parcel.weight.into()]);

/// A store that is not there yet.
struct Parcels {
    /// For migrations.
    address: Address,
    /// For programs.
    program: Address,
    _folder: Option<Folder>,
}

/// Runs these functions on every store.
macro_rules! on_every_store {
    ($($claim:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $claim() { super::$claim(&super::Parcels::sqlite()) })*
        }
        mod postgres {
            $(#[test] fn $claim() {
                if let Some(parcels) = super::Parcels::postgres() {
                    super::$claim(&parcels);
                }
            })*
        }
    };
}

on_every_store! {
    a_new_field_is_filled_in_for_documents_that_are_there,
    an_interrupted_backfill_goes_on_where_it_stopped,
    a_field_that_an_older_program_left_behind_is_filled_in_again,
    a_kind_in_a_newer_shape_is_refused_and_an_older_one_is_upcast,
    a_release_that_reads_the_next_shape_and_writes_this_one_shares_the_store_with_both_neighbours,
    a_field_that_changed_its_type_is_refused,
    a_kind_that_was_never_migrated_is_refused_when_the_store_is_opened,
    the_doctor_names_documents_that_an_older_program_left_behind,
    a_migration_of_a_program_that_knows_fewer_fields_ends,
    two_migrations_at_once_both_end,
}

impl Parcels {
    fn sqlite() -> Self {
        let folder = Folder::new();
        let address = Address::Sqlite(folder.path().join("shop.db"));
        Self { program: address.clone(), address, _folder: Some(folder) }
    }

    fn postgres() -> Option<Self> {
        let server = karwan_testkit::postgres::postgres().or_skip()?;
        let (database, login) = crate::postgres::bare(server);
        let address = |url: String| url.parse().expect("a URL is an address");
        Some(Self { address: address(database.url()), program: address(database.url_as(&login)), _folder: None })
    }

    fn migrate<D: Document>(&self) -> Result<migrate::Migrated, Error> {
        block_on(async {
            let migrated = migrate_kinds(&self.address, &[KindType::of::<D>()]).await?;
            crate::postgres::grant(&self.address, &self.program).await?;
            Ok(migrated)
        })
    }

    async fn open<D: Document>(&self) -> Result<Store, Error> {
        Store::open(&self.program, Options::new(shop::catalogue(), vec![KindType::of::<D>()])).await
    }

    fn refused<D: Document>(&self) -> Error {
        block_on(async { self.open::<D>().await.err().expect("it cannot be opened") })
    }

    /// Puts parcels `p-<from>` and on, each as heavy in grams as its number times 1000.
    fn put<D: Document>(&self, make: impl Fn(String, i64) -> D, numbers: std::ops::Range<i64>) {
        block_on(async {
            let store = self.open::<D>().await.expect("it opens");
            let put = async |tx: TenantTx| {
                for number in numbers.clone() {
                    let id = format!("p-{number:04}");
                    tx.find::<D>(&id).await?;
                    tx.put(make(id, number * 1000));
                }
                Ok::<(), Error>(())
            };
            store.unit(&first(), put).await.expect("parcels can be put");
        });
    }

    fn read<D: Document>(&self, id: &str) -> Option<D> {
        block_on(async {
            let store = self.open::<D>().await.expect("it opens");
            store.tenant(&first()).peek(id).await.expect("it can be read")
        })
    }

    fn found<D: Document>(&self, query: Query<D>) -> Vec<String> {
        block_on(async {
            let store = self.open::<D>().await.expect("it opens");
            let page = store.tenant(&first()).query(query.limit(1000)).await.expect("it can be asked");
            page.items.iter().map(Document::id).collect()
        })
    }
}

fn plain(id: String, weight: i64) -> Plain {
    Plain { id, weight, town: "Herat".to_owned() }
}

#[test]
fn migrating_twice_is_harmless() {
    let folder = Folder::new();
    let address = Address::Sqlite(folder.path().join("shop.db"));
    let once = block_on(migrate_shop(&address)).expect("a fresh path can be migrated");
    assert_eq!((once.from, once.to), (None, 6));
    assert_eq!(once.steps, ["schema 6", "4 subjects", "table counter", "table guard", "table order"]);
    let twice = block_on(migrate_shop(&address)).expect("it can be migrated again");
    assert_eq!((twice.from, twice.to, twice.steps, twice.backfilled), (Some(6), 6, Vec::new(), 0));
}

#[test]
fn a_store_that_is_newer_than_the_program_is_refused() {
    let parcels = Parcels::sqlite();
    parcels.migrate::<Plain>().expect("a fresh path can be migrated");
    let Address::Sqlite(path) = &parcels.address else { panic!("a file") };
    let raw = rusqlite::Connection::open(path).expect("it opens");
    raw.execute_batch("UPDATE meta SET schema = 9").expect("a shell can do that");
    parcels.migrate::<Plain>().expect("a newer store that admits this program is used");
    block_on(async { parcels.open::<Plain>().await.map(drop) })
        .expect("a newer store that admits this program is used");
    raw.execute_batch("UPDATE meta SET admits_from = 9").expect("a shell can do that");
    assert!(matches!(parcels.refused::<Plain>(), Error::Newer { found: 9, known: 6, .. }));
    assert!(matches!(parcels.migrate::<Plain>(), Err(Error::Newer { found: 9, known: 6, .. })));
}

/// Its functions may have changed with the schema, and whatever it knows of the store, a program that migrates brings them all.
#[test]
fn a_migration_by_a_program_that_knows_no_kinds_leaves_those_of_others_usable() {
    let Some(parcels) = Parcels::postgres() else { return };
    parcels.migrate::<Plain>().expect("a fresh database can be migrated");
    parcels.put(plain, 0..1);
    block_on(async {
        let owner = karwan_store::bare::connect(&parcels.address).await.expect("a superuser may");
        let sql = "DROP FUNCTION karwan.lock_parcel";
        owner.batch_execute(sql).await.expect("a shell can do that");
        migrate_kinds(&parcels.address, &[]).await.expect("it can be migrated");
        let store = parcels.open::<Plain>().await.expect("it opens");
        let unit = store.tenant(&shop::context(1));
        unit.get::<Plain>("p-0000").await.expect("it is there");
        unit.put(plain("p-0001".to_owned(), 1));
        unit.commit().await.expect("what was read is checked");
    });
}

fn a_new_field_is_filled_in_for_documents_that_are_there(parcels: &Parcels) {
    parcels.migrate::<Plain>().expect("a fresh path can be migrated");
    parcels.put(plain, 0..900);
    assert!(matches!(parcels.refused::<Weighed>(), Error::NotMigrated { .. }));
    let migrated = parcels.migrate::<Weighed>().expect("a field can be added");
    assert_eq!((migrated.steps.as_slice(), migrated.backfilled), (&["column parcel.weight".to_owned()][..], 900));
    assert_eq!(parcels.found(Query::<Weighed>::new().at_least("weight", 898_000)), ["p-0898", "p-0899"]);
    assert_eq!(parcels.migrate::<Weighed>().expect("twice is harmless").backfilled, 0);
}

fn an_interrupted_backfill_goes_on_where_it_stopped(parcels: &Parcels) {
    parcels.migrate::<Plain>().expect("a fresh path can be migrated");
    parcels.put(plain, 0..900);
    let interrupted = catch_unwind(AssertUnwindSafe(|| {
        let stop = |_: &str, done: u64, _: u64| assert!(done < 500, "the machine stops here");
        block_on(migrate(&parcels.address, &[], &[KindType::of::<Weighed>()], &stop)).map(drop)
    }));
    assert!(interrupted.is_err(), "it was not interrupted");
    assert!(matches!(parcels.refused::<Weighed>(), Error::NotMigrated { .. }), "half filled columns are not asked");
    let rest = parcels.migrate::<Weighed>().expect("it goes on");
    assert_eq!(rest.backfilled, 400);
    assert_eq!(parcels.found(Query::<Weighed>::new().ordered_by("weight")).len(), 900);
}

/// Back to the release before and forth again: what it wrote without the column is filled in.
fn a_field_that_an_older_program_left_behind_is_filled_in_again(parcels: &Parcels) {
    parcels.migrate::<Plain>().expect("a fresh path can be migrated");
    parcels.migrate::<Weighed>().expect("a field can be added");
    parcels.put(|id, weight| Weighed { id, weight, town: String::new() }, 1..3);
    // Declared no more, the column stays; the older program moves p-0001.
    parcels.put(|id, weight| plain(id, weight * 7), 1..2);
    if let Address::Sqlite(_) = parcels.address {
        // A file has one program at a time; on a server the two may run beside each other.
        assert!(matches!(parcels.refused::<Weighed>(), Error::NotMigrated { .. }));
    }
    parcels.migrate::<Weighed>().expect("it can be migrated");
    assert_eq!(parcels.found(Query::<Weighed>::new().equal("weight", 7_000)), ["p-0001"]);
    assert_eq!(parcels.found(Query::<Weighed>::new().equal("weight", 1_000)), Vec::<String>::new());
    parcels.migrate::<Sorted>().expect("another field can be added");
    assert_eq!(parcels.found(Query::<Sorted>::new().equal("town", "Herat")), ["p-0001"]);
    assert_eq!(parcels.found(Query::<Sorted>::new().ordered_by("weight")), ["p-0002", "p-0001"]);
}

fn a_kind_in_a_newer_shape_is_refused_and_an_older_one_is_upcast(parcels: &Parcels) {
    parcels.migrate::<Weighed>().expect("a fresh path can be migrated");
    parcels.put(|id, weight| Weighed { id, weight, town: String::new() }, 1..3);
    assert!(matches!(parcels.refused::<Kilograms>(), Error::NotMigrated { .. }));
    let migrated = parcels.migrate::<Kilograms>().expect("a shape can grow");
    assert_eq!((migrated.steps.as_slice(), migrated.backfilled), (&["shape 2 of parcel".to_owned()][..], 2));
    assert_eq!(parcels.found(Query::<Kilograms>::new().equal("weight", 2)), ["p-0002"]);
    let newer = parcels.refused::<Weighed>();
    assert!(matches!(&newer, Error::ShapeNewer { kind, found: 2, known: 1 } if kind == "parcel"), "{newer:?}");
    assert!(matches!(parcels.migrate::<Weighed>(), Err(Error::ShapeNewer { .. })));
}

/// Grams, then both, then kilograms: of two neighbours either can run beside the other.
fn a_release_that_reads_the_next_shape_and_writes_this_one_shares_the_store_with_both_neighbours(parcels: &Parcels) {
    parcels.migrate::<Weighed>().expect("a fresh path can be migrated");
    parcels.put(|id, weight| Weighed { id, weight, town: String::new() }, 1..2);
    let migrated = parcels.migrate::<Bilingual>().expect("it brings nothing new to the store");
    assert_eq!((migrated.steps, migrated.backfilled), (Vec::new(), 0));
    parcels.put(|id, weight| Bilingual { id, weight: weight / 1000, town: String::new() }, 2..3);
    let grams = |parcels: &Parcels, id: &'static str| parcels.read::<Weighed>(id).map(|parcel| parcel.weight);
    let kilograms = |parcels: &Parcels, id: &'static str| parcels.read::<Bilingual>(id).map(|parcel| parcel.weight);
    assert_eq!((grams(parcels, "p-0001"), grams(parcels, "p-0002")), (Some(1000), Some(2000)));
    assert_eq!((kilograms(parcels, "p-0001"), kilograms(parcels, "p-0002")), (Some(1), Some(2)));
    parcels.migrate::<Kilograms>().expect("a shape can grow");
    parcels.put(|id, weight| Kilograms { id, weight: weight / 1000, town: String::new() }, 3..4);
    assert_eq!(kilograms(parcels, "p-0003"), Some(3), "the release before reads the new shape");
    parcels.put(|id, weight| Bilingual { id, weight: weight / 1000, town: String::new() }, 4..5);
    assert_eq!(parcels.read::<Kilograms>("p-0004").map(|parcel| parcel.weight), Some(4));
    assert!(matches!(parcels.refused::<Weighed>(), Error::ShapeNewer { .. }), "two releases apart");
}

fn a_field_that_changed_its_type_is_refused(parcels: &Parcels) {
    parcels.migrate::<Weighed>().expect("a fresh path can be migrated");
    let refused = parcels.migrate::<Retyped>();
    assert!(matches!(refused, Err(Error::Kind(_))), "{refused:?}");
    block_on(async { parcels.open::<Weighed>().await.map(drop) }).expect("a refused migration changed nothing");
}

fn a_kind_that_was_never_migrated_is_refused_when_the_store_is_opened(parcels: &Parcels) {
    block_on(migrate_shop(&parcels.address)).expect("a fresh path can be migrated");
    block_on(crate::postgres::grant(&parcels.address, &parcels.program)).expect("a login can be prepared");
    let refused = parcels.refused::<Plain>();
    assert!(matches!(&refused, Error::NotMigrated { store } if store.contains("parcel")), "{refused:?}");
}

fn the_doctor_names_documents_that_an_older_program_left_behind(parcels: &Parcels) {
    let documents = || {
        let checks = block_on(karwan_store::doctor::doctor(&parcels.address, 0)).expect("it can be looked at");
        checks.into_iter().find(|check| check.name == "documents").expect("documents are looked at")
    };
    parcels.migrate::<Plain>().expect("a fresh path can be migrated");
    parcels.migrate::<Weighed>().expect("a field can be added");
    assert_eq!(documents().health, karwan_store::doctor::Health::Good);
    parcels.put(plain, 1..2);
    assert_eq!(documents().health, karwan_store::doctor::Health::Warning);
    assert!(documents().found.contains("parcel"), "{:?}", documents());
    parcels.migrate::<Weighed>().expect("it can be migrated");
    assert_eq!(documents().health, karwan_store::doctor::Health::Good);
}

/// It fills in what it knows, and leaves the rest to those who know more.
fn a_migration_of_a_program_that_knows_fewer_fields_ends(parcels: &Parcels) {
    parcels.migrate::<Weighed>().expect("a fresh path can be migrated");
    parcels.migrate::<Sorted>().expect("a field can be added");
    parcels.put(|id, weight| Weighed { id, weight, town: "Herat".to_owned() }, 1..3);
    parcels.migrate::<Weighed>().expect("it ends");
    parcels.migrate::<Sorted>().expect("it can be migrated");
    assert_eq!(parcels.found(Query::<Sorted>::new().equal("town", "Herat")), ["p-0001", "p-0002"]);
}

fn two_migrations_at_once_both_end(parcels: &Parcels) {
    parcels.migrate::<Plain>().expect("a fresh path can be migrated");
    parcels.put(plain, 0..100);
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| parcels.migrate::<Sorted>());
        let two = scope.spawn(|| parcels.migrate::<Sorted>());
        (one.join().expect("it does not panic"), two.join().expect("it does not panic"))
    });
    // A file is one program's at a time, and says so.
    let fine = |outcome: &Result<migrate::Migrated, Error>| matches!(outcome, Ok(_) | Err(Error::InUse { .. }));
    assert!(fine(&one) && fine(&two) && (one.is_ok() || two.is_ok()), "{one:?} {two:?}");
    assert_eq!(parcels.found(Query::<Sorted>::new().equal("town", "Herat")).len(), 100);
}
