//! Consuming while many keys of the consumer wait, against consuming while none does.

use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::consumer::{Lane, Parked};
use karwan_store::log::{Filter, LogRow, PAGE_MAX};
use karwan_store::write_set::LaneHold;
use karwan_store::{Address, Store};

use super::{Against, Args, Figures, TENANTS, consume, figures, load, within};
use crate::bench::sample::{self, LANES, Preload};
use crate::exit::Failure;
use crate::progress::Progress;

/// Serials of events that wait begin here: no other event is of their keys.
const WAITING: u64 = 1 << 41;
/// They are due after the measurement.
const DUE_MS: i64 = 60 * 60 * 1000;
const LEASE_MS: i64 = 60_000;

/// In two scratch stores: in one of them keys wait.
pub async fn measure(args: &Args, beside: &Address, keys: u64) -> Result<Figures, Failure> {
    within(beside, async |plain| {
        within(beside, async |waiting| {
            let (plain, waiting) = (plain.address(), waiting.address());
            let (progress, mut pairs) = (Progress::new(), Vec::new());
            park(&waiting, keys, &progress).await?;
            for pair in 0..args.pairs {
                let load = load(args, pair);
                let base = consume(&plain, &load, &progress).await?;
                pairs.push((consume(&waiting, &load, &progress).await?, base));
            }
            let against = Against { base: "the same with no key that waits", ratio_aim: "at least 0.9" };
            Ok(figures(args, &waiting, &pairs, against))
        })
        .await
    })
    .await
}

/// Commits an event of every key, and parks it as its lane's holder does.
async fn park(address: &Address, keys: u64, progress: &Progress) -> Result<(), Failure> {
    let store = sample::open(address, 4).await?;
    progress.tell("parking", 0, keys);
    let load = Preload { serials: WAITING..WAITING + keys, tenants: TENANTS, items: u64::MAX };
    load.commit(&store, progress).await?;
    let (rows, end) = (rows(&store).await?, store.relay().end().await?.seq);
    let due = Some(SystemClock.now().unix_ms() + DUE_MS);
    for number in 0..LANES {
        let lane = Lane { consumer: sample::CONSUMER.to_owned(), number, of: LANES };
        let Some(taken) = store.take_lane(&lane, "bench", LEASE_MS).await? else {
            return Err(Failure::from(anyhow::anyhow!("somebody holds a lane of a scratch store")));
        };
        let hold = LaneHold { consumer: lane.consumer, lane: number, epoch: taken.epoch };
        let own = rows.iter().filter(|row| row.slot % LANES == number).cloned();
        let own: Vec<Parked> = own.map(|row| row.parked(due, 1, "the vendor is away".to_owned())).collect();
        for some in own.chunks(PAGE_MAX) {
            store.park(&hold, some).await?;
        }
        store.save_position(&hold, end, true).await?;
    }
    Ok(())
}

/// All that is in the log.
async fn rows(store: &Store) -> Result<Vec<LogRow>, Failure> {
    let relay = store.relay();
    let (mut position, mut rows) = (relay.start().await?, Vec::new());
    loop {
        let page = relay.page(position, &Filter::default(), PAGE_MAX).await?;
        rows.extend(page.rows);
        position = page.position;
        if !page.more {
            return Ok(rows);
        }
    }
}
