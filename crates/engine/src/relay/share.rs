//! Which relay publishes which stream. Pure.
//!
//! Every relay works it out from who lives, and comes to the same: a stream goes to the one with the fewest so far of those that may
//! publish it. While two of them know different neighbours, the lease of the stream decides.
//!
//! Invariant: a stream that somebody who lives may publish has a publisher, whatever else each of them may publish.

use std::collections::{BTreeMap, BTreeSet};

use karwan_store::consumer::{Node, Run};

use super::RELAYS;

/// What a process tells others of its relay: the pseudo-consumers of its streams.
pub(crate) fn runs<'a>(streams: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Run> {
    streams.map(|stream| Run { consumer: format!("{RELAYS}{stream}"), lanes: 1, subjects: Vec::new() })
}

/// Whether a pseudo-consumer's stream is published by this process.
pub(super) fn is_of(node: &str, relay: &str, living: &[Node]) -> bool {
    publisher(relay, living) == Some(node)
}

/// Which of those that live publishes a pseudo-consumer's stream.
fn publisher<'a>(relay: &str, living: &'a [Node]) -> Option<&'a str> {
    let relays = || living.iter().flat_map(|node| node.runs.iter().filter(|run| run.consumer.starts_with(RELAYS)));
    let streams: BTreeSet<&str> = relays().map(|run| &*run.consumer).collect();
    let mut has: BTreeMap<&str, usize> = BTreeMap::new();
    for stream in streams {
        let may = living.iter().filter(|node| node.runs.iter().any(|run| run.consumer == stream));
        let fewest = |node: &&Node| (has.get(&*node.name).copied().unwrap_or_default(), node.name.clone());
        let next = may.min_by_key(fewest)?;
        if stream == relay {
            return Some(&next.name);
        }
        *has.entry(&next.name).or_default() += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use karwan_store::consumer::{Node, Run};

    use super::{publisher, runs};

    fn node(name: &str, streams: &[&str]) -> Node {
        Node { name: name.to_owned(), runs: runs(streams.iter().copied()).collect() }
    }

    fn check(living: &[Node], expected: &[(&str, Option<&str>)]) {
        let told: Vec<_> = expected.iter().map(|(relay, _)| (*relay, publisher(relay, living))).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn relays_that_may_publish_everything_have_the_same_number_of_streams() {
        let all = ["A", "B", "C", "D"];
        let one = [node("m", &all)];
        check(&one, &[("relay.A", Some("m")), ("relay.D", Some("m"))]);
        let two = [node("n", &all), node("m", &all)];
        let expected = [("relay.A", Some("m")), ("relay.B", Some("n")), ("relay.C", Some("m")), ("relay.D", Some("n"))];
        check(&two, &expected);
        // In whichever order they are told.
        check(&[node("m", &all), node("n", &all)], &expected);
    }

    #[test]
    fn a_stream_that_one_alone_may_publish_is_with_that_one() {
        let living = [node("m", &["A", "B", "C"]), node("n", &["C"]), node("o", &[])];
        check(&living, &[("relay.A", Some("m")), ("relay.B", Some("m")), ("relay.C", Some("n")), ("relay.D", None)]);
        check(&[], &[("relay.A", None)]);
    }

    #[test]
    fn consumers_are_nobodys_streams() {
        let consumer = Run { consumer: "search".to_owned(), lanes: 8, subjects: Vec::new() };
        let worker = Node { name: "a".to_owned(), runs: vec![consumer] };
        check(&[worker, node("m", &["A"])], &[("relay.A", Some("m")), ("search", None)]);
    }
}
