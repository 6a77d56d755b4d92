//! What is held and read, consumer by consumer. Pure.
//!
//! Rows of the log are queued by consumer, lane and tenant. A tenant that fills its share of a consumer's queues is read
//! apart for that consumer from there on, and so is whatever comes for a consumer whose queues are full: neither other tenants nor
//! other consumers wait for it. Consumers that are at the same place in a tenant are read for together.
//!
//! Bounds: [`ReadAhead`]. Where every consumer is full, reading pauses.

mod of;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karwan_store::log::{LogRow, Seq, Wanted};
use karwan_store::write_set::{LaneHold, TenantBits};

use super::ahead::{Amount, ReadAhead};
use crate::consumer::Consumer;
use crate::row::Row;
pub(super) use of::{Held, Of};

/// See the module.
#[derive(Default)]
pub(super) struct State {
    pub ahead: ReadAhead,
    /// How far the log could be read when it was looked at last.
    pub safe: Seq,
    /// How far the log was read, but for what is read apart.
    pub read: Seq,
    pub consumers: BTreeMap<String, Of>,
    /// For all consumers.
    queued: Amount,
    /// How large the envelopes were that were read last, on the average.
    envelope_bytes: usize,
    /// Goes up whenever what is being read is not wanted any more.
    pub reading: u64,
}

/// A lane that was taken, and its consumer.
pub(super) struct Admitted {
    pub consumer: Arc<Consumer>,
    pub number: u16,
    pub held: Held,
    /// Nothing is read for its consumer.
    pub stopped: bool,
    /// See [`Of::others`].
    pub others: Vec<String>,
}

/// What is read next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Nothing,
    /// Who has rows after this number at all, up to another?
    Sweep {
        after: Seq,
        until: Seq,
    },
    Page(Page),
}

/// The rows after a number but for those of some tenants.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub after: Seq,
    /// Nobody wants these here.
    pub except: Vec<TenantBits>,
    /// No more rows than these.
    pub limit: usize,
    /// Nothing more is queued now.
    pub full: bool,
    /// Nobody handles other subjects.
    pub wanted: Wanted,
}

/// A tenant, how far it was read apart, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behind {
    pub tenant: TenantBits,
    pub after: Seq,
    pub consumers: Vec<String>,
}

impl State {
    pub fn new(ahead: ReadAhead) -> Self {
        Self { ahead, ..Self::default() }
    }

    pub fn held(&mut self, hold: &LaneHold) -> Option<&mut Held> {
        let held = self.consumers.get_mut(&hold.consumer)?.lanes.get_mut(&hold.lane)?;
        Some(held).filter(|held| held.epoch == hold.epoch)
    }

    pub fn is_held(&self, hold: &LaneHold) -> bool {
        let held = self.consumers.get(&hold.consumer).and_then(|of| of.lanes.get(&hold.lane));
        held.is_some_and(|held| held.epoch == hold.epoch)
    }

    /// How many rows a lane has queued, and whether some are of a tenant that is not read apart.
    pub fn queued_in(&self, hold: &LaneHold) -> (usize, bool) {
        let Some(of) = self.consumers.get(&hold.consumer) else { return (0, false) };
        let Some(held) = of.lanes.get(&hold.lane).filter(|held| held.epoch == hold.epoch) else { return (0, false) };
        (held.lane.queued(), held.lane.tenants().any(|tenant| !of.apart.contains_key(&tenant)))
    }

    /// Rows of tenants that are not read apart, from a lane of which a batch is under way that has others.
    pub fn take_beside(&mut self, hold: &LaneHold, batch: usize) -> Vec<Arc<Row>> {
        let Some(Of { lanes, apart, .. }) = self.consumers.get_mut(&hold.consumer) else { return Vec::new() };
        let held = lanes.get_mut(&hold.lane).filter(|held| held.epoch == hold.epoch);
        held.map(|held| held.lane.take_beside(batch, |tenant| !apart.contains_key(&tenant))).unwrap_or_default()
    }

