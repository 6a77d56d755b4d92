//! A consumer that is moved, or has events handled again, whatever feeds it: the log of its store, or a stream whose broker
//! is asked for places and events.

use std::sync::Arc;

use karwan::engine::FedConsumer;
use karwan::engine::fed_consumer::Error;
use karwan_broker::{Broker, Options};
use karwan_envelope::mint::OsRandom;
use karwan_store::Operator;
use karwan_store::operator::{Chosen, Moved, Place, Replayed, Steps, Who};

use super::place::named;
use crate::exit::Failure;

/// See the module.
pub enum Moving {
    /// Its store is enough: the log feeds it, or nobody has said where the broker is, and the store says what needs one.
    Store(Operator, String),
    /// Its broker is asked.
    Fed(Box<FedConsumer>),
}

/// Calls the same on whichever it is.
macro_rules! either {
    ($self:ident, $operator:ident, $name:ident => $store:expr, $fed:ident => $other:expr) => {
        match $self {
            Moving::Store($operator, $name) => $store.await.map_err(Error::from),
            Moving::Fed($fed) => $other.await,
        }
    };
}

impl Moving {
    /// By its name; a broker is connected to where a stream feeds it.
    pub async fn of(operator: &Operator, consumer: &str, broker: Option<&str>) -> Result<Self, Error> {
        let by_store = || Self::Store(operator.clone(), consumer.to_owned());
        let declared = operator.declared(consumer).await?;
        let (Some(_), Some(url)) = (&declared.stream, broker) else { return Ok(by_store()) };
        let broker = Broker::connect(url, Options { name: "karwan consumer".to_owned(), ..Options::default() }).await?;
        let fed = FedConsumer::of(operator, declared, broker, Arc::new(OsRandom));
        Ok(fed.map_or_else(by_store, |fed| Self::Fed(Box::new(fed))))
    }

    /// What [`Self::seek`] would do.
    pub async fn would_seek(&self, place: Place) -> Result<Moved, Error> {
        either!(self, operator, name => operator.would_seek(name, place), fed => fed.would_seek(place))
    }

    /// Moves it.
    pub async fn seek(&self, who: &Who, place: Place) -> Result<Moved, Error> {
        either!(self, operator, name => operator.seek(who, name, place), fed => fed.seek(who, place))
    }

    /// Moves it, and takes claims from there on back.
    pub async fn seek_and_clear(
        &self,
        who: &Who,
        place: Place,
        chosen: &Chosen,
        told: Steps<'_>,
    ) -> Result<Moved, Error> {
        either!(self, operator, name => operator.seek_and_clear(who, name, (place, chosen), told),
            fed => fed.seek_and_clear(who, place, chosen, told))
    }

    /// Takes claims back.
    pub async fn clear_inbox(&self, who: &Who, place: Place, chosen: &Chosen, told: Steps<'_>) -> Result<Moved, Error> {
        either!(self, operator, name => operator.clear_inbox(who, name, (place, chosen), told),
            fed => fed.clear_inbox(who, place, chosen, told))
    }

    /// How many claims there are.
    pub async fn count_claims(&self, place: Place, chosen: &Chosen) -> Result<u64, Error> {
        either!(self, operator, name => operator.count_claims(name, place, chosen), fed => fed.count_claims(place, chosen))
    }

    /// What [`Self::replay`] would send.
    pub async fn would_replay(&self, place: Place, chosen: &Chosen) -> Result<Replayed, Error> {
        either!(self, operator, name => operator.would_replay(name, place, chosen), fed => fed.would_replay(place, chosen))
    }

    /// Sends events once more.
    pub async fn replay(&self, who: &Who, place: Place, chosen: &Chosen, told: Steps<'_>) -> Result<Replayed, Error> {
        either!(self, operator, name => operator.replay(who, name, (place, chosen), told),
            fed => fed.replay(who, place, chosen, told))
    }

    /// Where its feed ends now.
    pub async fn end(&self) -> Result<i64, Error> {
        match self {
            Self::Store(operator, _) => Ok(operator.relay().await?.end().await?.seq),
            Self::Fed(fed) => fed.number(Place::End).await,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => named(error),
            Error::Broker(error) => error.into(),
        }
    }
}
