//! Consuming from a stream, out of another database, against consuming from the log.

use std::sync::Arc;

use karwan::Engine;
use karwan::engine::{Relay, Work};
use karwan_store::{Address, Position};

use super::{Against, Args, Figures, consume, counted, figures, load, within};
use crate::bench::sample::{self, Preload};
use crate::bench::streams::{LOAD, Streams};
use crate::bench::sustained::Sustained;
use crate::exit::Failure;
use crate::progress::Progress;

/// In three scratch stores: of the base, of the producer, and of the consumer that is fed.
pub async fn measure(args: &Args, beside: &Address, url: &str) -> Result<Figures, Failure> {
    let catalogue = sample::catalogue()?;
    Streams::within(url, &catalogue, async |streams| {
        within(beside, async |log| {
            within(beside, async |producer| {
                within(beside, async |consumer| {
                    let stores = [log.address(), producer.address(), consumer.address()];
                    alternate(args, streams, &stores).await
                })
                .await
            })
            .await
        })
        .await
    })
    .await
}

async fn alternate(
    args: &Args,
    streams: &Streams,
    [log, producer, consumer]: &[Address; 3],
) -> Result<Figures, Failure> {
    let (progress, mut pairs) = (Progress::new(), Vec::new());
    for pair in 0..args.pairs {
        let load = load(args, pair);
        let base = consume(log, &load, &progress).await?;
        publish(streams, producer, &load, &progress).await?;
        progress.tell("consuming from the stream", 0, 0);
        pairs.push((consume_fed(streams, consumer, args.events).await?, base));
    }
    let against = Against { base: "the same consumer fed from the log", ratio_aim: "at least 0.7" };
    Ok(figures(args, consumer, &pairs, against))
}

/// Commits events, and waits until they are in the stream.
async fn publish(streams: &Streams, address: &Address, load: &Preload, progress: &Progress) -> Result<(), Failure> {
    let store = sample::open(address, 8).await?;
    progress.tell("preparing", 0, load.serials.end - load.serials.start);
    load.commit(&store, progress).await?;
    let end = store.relay().end().await?;
    let relay = Relay::new(streams.broker.clone(), streams.topology.clone());
    let options = karwan::engine::Options::new("relay", karwan::Residency::Eu);
    let engine = Engine::start(&store, Work::new().relay(relay), options);
    engine.published(LOAD, end).await?;
    engine.stop().await;
    Ok(())
}

/// Consumes everything that the stream has; answers events a second.
async fn consume_fed(streams: &Streams, address: &Address, events: u64) -> Result<f64, Failure> {
    let store = sample::open(address, 8).await?;
    let last = streams.broker.last_sequence(LOAD).await?.cast_signed();
    let until = Position { incarnation: store.relay().incarnation(), seq: last };
    let sustained = Arc::new(Sustained::of(events));
    let work = Work::new().consumer(counted(&sustained).from_stream(LOAD)).broker(streams.broker.clone());
    let options = karwan::engine::Options::new("bench", karwan::Residency::Eu);
    let engine = Engine::start(&store, work, options);
    engine.wait_for(sample::CONSUMER, until).await?;
    let rate = sustained.rate();
    engine.stop().await;
    Ok(rate)
}