    /// Whether something is queued or under way for a consumer that is not in the background.
    pub fn has_foreground(&self) -> bool {
        let foreground = self.consumers.values().filter(|of| !of.consumer.background && !of.stopped);
        foreground.flat_map(|of| of.lanes.values()).any(|held| !held.lane.is_idle())
    }

    /// Everything up to here is finished in a lane.
    pub fn position(&self, hold: &LaneHold) -> Option<(Seq, &Held)> {
        let of = self.consumers.get(&hold.consumer)?;
        let held = of.lanes.get(&hold.lane).filter(|held| held.epoch == hold.epoch)?;
        Some((held.position(self.read_for(of)), held))
    }

    /// The lowest position of a consumer's held lanes.
    pub fn lowest(&self, of: &Of) -> Option<Seq> {
        of.positions(self.read_for(of)).min()
    }

    fn read_for(&self, of: &Of) -> Seq {
        // Nothing is read for one that is stopped: its lanes stay where they were.
        if of.stopped { 0 } else { of.read(self.read) }
    }

    /// Takes lanes in. Nothing was read for them yet, so that the log is read again from the lowest of them; once for all.
    pub fn admit(&mut self, lanes: Vec<Admitted>) {
        let reads = |it: &&Admitted| it.held.fed.is_none() && !it.stopped;
        if let Some(lowest) = lanes.iter().filter(reads).map(|it| it.held.saved).min() {
            let first = self.readers().next().is_none();
            if first || lowest < self.read {
                self.read_again();
                self.read = if first { lowest } else { self.read.min(lowest) };
            }
            // What is being read may leave out what they want.
            self.reading += 1;
        }
        for Admitted { consumer, number, held, stopped, others } in lanes {
            let of = self.consumers.entry(consumer.name.clone()).or_insert_with(|| Of::new(consumer));
            of.stopped = stopped;
            of.others = others;
            of.lanes.insert(number, held);
        }
    }

    /// These subjects of a consumer are handled by other releases of it, and not by this program.
    pub fn others(&mut self, consumer: &str, others: Vec<String>) {
        if let Some(of) = self.consumers.get_mut(consumer) {
            of.others = others;
        }
    }

    /// Subjects that other releases of a lane's consumer handle, and this program does not; nobody knows once the lane is held no
    /// more: by its epoch it may be this program's a moment longer.
    pub fn others_of(&self, hold: &LaneHold) -> Option<&[String]> {
        let of = self.consumers.get(&hold.consumer).filter(|_| self.is_held(hold))?;
        Some(&of.others)
    }

    /// Lets a lane go, with what is queued in it. Nothing else is disturbed.
    pub fn dismiss(&mut self, hold: &LaneHold) {
        if !self.is_held(hold) {
            return;
        }
        let Some(of) = self.consumers.get_mut(&hold.consumer) else { return };
        let Some(mut held) = of.lanes.remove(&hold.lane) else { return };
        if of.consumer.stream.is_none() {
            for row in held.lane.forget() {
                of.uncount(&row);
                self.queued.remove(&row);
            }
        }
        if of.lanes.is_empty() {
            self.consumers.remove(&hold.consumer);
        }
    }

    /// Stops reading for a consumer, or begins again where it was.
    pub fn stop(&mut self, consumer: &str, stopped: bool) {
        let read = self.read;
        let Some(of) = self.consumers.get_mut(consumer).filter(|of| of.stopped != stopped) else { return };
        if of.consumer.stream.is_some() {
            of.stopped = stopped;
        } else if stopped {
            let forgotten = of.forget(read);
            of.stopped = true;
            self.queued.subtract(forgotten);
        } else {
            // Its lanes know by their floors what they have: the log is read again from the lowest of them. While it is
            // stopped still, or what others have read meanwhile would be taken for read for it.
            let floor = of.floor();
            self.read_again();
            self.read = floor.map_or(self.read, |floor| floor.min(self.read));
            if let Some(of) = self.consumers.get_mut(consumer) {
                of.stopped = false;
            }
        }
    }

