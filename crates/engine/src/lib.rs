//! Consumers at work: one reader a process, lanes shared out by leases, handlers inside the unit of work that claims their
//! event.
//!
//! Invariants, each kept in the module named:
//! * every event is handled once, however often it is read: the claim commits with what the handler wrote (`worker`);
//! * events of one key are handled in the order of the log, and a failing one holds back its own key alone (`lane`);
//! * one tenant's flood does not delay another tenant's event: queues a tenant, and the flooder read apart (`node`);
//! * a call to the outside is made after its cause has committed, in order per key, under one idempotency key (`task`);
//! * a process that lost a lane writes nothing of it: every write names the epoch under which it was taken;
//! * an event that any release of a consumer handles is passed by no other release of it (`share`, `worker`);
//! * what is committed reaches the stream of its service in the order of the log, and a stream's consumer acknowledges only
//!   what its own store has (`relay`, `feed`).
//!
//! Not here: SQL (`store`), the wire of a broker (`broker`).

pub mod consumer;
mod engine;
pub mod fed_consumer;
mod feed;
mod health;
mod lane;
mod leases;
mod node;
pub mod policy;
pub mod relay;
mod row;
mod share;
mod signals;
mod stop;
pub mod task;
#[cfg(feature = "trial")]
pub mod trial;
#[cfg(not(feature = "trial"))]
mod trial;
mod turns;
mod worker;

pub use consumer::{Consumer, Failure, Received, Verdict};
pub use engine::{Engine, LEASE_MS, Options, STOP_MAX, Work};
pub use fed_consumer::FedConsumer;
pub use node::ReadAhead;
pub use policy::Policy;
pub use relay::Relay;
pub use signals::Signals;
pub use task::{Answered, BreakerPolicy, Call, Due, Performer, Refusal, Timer};
