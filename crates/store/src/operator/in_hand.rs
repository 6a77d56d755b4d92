//! Lanes that an operator holds while events of them are sent again: whoever ran them has lost them, and nobody handles
//! anything of the consumer meanwhile.
//!
//! Events are given in the order of their feed, so that a consumer that comes back early, because the operator's process
//! died, has lost a beginning of its claims and never a hole. Letting go frees the lanes at once; a process that died
//! frees them when its hold runs out, and doing it again finishes it.

use std::sync::Arc;

use karwan_envelope::time::Clock;

use super::seek::{Kept, Moved, moved, readable};
use super::{Operator, Verb, Who};
use crate::error::Error;
use crate::lanes::{Chunk, Found, Held, Lanes, Move, holder};
use crate::log::{LogRow, Seq};

/// What becomes of events that are given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The consumer goes to a place, and handles them when it reads them.
    Seek,
    /// They are handled by whoever reads them.
    Clear,
    /// They are handled at once: they are parked, due now.
    Replay,
}

/// See the module.
pub struct InHand {
    lanes: Lanes,
    held: Held,
    clock: Arc<dyn Clock>,
    again: Again,
    moved: Moved,
}

impl Operator {
    /// Takes a consumer that a stream feeds in hand; `from` is the number of its stream behind which events are given. That
    /// it has them is for the caller to see to, who has asked its broker.
    pub async fn in_hand(&self, who: &Who, consumer: &str, (again, from): (Again, Seq)) -> Result<InHand, Error> {
        who.signed()?;
        self.take(Lanes::open(&self.address).await?, (who, consumer), (again, from)).await
    }

    /// The same for any consumer.
    pub(super) async fn take(
        &self,
        mut lanes: Lanes,
        (who, consumer): (&Who, &str),
        (again, from): (Again, Seq),
    ) -> Result<InHand, Error> {
        let by = (consumer, who, self.clock.now().unix_ms());
        let stays = |found: &Found, verb| {
            if found.declared.stream.is_none() {
                readable(consumer, found, from)?;
            }
            let (to, hold) = (found.lanes.clone(), Some(holder(who)));
            Ok(Move { to, hold, verb, detail: super::was_text(&found.lanes), undoes: None })
        };
        let mut now = Vec::new();
        let decide = |found: &Found| {
            let decided = match again {
                Again::Seek => moved(consumer, found, from, Some(holder(who))),
                // Without its claims it would handle them again wherever it reads them.
                Again::Clear | Again::Replay if found.declared.forward_only => {
                    let position = found.lanes.iter().copied().max().unwrap_or_default();
                    Err(Error::ForwardOnly { consumer: consumer.to_owned(), position, asked: from })
                }
                Again::Clear => stays(found, Verb::ClearInbox),
                Again::Replay => stays(found, Verb::Replay),
            }?;
            now.clone_from(&decided.to);
            Ok(decided)
        };
        let (found, held) = lanes.move_lanes(by, decide).await?;
        let moved = Moved { action: held.action, was: found.lanes, now, cleared: 0 };
        Ok(InHand { lanes, held, clock: self.clock.clone(), again, moved })
    }
}

impl InHand {
    /// Takes the claims of these events back, and parks them where that is wanted; those without a claim stay as they are.
    pub async fn give(&mut self, rows: &[LogRow]) -> Result<(), Error> {
        let chunk = match self.again {
            Again::Seek | Again::Clear => Chunk::Clear(rows),
            Again::Replay => Chunk::Park(rows),
        };
        self.moved.cleared += self.lanes.chunk(&self.held, chunk, self.clock.now().unix_ms()).await?.len() as u64;
        Ok(())
    }

    /// Frees the lanes, and completes what is recorded.
    pub async fn let_go(mut self) -> Result<Moved, Error> {
        let Moved { was, now, cleared, .. } = self.moved.clone();
        self.lanes.release(&self.held, &Kept { was, to: now, cleared }.text()).await?;
        Ok(self.moved)
    }
}