    /// Forgets what is queued of the log and reads again from the lowest position.
    pub fn read_again(&mut self) {
        let read = self.read;
        let of_log = self.consumers.values_mut().filter(|of| of.reads_log());
        let mut lowest: Option<Seq> = None;
        for of in of_log {
            of.forget(read);
            lowest = [lowest, of.floor()].into_iter().flatten().min();
        }
        self.read = lowest.unwrap_or(read);
        self.queued = Amount::default();
        self.reading += 1;
    }

    /// Queues a row of the main read for every consumer that wants it there and has room.
    pub fn push(&mut self, row: LogRow) {
        let (row, readers) = (Arc::new(Row::from(row)), self.readers().count());
        for of in self.consumers.values_mut().filter(|of| of.reads_log()) {
            if of.apart.contains_key(&row.tenant) || !of.wants(&row) {
                continue;
            }
            if self.ahead.is_full(of.queued, self.queued, readers) {
                of.apart.insert(row.tenant, row.seq - 1);
                continue;
            }
            of.push(&row);
            self.queued.add(&row);
            if of.count(row.tenant) >= self.ahead.tenant_rows {
                of.apart.insert(row.tenant, row.seq);
            }
        }
    }

    /// Queues a page of the main read, which left some tenants out, and takes everything up to a number for read.
    pub fn push_page(&mut self, except: &[TenantBits], rows: Vec<LogRow>, until: Seq) {
        let before = self.read;
        for of in self.consumers.values_mut().filter(|of| of.reads_log()) {
            for tenant in except {
                // It may have caught up with what was read before the page was.
                of.apart.entry(*tenant).or_insert(before);
            }
        }
        self.measure(&rows);
        rows.into_iter().for_each(|row| self.push(row));
        self.read = until.max(self.read);
    }

    /// Queues what was read apart, up to a number; `full` says that there may be more before it.
    pub fn push_behind(&mut self, behind: &Behind, rows: Vec<LogRow>, until: Seq, full: bool) {
        self.measure(&rows);
        let rows: Vec<Arc<Row>> = rows.into_iter().map(|row| Arc::new(Row::from(row))).collect();
        let joined = self.read == until;
        for consumer in &behind.consumers {
            let Some(of) = self.consumers.get_mut(consumer) else { continue };
            if of.apart.get(&behind.tenant) != Some(&behind.after) {
                continue;
            }
            for row in &rows {
                if of.wants(row) {
                    of.push(row);
                    self.queued.add(row);
                }
            }
            match rows.last().filter(|_| full) {
                Some(last) => drop(of.apart.insert(behind.tenant, last.seq)),
                None if joined => drop(of.apart.remove(&behind.tenant)),
                None => drop(of.apart.insert(behind.tenant, until)),
            }
        }
    }

    /// Remembers how large envelopes are: the next ones are hardly others.
    fn measure(&mut self, rows: &[LogRow]) {
        if !rows.is_empty() {
            let bytes: usize = rows.iter().map(|row| row.envelope.len()).sum();
            self.envelope_bytes = (bytes / rows.len()).max(self.envelope_bytes / 2);
        }
    }

    /// These tenants have rows after a number, up to another: each is read apart from there, for those consumers that want any
    /// of that. One that is further than others does not go with them through what it has finished.
    pub fn sweep(&mut self, tenants: &[TenantBits], after: Seq, until: Seq) {
        for of in self.consumers.values_mut().filter(|of| of.reads_log()) {
            let from = of.floor().map_or(after, |floor| floor.max(after));
            if from >= until {
                continue;
            }
            for tenant in tenants {
                of.apart.entry(*tenant).or_insert(from);
            }
        }
        self.read = until;
    }

    pub fn plan(&self, safe: Seq) -> Plan {
        let readers: Vec<(&String, &Of)> = self.readers().collect();
        let Some((_, first)) = readers.first() else { return Plan::Nothing };
        if safe - self.read > self.ahead.sweep_behind {
            // Up to the first of those who are not that far behind, and are read for as ever from there.
            let floors = readers.iter().filter_map(|(_, of)| of.floor());
            let near = floors.filter(|floor| safe - floor <= self.ahead.sweep_behind).min();
            let until = near.map_or(safe, |near| near.min(safe));
            return Plan::Sweep { after: self.read, until };
        }
        let by_all = |tenant: &&TenantBits| readers.iter().all(|(_, of)| of.apart.contains_key(tenant));
        let except = first.apart.keys().filter(by_all).copied().collect();
        let full = readers.iter().all(|(_, of)| self.ahead.is_full(of.queued, self.queued, readers.len()));
        let limit = self.ahead.rows_at_once(self.ahead.page_rows, self.envelope_bytes);
        Plan::Page(Page { after: self.read, except, limit, full, wanted: self.wanted() })
    }

