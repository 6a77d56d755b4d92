//! Rules that a trial leaves out, to see that chaos finds what goes wrong without them. A program without the feature `trial` has
//! none: there the type has no values.

#[cfg(feature = "trial")]
mod on {
    use karwan::{broker, engine, store};
    use karwan_store::Address;
    use serde::{Deserialize, Serialize};

    use crate::exit::Failure;

    /// A rule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
    pub enum Rule {
        /// A position passes only what is finished
        Ack,
        /// What fails is parked in the store before anything goes on
        Park,
        /// A message says which sequence it expects
        Sequence,
        /// Whoever lost a lane writes nothing of it
        Epoch,
    }

    impl Rule {
        /// This process goes without it.
        pub fn leave_out(self) {
            match self {
                Self::Ack => engine::trial::leave_out(engine::trial::Rule::Ack),
                Self::Park => engine::trial::leave_out(engine::trial::Rule::Park),
                Self::Sequence => broker::trial::leave_out_expected_sequence(),
                // The database keeps it.
                Self::Epoch => {}
            }
        }

        /// A database goes without it.
        pub async fn leave_out_in(self, owner: &Address) -> Result<(), Failure> {
            match self {
                Self::Epoch => Ok(store::trial::leave_out_epoch(owner).await?),
                Self::Ack | Self::Park | Self::Sequence => Ok(()),
            }
        }
    }
}

#[cfg(not(feature = "trial"))]
mod off {
    use karwan_store::Address;
    use serde::{Deserialize, Serialize};

    use crate::exit::Failure;

    /// No rule can be left out.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Rule {}

    impl Rule {
        pub const fn leave_out(self) {
            match self {}
        }

        pub async fn leave_out_in(self, _: &Address) -> Result<(), Failure> {
            match self {}
        }
    }
}

#[cfg(not(feature = "trial"))]
pub use off::Rule;
#[cfg(feature = "trial")]
pub use on::Rule;
