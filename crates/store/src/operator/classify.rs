//! What kind of failure a letter is, by the runbook: what to do follows from it. Pure.

use super::letter::{Letter, State};

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It breaks the schema that it names, or cannot be read: the producer mends it, or an operator repairs it. Never
    /// retried as it is.
    SchemaDrift,
    /// A vendor or a database was away: retried once it is back.
    VendorOutage,
    /// It is parked and will be tried again by itself.
    Transient,
    /// It asks for something impossible: quarantined, with a defect ticket.
    Poisoned,
    /// The consumer broke: mended first, and then retried.
    ConsumerBug,
}

/// What an outage looks like in the words of those who met it.
const OUTAGES: [&str; 18] = [
    "timed out",
    "timeout",
    "longer than",
    "connection refused",
    "connection reset",
    "connection closed",
    "broken pipe",
    "cannot be reached",
    "unreachable",
    "unavailable",
    "outage",
    "too many requests",
    "rate limit",
    "429",
    "502",
    "503",
    "504",
    "breaker",
];
/// What a handler that broke off looks like.
const BROKEN: [&str; 3] = ["broke off", "panicked", "the handler"];

/// By the runbook of document 000 §9.4 and the triage of 003 §14. `breaks_contract` says whether the letter breaks the schema
/// that it names, or another rule of its subject; where no catalogue knows it, its last error is all there is.
pub fn classify(letter: &Letter, breaks_contract: bool) -> Class {
    let error = letter.error.to_lowercase();
    let refused = !letter.subject.is_empty() && letter.error.starts_with(&format!("{} was refused", letter.subject));
    if breaks_contract || refused || error.contains("schema") {
        return Class::SchemaDrift;
    }
    if letter.state == State::Parked && letter.due.is_some() {
        return Class::Transient;
    }
    let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
    if says(&OUTAGES) {
        return Class::VendorOutage;
    }
    if says(&BROKEN) {
        return Class::ConsumerBug;
    }
    // A handler that gives an event up at once has judged it; one that fails again and again has not.
    if letter.attempts <= 1 { Class::Poisoned } else { Class::ConsumerBug }
}

impl Class {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SchemaDrift => "schema drift",
            Self::VendorOutage => "vendor outage",
            Self::Transient => "transient",
            Self::Poisoned => "poisoned",
            Self::ConsumerBug => "consumer bug",
        }
    }

    /// What the runbook says to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::SchemaDrift => {
                "tell the producer; mend the producer, the consumer or the payload; do not retry until it validates"
            }
            Self::VendorOutage => "wait until it is back, then retry: that is safe",
            Self::Transient => "let the retries drain",
            Self::Poisoned => "quarantine it and open a defect ticket; do not retry; delete it only with a sign-off",
            Self::ConsumerBug => "mend the consumer, then retry",
        }
    }

    /// Whether retrying it as it is can help.
    pub const fn may_retry(self) -> bool {
        match self {
            Self::VendorOutage | Self::Transient | Self::ConsumerBug => true,
            Self::SchemaDrift | Self::Poisoned => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use karwan_envelope::ids::EventId;

    use super::{Class, classify};
    use crate::operator::letter::{Letter, State, Target};

    fn letter(state: State, attempts: u32, error: &str) -> Letter {
        Letter {
            target: Target { consumer: "mailer".to_owned(), event: EventId::from_bits(1) },
            state,
            seq: 1,
            logged: 0,
            tenant: 1,
            subject: "shop.sales.order.placed.v1".to_owned(),
            key: "o-1".to_owned(),
            due: (state == State::Parked).then_some(5),
            attempts,
            error: error.to_owned(),
        }
    }

    #[test]
    fn a_letter_is_classified_by_the_runbook() {
        let dead = |attempts, error| classify(&letter(State::Dead, attempts, error), false);
        assert_eq!(dead(1, "shop.sales.order.placed.v1 was refused: /payload: …"), Class::SchemaDrift);
        assert_eq!(dead(7, "the lock vendor answered 503"), Class::VendorOutage);
        assert_eq!(dead(7, "connection refused"), Class::VendorOutage);
        assert_eq!(dead(1, "an order of minus three items"), Class::Poisoned);
        assert_eq!(dead(7, "index out of bounds"), Class::ConsumerBug);
        assert_eq!(dead(1, "the handler broke off: panic"), Class::ConsumerBug);
        assert_eq!(classify(&letter(State::Parked, 2, "index out of bounds"), false), Class::Transient);
        assert_eq!(classify(&letter(State::Parked, 2, "connection refused"), true), Class::SchemaDrift);
    }

    #[test]
    fn only_what_a_retry_can_help_may_be_retried() {
        let all = [Class::SchemaDrift, Class::VendorOutage, Class::Transient, Class::Poisoned, Class::ConsumerBug];
        assert_eq!(all.map(Class::may_retry), [false, true, true, false, true]);
        assert!(all.iter().all(|class| !class.advice().is_empty() && !class.name().is_empty()));
    }
}
