//! Write sets that wait at the same moment share a transaction, and each is told what it would have been told alone.
//!
//! On a runtime of one thread sets are handed in one after the other before anybody has a turn: who shares is no chance.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use karwan_store::consumer::{Lane, Share};
use karwan_store::effect::Outcome;
use karwan_store::log::{Filter, LogRow};
use karwan_store::write_set::LaneHold;
use karwan_store::{Done, Error, OpenUnit, Repeated, Store, TenantTx, UnitId};
use karwan_testkit::postgres::postgres;

use super::Fixture;
use super::writers::{append, connect};
use crate::fixture::later;
use crate::shop::{Counter, Order, changed, context, context_of, counter, order, placed, sent};

type Pending<'a> = Pin<Box<dyn Future<Output = Result<Done<()>, Error>> + 'a>>;

/// The transactions that wrote these counters, in their order.
fn transactions(fixture: &Fixture, ids: &[&str]) -> Vec<String> {
    let one = |id: &&str| {
        let sql = format!("SELECT xmin FROM karwan.doc_counter WHERE id = '{id}' AND body IS NOT NULL");
        fixture.database.psql(&sql).unwrap()
    };
    ids.iter().map(one).collect()
}

fn is_one(transactions: &[String]) -> bool {
    transactions.iter().all(|it| !it.is_empty() && *it == transactions[0])
}

/// A unit of the n-th tenant that puts a counter which is new.
fn put(store: &Store, tenant: u64, id: &str) -> OpenUnit {
    let unit = store.tenant(&context(tenant));
    unit.put(counter(id, 1));
    unit
}

fn commit(unit: OpenUnit) -> Pending<'static> {
    Box::pin(unit.commit())
}

/// A unit that rests on a counter as it was when this was called, and puts another one.
async fn resting(store: &Store, on: &str, id: &str) -> OpenUnit {
    let unit = store.tenant(&context(1));
    unit.get::<Counter>(on).await.unwrap();
    unit.put(counter(id, 1));
    unit
}

async fn hold(store: &Store, consumer: &str, of: u16) -> LaneHold {
    let lane = Lane { consumer: consumer.to_owned(), number: of - 1, of };
    let taken = store.take_lane(&lane, "n-1", 600_000).await.unwrap().unwrap();
    LaneHold { consumer: consumer.to_owned(), lane: of - 1, epoch: taken.epoch }
}

/// Emits parcels, and answers their rows.
async fn parcels(store: &Store, count: i64) -> Vec<LogRow> {
    for number in 0..count {
        let unit = store.tenant(&context_of("delivery-service", 1));
        unit.emit(sent(&format!("p-{number}"), 1));
        unit.commit().await.unwrap();
    }
    let relay = store.relay();
    relay.page(relay.start().await.unwrap(), &Filter::default(), 100).await.unwrap().rows
}

/// A consumer's batch of one event, which puts a counter.
fn handle(store: &Store, hold: &LaneHold, row: &LogRow, id: &str) -> Pending<'static> {
    let mut batch = store.batch(hold);
    batch.handle(&context(1), row.claim()).put(counter(id, 1));
    Box::pin(batch.commit())
}

#[tokio::test]
async fn units_of_several_tenants_and_lanes_commands_and_tasks_that_wait_together_commit_in_one_transaction() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let store = &fixture.store;
    let rows = parcels(store, 2).await;
    let (mailer, printer) = (hold(store, "mailer", 2).await, hold(store, "printer", 3).await);
    let asked = store.tenant(&context(1));
    asked.deadline("ship", "d", later(), &1);
    asked.effect("call", "k", &1);
    asked.commit().await.unwrap();
    let deadline = store.due_deadlines("ship", Share::ALL, later(), 1).await.unwrap().remove(0);
    let effect = store.due_effects("call", Share::ALL, later(), 1).await.unwrap().remove(0);
    let calls = hold(store, "effects.call", 1).await;
    store.record_effect(&calls, effect.of, &Outcome::Answered("1".to_owned())).await.unwrap();
    let first = context(1);
    let putting = |id: &'static str| {
        move |tx: TenantTx| async move {
            tx.put(counter(id, 1));
            Ok::<_, Error>(())
        }
    };
    let ids = ["t-1", "t-2", "l-1", "l-2", "once", "fired", "acted"];
    let pending: Vec<Pending<'_>> = vec![
        commit(put(store, 1, ids[0])),
        commit(put(store, 2, ids[1])),
        handle(store, &mailer, &rows[0], ids[2]),
        handle(store, &printer, &rows[1], ids[3]),
        Box::pin(store.once(UnitId::named("test", "once"), &first, putting(ids[4]))),
        Box::pin(store.fire(&deadline, &first, putting(ids[5]))),
        Box::pin(store.act_on(effect.of, &first, putting(ids[6]))),
    ];
    for outcome in join_all(pending).await {
        outcome.unwrap();
    }
    let transactions = transactions(&fixture, &ids);
    assert!(is_one(&transactions), "{transactions:?}");
    let claims = "SELECT string_agg(consumer || ' ' || seq, ',' ORDER BY seq) FROM karwan.inbox";
    let claimed = format!("mailer {},printer {}", rows[0].seq, rows[1].seq);
    assert_eq!(fixture.database.psql(claims).unwrap(), claimed, "each for the consumer of its own lane");
}

