//! Refuses references that return to themselves without entering a field or an item.
//!
//! Such a schema says nothing, and comparing it by assuming that a pair in progress is equal would prove nothing.

use super::error::{Error, Fault};
use super::spot::{Spot, SpotId};

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Unseen,
    Open,
    Done,
}

/// Walks the in-place edges of the spots from `first` on. Free of recursion: chains may be long.
pub(super) fn refuse_loops(spots: &[Spot<'_>], first: SpotId) -> Result<(), Error> {
    let mut marks = vec![Mark::Unseen; spots.len()];
    for start in first as usize..spots.len() {
        let mut stack: Vec<(usize, Vec<SpotId>)> = Vec::new();
        if marks[start] == Mark::Unseen {
            marks[start] = Mark::Open;
            stack.push((start, spots[start].keywords.in_place()));
        }
        while let Some((spot, targets)) = stack.last_mut() {
            let Some(target) = targets.pop() else {
                marks[*spot] = Mark::Done;
                stack.pop();
                continue;
            };
            let target = target as usize;
            match marks[target] {
                Mark::Done => {}
                Mark::Open => {
                    let looping = &spots[target];
                    return Err(Error::new(looping.side, looping.pointer.clone(), Fault::ReferenceLoop));
                }
                Mark::Unseen => {
                    marks[target] = Mark::Open;
                    stack.push((target, spots[target].keywords.in_place()));
                }
            }
        }
    }
    Ok(())
}
