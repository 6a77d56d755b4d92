//! The streams of a measurement: made on a broker that has none of them, and gone at the end, also after an error.

use anyhow::anyhow;
use karwan_broker::{Broker, Topology};
use karwan_registry::Catalogue;

use crate::exit::Failure;

/// The stream of the sample's service.
pub const LOAD: &str = "LOAD";
/// The stream of a base, and its subject.
pub const RAW: (&str, &str) = ("KARWAN_BENCH_RAW", "karwan-bench.raw");
const ALL: [&str; 3] = [RAW.0, LOAD, "LOAD_DLQ"];

/// A broker with the streams of a measurement.
pub struct Streams {
    pub broker: Broker,
    pub topology: Topology,
}

impl Streams {
    /// Measures with them, and removes them whatever happens.
    pub async fn within<T>(
        url: &str,
        catalogue: &Catalogue,
        measure: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let broker = Broker::connect(url, karwan_broker::Options::default()).await?;
        for stream in ALL {
            if broker.has_stream(stream).await? {
                return Err(Failure::from(anyhow!("the broker has a stream {stream} already: use another one")));
            }
        }
        let streams = Self { broker, topology: Topology::of(catalogue) };
        streams.make().await?;
        streams.broker.make_plain_stream(RAW.0, RAW.1).await?;
        let measured = measure(&streams).await;
        for stream in ALL {
            streams.broker.delete_stream(stream).await?;
        }
        measured
    }

    async fn make(&self) -> Result<(), Failure> {
        self.topology.apply(&self.broker).await?;
        Ok(())
    }

    /// The sample's streams have nothing any more.
    pub async fn empty(&self) -> Result<(), Failure> {
        for stream in &ALL[1..] {
            self.broker.delete_stream(stream).await?;
        }
        self.make().await
    }
}