/// Something that is refused, and what is said of it.
type Refused = (Pending<'static>, fn(&Result<Done<()>, Error>) -> bool);

/// Hands in a set that is refused between two that are not; all of them alone would end the same way.
async fn refused_alone(fixture: &Fixture, name: &str, (bad, says): Refused) {
    let [before, after] = [format!("{name}-before"), format!("{name}-after")];
    let group = vec![commit(put(&fixture.store, 1, &before)), bad, commit(put(&fixture.store, 2, &after))];
    let mut outcomes = join_all(group).await;
    let refused = outcomes.remove(1);
    assert!(says(&refused), "{name}: {refused:?}");
    assert!(outcomes.iter().all(Result::is_ok), "{name}: {outcomes:?}");
    let there = format!("SELECT count(*) FROM karwan.doc_counter WHERE id LIKE '{name}-%' AND body IS NOT NULL");
    assert_eq!(fixture.database.psql(&there).unwrap(), "2", "{name}: those beside it are there, and nothing of it");
}

#[tokio::test]
async fn who_is_refused_is_refused_alone_and_told_why() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let store = &fixture.store;
    let rows = parcels(store, 2).await;
    put(store, 1, "hot").commit().await.unwrap();
    let stale = resting(store, "hot", "conflict-of").await;
    let mut warm = store.tenant(&context(1));
    warm.put(Counter { value: 2, ..warm.get("hot").await.unwrap() });
    warm.commit().await.unwrap();
    let conflict: Refused =
        (commit(stale), |it| matches!(it, Err(Error::Conflict { what, .. }) if what.contains("hot")));
    refused_alone(&fixture, "conflict", conflict).await;

    warm = put(store, 1, "exists-of");
    warm.put(counter("hot", 9));
    let exists: Refused = (commit(warm), |it| matches!(it, Err(Error::Exists { id, .. }) if id == "hot"));
    refused_alone(&fixture, "exists", exists).await;

    let mailer = hold(store, "mailer", 1).await;
    handle(store, &mailer, &rows[0], "first").await.unwrap();
    let claimed: Refused = (
        handle(store, &mailer, &rows[0], "claimed-of"),
        |it| matches!(it, Err(Error::Claimed { consumer, .. }) if consumer == "mailer"),
    );
    refused_alone(&fixture, "claimed", claimed).await;

    let zombie = LaneHold { epoch: mailer.epoch - 1, ..mailer };
    let lost: Refused = (
        handle(store, &zombie, &rows[1], "lost-of"),
        |it| matches!(it, Err(Error::LaneLost { consumer, lane: 0 }) if consumer == "mailer"),
    );
    refused_alone(&fixture, "lost", lost).await;

    let again = store.tenant(&context_of("delivery-service", 1));
    again.put(counter("intent-of", 1));
    again.emit(sent("p-0", 1));
    let repeated: Refused = (commit(again), |it| matches!(it, Ok(Done { repeated: Some(Repeated::Intent(_)), .. })));
    refused_alone(&fixture, "intent", repeated).await;

    let other = store.tenant(&context_of("delivery-service", 1));
    other.put(counter("mixed-of", 1));
    other.emit(sent("p-0", 1));
    other.emit(sent("new", 1));
    let mixed: Refused = (commit(other), |it| matches!(it, Err(Error::IntentMixed { .. })));
    refused_alone(&fixture, "mixed", mixed).await;
}

#[tokio::test]
async fn a_unit_of_a_group_that_was_committed_before_is_told_so_and_the_others_commit() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let store = fixture.store.clone();
    let once = |store: Store, id: &'static str| -> Pending<'static> {
        Box::pin(async move {
            let put = |tx: TenantTx| async move {
                tx.put(counter(id, 1));
                Ok::<_, Error>(())
            };
            store.once(UnitId::named("test", "once"), &context(1), put).await
        })
    };
    once(store.clone(), "first").await.unwrap();
    let again: Refused = (once(store, "unit-of"), |it| matches!(it, Ok(Done { repeated: Some(Repeated::Unit), .. })));
    refused_alone(&fixture, "unit", again).await;
}

