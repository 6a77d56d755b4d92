//! Subjects: the names of events, parsed by a platform's grammar and never assembled from strings.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::text::text_form;

/// The longest subject; brokers cap names at 255 bytes and `.dlq` must still fit.
pub const SUBJECT_BYTES_MAX: usize = 200;

/// A name of the right shape: dotted snake_case, with an optional `.v<n>`. Whether a platform knows it is its
/// [`Grammar`]'s and its catalogue's business.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    // Shared, because every event of a subject carries its name.
    text: Arc<str>,
    version: Option<u32>,
}

/// Why a text is not a subject, or not one of this platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("subject `{subject}`: {cause}")]
pub struct BadSubject {
    /// The text, shortened.
    pub subject: String,
    /// The rule that it breaks.
    pub cause: SubjectRule,
}

/// A rule that a subject can break.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectRule {
    /// Not dotted snake_case.
    #[error("segments are dotted snake_case, each starting with a letter")]
    Shape,
    /// Too long.
    #[error("longer than {SUBJECT_BYTES_MAX} bytes")]
    TooLong,
    /// A version that is missing, `v0` or written with leading zeros.
    #[error("must end in a version such as v1, counted from 1 without leading zeros")]
    Version,
    /// The platform's first segment is missing.
    #[error("must start with `{0}.`")]
    Prefix(String),
    /// Not a service of the platform.
    #[error("`{0}` is not a service of this platform")]
    Service(String),
    /// Too many or too few segments.
    #[error(
        "must be service, aggregate and verb as the grammar says; a name that cannot follow is pinned in its exceptions"
    )]
    Segments,
    /// The verb is not in the past tense.
    #[error("`{0}` is not in the past tense: an event is a fact that already happened")]
    Tense(String),
}

impl Subject {
    /// The name without its version: the `eventType`.
    pub fn event_type(&self) -> &str {
        match self.version {
            Some(_) => self.text.rsplit_once('.').expect("a versioned subject has a dot").0,
            None => &self.text,
        }
    }

    /// The version; a name that prints none is version 1.
    pub fn version(&self) -> u32 {
        self.version.unwrap_or(1)
    }

    /// Whether the name says its version.
    pub fn is_versioned(&self) -> bool {
        self.version.is_some()
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Puts an event type and a version together again; platforms that print no version have `versioned` false, and
    /// only version 1.
    pub fn of(event_type: &str, version: u32, versioned: bool) -> Result<Self, BadSubject> {
        let name: Self = event_type.parse()?;
        if name.version.is_some() || (!versioned && version != 1) {
            return Err(bad(event_type, SubjectRule::Version));
        }
        if versioned { format!("{event_type}.v{version}").parse() } else { Ok(name) }
    }
}

fn bad(subject: &str, cause: SubjectRule) -> BadSubject {
    BadSubject { subject: subject.chars().take(SUBJECT_BYTES_MAX).collect(), cause }
}

impl FromStr for Subject {
    type Err = BadSubject;

    fn from_str(text: &str) -> Result<Self, BadSubject> {
        if text.len() > SUBJECT_BYTES_MAX {
            return Err(bad(text, SubjectRule::TooLong));
        }
        if text.split('.').count() < 2 || !text.split('.').all(is_segment) {
            return Err(bad(text, SubjectRule::Shape));
        }
        let (name, last) = text.rsplit_once('.').expect("it has two segments");
        let version = version_of(last).map_err(|rule| bad(text, rule))?;
        // What stands before a version is a whole name without one.
        if version.is_some() {
            let (_, verb) = name.rsplit_once('.').ok_or_else(|| bad(text, SubjectRule::Shape))?;
            if version_of(verb) != Ok(None) {
                return Err(bad(text, SubjectRule::Version));
            }
        }
        Ok(Self { text: text.into(), version })
    }
}

fn is_segment(segment: &str) -> bool {
    segment.starts_with(|first: char| first.is_ascii_lowercase())
        && segment.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The version in a segment such as `v1`; `None` where the segment is an ordinary word.
fn version_of(segment: &str) -> Result<Option<u32>, SubjectRule> {
    let is_count = |rest: &&str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let Some(digits) = segment.strip_prefix('v').filter(is_count) else { return Ok(None) };
    match digits.parse() {
        _ if digits.starts_with('0') => Err(SubjectRule::Version),
        Ok(version) => Ok(Some(version)),
        Err(_) => Err(SubjectRule::Version),
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

text_form!(Subject, { "type": "string", "maxLength": 200 });

/// A service: the name it is deployed under and its token in subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service<'a> {
    /// Such as `order-service`.
    pub name: &'a str,
    /// Such as `order`.
    pub token: &'a str,
}

/// A published name that the grammar does not allow, kept verbatim because it is a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exception<'a> {
    /// The whole subject.
    pub subject: &'a str,
    /// Its service's token.
    pub service: &'a str,
    /// What counts as its aggregate.
    pub aggregate: &'a str,
    /// What counts as its verb.
    pub verb: &'a str,
    /// Why it is allowed.
    pub why: &'a str,
}

/// What a platform's subjects look like.
#[derive(Debug, Clone, Copy)]
pub struct Grammar<'a> {
    /// The first segment, where the platform prints one.
    pub prefix: Option<&'a str>,
    /// Whether subjects end in `.v<n>`.
    pub versioned: bool,
    /// Whether subjects name an aggregate between service and verb; where they do not, the service is the aggregate.
    pub aggregated: bool,
    /// Whether a partition bucket may follow the version.
    pub partitioned: bool,
    /// The services, by token.
    pub services: &'a [Service<'a>],
    /// The pinned exceptions.
    pub exceptions: &'a [Exception<'a>],
}

