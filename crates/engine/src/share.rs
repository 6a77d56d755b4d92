//! Who has a share of a consumer's lanes. Pure.
//!
//! Invariant: while releases change, lanes are with those processes that handle most of what any release of the consumer has
//! handled; who handles less has none as long as one of them lives.

use karwan_store::consumer::{Node, Run};

/// How many processes share the lanes of a consumer with one that works on it, itself included; 0 where it has no share,
/// because somebody who lives handles more of its subjects. Those who part the consumer otherwise, or do not work on it, take none
/// of its lanes.
pub fn sharers(mine: &Run, subjects: &[String], living: &[Node]) -> usize {
    let handled = |run: &Run| subjects.iter().filter(|subject| run.subjects.contains(subject)).count();
    let own = handled(mine);
    let same = |run: &&Run| run.consumer == mine.consumer && run.lanes == mine.lanes;
    let others: Vec<usize> = living.iter().filter_map(|node| node.runs.iter().find(same)).map(handled).collect();
    if others.iter().any(|of_other| *of_other > own) {
        return 0;
    }
    others.into_iter().filter(|of_other| *of_other == own).count().max(1)
}

#[cfg(test)]
mod tests {
    use karwan_store::consumer::{Node, Run};

    use super::sharers;

    fn run(lanes: u16, subjects: &[&str]) -> Run {
        let subjects = subjects.iter().map(|subject| (*subject).to_owned()).collect();
        Run { consumer: "c".to_owned(), lanes, subjects }
    }

    fn check(mine: &Run, subjects: &[&str], living: &[Run], expected: usize) {
        let subjects: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
        let node = |run: &Run| Node { name: "n".to_owned(), runs: vec![run.clone()] };
        let living: Vec<Node> = living.iter().map(node).collect();
        assert_eq!(sharers(mine, &subjects, &living), expected, "{mine:?} among {living:?}");
    }

    #[test]
    fn who_handles_less_has_a_share_only_where_nobody_handles_more() {
        let (old, new) = (run(4, &["a"]), run(4, &["a", "b"]));
        check(&old, &["a", "b"], &[old.clone(), new.clone(), old.clone()], 0);
        check(&new, &["a", "b"], &[old.clone(), new.clone(), old.clone()], 1);
        check(&new, &["a", "b"], &[new.clone(), new.clone(), old.clone()], 2);
        check(&old, &["a", "b"], &[old.clone(), old.clone()], 2);
        // What an operator has taken away counts for nobody.
        check(&old, &["a"], &[old.clone(), new.clone()], 2);
    }

    #[test]
    fn who_parts_the_keys_otherwise_or_does_not_run_it_has_no_share() {
        let (mine, parted) = (run(4, &["a"]), run(8, &["a", "b"]));
        check(&mine, &["a", "b"], &[mine.clone(), parted.clone()], 1);
        let other = Run { consumer: "d".to_owned(), ..run(4, &["a", "b"]) };
        check(&mine, &["a", "b"], &[mine.clone(), other], 1);
        check(&mine, &["a"], &[], 1);
    }
}
