//! A store inside a simulation: its work is done on the task that asks, somebody decides what becomes of every call, and a
//! rule can be left out to see that something goes wrong without it.
//!
//! All of it exists with the feature `simulation` alone, which the testkit asks for and no program that is shipped has.
//! Without it a call is a call, and no rule can be left out.

/// A rule that a simulation may leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// An event is handled once by a consumer.
    Claim,
    /// A document is written over the version that was read.
    Version,
    /// Whoever lost a lane writes nothing of it.
    Epoch,
}

#[cfg(feature = "simulation")]
mod on {
    use std::cell::Cell;
    use std::pin::Pin;
    use std::sync::Arc;

    use super::Rule;
    use crate::backend::Refusal;
    use crate::error::{DatabaseError, Error};
    use crate::store::Options;

    /// What becomes of one side of a call, once it is known.
    pub type Fate = Pin<Box<dyn Future<Output = Result<(), Lost>> + Send>>;

    /// The call fails here: before it was done, or after, when only its answer is lost.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Lost;

    /// Who decides over the calls of one store. A call waits as long as a fate does; one that never ends is a crash.
    pub trait Simulation: Send + Sync {
        /// Before a call takes effect; the name is the same for every call of its kind.
        fn before(&self, call: &'static str) -> Fate;
        /// After it took effect, and before its caller knows.
        fn after(&self, call: &'static str) -> Fate;
        /// After something came from a channel or a task, and before anybody acts on it.
        fn heard(&self, _what: &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(std::future::ready(()))
        }
    }

    thread_local! {
        static LEFT_OUT: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    /// Stores of this thread go without a rule, or with all of them again; simulations of other threads notice nothing.
    pub fn leave_out(rule: Option<Rule>) {
        LEFT_OUT.set(rule);
    }

    /// Whether stores of this thread go without a rule.
    pub(crate) fn is_left_out(rule: Rule) -> bool {
        LEFT_OUT.get() == Some(rule)
    }

    /// The calls of one store.
    #[derive(Clone)]
    pub(crate) struct Calls(Option<Arc<dyn Simulation>>);

    impl Calls {
        pub fn of(options: &Options) -> Self {
            Self(options.simulation.clone())
        }

        pub const fn real() -> Self {
            Self(None)
        }

        /// Whether work is done on the task that asks for it.
        pub const fn are_simulated(&self) -> bool {
            self.0.is_some()
        }

        /// One call, with what somebody decided about it before and after.
        pub async fn around<T, E: From<Refusal>>(
            &self,
            name: &'static str,
            call: impl Future<Output = Result<T, E>>,
        ) -> Result<T, E> {
            let Some(simulation) = &self.0 else { return call.await };
            simulation.before(name).await.map_err(refusal)?;
            let answer = call.await;
            simulation.after(name).await.map_err(refusal)?;
            answer
        }

        /// Something was heard of.
        pub async fn heard(&self, what: &'static str) {
            if let Some(simulation) = &self.0 {
                simulation.heard(what).await;
            }
        }
    }

    fn refusal(_: Lost) -> Refusal {
        let cause = DatabaseError::Words("the simulation took the answer".to_owned());
        Refusal::Lost(Error::Unreachable { store: "a simulated store".to_owned(), cause })
    }
}

#[cfg(not(feature = "simulation"))]
mod off {
    use super::Rule;
    use crate::store::Options;

    pub(crate) const fn is_left_out(_: Rule) -> bool {
        false
    }

    /// The calls of one store.
    #[derive(Clone)]
    pub(crate) struct Calls;

    impl Calls {
        pub const fn of(_: &Options) -> Self {
            Self
        }

        pub const fn real() -> Self {
            Self
        }

        pub const fn are_simulated(&self) -> bool {
            false
        }

        pub async fn around<T, E>(&self, _: &'static str, call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
            call.await
        }

        pub async fn heard(&self, _: &'static str) {}
    }
}

#[cfg(not(feature = "simulation"))]
pub(crate) use off::{Calls, is_left_out};
#[cfg(feature = "simulation")]
pub(crate) use on::{Calls, is_left_out};
#[cfg(feature = "simulation")]
pub use on::{Fate, Lost, Simulation, leave_out};
