//! Who shares a flush: sets that wait at the same moment, none of which touches what another one writes.
//!
//! Pure: what is waited for, and by whom it is written, is `flush`'s. Order is kept where there is one: a set that touches what
//! another one writes, which waits or is under way, goes after it.
//!
//! Bounds: [`SETS_MAX`] sets in a group, [`UNIT_KEYS_MAX`] of everything in them together. Large sets need no company.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::write_set::{Action, UNIT_KEYS_MAX, WriteSet};

/// The most sets in a group.
const SETS_MAX: usize = 64;
/// A set with so much in it pays for a transaction of its own.
const LARGE: usize = 96;

/// How much is in a set.
fn weight(set: &WriteSet) -> usize {
    let tasks = set.fired.len() + set.settled.len();
    set.claims.len() + set.documents.len() + set.deadlines.len() + set.effects.len() + set.facts.len() + tasks
}

/// Whether a set shares with nobody: it is large.
pub(super) fn goes_alone(set: &WriteSet) -> bool {
    weight(set) >= LARGE
}

/// What a set touches, by a number each, and whether it does more than look at it. Two things may have one number: then sets do
/// not share that could have.
#[derive(Debug, Default)]
struct Touched(HashMap<u64, bool>);

impl Touched {
    fn by(set: &WriteSet) -> Self {
        let mut touched = Self::default();
        set.units.iter().for_each(|unit| touched.add((0, unit.tenant, unit.id), true));
        let consumer = set.lane.as_ref().map(|lane| &lane.consumer);
        set.claims.iter().for_each(|claim| touched.add((1, consumer, claim.event.bits()), true));
        for document in &set.documents {
            let writes = !matches!(document.action, Action::Check);
            touched.add((2, document.kind.name, document.tenant, &document.id), writes);
        }
        set.fired.iter().for_each(|it| touched.add((3, it.tenant, &it.kind, &it.id), true));
        set.deadlines.iter().for_each(|it| touched.add((3, it.tenant, &it.kind, &it.id), true));
        set.settled.iter().for_each(|effect| touched.add((4, effect.tenant, effect.id), true));
        set.effects.iter().for_each(|effect| touched.add((4, effect.tenant, effect.id), true));
        set.facts.iter().for_each(|fact| touched.add((5, fact.tenant, &fact.subject, &fact.intent), true));
        touched
    }

    fn add(&mut self, what: impl Hash, writes: bool) {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        *self.0.entry(hasher.finish()).or_default() |= writes;
    }

    fn absorb(&mut self, other: &Self) {
        for (number, writes) in &other.0 {
            *self.0.entry(*number).or_default() |= writes;
        }
    }

    /// Whether one touches what the other writes.
    fn meets(&self, other: &Self) -> bool {
        let (few, many) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
        few.0.iter().any(|(number, writes)| many.0.get(number).is_some_and(|other| *writes || *other))
    }
}

/// A set that waits to be written, by whom its answer is waited for.
pub(super) struct Ask<A> {
    pub set: Arc<WriteSet>,
    touched: Touched,
    answer: oneshot::Sender<A>,
}

impl<A> Ask<A> {
    pub fn new(set: Arc<WriteSet>, answer: oneshot::Sender<A>) -> Self {
        Self { touched: Touched::by(&set), set, answer }
    }

    /// Who has gone away needs no answer.
    pub fn answer(self, answer: A) {
        drop(self.answer.send(answer));
    }
}

/// Those who wait, and what is being written.
pub(super) struct Queue<A> {
    waiting: VecDeque<Ask<A>>,
    under_way: Vec<(u64, Touched)>,
    /// How many serve them.
    serving: usize,
    groups: u64,
}

impl<A> Default for Queue<A> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), under_way: Vec::new(), serving: 0, groups: 0 }
    }
}

impl<A> Queue<A> {
    /// One more waits; whether one more has to serve, of so many at most.
    pub fn push(&mut self, ask: Ask<A>, at_once: usize) -> bool {
        self.waiting.push_back(ask);
        let more = self.serving < at_once;
        self.serving += usize::from(more);
        more
    }

    /// The next group and its number; none where nobody waits who can be written now, and then one serves no more. Whoever is
    /// left waits for a group that is under way, and is found by who writes that.
    pub fn take(&mut self) -> Option<(u64, Vec<Ask<A>>)> {
        let (mut taken, mut left) = (Vec::<Ask<A>>::new(), VecDeque::new());
        let (mut touched, mut sum) = (Touched::default(), 0);
        while let Some(ask) = self.waiting.pop_front() {
            if taken.len() == SETS_MAX {
                left.push_back(ask);
                break;
            }
            // Who has gone away wants nothing written any more.
            if ask.answer.is_closed() {
                continue;
            }
            let heavier = sum + weight(&ask.set);
            let is_free = |others: &Touched| !others.meets(&ask.touched);
            if heavier <= UNIT_KEYS_MAX && is_free(&touched) && self.under_way.iter().all(|(_, of)| is_free(of)) {
                sum = heavier;
                touched.absorb(&ask.touched);
                taken.push(ask);
            } else {
                left.push_back(ask);
            }
        }
        left.append(&mut self.waiting);
        self.waiting = left;
        if taken.is_empty() {
            self.serving -= 1;
            return None;
        }
        self.groups += 1;
        self.under_way.push((self.groups, touched));
        Some((self.groups, taken))
    }

