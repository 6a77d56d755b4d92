//! Where a relay goes on, from what its store and its stream say. Pure.
//!
//! The stream is the witness of what was published: its last message names the relay's position when it was sent. What the
//! store has saved is used where the stream has not moved since, and where its last message is gone.

use karwan_store::Position;
use karwan_store::log::Seq;
use karwan_store::relay_state::{Kept, Life, kept};

/// What the store remembers of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Everything up to here was in the stream or parked.
    pub seq: Seq,
    /// The stream's last sequence then.
    pub stream_seq: u64,
    /// When the stream was made, milliseconds after 1970.
    pub created: i64,
}

/// What the stream says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// When it was made, milliseconds after 1970.
    pub created: i64,
    /// The last sequence that it gave; 0 where it never had a message.
    pub last: u64,
    /// Its last message.
    pub message: Last,
}

/// What the last message of a stream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// There was none, or it is gone.
    Gone,
    /// It names no position: no relay has published it.
    Unmarked,
    /// How far the log of its relay was.
    At(Position),
}

/// Where to go on, and what there is to say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// Everything up to here is published, or parked.
    pub from: Seq,
    /// What happened to the stream.
    pub told: Told,
}

/// What a relay finds at a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing out of the ordinary.
    GoesOn,
    /// The stream has no message, and this store has never published to it.
    New,
    /// The stream was made anew, or lost what it had: what the log still has is published again.
    WentBackwards,
    /// The store is a restored copy: so many numbers up to the stream's last one were published and are not in this store.
    Restored {
        /// Numbers of the log that the copy lacks; some may never have been given to an event.
        lost: Seq,
    },
    /// The last message was published by somebody else, of another store or of none: nothing can be said of it.
    Foreign,
}

/// Decides. `lives` are this store's, in order; `floor` is the last row that retention has dropped.
pub fn resume(saved: Option<Saved>, end: End, lives: &[Life], floor: Seq) -> Resume {
    let same = saved.is_some_and(|saved| saved.created == end.created);
    match saved.filter(|_| same) {
        Some(saved) if saved.stream_seq == end.last => return Resume { from: saved.seq, told: Told::GoesOn },
        _ => {}
    }
    let backwards = saved.is_some_and(|saved| !same || end.last < saved.stream_seq);
    let told = if backwards { Told::WentBackwards } else { Told::GoesOn };
    // Whatever was published after it was saved cannot be told from the stream; it is published again.
    let kept_at = saved.filter(|_| !backwards).map_or(floor, |saved| saved.seq);
    match end.message {
        Last::Gone if saved.is_none() && end.last == 0 => Resume { from: floor, told: Told::New },
        Last::Gone => Resume { from: kept_at, told },
        Last::Unmarked => Resume { from: kept_at, told: Told::Foreign },
        Last::At(position) => match kept(lives, position.incarnation) {
            Kept::Foreign => Resume { from: kept_at, told: Told::Foreign },
            // What came with a copy was published by a life before, as far as the stream says; what is behind it is new.
            Kept::UpTo(copied) if position.seq > copied => {
                Resume { from: copied.max(floor), told: Told::Restored { lost: position.seq - copied } }
            }
            // What retention has dropped since cannot be published again.
            Kept::UpTo(_) | Kept::All => Resume { from: position.seq.max(floor), told },
        },
    }
}

#[cfg(test)]
mod tests {
    use karwan_store::Position;

    use karwan_store::relay_state::Life;

    use super::{End, Last, Resume, Saved, Told, resume};

    const LIVES: &[Life] = &[Life { incarnation: 1, began: 0 }, Life { incarnation: 70, began: 400 }];

    fn at(incarnation: i64, seq: i64) -> Last {
        Last::At(Position { incarnation, seq })
    }

    fn saved(seq: i64, stream_seq: u64) -> Option<Saved> {
        Some(Saved { seq, stream_seq, created: 5 })
    }