#[tokio::test]
async fn who_rests_on_what_another_writes_does_not_share_with_it_and_who_only_looks_does() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let store = &fixture.store;
    put(store, 1, "hot").commit().await.unwrap();
    let looking = [resting(store, "hot", "a").await, resting(store, "hot", "b").await].map(commit);
    join_all(looking).await.into_iter().for_each(|outcome| _ = outcome.unwrap());
    let shared = transactions(&fixture, &["a", "b"]);
    assert!(is_one(&shared), "{shared:?}");

    let writing = resting(store, "hot", "c").await;
    writing.put(counter("hot", 2));
    let [looking, free] = [resting(store, "hot", "d").await, put(store, 1, "e")].map(commit);
    let mut outcomes = join_all([commit(writing), looking, free]).await;
    assert!(matches!(outcomes.remove(1), Err(Error::Conflict { .. })), "it rested on the version before");
    outcomes.into_iter().for_each(|outcome| _ = outcome.unwrap());
    let shared = transactions(&fixture, &["c", "hot", "e"]);
    assert!(is_one(&shared), "{shared:?}");
}

/// Whoever holds a lock stops those who want it, and nobody who was only flushed with them.
#[tokio::test]
async fn who_waits_for_a_lock_lets_the_others_of_its_group_go() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let holder = connect(&fixture.database.url_as(&fixture.login)).await;
    holder.batch_execute("BEGIN").await.unwrap();
    append(&holder, "held", 1).await.unwrap();
    let emit = |key: &str| {
        let unit = fixture.store.tenant(&context_of("delivery-service", 1));
        unit.emit(sent(key, 2));
        commit(unit)
    };
    let (mut held, free) = (emit("held"), emit("free"));
    tokio::select! {
        biased;
        outcome = &mut held => panic!("it did not wait: {outcome:?}"),
        outcome = free => drop(outcome.unwrap()),
    }
    holder.batch_execute("COMMIT").await.unwrap();
    held.await.unwrap();
    assert_eq!(
        fixture.database.psql("SELECT string_agg(key, ',' ORDER BY seq) FROM karwan.log").unwrap(),
        "held,free,held"
    );
}

/// One step of a hot order, which rests on another one.
async fn step(store: &Store, writes: &str, reads: &str) -> Result<(), Error> {
    let first = context(1);
    let unit = store.unit(&first, |tx: TenantTx| async move {
        if reads != writes {
            tx.get::<Order>(reads).await?;
        }
        let mut order: Order = tx.get(writes).await?;
        order.items += 1;
        tx.emit(changed(writes, order.items));
        tx.put(order);
        Ok::<_, Error>(())
    });
    unit.await.map(drop)
}

const HOT: [&str; 5] = ["a", "b", "c", "d", "e"];

async fn orders(store: &Store) {
    for id in HOT {
        let unit = store.tenant(&context(1));
        unit.put(Order { items: 0, ..order(id) });
        unit.emit(placed(id));
        unit.commit().await.unwrap();
    }
}

