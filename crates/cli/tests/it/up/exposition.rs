//! The text of `/metrics`, judged by the rules of its format: what a scraper would refuse or misread is named.
//!
//! Prometheus's own checker judges it, too, where it can be had; this holds everywhere. The two names that are asked for and end like
//! a histogram's are let through here as there.

use std::collections::{BTreeMap, BTreeSet};

const ASKED_FOR: [&str; 2] = ["melmastoon_outbox_unpublished_count", "melmastoon_saga_inflight_count"];

/// One metric: what its head says, and its samples.
#[derive(Default)]
struct Family {
    help: bool,
    of: String,
    /// By series without `le`: the buckets in their order, and the other samples of a histogram.
    buckets: BTreeMap<String, Vec<(f64, f64)>>,
    counts: BTreeMap<String, f64>,
    sums: BTreeSet<String>,
    samples: usize,
}

/// A sample: name, labels, value.
type Sample = (String, Vec<(String, String)>, f64);

/// What is wrong.
pub fn problems(text: &str) -> Vec<String> {
    let mut judge = Judge::default();
    if !text.ends_with('\n') {
        judge.problems.push("the last line has no end".to_owned());
    }
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(head) => judge.head(head),
            None => judge.sample(line),
        }
    }
    judge.families();
    judge.problems
}

#[derive(Default)]
struct Judge {
    families: BTreeMap<String, Family>,
    /// Whose samples may come now: those of a metric stand together.
    current: String,
    series: BTreeSet<String>,
    problems: Vec<String>,
}

impl Judge {
    fn say(&mut self, problem: String) {
        self.problems.push(problem);
    }

    fn head(&mut self, head: &str) {
        let mut words = head.splitn(3, ' ');
        let (keyword, name, rest) = (words.next().unwrap_or_default(), words.next(), words.next());
        let (Some(name), Some(rest)) = (name, rest.filter(|rest| !rest.trim().is_empty())) else {
            return self.say(format!("`# {head}` says nothing"));
        };
        if !is_name(name, true) {
            self.say(format!("`{name}` is no name"));
        }
        let family = self.families.entry(name.to_owned()).or_default();
        let late = family.samples > 0;
        let again = match keyword {
            "HELP" => std::mem::replace(&mut family.help, true),
            "TYPE" => !std::mem::replace(&mut family.of, rest.to_owned()).is_empty(),
            _ => return self.say(format!("`# {head}` is neither HELP nor TYPE")),
        };
        if keyword == "TYPE" && !["counter", "gauge", "histogram", "summary", "untyped"].contains(&rest) {
            self.say(format!("{name}: there is no type `{rest}`"));
        }
        if late || again {
            self.say(format!("{name}: {keyword} comes after its samples, or twice"));
        }
        self.current = name.to_owned();
    }

    fn sample(&mut self, line: &str) {
        let Some((name, labels, value)) = sample(line) else {
            return self.say(format!("`{line}` is no sample"));
        };
        let (family, part) = self.family_of(&name);
        if family != self.current {
            self.say(format!("`{line}` does not stand under the head of {family}"));
        }
        let names: BTreeSet<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
        if names.len() < labels.len() || names.iter().any(|name| !is_name(name, false) || name.starts_with("__")) {
            self.say(format!("`{line}` has a label twice, or one that is reserved or no name"));
        }
        let mut sorted = labels.clone();
        sorted.sort();
        if !self.series.insert(format!("{name}{sorted:?}")) {
            self.say(format!("`{line}` is there twice"));
        }
        if value.is_nan() || value < 0.0 && self.families.get(&family).is_some_and(|it| it.of != "gauge") {
            self.say(format!("`{line}`: what is counted is not below zero"));
        }
        let edge = sorted.iter().position(|(name, _)| name == "le").map(|place| sorted.remove(place).1);
        let of = self.families.entry(family).or_default();
        let series = format!("{sorted:?}");
        of.samples += 1;
        match (part, edge.as_deref().map(number)) {
            ("_bucket", Some(Some(edge))) => of.buckets.entry(series).or_default().push((edge, value)),
            ("_bucket", _) => self.problems.push(format!("`{line}` is a bucket without an edge")),
            ("_count", _) => drop(of.counts.insert(series, value)),
            ("_sum", _) => drop(of.sums.insert(series)),
            _ => {}
        }
    }

    /// The metric that a sample is of, and which part of it where that is a histogram.
    fn family_of(&self, name: &str) -> (String, &'static str) {
        for part in ["_bucket", "_count", "_sum"] {
            let base =
                name.strip_suffix(part).filter(|base| self.families.get(*base).is_some_and(|it| it.of == "histogram"));
            if let Some(base) = base {
                return (base.to_owned(), part);
            }
        }
        (name.to_owned(), "")
    }

    fn families(&mut self) {
        let mut said = Vec::new();
        for (name, family) in &self.families {
            let mut say = |problem: &str| said.push(format!("{name}: {problem}"));
            if !family.help || family.of.is_empty() {
                say("it has no help or no type");
            }
            if (family.of == "counter") != name.ends_with("_total") {
                say("counters, and they alone, end with _total");
            }
            let reserved = ["_bucket", "_count", "_sum"].iter().any(|suffix| name.ends_with(suffix));
            if reserved && family.of != "histogram" && !ASKED_FOR.contains(&name.as_str()) {
                say("it ends like a part of a histogram");
            }
            if ["_milliseconds", "_ms", "_minutes", "_hours", "_kilobytes"].iter().any(|unit| name.ends_with(unit)) {
                say("times are in seconds and sizes in bytes");
            }
            if family.of == "histogram" {
                family.histogram().into_iter().for_each(|problem| say(&problem));
            }
        }
        self.problems.append(&mut said);
    }
}