    /// A group is written, or was refused; who waits and touches what it has written.
    pub fn ended(&mut self, group: u64, committed: bool) -> Vec<Ask<A>> {
        let Some(place) = self.under_way.iter().position(|(number, _)| *number == group) else { return Vec::new() };
        let (_, written) = self.under_way.swap_remove(place);
        if !committed {
            return Vec::new();
        }
        let (met, left) = self.waiting.drain(..).partition(|ask| written.meets(&ask.touched));
        self.waiting = left;
        Vec::from(met)
    }

    /// Somebody who served is gone, and nobody knows what became of its group. Who waited is told so.
    pub fn broken_off(&mut self) -> VecDeque<Ask<A>> {
        self.serving -= 1;
        self.under_way.clear();
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot::{self, Receiver};

    use super::{Ask, Queue, SETS_MAX};
    use crate::kind::Kind;
    use crate::write_set::{Action, DocumentWrite, UNIT_KEYS_MAX, UnitClaim, WriteSet};

    const KIND: Kind = Kind { name: "thing", shape: 1, carries: None, fields: &[] };

    /// A set with a name, which looks at some documents and deletes others.
    fn set(name: u128, looks: &[&str], writes: &[&str]) -> WriteSet {
        let document = |id: &&str, action: Action| DocumentWrite {
            kind: KIND,
            tenant: 1,
            id: (*id).to_owned(),
            expected: 1,
            blind: false,
            action,
        };
        let looks = looks.iter().map(|id| document(id, Action::Check));
        let writes = writes.iter().map(|id| document(id, Action::Delete));
        let units = vec![UnitClaim { tenant: 1, id: name }];
        WriteSet { units, documents: looks.chain(writes).collect(), ..WriteSet::default() }
    }

    fn push(queue: &mut Queue<()>, set: WriteSet) -> Receiver<()> {
        let (answer, answered) = oneshot::channel();
        queue.push(Ask::new(Arc::new(set), answer), 2);
        answered
    }

    fn names(asks: &[Ask<()>]) -> Vec<u128> {
        asks.iter().map(|ask| ask.set.units[0].id).collect()
    }

    #[test]
    fn those_that_write_apart_and_those_that_look_at_the_same_go_together() {
        let mut queue = Queue::default();
        let _waiting: Vec<_> = [set(1, &["seen"], &["a"]), set(2, &["seen"], &["b"]), set(3, &[], &["c"])]
            .into_iter()
            .map(|set| push(&mut queue, set))
            .collect();
        assert_eq!(names(&queue.take().expect("they wait").1), [1, 2, 3]);
    }

    #[test]
    fn who_touches_what_another_writes_goes_after_it_also_where_that_is_under_way() {
        let mut queue = Queue::default();
        let sets = [
            set(1, &[], &["a"]),
            set(2, &["a"], &["b"]),
            set(3, &[], &["a"]),
            set(1, &[], &["d"]),
            set(4, &["b"], &[]),
        ];
        let _waiting: Vec<_> = sets.into_iter().map(|set| push(&mut queue, set)).collect();
        let (first, group) = queue.take().expect("they wait");
        assert_eq!(names(&group), [1, 4], "the second 1 is the same unit");
        assert!(queue.take().is_none(), "all that is left meets what is under way");
        assert!(queue.ended(first, false).is_empty(), "nothing was written");
        let (second, group) = queue.take().expect("they wait");
        assert_eq!(names(&group), [2, 1]);
        let met = queue.ended(second, true);
        assert_eq!(names(&met), [3], "what it rests on was looked at by one that is committed");
    }

    #[test]
    fn who_serves_no_more_is_replaced_by_the_next_who_asks() {
        let mut queue = Queue::<()>::default();
        let ask = |name| Ask::new(Arc::new(set(name, &[], &[])), oneshot::channel().0);
        assert_eq!([1, 2, 3].map(|name| queue.push(ask(name), 2)), [true, true, false]);
        // Who has gone away is not written, and then nobody waits.
        assert!(queue.take().is_none());
        assert!(queue.push(ask(4), 2));
        assert_eq!(queue.broken_off().len(), 1);
        assert_eq!([5, 6].map(|name| queue.push(ask(name), 2)), [true, false]);
    }

    #[test]
    fn a_group_is_bounded() {
        let mut queue = Queue::default();
        let _waiting: Vec<_> = (0..100).map(|name| push(&mut queue, set(name, &[], &[]))).collect();
        assert_eq!(queue.take().map(|(_, group)| group.len()), Some(SETS_MAX));
        assert_eq!(queue.take().map(|(_, group)| names(&group)), Some((SETS_MAX as u128..100).collect()));
        let mut queue = Queue::default();
        let ids: Vec<String> = (0..90 * 20).map(|id| id.to_string()).collect();
        let heavy = |(name, ids): (usize, &[String])| {
            set(name as u128, &[], &ids.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let _heavy: Vec<_> = ids.chunks(90).enumerate().map(heavy).map(|set| push(&mut queue, set)).collect();
        assert_eq!(queue.take().map(|(_, group)| group.len()), Some(UNIT_KEYS_MAX / 90));
    }
}