    fn check(saved: Option<Saved>, end: End, from: i64, told: Told) {
        assert_eq!(resume(saved, end, LIVES, 3), Resume { from, told });
    }

    #[test]
    fn an_empty_stream_gets_what_the_log_has() {
        check(None, End { created: 5, last: 0, message: Last::Gone }, 3, Told::New);
    }

    #[test]
    fn a_stream_that_has_not_moved_goes_on_where_it_was_saved() {
        // Rows of other streams were passed by since its last message.
        check(saved(450, 9), End { created: 5, last: 9, message: at(70, 410) }, 450, Told::GoesOn);
    }

    #[test]
    fn what_was_published_after_the_last_save_is_not_published_again() {
        check(saved(450, 9), End { created: 5, last: 12, message: at(70, 460) }, 460, Told::GoesOn);
        check(None, End { created: 5, last: 12, message: at(70, 460) }, 460, Told::GoesOn);
    }

    #[test]
    fn a_stream_that_lost_messages_gets_them_again() {
        check(saved(450, 9), End { created: 5, last: 7, message: at(70, 440) }, 440, Told::WentBackwards);
        check(saved(450, 9), End { created: 5, last: 0, message: Last::Gone }, 3, Told::WentBackwards);
    }

    #[test]
    fn a_stream_that_was_made_anew_gets_what_the_log_still_has() {
        check(saved(450, 9), End { created: 6, last: 0, message: Last::Gone }, 3, Told::WentBackwards);
        // Even where it has as many messages as the former one.
        check(saved(450, 9), End { created: 6, last: 9, message: at(70, 420) }, 420, Told::WentBackwards);
    }

    #[test]
    fn a_stream_that_lost_more_than_the_log_still_has_gets_what_it_has() {
        check(saved(450, 9), End { created: 5, last: 7, message: at(70, 2) }, 3, Told::WentBackwards);
        check(saved(450, 9), End { created: 5, last: 7, message: at(1, 1) }, 3, Told::WentBackwards);
    }

    #[test]
    fn a_last_message_that_is_gone_is_no_reason_to_begin_anew() {
        check(saved(450, 9), End { created: 5, last: 12, message: Last::Gone }, 450, Told::GoesOn);
    }

    #[test]
    fn a_restored_store_publishes_what_is_new_and_nothing_that_was_published() {
        // The copy ends at 400, the stream at 500: rows from 401 on are other events.
        check(saved(390, 9), End { created: 5, last: 30, message: at(1, 500) }, 400, Told::Restored { lost: 100 });
        // The copy has rows that were never published.
        check(saved(390, 9), End { created: 5, last: 30, message: at(1, 395) }, 395, Told::GoesOn);
        // Restored twice, the second time from an older copy.
        let lives = [LIVES, &[Life { incarnation: 90, began: 300 }]].concat();
        let end = End { created: 5, last: 30, message: at(1, 500) };
        assert_eq!(resume(None, end, &lives, 3), Resume { from: 300, told: Told::Restored { lost: 200 } });
    }

    #[test]
    fn a_stream_of_another_store_is_told_of() {
        check(saved(450, 9), End { created: 5, last: 30, message: at(33, 9000) }, 450, Told::Foreign);
        check(None, End { created: 5, last: 30, message: at(33, 9000) }, 3, Told::Foreign);
    }

    #[test]
    fn a_stream_that_somebody_publishes_to_without_a_relay_is_told_of() {
        check(saved(450, 9), End { created: 5, last: 30, message: Last::Unmarked }, 450, Told::Foreign);
        check(None, End { created: 5, last: 30, message: Last::Unmarked }, 3, Told::Foreign);
        // What was saved was of another stream, or of a longer one.
        check(saved(450, 9), End { created: 6, last: 30, message: Last::Unmarked }, 3, Told::Foreign);
        check(saved(450, 9), End { created: 5, last: 4, message: Last::Unmarked }, 3, Told::Foreign);
        check(saved(450, 9), End { created: 6, last: 30, message: at(33, 9000) }, 3, Told::Foreign);
    }
}
