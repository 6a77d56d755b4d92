//! What a process counts, in the names of the platform: `<platform>_events_published_total` and its kin.
//!
//! Labels are services, topics, subscriptions and classes of tenants, which are few; never a tenant. Printed as Prometheus reads
//! it ([`Metrics::text`]). Pure but for a lock.
//!
//! Not here: who told an event by `karwan.append`. No process of ours sees that commit, so nobody counts it as published; it is
//! counted from its first reader on.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::write_set::TenantBits;

/// The most tenants whose size is known; any beyond is small.
const TENANTS_MAX: usize = 100_000;
/// A tenant with more events a day is not small.
const SMALL_MAX: u64 = 1_000;
/// And with more than these it is large.
const MEDIUM_MAX: u64 = 100_000;
const DAY_MS: i64 = 86_400_000;
/// The upper bounds of the histogram, in seconds.
const BUCKETS: [f64; 13] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// How an event went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Result {
    /// It was handled.
    Ok,
    /// It had been handled before.
    Noop,
    /// It failed.
    Error,
}

impl Result {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Noop => "noop",
            Self::Error => "error",
        }
    }
}

/// How a saga ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// As it was meant to.
    Success,
    /// Undone.
    Compensated,
    /// With something left for a person.
    Partial,
}

/// Who reads what: a consumer of a service, and the topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subscription<'a> {
    /// The service.
    pub service: &'a str,
    /// The subject.
    pub topic: &'a str,
    /// The consumer.
    pub consumer: &'a str,
}

/// The counts of one process.
pub struct Metrics {
    prefix: String,
    state: Mutex<State>,
}

/// Figures by their labels, sorted: looking one up, as every event does, needs no memory.
#[derive(Debug, Default)]
struct ByLabels<const N: usize, T>(Vec<([String; N], T)>);

type Counts<const N: usize> = ByLabels<N, u64>;

#[derive(Default)]
struct State {
    published: Counts<3>,
    consumed: Counts<4>,
    dead: Counts<3>,
    invalid: Counts<3>,
    /// As they were counted in the store last.
    letters: Counts<3>,
    durations: ByLabels<3, Histogram>,
    skips: Counts<2>,
    /// By service and reader.
    unpublished: BTreeMap<String, BTreeMap<String, (u64, f64)>>,
    sagas: BTreeMap<[String; 2], i64>,
    sagas_ended: Counts<3>,
    day: i64,
    tenants: HashMap<TenantBits, u64>,
}

#[derive(Default)]
struct Histogram {
    counts: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Nothing counted yet; the platform's name is the prefix of all names.
    pub fn new(platform: &str) -> Self {
        Self { prefix: platform.replace('-', "_"), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }

    /// Facts of a tenant were committed: service and topic of each.
    pub fn published<'a>(&self, tenant: TenantBits, facts: impl Iterator<Item = (&'a str, &'a str)>, now_ms: i64) {
        let mut state = self.state();
        for (service, topic) in facts {
            let class = state.class(tenant, now_ms);
            *state.published.of([service, topic, class]) += 1;
        }
    }

    /// An event was handled, was found handled, or failed; how long the handler took, where it ran.
    pub fn consumed(&self, by: &Subscription<'_>, result: Result, took: Option<Duration>) {
        let Subscription { service, topic, consumer } = *by;
        let mut state = self.state();
        *state.consumed.of([service, topic, consumer, result.name()]) += 1;
        if result == Result::Noop {
            *state.skips.of([service, topic]) += 1;
        }
        if let Some(took) = took {
            state.durations.of([service, topic, consumer]).observe(took);
        }
    }

    /// How many events went so, of whoever reads what.
    pub fn count(&self, by: &Subscription<'_>, result: Result) -> u64 {
        let (state, labels) = (self.state(), [by.service, by.topic, by.consumer, result.name()]);
        state.consumed.find(labels).map_or(0, |place| state.consumed.0[place].1)
    }

