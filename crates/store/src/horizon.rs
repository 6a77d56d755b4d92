//! How far a log can be read without missing a row that commits late.
//!
//! Sequence numbers become visible out of order. A number may be passed only when every transaction that held the log's
//! insert lock when it was seen has ended: an INSERT locks the table before it draws a number, and a commit is visible
//! before its lock goes, so any undecided number up to the one seen belongs to one of those transactions.
//! Pure: the two observations come from the backend, in this order, each of its own snapshot.

use std::collections::VecDeque;

use crate::log::Seq;

/// The most marks that are kept; past that the newest one moves on instead of a new one being added.
pub const MARKS_MAX: usize = 64;

/// What has been observed, and how far reading is safe.
#[derive(Debug, Clone, Default)]
pub struct Horizon {
    safe: Seq,
    marks: VecDeque<Mark>,
}

#[derive(Debug, Clone)]
struct Mark {
    seq: Seq,
    holders: Vec<String>,
}

impl Horizon {
    /// A horizon that has seen nothing, above a number that is known to be safe.
    pub const fn after(safe: Seq) -> Self {
        Self { safe, marks: VecDeque::new() }
    }

    /// Every row up to here is decided: committed and visible, or gone for good.
    pub const fn safe(&self) -> Seq {
        self.safe
    }

    /// Whether numbers were seen that are not decided yet.
    pub fn is_undecided(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Takes in the highest visible number, and who held the log's insert lock *after* that number was read.
    pub fn observe(&mut self, highest: Option<Seq>, holders: &[String]) -> Seq {
        let seen = self.marks.back().map_or(self.safe, |mark| mark.seq);
        if let Some(seq) = highest.filter(|highest| *highest > seen) {
            if self.marks.len() >= MARKS_MAX {
                // A later mark covers an earlier one; only reading is delayed, never a row lost.
                self.marks.pop_back();
            }
            self.marks.push_back(Mark { seq, holders: holders.to_vec() });
        }
        while let Some(mark) = self.marks.front() {
            if mark.holders.iter().any(|holder| holders.contains(holder)) {
                break;
            }
            self.safe = mark.seq;
            self.marks.pop_front();
        }
        self.safe
    }
}
