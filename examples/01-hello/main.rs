//! An event, a document and a handler of one's own: `cargo run -p karwan --example hello`.
#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::sync::Arc;

use karwan::testing::Throwaway;
use karwan::{
    Catalogue, Consumer, Document, Engine, Error, Event, Kind, KindType, Platform, Received, Service, TenantTx,
    Verdict, events,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Somebody was greeted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
#[serde(rename_all = "camelCase")]
#[event(
    subject = "hello.greeter.person.greeted.v1",
    owner = "greeter-service",
    retention = "year",
    key = "{name}",
    idempotency = "{name}:{time}"
)]
struct Greeted {
    /// Who.
    name: String,
    /// Which time.
    time: i64,
}

/// How often somebody was greeted.
#[derive(Clone, Serialize, Deserialize)]
struct Count {
    name: String,
    times: i64,
}

impl Document for Count {
    const KIND: Kind = Kind::named("count");
    fn id(&self) -> String {
        self.name.clone()
    }
}

static HELLO: Platform =
    Platform::plain("hello", &[Service { name: "greeter-service", token: "greeter" }], || events![Greeted].into());

/// Runs inside the unit of work that claims the event: once, however often it is delivered.
async fn count(tx: TenantTx, greeted: Received<Greeted>) -> Result<Verdict, Error> {
    let name = greeted.event.name;
    let before: Option<Count> = tx.find(&name).await?;
    tx.put(Count { times: before.map_or(0, |count| count.times) + 1, name });
    Ok(Verdict::Done)
}

/// Greets, and looks what became of it.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = Throwaway::new(Arc::new(Catalogue::of(&HELLO)?), vec![KindType::of::<Count>()]).await?;
    let engine =
        Engine::start(place.store(), vec![Consumer::new("greeter-service", "count").on(count)], place.engine());
    let context = karwan::context("greeter-service", 1);
    // The last one tells the same thing twice: it is recognised, and nothing is written.
    for (name, time) in [("world", 1), ("world", 2), ("you", 1), ("world", 2)] {
        let greet = async |tx: TenantTx| {
            tx.emit(Greeted { name: name.to_owned(), time });
            Ok::<_, Error>(())
        };
        place.store().unit(&context, greet).await?;
    }
    engine.settle().await?;
    for name in ["world", "you"] {
        let count: Count = place.store().tenant(&context).get(name).await?;
        println!("{name} was greeted {} times", count.times);
    }
    engine.stop().await;
    Ok(())
}
