//! What a broker has against what it should have. Pure.

use std::fmt;

use karwan_envelope::subject::Grammar;
use serde_json::Value;

/// One thing that is not as the catalogue asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The stream.
    pub stream: String,
    /// Its durable, where it is about one.
    pub durable: Option<String>,
    /// What differs.
    pub what: What,
    /// What helps.
    pub remedy: Remedy,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// It is not there.
    Missing,
    /// Subjects that it does not take.
    SubjectsMissing(Vec<String>),
    /// Subjects that the catalogue does not have.
    SubjectsMore(Vec<String>),
    /// Subjects of another platform: the stream is not ours, whatever its name.
    OtherPlatform(Vec<String>),
    /// A setting.
    Setting {
        /// Its name at JetStream.
        name: &'static str,
        /// What it is.
        found: String,
        /// What it should be.
        wanted: String,
    },
}

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// `apply` mends it.
    Apply,
    /// It is left: taking away could lose messages, and more than asked for does no harm.
    Kept,
    /// JetStream cannot change it in place.
    Impossible,
}

impl Difference {
    /// Whether something is missing for work, and not only more there than asked for.
    pub fn matters(&self) -> bool {
        self.remedy != Remedy::Kept
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.durable {
            Some(durable) => write!(f, "{} {durable}: ", self.stream)?,
            None => write!(f, "{}: ", self.stream)?,
        }
        match &self.what {
            What::Missing => f.write_str("is not there"),
            What::SubjectsMissing(subjects) => write!(f, "does not take {}", subjects.join(", ")),
            What::SubjectsMore(subjects) => {
                write!(f, "also takes {}, which the catalogue does not have", subjects.join(", "))
            }
            What::OtherPlatform(subjects) => {
                write!(f, "takes {}, of another platform", few(subjects))
            }
            What::Setting { name, found, wanted } => write!(f, "{name} is {found}, and should be {wanted}"),
        }
    }
}

/// The first of them, and how many more there are.
pub(crate) fn few(subjects: &[String]) -> String {
    match subjects {
        [first, more @ ..] if !more.is_empty() => format!("{first} and {} more", more.len()),
        all => all.join(", "),
    }
}

/// How a setting may change.
#[derive(Clone, Copy)]
enum Rule {
    /// Never, in place.
    Fixed,
    /// At will.
    Free,
    /// Upwards; 0 is without bound.
    Grows,
}

const STREAM_RULES: &[(&str, Rule)] = &[
    ("retention", Rule::Fixed),
    ("storage", Rule::Fixed),
    ("discard", Rule::Free),
    ("max_age", Rule::Grows),
    ("duplicate_window", Rule::Free),
    ("num_replicas", Rule::Grows),
    ("allow_direct", Rule::Free),
    ("allow_atomic", Rule::Free),
];

const DURABLE_RULES: &[(&str, Rule)] = &[
    ("ack_policy", Rule::Fixed),
    ("ack_wait", Rule::Free),
    ("max_deliver", Rule::Free),
    ("max_ack_pending", Rule::Free),
];

/// A stream's configuration against the wanted one.
pub(super) fn stream(name: &str, found: &Value, wanted: &Value) -> Vec<Difference> {
    let about = |(what, remedy)| Difference { stream: name.to_owned(), durable: None, what, remedy };
    let mut differences: Vec<Difference> =
        subjects(&list(found, "subjects"), &list(wanted, "subjects")).into_iter().map(about).collect();
    differences.extend(settings(STREAM_RULES, found, wanted).into_iter().map(about));
    differences
}

/// A durable's configuration against the wanted one.
pub(super) fn durable(stream: &str, durable: &str, found: &Value, wanted: &Value) -> Vec<Difference> {
    let about =
        |(what, remedy)| Difference { stream: stream.to_owned(), durable: Some(durable.to_owned()), what, remedy };
    let mut filters = list(found, "filter_subjects");
    filters.extend(found["filter_subject"].as_str().filter(|one| !one.is_empty()).map(str::to_owned));
    let mut differences: Vec<Difference> =
        subjects(&filters, &list(wanted, "filter_subjects")).into_iter().map(about).collect();
    differences.extend(settings(DURABLE_RULES, found, wanted).into_iter().map(about));
    differences
}

pub(super) fn list(config: &Value, name: &str) -> Vec<String> {
    let texts = config[name].as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Of what a stream takes, the subjects that are of another platform. A platform that prints no prefix knows its own by the
/// token of a service; what it wants itself is its own, and a wildcard in front is anybody's.
pub(super) fn of_others(found: &Value, wanted: &Value, grammar: &Grammar<'_>) -> Vec<String> {
    let (found, wanted) = (list(found, "subjects"), list(wanted, "subjects"));
    let first = |subject: &str| subject.split('.').next().unwrap_or_default().to_owned();
    let is_own = |subject: &String| {
        let token = first(subject);
        let by_grammar = match grammar.prefix {
            Some(prefix) => token == prefix,
            None => grammar.service(&token).is_some(),
        };
        by_grammar || matches!(token.as_str(), "*" | ">") || wanted.iter().any(|own| first(own) == token)
    };
    found.into_iter().filter(|subject| !is_own(subject)).collect()
}

fn subjects(found: &[String], wanted: &[String]) -> Vec<(What, Remedy)> {
    let lacks = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|one| !those.contains(one)).cloned().collect()
    };
    let (missing, more) = (lacks(wanted, found), lacks(found, wanted));
    let mut differences = Vec::new();
    if !missing.is_empty() {
        differences.push((What::SubjectsMissing(missing), Remedy::Apply));
    }
    if !more.is_empty() {
        differences.push((What::SubjectsMore(more), Remedy::Kept));
    }
    differences
}

