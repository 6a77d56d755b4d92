//! A store that began another life while an engine works on it: a copy of yesterday was put in its place, and the numbers of
//! the log mean other events.

use karwan_engine::{Consumer, Received, Verdict};
use karwan_store::backup::restore;
use karwan_store::consumer::Lane;
use karwan_store::write_set::LaneHold;
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, note};
use crate::shop::OrderChanged;

/// Notes every revision behind the others.
fn secretary(name: &str) -> Consumer {
    Consumer::new("sales-service", name).on(async |tx: TenantTx, received: Received<OrderChanged>| {
        let OrderChanged { order_id, revision } = received.event;
        note(&tx, &order_id, &revision.to_string()).await?;
        Ok::<_, Error>(Verdict::Done)
    })
}

/// Puts a dump in the place of the database, under whoever uses it, as an operator does.
async fn put_back(fixture: &Fixture, dump: &[u8]) {
    let database = fixture.database.as_ref().expect("it is Postgres");
    let (server, name) = (database.server(), database.name());
    // Nobody comes back before all of it is there.
    let away = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false");
    server.psql("postgres", &away).expect("a superuser can do that");
    server.psql("postgres", &format!("DROP DATABASE {name} WITH (FORCE)")).expect("a superuser can do that");
    let made = format!("CREATE DATABASE {name} TEMPLATE template0 CONNECTION LIMIT 0");
    server.psql("postgres", &made).expect("a superuser can do that");
    server.restore(name, dump).expect("it can be restored");
    restore(&fixture.owner, std::path::Path::new("-"), false, &|_, _, _| {}).await.expect("it is a copy");
    let open = format!("ALTER DATABASE {name} CONNECTION LIMIT -1");
    server.psql("postgres", &open).expect("a superuser can do that");
    // Connections to what was there before are broken one by one.
    while fixture.store.relay().end().await.is_err() {
        tokio::task::yield_now().await;
    }
}

/// What is committed at once when a store is back is waited for by numbers that the consumer has passed in the life before.
#[test]
fn what_is_waited_for_right_after_a_failover_is_done() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let database = fixture.database.as_ref().expect("it is Postgres");
        let engine = fixture.start("n-1", vec![secretary("secretary")]);
        engine.settle().await.expect("it settles");
        for round in 0..3 {
            let dump = database.server().dump(database.name()).expect("it can be dumped");
            for number in 0..60 {
                fixture.order(1, &format!("lost-{round}-{number}"), 3).await;
            }
            engine.settle().await.expect("it settles");
            put_back(&fixture, &dump).await;
            for number in 0..10 {
                let done = fixture.order(1, &format!("new-{round}-{number}"), 3).await;
                engine.wait_for("sales-service.secretary", done.position).await.expect("it is of this life");
                assert_eq!(fixture.notes(1, &format!("new-{round}-{number}")).await, "123", "{round} {number}");
            }
        }
        engine.stop().await;
    });
}

/// Epochs went on counting after the copy was made, and count again from there in the next life.
#[test]
fn who_held_a_lane_in_the_life_before_writes_nothing_of_it_in_the_next() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let (store, database) = (&fixture.store, fixture.database.as_ref().expect("it is Postgres"));
        let lane = Lane { consumer: "sales-service.secretary".to_owned(), number: 0, of: 4 };
        let take = async |node: &str| {
            let taken = store.take_lane(&lane, node, 60_000).await.expect("it can be asked").expect("it is free");
            LaneHold { consumer: lane.consumer.clone(), lane: 0, epoch: taken.epoch }
        };
        let first = take("one").await;
        let dump = database.server().dump(database.name()).expect("it can be dumped");
        store.save_position(&first, 1, true).await.expect("it is held");
        let second = take("two").await;
        store.save_position(&second, 2, true).await.expect("it is held");
        let third = take("three").await;
        put_back(&fixture, &dump).await;
        let heir = take("heir").await;
        let refused = store.save_position(&third, 999, false).await;
        assert!(matches!(refused, Err(Error::LaneLost { .. })), "{third:?} {heir:?}");
        store.save_position(&heir, 1, false).await.expect("it is held");
    });
}

#[test]
fn a_copy_that_is_put_in_the_place_of_a_store_at_work_loses_and_doubles_nothing() {
    crate::fixture::run(crate::fixture::postgres(), async |fixture: Fixture| {
        let database = fixture.database.as_ref().expect("it is Postgres");
        let engine = fixture.start("n-1", vec![secretary("secretary")]);
        for number in 0..20 {
            fixture.order(1, &format!("kept-{number}"), 3).await;
        }
        engine.settle().await.expect("it settles");
        let dump = database.server().dump(database.name()).expect("it can be dumped");
        // More numbers than come after the restore: whoever goes by numbers takes what is new for read.
        for number in 0..60 {
            fixture.order(1, &format!("lost-{number}"), 3).await;
        }
        engine.settle().await.expect("it settles");
        let before = fixture.store.relay().end().await.expect("it can be asked").seq;

        put_back(&fixture, &dump).await;
        for number in 0..20 {
            let done = fixture.order(1, &format!("new-{number}"), 3).await;
            engine.wait_for("sales-service.secretary", done.position).await.expect("it is of this life");
            assert_eq!(fixture.notes(1, &format!("new-{number}")).await, "123", "{number}: what is waited for is done");
            fixture.change(1, &format!("kept-{number}"), 4).await;
        }
        let end = fixture.store.relay().end().await.expect("it can be asked").seq;
        assert!(end < before, "the numbers of what was lost were given again: {end} {before}");
        engine.settle().await.expect("it settles");
        for number in 0..20 {
            assert_eq!(fixture.notes(1, &format!("new-{number}")).await, "123", "{number}");
            assert_eq!(fixture.notes(1, &format!("kept-{number}")).await, "1234", "{number}");
            assert_eq!(fixture.notes(1, &format!("lost-{number}")).await, "", "{number}");
        }
        let held =
            "SELECT count(*) FROM karwan.lane WHERE consumer = 'sales-service.secretary' AND holder LIKE 'n-1#%'";
        assert_eq!(database.psql(held).as_deref(), Ok("4"), "every lane was taken anew");
        engine.stop().await;
    });
}