    /// An event was given up.
    pub fn dead(&self, by: &Subscription<'_>) {
        *self.state().dead.of([by.service, by.topic, by.consumer]) += 1;
    }

    /// Letters that wait for a person, as they were just counted in the store: consumer, topic and how many.
    pub fn letters<'a>(&self, counted: impl Iterator<Item = (&'a str, &'a str, u64)>) {
        let mut letters = Counts::default();
        for (consumer, topic, count) in counted {
            let service = consumer.split('.').next().unwrap_or_default();
            *letters.of([service, topic, consumer]) += count;
        }
        self.state().letters = letters;
    }

    /// An event breaks its schema, or cannot be read at all. Where it was refused before anybody could read it, the consumer has
    /// no name.
    pub fn invalid(&self, by: &Subscription<'_>) {
        *self.state().invalid.of([by.service, by.topic, by.consumer]) += 1;
    }

    /// How much of a service's waits in the log for one of its readers here, and how old the oldest is. Told is the most of any
    /// reader. One that reads no more says that nothing waits for it.
    pub fn unpublished(&self, service: &str, reader: &str, waiting: u64, oldest: Duration) {
        let mut state = self.state();
        let readers = state.unpublished.entry(service.to_owned()).or_default();
        readers.insert(reader.to_owned(), (waiting, oldest.as_secs_f64()));
    }

    /// A saga began.
    pub fn saga_began(&self, service: &str, saga: &str) {
        *self.state().sagas.entry([service, saga].map(str::to_owned)).or_default() += 1;
    }

    /// A saga ended.
    pub fn saga_ended(&self, service: &str, saga: &str, outcome: Outcome) {
        let name = match outcome {
            Outcome::Success => "success",
            Outcome::Compensated => "compensated",
            Outcome::Partial => "partial",
        };
        let mut state = self.state();
        // One that began in another process ends here too, and is not owed to those that begin here.
        let under_way = state.sagas.entry([service, saga].map(str::to_owned)).or_default();
        *under_way = (*under_way - 1).max(0);
        *state.sagas_ended.of([service, saga, name]) += 1;
    }

    /// How many sagas are under way, as somebody has counted them in the store.
    pub fn sagas(&self, service: &str, saga: &str, under_way: i64) {
        self.state().sagas.insert([service, saga].map(str::to_owned), under_way);
    }

    /// All of it, in the text form of Prometheus.
    pub fn text(&self) -> String {
        let state = self.state();
        let by = ["service", "topic", "subscription"];
        let mut text = Text { prefix: &self.prefix, text: String::new() };
        text.counts(
            "events_published_total",
            "Events that were committed.",
            ["service", "topic", "tenant_id_class"],
            &state.published,
        );
        let results = ["service", "topic", "subscription", "result"];
        text.counts(
            "events_consumed_total",
            "Events that consumers have seen, by what became of them.",
            results,
            &state.consumed,
        );
        text.counts("events_dlq_total", "Events that were given up.", by, &state.dead);
        text.durations(&state.durations);
        text.head("outbox_unpublished_count", "gauge", "Rows of the log that wait for the readers of this process.");
        for (service, readers) in &state.unpublished {
            let waiting = readers.values().map(|(waiting, _)| *waiting).max().unwrap_or_default();
            text.line("outbox_unpublished_count", &[("service", service)], &waiting.to_string());
        }
        text.head("outbox_oldest_unpublished_seconds", "gauge", "The age of the oldest of them.");
        for (service, readers) in &state.unpublished {
            let oldest = readers.values().map(|(_, oldest)| *oldest).fold(0.0, f64::max);
            text.line("outbox_oldest_unpublished_seconds", &[("service", service)], &oldest.to_string());
        }
        text.counts(
            "inbox_dedup_skips_total",
            "Events that had been handled before.",
            ["service", "topic"],
            &state.skips,
        );
        text.head("saga_inflight_count", "gauge", "Sagas that are under way.");
        for ([service, saga], under_way) in &state.sagas {
            text.line(
                "saga_inflight_count",
                &[("service", service), ("saga_name", saga)],
                &under_way.max(&0).to_string(),
            );
        }
        let outcomes = ["service", "saga_name", "outcome"];
        text.counts("saga_completed_total", "Sagas that have ended, by how.", outcomes, &state.sagas_ended);
        text.counts("schema_validation_failures_total", "Events that break their schema.", by, &state.invalid);
        text.figures(("dlq_depth", "gauge"), "Letters that wait for a person.", by, &state.letters);
        text.text
    }
}

