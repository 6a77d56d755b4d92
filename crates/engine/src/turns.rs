//! Who begins a large batch next.
//!
//! Few batches at once are quickest, and a lane that waits for its turn has not taken its rows yet: what arrives meanwhile still
//! comes along. A lane with rows of a small tenant goes before those that have rows of tenants that flood alone, so that such a
//! row waits for the batches under way and for nothing else.
//!
//! Not here: how long a turn lasts (`leases`: a batch that is slow gives it back), and small batches, which need none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

/// See the module.
pub(crate) struct Turns {
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// The next ticket.
    ticket: u64,
    /// Those that wait, the first one next.
    waiting: BTreeMap<(Rank, u64), oneshot::Sender<Turn>>,
}

/// Who goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// A lane with rows of a small tenant.
    Small,
    /// Any other.
    Flood,
}

/// A turn; dropped, the next one has it.
pub(crate) struct Turn(Arc<Turns>);

impl Turns {
    /// So many at once.
    pub fn new(free: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free, ticket: 0, waiting: BTreeMap::new() }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }

    /// Waits for a turn. Whoever stops waiting has lost nothing but its place.
    pub async fn next(self: &Arc<Self>, rank: Rank) -> Turn {
        let granted = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Turn(self.clone());
            }
            let (turn, granted) = oneshot::channel();
            state.ticket += 1;
            let ticket = state.ticket;
            state.waiting.insert((rank, ticket), turn);
            granted
        };
        granted.await.expect("a sender is kept until it is used, or its receiver has gone")
    }

    fn pass_on(self: &Arc<Self>) {
        let next = {
            let mut state = self.state();
            // Some wait no more.
            state.waiting.retain(|_, next| !next.is_closed());
            match state.waiting.pop_first() {
                Some((_, next)) => next,
                None => {
                    state.free += 1;
                    return;
                }
            }
        };
        // One that has stopped waiting in this moment drops its turn, which passes it on.
        drop(next.send(Turn(self.clone())));
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.pass_on();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::task::yield_now;

    use super::{Rank, Turns};

    #[tokio::test]
    async fn a_small_tenants_lane_goes_before_those_that_waited_longer() {
        let turns = Turns::new(1);
        let first = turns.next(Rank::Flood).await;
        let mut told = Vec::new();
        let flood = async { (turns.next(Rank::Flood).await, "flood") };
        let small = async {
            yield_now().await;
            (turns.next(Rank::Small).await, "small")
        };
        let (mut flood, mut small) = (pin!(flood), pin!(small));
        tokio::select! {
            biased;
            _ = &mut flood => panic!("there is one turn"),
            _ = &mut small => panic!("there is one turn"),
            () = async { yield_now().await; yield_now().await; yield_now().await; } => {}
        }
        drop(first);
        for _ in 0..2 {
            tokio::select! {
                biased;
                (_turn, name) = &mut small, if told.is_empty() => told.push(name),
                (_turn, name) = &mut flood => told.push(name),
            }
        }
        assert_eq!(told, ["small", "flood"]);
    }

    #[tokio::test]
    async fn whoever_stops_waiting_takes_no_turn_along() {
        let turns = Turns::new(1);
        for _ in 0..3 {
            let held = turns.next(Rank::Flood).await;
            {
                let mut gone = pin!(turns.next(Rank::Small));
                tokio::select! {
                    biased;
                    _ = &mut gone => panic!("it is held"),
                    () = yield_now() => {}
                }
                // Granted, and dropped before it was looked at.
                drop(held);
            }
        }
        turns.next(Rank::Flood).await;
    }
}
