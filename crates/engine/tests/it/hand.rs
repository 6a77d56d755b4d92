//! An operator's hand on a consumer: its store alone where the log feeds it, its broker too where a stream does.

use std::sync::Arc;

use karwan_engine::FedConsumer;
use karwan_engine::fed_consumer::Error;
use karwan_envelope::mint::OsRandom;
use karwan_store::Operator;
use karwan_store::operator::{Chosen, Moved, Place, Replayed, Who};

use crate::fixture::Fixture;

pub fn who() -> Who {
    Who { actor: "anna".to_owned(), reason: "a test".to_owned() }
}

pub fn operator(fixture: &Fixture) -> Operator {
    Operator::new(&fixture.owner, Vec::new()).with_clock(fixture.clock.clone())
}

/// See the module.
pub struct Hand {
    operator: Operator,
    fed: Option<FedConsumer>,
    name: &'static str,
}

impl Hand {
    /// On a consumer that has run.
    pub async fn on(fixture: &Fixture, name: &'static str) -> Self {
        let operator = operator(fixture);
        let mut fed = None;
        if let Some(broker) = fixture.broker() {
            let declared = operator.declared(name).await.expect("it has run");
            fed = FedConsumer::of(&operator, declared, broker.clone(), Arc::new(OsRandom));
            assert!(fed.is_some(), "a stream feeds it");
        }
        Self { operator, fed, name }
    }

    pub async fn seek(&self, place: Place) -> Moved {
        self.try_seek(place).await.expect("it can be moved")
    }

    pub async fn try_seek(&self, place: Place) -> Result<Moved, Error> {
        match &self.fed {
            Some(fed) => fed.seek(&who(), place).await,
            None => Ok(self.operator.seek(&who(), self.name, place).await?),
        }
    }

    /// To the beginning, and everything is handled again.
    pub async fn seek_and_clear(&self) -> Moved {
        let (place, whole) = (Place::Start, Chosen::default());
        match &self.fed {
            Some(fed) => fed.seek_and_clear(&who(), place, &whole, &|_, _| {}).await.expect("it can go back"),
            None => {
                let moved = self.operator.seek_and_clear(&who(), self.name, (place, &whole), &|_, _| {}).await;
                moved.expect("it can go back")
            }
        }
    }

    pub async fn would_replay(&self, chosen: &Chosen) -> Replayed {
        match &self.fed {
            Some(fed) => fed.would_replay(Place::Start, chosen).await.expect("it can be counted"),
            None => self.operator.would_replay(self.name, Place::Start, chosen).await.expect("it can be counted"),
        }
    }

    pub async fn replay(&self, chosen: &Chosen) -> Replayed {
        self.try_replay(chosen).await.expect("it can be sent")
    }

    pub async fn try_replay(&self, chosen: &Chosen) -> Result<Replayed, Error> {
        match &self.fed {
            Some(fed) => fed.replay(&who(), Place::Start, chosen, &|_, _| {}).await,
            None => Ok(self.operator.replay(&who(), self.name, (Place::Start, chosen), &|_, _| {}).await?),
        }
    }

    /// Takes all claims back.
    pub async fn try_clear(&self) -> Result<Moved, Error> {
        let (place, whole) = (Place::Start, Chosen::default());
        match &self.fed {
            Some(fed) => fed.clear_inbox(&who(), place, &whole, &|_, _| {}).await,
            None => Ok(self.operator.clear_inbox(&who(), self.name, (place, &whole), &|_, _| {}).await?),
        }
    }
}
