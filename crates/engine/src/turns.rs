//! Who begins a large batch next.
//!
//! Few batches at once are quickest, and a lane that waits for its turn has not taken its rows yet: what arrives meanwhile still
//! comes along. A lane with rows of a small tenant goes before those that have rows of tenants that flood alone, so that such a
//! row waits for the batches under way and for nothing else. While small tenants are about, fewer batches of a flood are under way:
//! whatever is done for a small tenant waits for processors that they use, and the flood loses little.
//!
//! Not here: how long a turn lasts (`leases`: a batch that is slow gives it back), and small batches, which need none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// Batches that are under way in all processes, while small tenants are about, when one more of a flood begins; one in each at least.
/// As many as two processes begin: these lose more by leaving one out than small tenants win.
const FLOODS_BESIDE: usize = 10;
/// How long a small tenant is about after something was done for it.
const SMALL_ABOUT: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Turns {
    state: Mutex<State>,
}

struct State {
    under_way: usize,
    most: usize,
    /// And of a flood, beside small tenants.
    floods_beside: usize,
    /// When a small tenant was about last.
    small_at: Option<Instant>,
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
    pub fn new(most: usize) -> Arc<Self> {
        let state = State {
            under_way: 0,
            most,
            floods_beside: FLOODS_BESIDE,
            small_at: None,
            ticket: 0,
            waiting: BTreeMap::new(),
        };
        Arc::new(Self { state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }

    /// Waits for a turn. Whoever stops waiting has lost nothing but its place.
    pub async fn next(self: &Arc<Self>, rank: Rank) -> Turn {
        let granted = {
            let mut state = self.state();
            if state.admits(rank) {
                state.under_way += 1;
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

    /// Something is done for a small tenant.
    pub fn note_small(&self) {
        self.state().small_at = Some(Instant::now());
    }

    /// So many processes use the database.
    pub fn share(&self, processes: usize) {
        self.state().floods_beside = (FLOODS_BESIDE / processes.max(1)).max(1);
    }

    fn pass_on(self: &Arc<Self>) {
        let mut next = Vec::new();
        {
            let mut state = self.state();
            state.under_way -= 1;
            // Some wait no more.
            state.waiting.retain(|_, next| !next.is_closed());
            // More than one, where small tenants have gone meanwhile.
            while let Some(first) = state.waiting.first_entry() {
                let rank = first.key().0;
                if !state.admits(rank) {
                    break;
                }
                state.under_way += 1;
                next.extend(state.waiting.pop_first());
            }
        }
        // One that has stopped waiting in this moment drops its turn, which passes it on.
        next.into_iter().for_each(|(_, next)| drop(next.send(Turn(self.clone()))));
    }
}

impl State {
    fn admits(&self, rank: Rank) -> bool {
        let is_about = self.small_at.is_some_and(|at| at.elapsed() < SMALL_ABOUT);
        let most = if rank == Rank::Flood && is_about { self.most.min(self.floods_beside) } else { self.most };
        self.under_way < most
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

    use super::{FLOODS_BESIDE, Rank, SMALL_ABOUT, Turns};

    #[tokio::test(start_paused = true)]
    async fn while_small_tenants_are_about_fewer_batches_of_a_flood_are_under_way() {
        let turns = Turns::new(FLOODS_BESIDE + 2);
        turns.note_small();
        let mut under_way = Vec::new();
        for _ in 0..FLOODS_BESIDE {
            under_way.push(turns.next(Rank::Flood).await);
        }
        let floods = async { tokio::join!(turns.next(Rank::Flood), turns.next(Rank::Flood)) };
        let mut floods = pin!(floods);
        tokio::select! {
            biased;
            _ = &mut floods => panic!("there are as many as may be"),
            () = yield_now() => {}
        }
        under_way.push(turns.next(Rank::Small).await);
        tokio::time::advance(SMALL_ABOUT).await;
        // The next that ends lets both of them begin.
        under_way.pop();
        let _both = floods.await;
        assert_eq!(turns.state().under_way, FLOODS_BESIDE + 2);
    }

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
