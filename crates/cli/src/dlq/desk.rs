//! What every command over letters works with: a store, who may act on it, and the names that it knows.

use std::sync::Arc;

use anyhow::anyhow;
use karwan_broker::Topology;
use karwan_broker::topology::names;
use karwan_envelope::ids::EventId;
use karwan_registry::Catalogue;
use karwan_store::operator::{ActionFilter, Letter, LetterStory, Operator, Target, Verb};
use karwan_store::report::EffectReport;
use karwan_store::{Error, Observer, Store};

use crate::exit::Failure;
use crate::personal::Sight;
use crate::settings::{Flags, Settings, word};
use crate::{platforms, suggest};

/// Where a broker has the dead letters of a topic: the documents' two names for it (C-11).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Graveyard {
    /// `<topic>.dlq`.
    pub topic: String,
    /// `{stream}.dlq`, as JetStream can name it.
    pub stream: String,
}

/// An open store, to be looked at and acted on.
pub struct Desk {
    pub operator: Operator,
    pub observer: Observer,
    catalogues: Vec<Arc<Catalogue>>,
    topologies: Vec<Topology>,
    /// The flag with which another command finds the same store.
    store_flag: String,
}

impl Desk {
    pub async fn open(flags: &Flags) -> Result<Self, Failure> {
        let settings = Settings::load(flags)?;
        let address = settings.store()?;
        let catalogues: Vec<Arc<Catalogue>> = platforms::catalogues(None)?.into_iter().map(Arc::new).collect();
        let observer = Store::observe(&address).await?;
        let operator = Operator::new(&address, catalogues.clone());
        let topologies = catalogues.iter().map(|catalogue| Topology::of(catalogue)).collect();
        Ok(Self { operator, observer, catalogues, topologies, store_flag: settings.store_flag() })
    }

    /// A name that no consumer, relay or kind of call of this store has is refused, with the one that was meant.
    pub async fn knows_consumer(&self, name: &str) -> Result<(), Failure> {
        let consumers = self.observer.consumers().await?;
        let effects = self.observer.effects().await?;
        let known: Vec<String> = consumers
            .iter()
            .map(|report| report.consumer.clone())
            .chain(effects.iter().map(EffectReport::name))
            .collect();
        if known.iter().any(|it| it == name) {
            return Ok(());
        }
        let hint = match suggest::nearest(known.iter().map(String::as_str), name) {
            Some(near) => format!("did you mean {near}?"),
            None if known.is_empty() => "none has run yet".to_owned(),
            None => format!("known: {}", known.join(", ")),
        };
        Err(anyhow!("no consumer {} has run on this store; {hint}", suggest::quoted(name)).into())
    }

    /// Where a relay publishes a letter once it is dead; nowhere what is a call, or never leaves its device.
    pub fn graveyard(&self, letter: &Letter) -> Option<Graveyard> {
        let stream = self.topologies.iter().find_map(|topology| topology.stream_of(&letter.subject));
        let stream = stream.filter(|_| !letter.target.is_effect())?.letters();
        Some(Graveyard { topic: names::letters_topic(&letter.subject), stream })
    }

    /// A letter by its event; its consumer must be named only where several have it.
    pub async fn find(&self, event: EventId, consumer: Option<&str>) -> Result<Target, Failure> {
        if let Some(consumer) = consumer {
            self.knows_consumer(consumer).await?;
            return Ok(Target { consumer: consumer.to_owned(), event });
        }
        match <[Target; 1]>::try_from(self.operator.targets(event).await?) {
            Ok([target]) => Ok(target),
            Err(none) if none.is_empty() => Err(self.nobodys(event).await?),
            Err(several) => {
                let names: Vec<&str> = several.iter().map(|target| target.consumer.as_str()).collect();
                Err(Failure::usage(anyhow!(
                    "{} consumers have a letter {event}: name one with --consumer ({}; see --help)",
                    names.len(),
                    names.join(", ")
                )))
            }
        }
    }

    /// Why an event is nobody's letter: it was deleted, or there is none.
    async fn nobodys(&self, event: EventId) -> Result<Failure, Failure> {
        let deletion = ActionFilter { verb: Some(Verb::Delete), event: Some(event), ..ActionFilter::default() };
        let deleted = self.operator.actions(&deletion, None, 1).await?.actions.pop();
        if let Some((action, consumer)) = deleted.and_then(|action| Some((action.id, action.consumer?))) {
            return Ok(Error::Deleted { consumer, event, action }.into());
        }
        let text = "it was handled or never failed (karwan dlq list)";
        Ok(anyhow!("no consumer of this store has a letter {event}: {text}").into())
    }

    /// What is known of the personal values of a letter.
    pub async fn sight(&self, story: &LetterStory, all: bool) -> Result<Sight, Error> {
        self.sight_of(&story.letter.subject, &story.envelope, all).await
    }

    /// The same of an envelope alone.
    pub async fn sight_of(&self, subject: &str, envelope: &str, all: bool) -> Result<Sight, Error> {
        if all {
            return Ok(Sight::All);
        }
        Sight::of(&self.observer, &self.catalogues, subject, envelope).await
    }

    /// A command over a letter, to be pasted.
    pub fn command(&self, verb: &str, target: &Target, rest: &str) -> String {
        let Target { consumer, event } = target;
        format!("karwan dlq {verb} {event} --consumer {}{rest}{}", word(consumer), self.store_flag)
    }

    /// Any other command, to be pasted.
    pub fn any_command(&self, words: &str) -> String {
        format!("karwan {words}{}", self.store_flag)
    }
}
