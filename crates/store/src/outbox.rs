//! What has not reached a broker yet: the log behind the positions of relays, and what they parked or gave up.
//!
//! A relay is the consumer `relay.<STREAM>`; everything up to its position is in the stream, parked or in quarantine.
//! Which relay carries a topic is told by names: the stream is called like the topic's service.
//! Not here: publishing (`engine`), the view of single rows (`karwan.outbox` on Postgres).

use std::collections::BTreeMap;

use crate::error::Error;
use crate::log::Seq;
use crate::observer::Observer;
use crate::report::ConsumerReport;

/// How relays are called, before the name of their stream.
pub const RELAYS: &str = "relay.";

/// How the topics of one relay stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayReport {
    /// The relay itself: its position, who holds it, whether it is suspended.
    pub relay: ConsumerReport,
    /// Its topics of which something is not published, by name.
    pub topics: Vec<TopicReport>,
}

/// What of a topic is not published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicReport {
    /// The topic.
    pub topic: String,
    /// Events behind the relay's position.
    pub waiting: i64,
    /// Events that the broker refused, and those behind them in their keys; they are tried again.
    pub parked: i64,
    /// Events that were given up.
    pub quarantined: i64,
    /// The age of the oldest that waits or is parked, in milliseconds; 0 where there is none.
    pub oldest_ms: i64,
    /// How often the one that was tried most was tried.
    pub attempts: i64,
    /// Why one was refused last.
    pub error: Option<String>,
}

/// What is not published yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outbox {
    /// By relay, in the order of their names.
    pub relays: Vec<RelayReport>,
    /// Topics that no relay of this store carries.
    pub uncarried: Vec<String>,
}

/// A topic as a store knows it.
pub(crate) struct Topic {
    pub id: i64,
    pub name: String,
    /// The services that may produce it, where the store knows them.
    pub producers: Vec<String>,
}

/// Which of these relays carries a topic.
pub(crate) fn carrier<'r>(topic: &Topic, relays: &[&'r str]) -> Option<&'r str> {
    let domains = topic.producers.iter().map(|service| service.trim_end_matches("-service").replace('-', "_"));
    let mut segments = topic.name.split('.');
    let (first, second) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    let names = domains.chain([second.to_owned(), first.to_owned()]);
    let mut found = names.filter_map(|name| {
        let wanted = format!("{RELAYS}{}", name.to_uppercase());
        relays.iter().copied().find(|relay| *relay == wanted)
    });
    found.next()
}

impl RelayReport {
    /// The name of its stream.
    pub fn stream(&self) -> &str {
        self.relay.consumer.strip_prefix(RELAYS).unwrap_or(&self.relay.consumer)
    }

    /// A number over all of its topics.
    pub fn sum(&self, of: fn(&TopicReport) -> i64) -> i64 {
        self.topics.iter().map(of).sum()
    }
}

impl TopicReport {
    /// Events that are not in the stream and still on their way.
    pub const fn unpublished(&self) -> i64 {
        self.waiting + self.parked
    }
}

impl Observer {
    /// What is not published yet, by relay and topic. `owner` says whose a topic is, where a catalogue knows it. `from` has the
    /// relays that go on elsewhere than where they were, because their streams have lost what was published.
    pub async fn outbox(
        &self,
        owner: impl Fn(&str) -> Option<String>,
        from: &BTreeMap<String, Seq>,
    ) -> Result<Outbox, Error> {
        let relays: Vec<ConsumerReport> =
            self.consumers().await?.into_iter().filter(|report| report.consumer.starts_with(RELAYS)).collect();
        let topics = self.owned_topics(owner).await?;
        let names: Vec<&str> = relays.iter().map(|relay| relay.consumer.as_str()).collect();
        let (carried, uncarried): (Vec<_>, Vec<_>) =
            topics.iter().map(|topic| (topic, carrier(topic, &names))).partition(|(_, relay)| relay.is_some());
        let mut reports = Vec::new();
        for relay in &relays {
            let own = carried.iter().filter(|(_, of)| *of == Some(relay.consumer.as_str()));
            let ids: Vec<i64> = own.map(|(topic, _)| topic.id).collect();
            let position = from.get(&relay.consumer).copied().unwrap_or_else(|| relay.position());
            let topics = self.backend.unpublished(&relay.consumer, position, &ids).await?;
            reports.push(RelayReport { relay: relay.clone(), topics });
        }
        let uncarried = if relays.is_empty() { Vec::new() } else { uncarried };
        Ok(Outbox { relays: reports, uncarried: uncarried.into_iter().map(|(topic, _)| topic.name.clone()).collect() })
    }

    /// Which of these relays carries each topic, by the topic's name; those that none carries are not among them.
    pub(crate) async fn carriers(
        &self,
        owner: impl Fn(&str) -> Option<String>,
        relays: &[&str],
    ) -> Result<BTreeMap<String, String>, Error> {
        let topics = self.owned_topics(owner).await?;
        let carried = topics.into_iter().filter_map(|topic| {
            let relay = carrier(&topic, relays)?.to_owned();
            Some((topic.name, relay))
        });
        Ok(carried.collect())
    }

    /// All topics of the store; the owner comes before whoever else may produce one.
    async fn owned_topics(&self, owner: impl Fn(&str) -> Option<String>) -> Result<Vec<Topic>, Error> {
        let mut topics = self.backend.topics().await?;
        topics.iter_mut().for_each(|topic| topic.producers.splice(..0, owner(&topic.name)).for_each(drop));
        Ok(topics)
    }

    /// The names of all topics of the store.
    pub async fn topic_names(&self) -> Result<Vec<String>, Error> {
        Ok(self.backend.topics().await?.into_iter().map(|topic| topic.name).collect())
    }

    /// The schema with this content hash, as some program brought it.
    pub async fn schema(&self, hash: &str) -> Result<Option<String>, Error> {
        self.backend.schema(hash).await
    }
}

#[cfg(test)]
mod tests {
    use super::{Topic, carrier};

    #[test]
    fn a_topic_is_carried_by_the_relay_of_its_service() {
        let relays = ["AI", "BILLING", "FILE", "LOCK_INTEGRATION", "PAYMENT", "PAYMENT_GATEWAY", "TENANT"]
            .map(|stream| format!("relay.{stream}"));
        let relays: Vec<&str> = relays.iter().map(String::as_str).collect();
        let check = |name: &str, producer: &str, stream: Option<&str>| {
            let topic = Topic { id: 1, name: name.to_owned(), producers: vec![producer.to_owned()] };
            assert_eq!(carrier(&topic, &relays).and_then(|it| it.strip_prefix("relay.")), stream, "{name}");
        };
        check("melmastoon.lock_integration.audit.attempt.v1", "lock-integration-service", Some("LOCK_INTEGRATION"));
        check("melmastoon.payment.intent.captured.v1", "payment-gateway-service", Some("PAYMENT_GATEWAY"));
        check("melmastoon.file.scanned.v1", "file-storage-service", Some("FILE"));
        check("billing.payment.failed.v1", "billing-service", Some("BILLING"));
        check("gdpr.subject_request.acknowledged.v1", "tenant-service", Some("TENANT"));
        check("ai.gateway.call.completed.v1", "ai-gateway-service", Some("AI"));
        check("melmastoon.staff.shift.closed.v1", "staff-service", None);
    }
}