/// How many steps every order has made, by itself and by the log, where they are in their order; and deadlocks.
fn judged(fixture: &Fixture) -> [String; 3] {
    let ask = |sql: &str| fixture.database.psql(sql).unwrap();
    [
        ask("SELECT string_agg(id || ' ' || f_items || ' ' || version, ',' ORDER BY id) FROM karwan.doc_order"),
        ask("SELECT string_agg(key || ' ' || n - 1 || ' ' || n, ',' ORDER BY key) FROM (
                 SELECT key, count(*) AS n, array_agg((envelope::jsonb -> 'payload' ->> 'revision')::int ORDER BY seq) AS told
                 FROM karwan.log GROUP BY key) AS keys
             WHERE told[2:] = ARRAY(SELECT generate_series(1, n - 1)::int)"),
        ask("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn many_units_on_hot_documents_keep_versions_and_the_order_of_each_key_and_never_deadlock() {
    let Some(server) = postgres().or_skip() else { return };
    let Fixture { database, login, store } = Fixture::new(server).await;
    orders(&store).await;
    let tasks = (0..24_usize).map(|task| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut made = 0;
            for round in 0..20 {
                let (writes, reads) = (HOT[(task + round) % 5], HOT[(task * 3 + round * 2) % 5]);
                put(&store, 2, &format!("free-{task}-{round}")).commit().await.unwrap();
                made += usize::from(step(&store, writes, reads).await.is_ok());
            }
            made
        })
    });
    let made: usize = join_all(tasks).await.into_iter().map(Result::unwrap).sum();
    let fixture = Fixture { database, login, store };
    let [orders, log, deadlocks] = judged(&fixture);
    assert_eq!((orders.as_str(), deadlocks.as_str()), (log.as_str(), "0"));
    let total: usize = orders.split(',').map(|it| it.split(' ').nth(1).unwrap().parse::<usize>().unwrap()).sum();
    assert_eq!((total, made), (480, 480), "every step was made once: {orders}");
    assert_eq!(fixture.database.psql("SELECT count(*) FROM karwan.doc_counter WHERE version = 1").unwrap(), "480");
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_connections_leave_every_unit_of_a_group_whole_or_not_at_all_and_each_is_told_which() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let (store, ended) = (fixture.store.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = ended.clone();
    let work = tokio::spawn(async move {
        let unit = |number: usize| {
            let (store, ended) = (store.clone(), counted.clone());
            tokio::spawn(async move {
                let (id, context) = (format!("o-{number}"), context(1 + number as u64 % 3));
                let unit = store.unit(&context, |tx: TenantTx| {
                    tx.put(order(&id));
                    tx.put(counter(&id, 1));
                    tx.emit(placed(&id));
                    std::future::ready(Ok::<_, Error>(()))
                });
                let told = unit.await.map(drop);
                ended.fetch_add(1, Ordering::Relaxed);
                (told, id)
            })
        };
        let mut told = Vec::new();
        for wave in 0..8 {
            let ended = join_all((0..20).map(|number| unit(wave * 20 + number))).await;
            told.extend(ended.into_iter().map(Result::unwrap));
        }
        told
    });
    let kill =
        format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{}'", fixture.login);
    // Some of them have ended before the next kill, or on a quick machine none would ever come through.
    let mut seen = 0;
    while !work.is_finished() {
        let now = ended.load(Ordering::Relaxed);
        if now >= seen + 8 || seen == 0 {
            fixture.database.psql(&kill).unwrap();
            seen = now.max(1);
        }
        tokio::task::yield_now().await;
    }
    let mut committed = 0;
    for (outcome, id) in work.await.unwrap() {
        let there = format!(
            "SELECT (SELECT count(*) FROM karwan.doc_order WHERE id = '{id}') + (SELECT count(*) FROM karwan.doc_counter WHERE id = '{id}')
                  + (SELECT count(*) FROM karwan.log WHERE key = '{id}')"
        );
        let there = fixture.database.psql(&there).unwrap();
        match outcome {
            Ok(()) => assert_eq!(there, "3", "{id} was said to be committed"),
            Err(Error::OutcomeUnknown { .. }) => {
                assert!(there == "0" || there == "3", "{id} is there in part: {there}")
            }
            Err(error) => assert_eq!(there, "0", "{id} was refused: {error}"),
        }
        committed += usize::from(there == "3");
    }
    assert!(committed > 20, "only {committed} came through");
}

/// A flush as programs of schema 4 call it: whatever is not said is empty.
fn flush_before_5(fixture: &Fixture, said: &[(&str, String)]) -> Result<String, String> {
    let sql = "SELECT string_agg(name || ' ' || format_type(type, NULL), ',' ORDER BY place) FROM pg_proc,
               LATERAL unnest(proargnames, proargtypes::oid[]) WITH ORDINALITY AS a(name, type, place)
               WHERE proname = 'flush' AND pronamespace = 'karwan'::regnamespace AND pronargs = 53";
    let signature = fixture.database.psql(sql).unwrap();
    let argument = |parameter: &str| {
        let (name, of) = parameter.split_once(' ').unwrap();
        let value = said.iter().find(|(said, _)| *said == name).map(|(_, value)| value.clone());
        let empty = if of.ends_with("[]") { "'{}'" } else { "0" };
        format!("{}::{of}", value.unwrap_or_else(|| empty.to_owned()))
    };
    let arguments: Vec<String> = signature.split(',').map(argument).collect();
    let call = format!("SET ROLE karwan_app; SELECT karwan.flush({})", arguments.join(", "));
    fixture.database.psql_as(&fixture.login, &call)
}

