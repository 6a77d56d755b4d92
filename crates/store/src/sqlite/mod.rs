//! SQLite: one file, one process that writes it, readers beside it.
//!
//! Writes pass through one thread ([`writer`]), in groups (in a simulation: on the task that asks, one by one); the rules of a unit are in [`flush`]. Tenancy is by type
//! alone: whoever can open the file can read all of it.

mod backfill;
mod backup;
mod consumer;
mod desk;
mod doctor;
mod documents;
mod error;
mod file;
mod flush;
mod lanes;
mod log;
mod outbox;
mod readers;
mod relay_state;
mod report;
mod retention;
mod schema;
mod subjects;
mod tasks;
mod units;
mod writer;

pub(crate) use desk::Desk;
pub(crate) use lanes::Lanes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use karwan_envelope::ids::EventId;
use karwan_envelope::time::{Clock, SystemClock};
use karwan_registry::Catalogue;
use rusqlite::Connection;

use crate::backup::Copied;
use crate::bell::Bell;
use crate::consumer::{Beat, Dead, Lane, LaneTaken, Node, Parked, Share, Suspension};
use crate::deadline::Deadline;
use crate::doctor::Check;
use crate::effect::{DeadEffect, Effect, EffectRef, Outcome};
use crate::environment::Environment;
use crate::error::{DatabaseError, Error};
use crate::kind::Kinds;
use crate::lanes::Declared;
use crate::log::{Holder, Seq};
use crate::migrate::{Migrated, Progress};
use crate::outbox::{Topic, TopicReport};
use crate::report::{ConsumerReport, EffectReport, Stats, TableSize};
use crate::simulation::Calls;
use crate::sqlite::documents::Tables;
use crate::sqlite::error::Fault;
use crate::sqlite::readers::Readers;
use crate::sqlite::subjects::Subjects;
use crate::sqlite::writer::Writer;
use crate::store::Options;
use crate::write_set::{Claim, LaneHold, TenantBits};

/// The most rows that are read on the thread that asks for them.
const GLANCE_MAX: usize = 128;
/// Connections of somebody who only looks.
const LOOKERS: usize = 2;

/// An open file.
pub(crate) struct Sqlite {
    path: PathBuf,
    incarnation: i64,
    tables: Arc<Tables>,
    subjects: Arc<Subjects>,
    clock: Arc<dyn Clock>,
    bell: Bell,
    calls: Calls,
    /// Closed before the writer: the last connection to close tidies up, and a reader could not.
    readers: Arc<Readers>,
    /// None where the file was opened for reading only.
    writer: Option<Writer>,
}

impl Sqlite {
    pub async fn open(path: &Path, options: &Options, kinds: &Kinds) -> Result<Self, Error> {
        let path = file::absolute(path)?;
        file::must_exist(&path)?;
        let calls = Calls::of(options);
        let (meta, writer) = if options.read_only {
            let connection = file::reader(&path)?;
            let meta = file::admitted(&path, &connection)?;
            schema::admit_kinds(&path, &connection, kinds).map_err(|fault| fault.error(&path))?;
            (meta, None)
        } else {
            // The nodes of a simulation are several stores of one process over one file.
            let lock = if calls.are_simulated() { None } else { Some(file::lock_soon(&path).await?) };
            let connection = file::writer(&path)?;
            let meta = file::admitted(&path, &connection)?;
            let ready = schema::admit_kinds(&path, &connection, kinds)
                .and_then(|()| schema::leave_behind(&connection, kinds))
                .and_then(|()| bound(&connection, options.file_bytes_max));
            ready.map_err(|fault| fault.error(&path))?;
            let writer = match lock {
                Some(lock) => Writer::start(connection, lock).map_err(|error| error::file_said(&path, error))?,
                None => Writer::inline(connection).map_err(|fault| fault.error(&path))?,
            };
            (meta, Some(writer))
        };
        let tables = Arc::new(Tables::of(kinds));
        let readers = Arc::new(Readers::new(path.clone(), options.connections_max, calls.are_simulated()));
        Ok(Self {
            incarnation: meta.incarnation,
            clock: options.clock.clone(),
            bell: Bell::default(),
            subjects: Arc::default(),
            readers,
            tables,
            calls,
            writer,
            path,
        })
    }