impl<const N: usize, T: Default> ByLabels<N, T> {
    fn find(&self, labels: [&str; N]) -> std::result::Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.iter().map(String::as_str).cmp(labels))
    }

    /// The figure with these labels, which begins where it was not there.
    fn of(&mut self, labels: [&str; N]) -> &mut T {
        let place = self.find(labels).unwrap_or_else(|place| {
            self.0.insert(place, (labels.map(str::to_owned), T::default()));
            place
        });
        &mut self.0[place].1
    }
}

impl State {
    /// The class of a tenant that has just published one more: by what it has published since the day began.
    fn class(&mut self, tenant: TenantBits, now_ms: i64) -> &'static str {
        if tenant == 0 {
            return "platform";
        }
        let day = now_ms.div_euclid(DAY_MS);
        if day != self.day {
            self.day = day;
            self.tenants.clear();
        }
        if self.tenants.len() >= TENANTS_MAX && !self.tenants.contains_key(&tenant) {
            return "small";
        }
        let events = self.tenants.entry(tenant).or_default();
        *events += 1;
        if *events <= SMALL_MAX {
            "small"
        } else if *events <= MEDIUM_MAX {
            "medium"
        } else {
            "large"
        }
    }
}

impl Histogram {
    fn observe(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        for (count, bound) in self.counts.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= bound);
        }
        self.count += 1;
        self.sum += seconds;
    }
}

struct Text<'a> {
    prefix: &'a str,
    text: String,
}

