//! Commit data and events in one transaction; have every event handled exactly once, in order per key, tenant by tenant.
//!
//! # A tutorial
//!
//! An **event** is a struct. From it come its subject, its owner, how long it is kept, its JSON Schema, and two keys: the one
//! within which events keep their order, and the one by which the same thing told twice is recognised.
//!
//! ```
//! use karwan::Event;
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// Somebody was greeted.
//! #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Event)]
//! #[serde(rename_all = "camelCase")]
//! #[event(
//!     subject = "hello.greeter.person.greeted.v1",
//!     owner = "greeter-service",
//!     retention = "year",
//!     key = "{name}",
//!     idempotency = "{name}:{time}"
//! )]
//! struct Greeted {
//!     /// Who.
//!     #[schemars(length(min = 1, max = 100))]
//!     name: String,
//!     /// Which time.
//!     time: i64,
//! }
//!
//! // A **document** is what a service keeps: state with an identity, read and written whole.
//! use karwan::{Document, Kind};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Count {
//!     name: String,
//!     times: i64,
//! }
//!
//! impl Document for Count {
//!     const KIND: Kind = Kind::named("count");
//!     fn id(&self) -> String {
//!         self.name.clone()
//!     }
//! }
//!
//! // A **platform** names its services and its events. `plain` makes the usual choices for everything else.
//! use karwan::{Catalogue, Platform, Service, events};
//!
//! static HELLO: Platform =
//!     Platform::plain("hello", &[Service { name: "greeter-service", token: "greeter" }], || events![Greeted].into());
//!
//! // A **consumer** does something with events, inside the unit of work that claims them: what it reads and writes, and the
//! // fact that the event is handled, commit together or not at all.
//! use karwan::{Consumer, Error, Received, TenantTx, Verdict};
//!
//! async fn count(tx: TenantTx, greeted: Received<Greeted>) -> Result<Verdict, Error> {
//!     let name = greeted.event.name;
//!     let before: Option<Count> = tx.find(&name).await?;
//!     tx.put(Count { times: before.map_or(0, |count| count.times) + 1, name });
//!     Ok(Verdict::Done)
//! }
//!
//! // A **unit of work** commits data and events together, and is run again when what it read has changed meanwhile.
//! use karwan::testing::Throwaway;
//! use karwan::{Context, Engine, KindType};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let place = Throwaway::new(Arc::new(Catalogue::of(&HELLO)?), vec![KindType::of::<Count>()]).await?;
//! let engine = Engine::start(
//!     place.store(),
//!     vec![Consumer::new("greeter-service", "count").on(count)],
//!     place.engine(),
//! );
//! let context: Context = karwan::context("greeter-service", 1);
//! for time in 1..=3 {
//!     let greet = async |tx: TenantTx| {
//!         tx.emit(Greeted { name: "world".to_owned(), time });
//!         Ok::<_, Error>(())
//!     };
//!     place.store().unit(&context, greet).await?;
//! }
//! engine.settle().await?;
//! let count: Count = place.store().tenant(&context).get("world").await?;
//! assert_eq!(count.times, 3);
//! engine.stop().await;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })
//! # }
//! ```
//!
//! # Where to go on
//!
//! * A handler that fails parks its event and the key with it; every other key flows on. What it says of an event is a
//!   [`Verdict`], how often it is tried a [`Policy`].
//! * [`TenantTx::deadline`] sets a deadline, and a [`Timer`] says what is done when it is due.
//! * [`TenantTx::effect`] records a call to the outside, and a [`Performer`] makes it after the commit, under one
//!   idempotency key, and hands the answer to a unit of its own.
//! * [`Engine::wait_for`] gives read-your-writes; [`testing`] has what tests of your own need.
//! * A program ends its `main` with [`Engine::run_until_signal`]: told to stop, it finishes what it holds.
//! * The same program runs on Postgres: `Store::open` with a `postgres://` address, after `karwan migrate`.
//! * Tables of your own take part there: [`TenantTx::postgres`] is the transaction in which a handler's statements, its claim
//!   and its facts commit together, and `karwan.append` puts an event beside your rows from SQL. `examples/02-own-tables`
//!   does both.

mod list;
pub mod testing;

pub use karwan_broker as broker;
/// Makes a struct an event; the doc comment of the derive it is made of lists what `#[event(…)]` may say.
pub use karwan_derive::EventOfFacade as Event;
pub use karwan_engine as engine;
pub use karwan_engine::{
    Answered, BreakerPolicy, Call, Consumer, Due, Engine, Failure, Performer, Policy, Received, Refusal, Relay, Timer,
    Verdict, Work,
};
pub use karwan_envelope as envelope;
pub use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
pub use karwan_envelope::envelope::Context;
pub use karwan_envelope::ids::TenantId;
pub use karwan_envelope::subject::Service;
pub use karwan_registry as registry;
pub use karwan_registry::event::Event;
pub use karwan_registry::platform::Platform;
pub use karwan_registry::{Catalogue, EventType, events};
pub use karwan_store as store;
pub use karwan_store::kind::{Field, FieldType, FieldValue};
pub use karwan_store::{
    Address, Batch, Document, Done, Error, Facts, Guard, Kind, KindType, Options, Page, PlatformTx, Position,
    PostgresTx, Query, RelayTx, Store, TenantTx, UnitId, migrate,
};

use karwan_envelope::mint::{Mint, OsRandom};
use karwan_envelope::time::SystemClock;

/// The context of a request that starts something: a service acts by itself, for a tenant with this number.
///
/// For examples and tests. A real request has a caller, whose tenant, actor and trace go into the [`Context`].
pub fn context(service: &str, tenant: u64) -> Context {
    Context {
        tenant: Tenant::One(TenantId::from_bits(TENANTS + u128::from(tenant))),
        cause: Cause::root(Mint::new(SystemClock, OsRandom).correlation()),
        actor: Actor { kind: ActorKind::System, id: service.to_owned() },
        producer: Producer {
            service: service.to_owned(),
            instance: "local".to_owned(),
            commit: "0000000".to_owned(),
            region: None,
        },
        residency: Residency::Eu,
    }
}

/// Before the first tenant of [`context`]: an id of version 7.
const TENANTS: u128 = 0x0190_c2f0_0000_7000_8000_0000_0000_0000;