    /// Opens for looking only, beside a process that may be writing: no lock is taken, and no kinds are asked for.
    pub async fn look(path: &Path) -> Result<Self, Error> {
        let path = file::absolute(path)?;
        file::must_exist(&path)?;
        let meta = file::admitted(&path, &file::reader(&path)?)?;
        let tables = Arc::new(Tables::of(&Kinds::new(&[])?));
        let readers = Arc::new(Readers::new(path.clone(), LOOKERS, false));
        Ok(Self {
            incarnation: meta.incarnation,
            clock: Arc::new(SystemClock),
            bell: Bell::default(),
            subjects: Arc::default(),
            readers,
            tables,
            calls: Calls::real(),
            writer: None,
            path,
        })
    }

    pub async fn heard(&self, what: &'static str) {
        self.calls.heard(what).await;
    }

    /// A read that may take long: it has a thread of its own.
    async fn read<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let read = self.calls.around(std::any::type_name::<W>(), self.readers.run(work));
        read.await.map_err(|fault| fault.error(&self.path))
    }

    /// A read by a key, or of a few rows by an index: on the thread that asks, since waking another one takes longer. Who reads
    /// much in a row gives way to others from time to time.
    async fn glance<T, W>(&self, work: W) -> Result<T, Error>
    where
        W: FnOnce(&Connection) -> Result<T, Fault>,
    {
        let read = async {
            tokio::task::coop::consume_budget().await;
            self.readers.read(work)
        };
        self.calls.around(std::any::type_name::<W>(), read).await.map_err(|fault| fault.error(&self.path))
    }

    async fn write<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Connection, i64) -> Result<T, Fault> + Send + 'static,
    {
        self.try_write(work).await.map_err(|fault| fault.error(&self.path))
    }

    /// Work for the writer; the time is taken when it is done, not when it is asked for.
    async fn try_write<T, W>(&self, work: W) -> Result<T, Fault>
    where
        T: Send + 'static,
        W: FnOnce(&Connection, i64) -> Result<T, Fault> + Send + 'static,
    {
        let Some(writer) = &self.writer else {
            let cause = DatabaseError::Words("it was opened for reading only".to_owned());
            return Err(Error::ReadOnly { store: error::name(&self.path), cause }.into());
        };
        let clock = self.clock.clone();
        let written = writer.run(move |connection| work(connection, clock.now().unix_ms()));
        self.calls.around(std::any::type_name::<W>(), written).await
    }

    /// For messages.
    pub fn name(&self) -> String {
        error::name(&self.path)
    }

    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    pub fn incarnation(&self) -> i64 {
        self.incarnation
    }

    pub async fn due_deadlines(
        &self,
        kind: &str,
        share: Share,
        now_ms: i64,
        limit: usize,
    ) -> Result<Vec<Deadline>, Error> {
        self.glance(|connection| tasks::due_deadlines(connection, kind, share, now_ms, limit)).await
    }

    pub async fn postpone_deadline(&self, deadline: &Deadline, try_at: i64, why: &str) -> Result<(), Error> {
        let (deadline, why) = (deadline.clone(), why.to_owned());
        self.write(move |connection, _| tasks::postpone_deadline(connection, &deadline, try_at, &why)).await
    }

    pub async fn due_effects(&self, kind: &str, share: Share, now_ms: i64, limit: usize) -> Result<Vec<Effect>, Error> {
        let kind = kind.to_owned();
        self.read(move |connection| tasks::due_effects(connection, &kind, share, now_ms, limit)).await
    }

    pub async fn any_due(&self, deadlines: &[&str], effects: &[&str], now_ms: i64) -> Result<bool, Error> {
        let owned = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>();
        let (deadlines, effects) = (owned(deadlines), owned(effects));
        self.read(move |connection| tasks::any_due(connection, &deadlines, &effects, now_ms)).await
    }

    pub async fn record_effect(&self, hold: &LaneHold, effect: EffectRef, outcome: &Outcome) -> Result<(), Error> {
        let (hold, outcome) = (hold.clone(), outcome.clone());
        self.write(move |connection, _| tasks::record_effect(connection, &hold, effect, &outcome)).await
    }

    pub async fn hold_back(&self, hold: &LaneHold, effects: &[EffectRef], due: i64) -> Result<(), Error> {
        let (hold, effects) = (hold.clone(), effects.to_vec());
        self.write(move |connection, _| tasks::hold_back(connection, &hold, &effects, due)).await
    }

    pub async fn dead_effects(&self, kind: &str, after: i64, limit: usize) -> Result<Vec<DeadEffect>, Error> {
        let kind = kind.to_owned();
        self.read(move |connection| tasks::dead_effects(connection, &kind, after, limit)).await
    }

    pub async fn suspended(&self) -> Result<bool, Error> {
        self.glance(tasks::suspended).await
    }

    pub async fn highest(&self) -> Result<Seq, Error> {
        self.glance(log::highest).await
    }

    /// One writer: whatever is visible is decided.
    pub async fn safe(&self) -> Result<Seq, Error> {
        self.highest().await
    }

    pub async fn schema(&self, hash: &str) -> Result<Option<String>, Error> {
        let hash = hash.to_owned();
        self.read(move |connection| log::schema(connection, &hash)).await
    }

    pub async fn tenants(&self, after: Seq, until: Seq) -> Result<Vec<TenantBits>, Error> {
        self.read(move |connection| log::tenants(connection, after, until)).await
    }

    pub async fn positions(&self, consumer: &str) -> Result<Vec<Seq>, Error> {
        let consumer = consumer.to_owned();
        self.read(move |connection| consumer::positions(connection, &consumer)).await
    }

    pub async fn floor(&self) -> Result<Seq, Error> {
        self.read(log::floor).await
    }

    /// Nobody holds readers back: the writer's transaction ends before anybody else's begins.
    pub async fn holders(&self) -> Result<Vec<Holder>, Error> {
        Ok(Vec::new())
    }

    pub async fn end_holders(&self, _: i64) -> Result<Vec<Holder>, Error> {
        Ok(Vec::new())
    }

    pub async fn stats(&self) -> Result<Stats, Error> {
        let incarnation = self.incarnation;
        self.read(move |connection| report::stats(connection, incarnation)).await
    }

    pub async fn consumers(&self) -> Result<Vec<ConsumerReport>, Error> {
        let now = self.clock.now().unix_ms();
        self.read(move |connection| report::consumers(connection, now)).await
    }

    pub async fn waiting_for(
        &self,
        consumer: &str,
        between: (Seq, Seq),
        rows_max: usize,
    ) -> Result<(i64, usize), Error> {
        let consumer = consumer.to_owned();
        self.read(move |connection| report::waiting_for(connection, &consumer, between, rows_max)).await
    }

    pub async fn effects(&self) -> Result<Vec<EffectReport>, Error> {
        let now = self.clock.now().unix_ms();
        self.read(move |connection| report::effects(connection, now)).await
    }

    pub async fn environment(&self) -> Result<Environment, Error> {
        self.write(|connection, _| outbox::environment(connection)).await
    }

    pub async fn topics(&self) -> Result<Vec<Topic>, Error> {
        self.read(outbox::topics).await
    }

    pub async fn unpublished(&self, relay: &str, position: Seq, topics: &[i64]) -> Result<Vec<TopicReport>, Error> {
        let (relay, topics, now) = (relay.to_owned(), topics.to_vec(), self.clock.now().unix_ms());
        self.read(move |connection| outbox::unpublished(connection, &relay, position, &topics, now)).await
    }

    pub async fn sizes(&self) -> Result<Vec<TableSize>, Error> {
        self.read(report::sizes).await
    }

    pub async fn prune(&self, before_ms: i64) -> Result<u64, Error> {
        let mut gone = 0;
        for of in &report::PRUNABLE {
            let mut after = Some(Vec::new());
            while let Some(from) = after {
                let chunk =
                    self.write(move |connection, _| report::prune_chunk(connection, of, &from, before_ms)).await?;
                gone += chunk.0;
                after = chunk.1;
            }
        }
        Ok(gone)
    }

    pub async fn drop_log(&self, up_to: Seq) -> Result<Seq, Error> {
        loop {
            let (floor, finished) = self.write(move |connection, _| log::drop_chunk(connection, up_to)).await?;
            if finished {
                return Ok(floor);
            }
        }
    }

    pub async fn declared(&self) -> Result<Vec<Declared>, Error> {
        self.read(lanes::declared).await
    }

    pub async fn all_positions(&self) -> Result<Vec<Seq>, Error> {
        self.read(|connection| Ok(log::lowest_position(connection)?.into_iter().collect())).await
    }

    pub async fn declare(&self, consumers: &[Declared]) -> Result<(), Error> {
        let consumers = consumers.to_vec();
        self.write(move |connection, now| consumers.iter().try_for_each(|it| lanes::declare(connection, it, now))).await
    }

    pub async fn subjects(&self, consumer: &str) -> Result<Vec<String>, Error> {
        let consumer = consumer.to_owned();
        self.read(move |connection| lanes::subjects_of(connection, &consumer)).await
    }

    pub async fn living(&self) -> Result<Vec<Node>, Error> {
        let now = self.clock.now().unix_ms();
        self.read(move |connection| consumer::living(connection, now)).await
    }

    pub async fn free_lanes(&self, consumer: &str, lanes: u16, _: i64) -> Result<Vec<u16>, Error> {
        let (consumer, now) = (consumer.to_owned(), self.clock.now().unix_ms());
        self.read(move |connection| consumer::free_lanes(connection, &consumer, lanes, now)).await
    }

    pub async fn take_lane(&self, lane: &Lane, node: &str, lease_ms: i64) -> Result<Option<LaneTaken>, Error> {
        let (lane, node) = (lane.clone(), node.to_owned());
        self.write(move |connection, now| consumer::take_lane(connection, &lane, &node, lease_ms, now)).await
    }

    pub async fn beat(&self, node: &Node, holds: &[LaneHold], lease_ms: i64) -> Result<Beat, Error> {
        let (node, holds) = (node.clone(), holds.to_vec());
        self.write(move |connection, now| consumer::beat(connection, &node, &holds, lease_ms, now)).await
    }

    pub async fn leave(&self, node: &str) -> Result<(), Error> {
        let node = node.to_owned();
        self.write(move |connection, _| consumer::leave(connection, &node)).await
    }

    pub async fn save_position(&self, hold: &LaneHold, seq: Seq, release: bool) -> Result<(), Error> {
        let hold = hold.clone();
        self.write(move |connection, _| consumer::save_position(connection, &hold, seq, release)).await
    }

    pub async fn save_positions(&self, positions: &[(LaneHold, Seq)]) -> Result<Vec<LaneHold>, Error> {
        let positions = positions.to_vec();
        self.write(move |connection, _| consumer::save_positions(connection, &positions)).await
    }

    pub async fn seek(&self, consumer: &str, seq: Seq) -> Result<bool, Error> {
        let consumer = consumer.to_owned();
        self.write(move |connection, _| consumer::seek(connection, &consumer, seq)).await
    }

    pub async fn handled(&self, consumer: &str, claims: &[Claim]) -> Result<Vec<EventId>, Error> {
        let events: Vec<_> = claims.iter().map(|claim| claim.event).collect();
        self.glance(|connection| consumer::handled(connection, consumer, &events)).await
    }

    pub async fn park(&self, hold: &LaneHold, events: &[Parked]) -> Result<(), Error> {
        let (hold, events) = (hold.clone(), events.to_vec());
        self.write(move |connection, now| consumer::park(connection, &hold, &events, now)).await
    }

    pub async fn parked(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        let lane = lane.clone();
        self.read(move |connection| consumer::parked(connection, &lane, limit)).await
    }

    pub async fn parked_heads(&self, lane: &Lane, limit: usize) -> Result<Vec<Parked>, Error> {
        let lane = lane.clone();
        self.read(move |connection| consumer::parked_heads(connection, &lane, limit)).await
    }

    pub async fn parked_head(&self, lane: &Lane, tenant: TenantBits, key: &str) -> Result<Option<Parked>, Error> {
        let (lane, key) = (lane.clone(), key.to_owned());
        self.read(move |connection| consumer::parked_head(connection, &lane, tenant, &key)).await
    }

    pub async fn suspend(&self, hold: &LaneHold, reason: &str) -> Result<(), Error> {
        let (hold, reason) = (hold.clone(), reason.to_owned());
        self.write(move |connection, now| consumer::suspend(connection, &hold, &reason, now)).await
    }

    pub async fn suspensions(&self) -> Result<Vec<Suspension>, Error> {
        self.glance(consumer::suspensions).await
    }

    pub async fn bury(&self, hold: &LaneHold, dead: &Dead) -> Result<(), Error> {
        let (hold, dead) = (hold.clone(), dead.clone());
        self.write(move |connection, now| consumer::bury(connection, &hold, &dead, now)).await
    }

    pub async fn dead(&self, consumer: &str, after: Seq, limit: usize) -> Result<Vec<Dead>, Error> {
        let consumer = consumer.to_owned();
        self.read(move |connection| consumer::dead(connection, &consumer, after, limit)).await
    }

    pub async fn letters(&self) -> Result<Vec<(String, String, i64)>, Error> {
        self.read(report::letters).await
    }
}