impl Family {
    /// Every series has buckets that only rise, the last one for everything, which is its count; and a sum.
    fn histogram(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.samples > 0 && self.buckets.keys().ne(self.counts.keys()) {
            said.push("some series has a count and no buckets, or buckets and no count".to_owned());
        }
        for (series, buckets) in &self.buckets {
            if buckets.windows(2).any(|pair| pair[0].0 >= pair[1].0 || pair[0].1 > pair[1].1) {
                said.push(format!("the buckets of {series} do not rise"));
            }
            let all = buckets.last().filter(|last| last.0.is_infinite()).map(|last| last.1);
            if all.is_none() || all != self.counts.get(series).copied() || !self.sums.contains(series) {
                said.push(format!("{series} has no bucket for everything, or another count, or no sum"));
            }
        }
        said
    }
}

fn is_name(text: &str, colons: bool) -> bool {
    let of = |character: char| character.is_ascii_alphanumeric() || character == '_' || colons && character == ':';
    !text.is_empty() && !text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(of)
}

fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

/// Reads one line; none where it is no sample.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((label.to_owned(), value));
            rest = after.strip_prefix(',').unwrap_or(after);
            (after.starts_with(',') || after.starts_with('}')).then_some(())?;
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ')?;
    is_name(name, true).then_some(())?;
    Some((name.to_owned(), labels, number(value)?))
}

/// A value up to its quote, and what follows; only three characters are escaped, and they always are.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[place + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                same @ ('\\' | '"') => same,
                _ => return None,
            }),
            other => value.push(other),
        }
    }
    None
}

const SOUND: &str = "# HELP a_total Things.\n# TYPE a_total counter\na_total{of=\"x\\\"y\\\\z\"} 3\na_total{of=\"b\"} 0\n\
    # HELP d_seconds Times.\n# TYPE d_seconds histogram\n\
    d_seconds_bucket{of=\"x\",le=\"0.1\"} 1\nd_seconds_bucket{of=\"x\",le=\"+Inf\"} 2\nd_seconds_sum{of=\"x\"} 0.7\nd_seconds_count{of=\"x\"} 2\n\
    # HELP g Level.\n# TYPE g gauge\ng -1\n";

#[test]
fn what_is_sound_is_let_through() {
    assert_eq!(problems(SOUND), Vec::<String>::new());
}

/// Each mistake is planted in what is sound, and found.
#[test]
fn a_text_that_a_scraper_would_refuse_or_misread_is_found() {
    for (from, to) in [
        ("# HELP a_total Things.\n", ""),
        ("# TYPE g gauge\n", ""),
        ("# TYPE g gauge", "# TYPE g level"),
        ("# HELP g Level.\n# TYPE g gauge\ng -1\n", "g -1\n# HELP g Level.\n# TYPE g gauge\n"),
        ("# HELP g Level.\n# TYPE g gauge\ng -1\n", "# HELP g Level.\n# TYPE g gauge\ng -1\na_total{of=\"late\"} 1\n"),
        ("# TYPE a_total counter", "# TYPE a_total gauge"),
        ("# TYPE g gauge", "# TYPE g counter"),
        ("a_total{of=\"b\"} 0", "a_total{of=\"x\\\"y\\\\z\"} 0"),
        ("a_total{of=\"b\"} 0", "a_total{of=\"b\",of=\"c\"} 0"),
        ("a_total{of=\"b\"} 0", "a_total{__of=\"b\"} 0"),
        ("a_total{of=\"b\"} 0", "a_total{of=\"b} 0"),
        ("a_total{of=\"b\"} 0", "a_total{of=\"\\d\"} 0"),
        ("a_total{of=\"b\"} 0", "a_total{of=\"b\"} -1"),
        ("a_total{of=\"b\"} 0", "a_total{of=\"b\"} many"),
        ("a_total{of=\"b\"} 0", "a-total{of=\"b\"} 0"),
        ("d_seconds_bucket{of=\"x\",le=\"0.1\"} 1", "d_seconds_bucket{of=\"x\",le=\"0.1\"} 3"),
        ("d_seconds_bucket{of=\"x\",le=\"0.1\"} 1", "d_seconds_bucket{of=\"x\"} 1"),
        ("d_seconds_bucket{of=\"x\",le=\"+Inf\"} 2\n", ""),
        ("d_seconds_count{of=\"x\"} 2", "d_seconds_count{of=\"x\"} 3"),
        ("d_seconds_count{of=\"x\"} 2\n", ""),
        ("d_seconds_sum{of=\"x\"} 0.7\n", ""),
        ("g -1\n", "g -1"),
    ] {
        let planted = SOUND.replacen(from, to, 1);
        assert_ne!(planted, SOUND);
        assert!(!problems(&planted).is_empty(), "{from:?} as {to:?} is let through");
    }
    for name in ["x_count", "x_milliseconds"] {
        let planted = format!("# HELP {name} Things.\n# TYPE {name} gauge\n{name} 1\n");
        assert!(!problems(&planted).is_empty(), "{name}");
    }
}
