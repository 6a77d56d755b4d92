//! What must be so in the end, whatever happened: compared with the log, the clients' commands and the vendor's books.

use std::collections::BTreeMap;

use karwan_envelope::ids::EventId;
use karwan_registry::Event;
use karwan_store::log::{Filter, LogRow, Seq};
use karwan_store::{Document, Store};
use serde::de::DeserializeOwned;

use crate::simulation::platform::{
    Booked, Course, DESK, Journal, LEDGER, Order, Requested, TENANTS, Total, catalogue, context,
};
use crate::simulation::vendor::Charge;
use crate::simulation::work::{BOOK, COUNT, PAY, REMIND, journal};
use crate::simulation::world::World;

/// More rows or dead letters than any seed makes.
const ALL: usize = 100_000;

const UNDISTURBED: &str = "nothing disturbs whoever looks";

/// One order's history.
#[derive(Default)]
struct History {
    requested: Vec<(EventId, Requested)>,
    booked: Vec<i64>,
}

/// Somebody who looks, and remembers what the log has said so far.
pub struct Observer {
    store: Store,
    read: Seq,
    histories: BTreeMap<u64, BTreeMap<String, History>>,
}

impl Observer {
    /// Nothing was read yet.
    pub const fn new(store: Store) -> Self {
        Self { store, read: 0, histories: BTreeMap::new() }
    }

    /// Everything that is not as it must be; nothing, where all is well and finished.
    pub async fn violations(&mut self, world: &World) -> Vec<String> {
        self.read_on().await;
        let mut wrong = world.seen_wrong();
        let (dead, dead_counts) = (self.dead(LEDGER, BOOK).await, self.dead(DESK, COUNT).await);
        if !dead_counts.is_empty() {
            wrong.push(format!("{COUNT} has given up {dead_counts:?}"));
        }
        let (mut commands, mut charges) = (Vec::new(), Vec::new());
        for (&tenant, orders) in &self.histories {
            let mut sums = BTreeMap::from([(BOOK, 0), (COUNT, 0), (REMIND, 0), (PAY, 0)]);
            for (order, history) in orders {
                let name = format!("{order} of {tenant}");
                commands.extend(history.requested.iter().map(|(_, requested)| requested.command));
                let given_up =
                    |(event, it): &&(EventId, Requested)| dead.contains(event) && it.course != Course::Poisoned;
                wrong.extend(
                    history.requested.iter().filter(given_up).map(|it| format!("{BOOK} has given up {name}: {it:?}")),
                );
                let kept: Option<Order> = self.document(tenant, order).await;
                let revisions: Vec<i64> = history.requested.iter().map(|(_, it)| it.revision).collect();
                let expected: Vec<i64> = (1..=kept.map_or(0, |order| order.revision)).collect();
                same(&mut wrong, "requests in the log", &name, (revisions, expected));
                same(&mut wrong, "booked events in the log", &name, (history.booked.clone(), history.handled()));
                for (who, expected) in history.expected() {
                    *sums.entry(who).or_default() += expected.len() as i64;
                    let kept: Option<Journal> = self.document(tenant, &journal(who, order)).await;
                    let mut entries = kept.map(|kept| kept.entries).unwrap_or_default();
                    if who == REMIND {
                        // Deadlines keep no order.
                        entries.sort_unstable();
                    }
                    same(&mut wrong, &format!("the journal of {who}"), &name, (entries, expected));
                }
                let charged = history.of(Course::Charged).into_iter();
                let tenant = format!("{:?}", context(tenant).tenant);
                charges.extend(charged.map(|revision| (tenant.clone(), Charge { order: order.clone(), revision })));
            }
            for (who, sum) in sums {
                let total: Option<Total> = self.document(tenant, who).await;
                let name = format!("{who} of {tenant}");
                same(&mut wrong, "the total", &name, (total.map_or(0, |total| total.count), sum));
            }
        }
        commands.sort_unstable();
        same(&mut wrong, "commands", "all", (commands, (0..world.weather.commands.cast_signed()).collect()));
        charged(world, charges, &mut wrong);
        wrong
    }

    async fn dead(&self, service: &str, consumer: &str) -> Vec<EventId> {
        let dead = self.store.dead(&format!("{service}.{consumer}"), 0, ALL).await;
        dead.expect(UNDISTURBED).into_iter().map(|dead| dead.event.event).collect()
    }

    async fn document<D: Document>(&self, tenant: u64, id: &str) -> Option<D> {
        self.store.tenant(&context(tenant)).peek(id).await.expect(UNDISTURBED)
    }

    async fn read_on(&mut self) {
        let relay = self.store.relay();
        let end = relay.end().await.expect(UNDISTURBED);
        for row in relay.rows(self.read, end.seq, &Filter::default(), ALL).await.expect(UNDISTURBED) {
            let tenant = (row.tenant - TENANTS) as u64;
            let history = self.histories.entry(tenant).or_default().entry(row.key.clone()).or_default();
            if row.subject == Requested::SUBJECT {
                history.requested.push((row.event, payload(&row)));
            } else {
                let booked: Booked = payload(&row);
                history.booked.push(booked.revision);
            }
        }
        self.read = end.seq;
    }
}

impl History {
    /// The revisions of a course.
    fn of(&self, course: Course) -> Vec<i64> {
        self.requested.iter().filter(|(_, it)| it.course == course).map(|(_, it)| it.revision).collect()
    }

    /// The revisions that can be handled at all.
    fn handled(&self) -> Vec<i64> {
        let alive = self.requested.iter().filter(|(_, it)| it.course != Course::Poisoned);
        alive.map(|(_, it)| it.revision).collect()
    }

    /// What everybody's journal says in the end.
    fn expected(&self) -> [(&'static str, Vec<i64>); 4] {
        [
            (BOOK, self.handled()),
            (COUNT, self.handled()),
            (PAY, self.of(Course::Charged)),
            (REMIND, self.of(Course::Reminded)),
        ]
    }
}

/// Each charge once, in the order of its key.
fn charged(world: &World, mut expected: Vec<(String, Charge)>, wrong: &mut Vec<String>) {
    let (books, complaints) = world.vendor.books();
    wrong.extend(complaints);
    let mut sorted = books.clone();
    sorted.sort();
    expected.sort();
    same(wrong, "charges", "the vendor", (sorted, expected));
    let mut last = BTreeMap::new();
    for (tenant, charge) in books {
        let before = last.insert((tenant.clone(), charge.order.clone()), charge.revision);
        if before.is_some_and(|before| before >= charge.revision) {
            wrong.push(format!("the vendor charged {charge:?} of {tenant} after {before:?}"));
        }
    }
}

fn same<T: PartialEq + std::fmt::Debug>(wrong: &mut Vec<String>, what: &str, whose: &str, (found, expected): (T, T)) {
    if found != expected {
        wrong.push(format!("{what}, {whose}: {found:?} instead of {expected:?}"));
    }
}

fn payload<E: DeserializeOwned>(row: &LogRow) -> E {
    let envelope = karwan_store::stored::envelope(&catalogue(), row).expect("what was emitted can be read");
    serde_json::from_str(envelope.payload.get()).expect("what was emitted can be read")
}