/// A subject taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The subject, without a partition.
    pub subject: Subject,
    /// The service's token.
    pub service: String,
    /// What the fact is about.
    pub aggregate: String,
    /// What happened.
    pub verb: String,
    /// The partition bucket behind the version.
    pub partition: Option<String>,
}

impl Parts {
    /// `<service>/<aggregate>/<verb>/v<n>`: where its schema lives.
    pub fn schema_path(&self) -> String {
        format!("{}/{}/{}/v{}", self.service, self.aggregate, self.verb, self.subject.version())
    }
}

impl<'a> Grammar<'a> {
    /// Takes a subject apart, strictly: a name outside the grammar is refused unless it is a pinned exception.
    pub fn parse(&self, text: &str) -> Result<Parts, BadSubject> {
        if let Some(exception) = self.exceptions.iter().find(|exception| exception.subject == text) {
            return Ok(Parts {
                subject: text.parse()?,
                service: exception.service.to_owned(),
                aggregate: exception.aggregate.to_owned(),
                verb: exception.verb.to_owned(),
                partition: None,
            });
        }
        if text.len() > SUBJECT_BYTES_MAX {
            return Err(bad(text, SubjectRule::TooLong));
        }
        let (name, partition) = self.split_partition(text);
        if partition.is_some() {
            // The name ends in its version, which is no bucket: this goes one level deep.
            return Ok(Parts { partition, ..self.parse(name)? });
        }
        let subject: Subject = name.parse()?;
        if self.versioned != subject.version.is_some() {
            return Err(bad(text, if self.versioned { SubjectRule::Version } else { SubjectRule::Segments }));
        }
        let rest = match self.prefix {
            Some(prefix) => subject
                .event_type()
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('.'))
                .ok_or_else(|| bad(text, SubjectRule::Prefix(prefix.to_owned())))?,
            None => subject.event_type(),
        };
        let segments: Vec<&str> = rest.split('.').collect();
        let (service, aggregate, verb) = match segments[..] {
            [service, aggregate, verb] if self.aggregated => (service, aggregate, verb),
            [service, verb] if !self.aggregated => (service, service, verb),
            _ => return Err(bad(text, SubjectRule::Segments)),
        };
        if self.service(service).is_none() {
            return Err(bad(text, SubjectRule::Service(service.to_owned())));
        }
        if !is_past_tense(verb) {
            return Err(bad(text, SubjectRule::Tense(verb.to_owned())));
        }
        let (service, aggregate, verb) = (service.to_owned(), aggregate.to_owned(), verb.to_owned());
        Ok(Parts { subject, service, aggregate, verb, partition: None })
    }

    /// The service with this token.
    pub fn service(&self, token: &str) -> Option<&'a Service<'a>> {
        self.services.iter().find(|service| service.token == token)
    }

    fn split_partition<'t>(&self, text: &'t str) -> (&'t str, Option<String>) {
        if self.partitioned
            && let Some((name, bucket)) = text.rsplit_once('.')
            && let Some((_, version)) = name.rsplit_once('.')
            && matches!(version_of(version), Ok(Some(_)))
            // A second version is a mistake, not a bucket.
            && matches!(version_of(bucket), Ok(None))
            && !bucket.is_empty()
            && bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        {
            return (name, Some(bucket.to_owned()));
        }
        (text, None)
    }
}

/// Participles that do not end in -ed; a verb may have more words than one (`checked_in`, `dates_changed`).
const IRREGULAR: &[&str] = &[
    "beaten",
    "begun",
    "bitten",
    "bought",
    "bound",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "cut",
    "dealt",
    "done",
    "drawn",
    "driven",
    "drunk",
    "eaten",
    "fallen",
    "felt",
    "forgiven",
    "forgotten",
    "fought",
    "found",
    "frozen",
    "given",
    "gone",
    "got",
    "grown",
    "heard",
    "held",
    "hidden",
    "hit",
    "hurt",
    "kept",
    "known",
    "laid",
    "led",
    "left",
    "lent",
    "let",
    "lost",
    "made",
    "meant",
    "met",
    "overridden",
    "overwritten",
    "paid",
    "proven",
    "put",
    "quit",
    "read",
    "reset",
    "rewritten",
    "ridden",
    "risen",
    "run",
    "said",
    "seen",
    "sent",
    "set",
    "shown",
    "shut",
    "slept",
    "sold",
    "spent",
    "split",
    "spoken",
    "stolen",
    "stood",
    "struck",
    "sworn",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "unbound",
    "understood",
    "undone",
    "upheld",
    "withdrawn",
    "woken",
    "won",
    "worn",
    "written",
];

fn is_past_tense(verb: &str) -> bool {
    verb.split('_').any(|word| (word.len() > 3 && word.ends_with("ed")) || IRREGULAR.contains(&word))
}