fn said(pairs: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

#[tokio::test]
async fn a_program_of_the_schema_before_flushes_on() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let row = parcels(&fixture.store, 1).await.remove(0);
    let hold = hold(&fixture.store, "mailer", 1).await;
    let (tenant, event) = (uuid::Uuid::from_u128(row.tenant), uuid::Uuid::from_u128(row.event.bits()));
    let (tenant, event) = (format!("'{{{tenant}}}'"), format!("'{{{event}}}'"));
    let claim = |epoch: i64| {
        let (epoch, seq) = (format!("'{{{epoch}}}'"), format!("'{{{}}}'", row.seq));
        flush_before_5(
            &fixture,
            &said(&[
                ("p_tenants", &tenant),
                ("p_consumer", "'{mailer}'"),
                ("p_lane", "'{0}'"),
                ("p_epoch", &epoch),
                ("p_claim_hold", "'{1}'"),
                ("p_claim_tenant", &tenant),
                ("p_claim_event", &event),
                ("p_claim_seq", &seq),
                ("p_claim_logged", "ARRAY[now()]"),
                ("p_claim_parked", "'{f}'"),
            ]),
        )
    };
    let lost = claim(hold.epoch - 1).unwrap_err();
    assert!(lost.contains("lane lost"), "{lost}");
    claim(hold.epoch).unwrap();
    let claims = "SELECT string_agg(consumer || ' ' || seq, ',') FROM karwan.inbox";
    assert_eq!(fixture.database.psql(claims).unwrap(), format!("mailer {}", row.seq));
    let unit = said(&[("p_tenants", &tenant), ("p_unit_tenant", &tenant), ("p_unit", &tenant)]);
    flush_before_5(&fixture, &unit).unwrap();
    assert!(flush_before_5(&fixture, &unit).unwrap_err().contains("repeated"), "a unit without a lane");
}

#[tokio::test]
async fn a_program_of_the_schema_before_writes_and_reads_documents_and_facts() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let unit = fixture.store.tenant(&context(1));
    unit.put(counter("seen", 1));
    unit.commit().await.unwrap();
    let psql = |sql: &str| fixture.database.psql(sql).unwrap();
    let tenant = psql("SELECT tenant_id FROM karwan.doc_counter");
    let token = psql("SELECT token FROM karwan.signature WHERE kind = 'counter'");
    let subject = psql("SELECT min(id) FROM karwan.subject");
    let two = |value: &str| format!("ARRAY['{value}', '{value}']");
    let flush = |version: &str| {
        let (tenants, kinds, versions) = (two(&tenant), two(&token), format!("ARRAY[0, {version}]"));
        let (one, subjects) = (format!("ARRAY['{tenant}']"), format!("ARRAY[{subject}, {subject}]"));
        flush_before_5(
            &fixture,
            &said(&[
                ("p_tenants", &one),
                ("p_doc_kind", &kinds),
                ("p_doc_tenant", &tenants),
                ("p_doc_id", "ARRAY['new', 'seen']"),
                ("p_doc_version", &versions),
                ("p_doc_blind", "ARRAY[true, false]"),
                ("p_doc_action", "ARRAY[2, 0]"),
                ("p_doc_shape", "ARRAY[1, 1]"),
                ("p_doc_body", "ARRAY['{}', NULL]"),
                ("p_doc_width", "1"),
                ("p_doc_fields", "ARRAY['7', NULL]"),
                ("p_tenant", &tenants),
                ("p_subject", &subjects),
                ("p_key", "ARRAY['k', 'k']"),
                ("p_slot", "ARRAY[1, 1]"),
                ("p_event", "ARRAY[gen_random_uuid(), gen_random_uuid()]"),
                ("p_idem", "ARRAY['b', 'a']"),
                ("p_hash", "ARRAY[gen_random_uuid(), gen_random_uuid()]"),
                ("p_envelope", "ARRAY['first', 'second']"),
            ]),
        )
    };
    let changed = flush("7").unwrap_err();
    assert!(changed.contains("changed meanwhile"), "{changed}");
    flush("1").unwrap();
    let log = "SELECT string_agg(envelope, ' ' ORDER BY seq) FROM karwan.log";
    assert_eq!(psql(log), "first second", "in the order of their emission, whatever that of their intents is");
    let read = format!(
        "SET ROLE karwan_app; SELECT string_agg(place || ' ' || version, ',' ORDER BY place)
         FROM karwan.read_documents(ARRAY['counter', 'counter', 'counter'], ARRAY['{tenant}', '{tenant}', '{tenant}']::uuid[], ARRAY['seen', 'none', 'new'])"
    );
    assert_eq!(fixture.database.psql_as(&fixture.login, &read).unwrap(), "1 1,3 1");
}