fn settings(rules: &[(&'static str, Rule)], found: &Value, wanted: &Value) -> Vec<(What, Remedy)> {
    let mut differences = Vec::new();
    for (name, rule) in rules {
        // What is not asked for may be anything; what is off is left out of JetStream's answers.
        let Some(wants) = wanted.get(name) else { continue };
        let has = found.get(name).cloned().unwrap_or_else(|| if wants.is_boolean() { false.into() } else { 0.into() });
        if has == *wants {
            continue;
        }
        let remedy = match (rule, has.as_u64(), wants.as_u64()) {
            (Rule::Fixed, _, _) => Remedy::Impossible,
            (Rule::Free, _, _) => Remedy::Apply,
            (Rule::Grows, Some(has), Some(wants)) if has == 0 || has > wants => Remedy::Kept,
            (Rule::Grows, _, _) => Remedy::Apply,
        };
        let (found, wanted) = (shown(name, &has), shown(name, wants));
        differences.push((What::Setting { name, found, wanted }, remedy));
    }
    differences
}

/// Durations in seconds, everything else as it is.
fn shown(name: &str, value: &Value) -> String {
    match (name, value.as_u64()) {
        ("max_age" | "duplicate_window" | "ack_wait", Some(nanos)) => format!("{} s", nanos / 1_000_000_000),
        _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use karwan_envelope::subject::{Grammar, Service};
    use serde_json::json;

    use super::{Remedy, few, of_others, stream};

    fn check(found: &serde_json::Value, expected: &[(&str, Remedy)]) {
        let wanted =
            json!({"subjects": ["a.b", "a.c"], "storage": "file", "max_age": 7_000_000_000_u64, "allow_direct": true});
        let printed: Vec<(String, Remedy)> =
            stream("S", found, &wanted).iter().map(|one| (one.to_string(), one.remedy)).collect();
        let expected: Vec<(String, Remedy)> =
            expected.iter().map(|(text, remedy)| ((*text).to_owned(), *remedy)).collect();
        assert_eq!(printed, expected);
    }

    #[test]
    fn what_is_as_it_should_be_differs_in_nothing() {
        check(
            &json!({"subjects": ["a.c", "a.b"], "storage": "file", "max_age": 7_000_000_000_u64, "allow_direct": true}),
            &[],
        );
    }

    #[test]
    fn subjects_are_added_and_never_taken_away() {
        let found =
            json!({"subjects": ["a.b", "old"], "storage": "file", "max_age": 7_000_000_000_u64, "allow_direct": true});
        check(
            &found,
            &[
                ("S: does not take a.c", Remedy::Apply),
                ("S: also takes old, which the catalogue does not have", Remedy::Kept),
            ],
        );
    }

    #[test]
    fn what_messages_are_kept_by_only_grows_and_their_storage_never_changes() {
        let found = json!({"subjects": ["a.b", "a.c"], "storage": "memory", "max_age": 5_000_000_000_u64});
        check(
            &found,
            &[
                ("S: storage is memory, and should be file", Remedy::Impossible),
                ("S: max_age is 5 s, and should be 7 s", Remedy::Apply),
                ("S: allow_direct is false, and should be true", Remedy::Apply),
            ],
        );
        let longer = json!({"subjects": ["a.b", "a.c"], "storage": "file", "max_age": 0, "allow_direct": true});
        check(&longer, &[("S: max_age is 0 s, and should be 7 s", Remedy::Kept)]);
    }

    /// What a stream of `found` has of others, for a platform that wants one topic.
    fn check_others(prefix: Option<&'static str>, wanted: &str, found: &[&str], others: &[&str]) {
        let services = &[Service { name: "sales-service", token: "sales" }];
        let grammar =
            Grammar { prefix, versioned: true, aggregated: true, partitioned: false, services, exceptions: &[] };
        let of = of_others(&json!({ "subjects": found }), &json!({ "subjects": [wanted] }), &grammar);
        assert_eq!(of, others);
    }

    #[test]
    fn a_platform_knows_its_own_subjects_by_its_prefix_or_its_services() {
        let (shop, plain) = ("shop.sales.order.placed.v1", "sales.order.placed.v1");
        check_others(Some("shop"), shop, &["shop.sales.order.retired.v1", "shop.>", ">", "*.sales"], &[]);
        check_others(Some("shop"), shop, &[shop, plain, "shopping.a.b"], &[plain, "shopping.a.b"]);
        check_others(None, plain, &["sales.order.retired.v1", "sales.>", "sales.long.name.of.old"], &[]);
        check_others(None, plain, &[plain, shop], &[shop]);
        // A pinned name may begin as no service does.
        check_others(None, "odd.one.v1", &["odd.other.v1", plain], &[]);
    }

    #[test]
    fn of_many_subjects_the_first_is_named_and_the_rest_counted() {
        let subjects = |all: &[&str]| few(&all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        assert_eq!([subjects(&["a"]), subjects(&["a", "b", "c"])], ["a", "a and 2 more"]);
    }
}