    /// Whether those who have room may run out of work soon.
    pub fn is_hungry(&self, rows: usize) -> bool {
        let readers = self.readers().count();
        let flowing = self.readers().filter(|(_, of)| !self.ahead.is_full(of.queued, self.queued, readers));
        flowing.map(|(_, of)| of.queued.rows).sum::<usize>() < rows
    }

    fn readers(&self) -> impl Iterator<Item = (&String, &Of)> {
        self.consumers.iter().filter(|(_, of)| of.reads_log())
    }

    /// Subjects that somebody handles. Who comes later has the log read again.
    pub fn wanted(&self) -> Wanted {
        let wanted: BTreeSet<Cow<'static, str>> = self.readers().flat_map(|(_, of)| of.subjects()).collect();
        wanted.into_iter().collect()
    }

    /// Tenants that are read apart, for consumers that have room for more of them; those first of whom least is queued.
    pub fn behind(&self) -> Vec<Behind> {
        let mut behind: BTreeMap<(TenantBits, Seq), (usize, Vec<String>)> = BTreeMap::new();
        let readers = self.readers().count();
        let roomy = self.readers().filter(|(_, of)| !self.ahead.is_full(of.queued, self.queued, readers));
        for (name, of) in roomy {
            for (tenant, after) in of.apart.iter().filter(|(tenant, _)| of.count(**tenant) <= self.ahead.tenant_low()) {
                let (least, consumers) = behind.entry((*tenant, *after)).or_insert((usize::MAX, Vec::new()));
                *least = of.count(*tenant).min(*least);
                consumers.push(name.clone());
            }
        }
        let mut behind: Vec<_> = behind.into_iter().collect();
        behind.sort_by_key(|(_, (least, _))| *least);
        let of = |((tenant, after), (_, consumers))| Behind { tenant, after, consumers };
        behind.into_iter().map(of).collect()
    }

    /// What is left of something to be read apart, and how many rows of each: without the consumers that have no room for it
    /// any more.
    pub fn still(&self, behind: &[Behind]) -> (Vec<Behind>, usize) {
        let readers = self.readers().count();
        let has_room = |name: &&String| {
            let of = self.consumers.get(*name);
            of.is_some_and(|of| !self.ahead.is_full(of.queued, self.queued, readers))
        };
        let of = |behind: &Behind| {
            let consumers: Vec<String> = behind.consumers.iter().filter(has_room).cloned().collect();
            Some(Behind { consumers, ..*behind }).filter(|behind| !behind.consumers.is_empty())
        };
        let still: Vec<Behind> = behind.iter().filter_map(of).collect();
        let limit = self.ahead.rows_apart(still.len(), self.envelope_bytes);
        (still, limit)
    }

    /// A row that was taken is finished; whether that has made room for what waits to be read.
    pub fn finish(&mut self, hold: &LaneHold, seq: Seq) -> bool {
        let Some(held) = self.held(hold) else { return false };
        let counted = held.lane.finish(seq);
        if let Some(fed) = &mut held.fed {
            fed.finish(seq);
            return false;
        }
        let Some((row, of)) = counted.zip(self.consumers.get_mut(&hold.consumer)) else { return false };
        let was_full = self.ahead.is_full_alone(of.queued) || self.ahead.is_past(self.queued);
        of.uncount(&row);
        self.queued.remove(&row);
        let is_full = self.ahead.is_full_alone(of.queued) || self.ahead.is_past(self.queued);
        let waits = of.count(row.tenant) == self.ahead.tenant_low() && of.apart.contains_key(&row.tenant);
        was_full && !is_full || waits
    }
}

#[cfg(test)]
mod tests;
