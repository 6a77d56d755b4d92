//! Two relays at once: each stream has one publisher, and two streams may have two.

use karwan_engine::{Relay, Work};
use karwan_store::log::Filter;
use karwan_store::{Address, Error, Store, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::Fixture;
use crate::processes::yard::until;
use crate::relay::{broker, change, filled, server, topology};
use crate::shop::{context_of, sent};

on_both! {
    two_relays_publish_a_stream_each_at_the_same_time_and_everything_once,
    relays_that_come_get_a_stream_and_those_that_go_leave_theirs,
    a_relay_whose_lease_ran_out_takes_its_stream_again,
}

/// Parcels, one a transaction.
async fn send(fixture: &Fixture, counts: std::ops::Range<i64>) {
    let context = context_of("delivery-service", 1);
    for count in counts {
        let unit = fixture.store.unit(&context, async |tx: TenantTx| {
            tx.emit(sent("p-1", count));
            Ok::<_, Error>(())
        });
        unit.await.expect("a parcel can be sent");
    }
}

/// Who publishes a stream.
async fn holder(fixture: &Fixture, stream: &str) -> Option<String> {
    let observer = Store::observe(&fixture.address).await.expect("it can be observed");
    let relays = observer.consumers().await.expect("it can be asked");
    let relay = relays.into_iter().find(|report| report.consumer == format!("relay.{stream}"))?;
    relay.lanes.into_iter().next()?.holder
}

async fn until_held(fixture: &Fixture, stream: &str, node: &str) {
    until(&format!("{stream} at {node}"), async || {
        holder(fixture, stream).await.filter(|holder| holder.starts_with(&format!("{node}#")))
    })
    .await;
}

/// Has a statement about a stream's lane done that answers its epoch, which goes up whenever somebody takes it. What is written here
/// stands before and behind the table's name.
fn epoch(fixture: &Fixture, stream: &str, (before, behind): (&str, &str)) -> i64 {
    let lane = |table: &str| format!("{before} {table} {}", behind.replace("STREAM", &format!("relay.{stream}")));
    match (&fixture.database, &fixture.address) {
        (Some(database), _) => {
            let told = database.psql(&lane("karwan.lane")).expect("a superuser can do that");
            told.split_whitespace().next().and_then(|epoch| epoch.parse().ok()).expect("a number")
        }
        (None, Address::Sqlite(path)) => {
            let connection = rusqlite::Connection::open(path).expect("it can be opened");
            connection.query_row(&lane("lane"), [], |row| row.get(0)).expect("a number")
        }
        (None, Address::Postgres(_)) => panic!("a database is known by its name"),
    }
}

/// How often somebody has taken a stream.
fn taken(fixture: &Fixture, stream: &str) -> i64 {
    epoch(fixture, stream, ("SELECT epoch FROM", "WHERE consumer = 'STREAM'"))
}

/// As for a process that was stopped for longer than its lease.
fn let_run_out(fixture: &Fixture, stream: &str) {
    let past = match fixture.database {
        Some(_) => "until = clock_timestamp() - interval '1 minute'",
        None => "lease_until = 1",
    };
    let behind = format!("SET {past} WHERE consumer = 'STREAM' RETURNING epoch");
    epoch(fixture, stream, ("UPDATE", &behind));
}

/// Both streams have what the log has of them: each event once, in its order.
async fn assert_published_once(fixture: &Fixture, server: &Server) {
    let relay = fixture.store.relay();
    let safe = relay.safe().await.expect("it can be asked");
    let rows = relay.rows(0, safe, &Filter::default(), 1000).await.expect("it can be read");
    for (stream, topics) in [("SALES", "shop.sales."), ("DELIVERY", "shop.delivery.")] {
        let ours = rows.iter().filter(|row| row.subject.starts_with(topics));
        let committed: Vec<String> = ours.map(|row| row.event.to_string()).collect();
        assert!(!committed.is_empty(), "nothing of {stream} was committed");
        let held = filled(server, stream, committed.len()).await;
        let held: Vec<String> = held.into_iter().map(|message| message.event_id).collect();
        assert_eq!(held, committed, "{stream}");
    }
}

/// One has a stream before the other comes, which may have both and gets the one that is free. When the first is gone, the other
/// publishes both.
async fn two_relays_publish_a_stream_each_at_the_same_time_and_everything_once(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let one = Relay::new(broker(&server).await, topology()).services(["sales-service".to_owned()]);
    let first = fixture.start_work("n-1", Work::new().relay(one));
    until_held(&fixture, "SALES", "n-1").await;
    let both = Relay::new(broker(&server).await, topology());
    let second = fixture.start_work("n-2", Work::new().relay(both));
    until_held(&fixture, "DELIVERY", "n-2").await;
    for round in 0..3 {
        let revisions = (5 * round + 1)..=(5 * round + 5);
        tokio::join!(change(&fixture, 0..6, revisions), send(&fixture, 10 * round..10 * round + 10));
    }
    assert_published_once(&fixture, &server).await;
    assert_eq!(["SALES", "DELIVERY"].map(|stream| taken(&fixture, stream)), [1, 1], "somebody took what another had");
    until_held(&fixture, "SALES", "n-1").await;
    until_held(&fixture, "DELIVERY", "n-2").await;
    drop(first);
    fixture.lease_runs_out().await;
    tokio::join!(change(&fixture, 0..6, 16..=20), send(&fixture, 30..40));
    until_held(&fixture, "SALES", "n-2").await;
    assert_published_once(&fixture, &server).await;
    until_held(&fixture, "DELIVERY", "n-2").await;
    second.stop().await;
}

/// Both may publish everything. The one that was alone gives a stream up to the one that comes, what is on its way included, and
/// has it again when that one is gone, by itself or by a crash.
async fn relays_that_come_get_a_stream_and_those_that_go_leave_theirs(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let (broker, mut counts) = (broker(&server).await, (1..=4_i64).map(|round| (4 * round - 3)..=(4 * round)));
    let mut busy = async || {
        let round = counts.next().expect("four rounds");
        let sent = (*round.start() - 1) * 10..*round.end() * 10;
        tokio::join!(change(&fixture, 0..6, round), send(&fixture, sent));
    };
    let first = fixture.start_work("n-1", Work::new().relay(Relay::new(broker.clone(), topology())));
    until_held(&fixture, "SALES", "n-1").await;
    until_held(&fixture, "DELIVERY", "n-1").await;
    let come = || fixture.start_work("n-2", Work::new().relay(Relay::new(broker.clone(), topology())));
    let second = come();
    // In the midst of it.
    tokio::join!(busy(), until_held(&fixture, "SALES", "n-2"));
    until_held(&fixture, "DELIVERY", "n-1").await;
    tokio::join!(busy(), second.stop());
    until_held(&fixture, "SALES", "n-1").await;
    let third = come();
    until_held(&fixture, "SALES", "n-2").await;
    busy().await;
    drop(third);
    fixture.lease_runs_out().await;
    busy().await;
    until_held(&fixture, "SALES", "n-1").await;
    assert_published_once(&fixture, &server).await;
    first.stop().await;
}

/// Nobody else wants it, and nothing is to be published that would be refused: only the beat tells.
async fn a_relay_whose_lease_ran_out_takes_its_stream_again(fixture: Fixture) {
    let Some(server) = server(Options::default()) else { return };
    let relay = fixture.start_work("n-1", Work::new().relay(Relay::new(broker(&server).await, topology())));
    until_held(&fixture, "SALES", "n-1").await;
    tokio::join!(change(&fixture, 0..3, 1..=3), send(&fixture, 0..5));
    assert_published_once(&fixture, &server).await;
    let before = taken(&fixture, "SALES");
    let_run_out(&fixture, "SALES");
    until("the stream taken again", async || (taken(&fixture, "SALES") > before).then_some(())).await;
    until_held(&fixture, "SALES", "n-1").await;
    tokio::join!(change(&fixture, 0..3, 4..=6), send(&fixture, 5..10));
    assert_published_once(&fixture, &server).await;
    relay.stop().await;
}
