//! Names of streams, durables and subscriptions. Pure; nobody else puts them together.

use karwan_envelope::subject::Grammar;

/// The most bytes of a durable's name: JetStream puts it into file names.
pub const DURABLE_BYTES_MAX: usize = 200;

/// The stream of a service: `lock-integration-service` feeds `LOCK_INTEGRATION`.
pub fn stream(service: &str) -> String {
    let domain = service.strip_suffix("-service").unwrap_or(service);
    domain
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
        .collect()
}

/// The stream of the dead letters of a stream.
pub fn letters_stream(stream: &str) -> String {
    format!("{stream}_DLQ")
}

/// The topic of the dead letters of a topic.
pub fn letters_topic(topic: &str) -> String {
    format!("{topic}.dlq")
}

/// The durable of a consumer: its name, with dashes where JetStream allows no dots.
pub fn durable(consumer: &str) -> String {
    consumer.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' }).collect()
}

/// The durable through which somebody looks at streams under this login: permissions can name it, one in each stream.
pub fn reader(user: &str) -> String {
    format!("ops-{}", durable(user))
}

/// The subscription of a service to a topic: `<consumer-service>.<topic-short>.sub`, the topic without the
/// platform's prefix. The version stays: two versions of a topic are two topics.
pub fn subscription(service: &str, topic: &str, grammar: &Grammar<'_>) -> String {
    let without = grammar.prefix.and_then(|prefix| topic.strip_prefix(prefix)?.strip_prefix('.'));
    format!("{service}.{}.sub", without.unwrap_or(topic))
}