/// Bounds the file's size; the write that would pass it is refused as a full disk is.
fn bound(connection: &Connection, bytes_max: Option<u64>) -> Result<(), Fault> {
    let Some(bytes_max) = bytes_max else { return Ok(()) };
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = (bytes_max / page.max(1) as u64).clamp(1, u64::from(u32::MAX) - 1);
    Ok(connection.pragma_update_and_check(None, "max_page_count", pages as i64, |_| Ok(()))?)
}

pub(crate) async fn migrate(
    path: &Path,
    catalogues: &[&Catalogue],
    kinds: &Kinds,
    progress: Progress<'_>,
) -> Result<Migrated, Error> {
    schema::migrate(path, catalogues, kinds, progress)
}

pub(crate) async fn doctor(path: &Path, now_ms: i64) -> Result<Vec<Check>, Error> {
    doctor::doctor(path, now_ms)
}

pub(crate) async fn backup(path: &Path, out: &Path, progress: Progress<'_>) -> Result<Copied, Error> {
    backup::backup(path, out, progress)
}

pub(crate) async fn restore(path: &Path, from: &Path, progress: Progress<'_>) -> Result<Copied, Error> {
    backup::restore(path, from, progress)
}

pub(crate) async fn resume_consumer(path: &Path, consumer: &str) -> Result<bool, Error> {
    let path = file::absolute(path)?;
    file::must_exist(&path)?;
    let connection = file::writer(&path)?;
    file::admitted(&path, &connection)?;
    consumer::resume(&connection, consumer).map_err(|fault| fault.error(&path))
}