impl Text<'_> {
    fn head(&mut self, name: &str, of: &str, help: &str) {
        let prefix = self.prefix;
        writeln!(self.text, "# HELP {prefix}_{name} {help}\n# TYPE {prefix}_{name} {of}")
            .expect("a text takes all of it");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        writeln!(self.text, "{}_{name}{{{}}} {value}", self.prefix, labels.join(",")).expect("a text takes all of it");
    }

    fn counts<const N: usize>(&mut self, name: &str, help: &str, labels: [&str; N], counts: &Counts<N>) {
        self.figures((name, "counter"), help, labels, counts);
    }

    fn figures<const N: usize>(&mut self, (name, of): (&str, &str), help: &str, labels: [&str; N], counts: &Counts<N>) {
        self.head(name, of, help);
        for (values, count) in &counts.0 {
            let pairs: Vec<(&str, &str)> = labels.into_iter().zip(values.iter().map(String::as_str)).collect();
            self.line(name, &pairs, &count.to_string());
        }
    }

    fn durations(&mut self, durations: &ByLabels<3, Histogram>) {
        let name = "event_processing_duration_seconds";
        self.head(name, "histogram", "How long handlers took.");
        for ([service, topic, consumer], histogram) in &durations.0 {
            let labels = [("service", service.as_str()), ("topic", topic), ("subscription", consumer)];
            let bounds = BUCKETS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            let counts = histogram.counts.iter().copied().chain([histogram.count]);
            for (bound, count) in bounds.zip(counts) {
                let with_bound: Vec<_> = labels.into_iter().chain([("le", bound.as_str())]).collect();
                self.line(&format!("{name}_bucket"), &with_bound, &count.to_string());
            }
            self.line(&format!("{name}_sum"), &labels, &histogram.sum.to_string());
            self.line(&format!("{name}_count"), &labels, &histogram.count.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MEDIUM_MAX, Metrics, Outcome, Result, SMALL_MAX, Subscription};

    const BY: Subscription<'static> =
        Subscription { service: "sales-service", topic: "shop.sales.order.placed.v1", consumer: "sales-service.clerk" };

    #[test]
    fn the_nine_metrics_are_there_with_their_types_and_labels() {
        let metrics = Metrics::new("melmastoon");
        metrics.published(7, [("sales-service", BY.topic)].into_iter(), 0);
        metrics.consumed(&BY, Result::Ok, Some(Duration::from_millis(7)));
        metrics.consumed(&BY, Result::Noop, None);
        metrics.dead(&BY);
        metrics.unpublished("sales-service", "relay", 3, Duration::from_millis(1500));
        metrics.unpublished("sales-service", "consumers", 0, Duration::ZERO);
        metrics.saga_began("sales-service", "booking");
        metrics.saga_ended("sales-service", "booking", Outcome::Partial);
        let text = metrics.text();
        let by = "service=\"sales-service\",topic=\"shop.sales.order.placed.v1\"";
        let sub = format!("{by},subscription=\"sales-service.clerk\"");
        for (name, of, line) in [
            ("events_published_total", "counter", format!("{{{by},tenant_id_class=\"small\"}} 1")),
            ("events_consumed_total", "counter", format!("{{{sub},result=\"ok\"}} 1")),
            ("events_dlq_total", "counter", format!("{{{sub}}} 1")),
            ("event_processing_duration_seconds", "histogram", String::new()),
            ("outbox_unpublished_count", "gauge", "{service=\"sales-service\"} 3".to_owned()),
            ("outbox_oldest_unpublished_seconds", "gauge", "{service=\"sales-service\"} 1.5".to_owned()),
            ("inbox_dedup_skips_total", "counter", format!("{{{by}}} 1")),
            ("saga_inflight_count", "gauge", "{service=\"sales-service\",saga_name=\"booking\"} 0".to_owned()),
            (
                "saga_completed_total",
                "counter",
                "{service=\"sales-service\",saga_name=\"booking\",outcome=\"partial\"} 1".to_owned(),
            ),
        ] {
            assert!(text.contains(&format!("# TYPE melmastoon_{name} {of}\n")), "{name}: {text}");
            assert!(line.is_empty() || text.contains(&format!("\nmelmastoon_{name}{line}\n")), "{name}{line}: {text}");
        }
        for (bound, count) in [("0.005", 0), ("0.01", 1), ("+Inf", 1)] {
            let line = format!("melmastoon_event_processing_duration_seconds_bucket{{{sub},le=\"{bound}\"}} {count}\n");
            assert!(text.contains(&line), "{line}: {text}");
        }
    }

    #[test]
    fn tenants_are_classes_and_never_labels() {
        let metrics = Metrics::new("shop");
        let tenant = 0x0190_c2f0_0000_7000_8000_0000_0000_0001_u128;
        let facts = |count: u64| (0..count).map(|_| ("sales-service", "placed"));
        metrics.published(tenant, facts(MEDIUM_MAX + 1), 0);
        metrics.published(0, facts(2), 0);
        let line = |class: &str, count: u64| {
            format!(
                "shop_events_published_total{{service=\"sales-service\",topic=\"placed\",tenant_id_class=\"{class}\"}} {count}\n"
            )
        };
        let text = metrics.text();
        for (class, count) in [("small", SMALL_MAX), ("medium", MEDIUM_MAX - SMALL_MAX), ("large", 1), ("platform", 2)]
        {
            assert!(text.contains(&line(class, count)), "{class}: {text}");
        }
        assert!(!text.contains("190c2f0") && !text.contains("tnt_"), "{text}");
        metrics.published(tenant, facts(1), 86_400_000);
        assert!(metrics.text().contains(&line("small", SMALL_MAX + 1)), "a new day");
    }
}
