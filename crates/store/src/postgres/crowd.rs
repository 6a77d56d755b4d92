//! Those who ask at the same time are served together.
//!
//! Nobody waits for company: whoever finds a turn takes along what waits at that moment. Whose ask somebody else has taken only
//! waits for its answer: asking on would be asking for nothing, all the time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{Semaphore, oneshot};

use crate::error::Error;

/// What is asked, and by whom it is waited for.
pub(super) struct Crowd<A, R> {
    waiting: Mutex<VecDeque<Ask<A, R>>>,
    turns: Semaphore,
}

/// Something that is asked.
pub(super) struct Ask<A, R> {
    pub of: A,
    /// Somebody serves it, or has.
    taken: Arc<AtomicBool>,
    answer: oneshot::Sender<R>,
}

impl<A, R> Ask<A, R> {
    /// Who has gone away needs no answer.
    pub fn answer(self, answer: R) {
        let _ = self.answer.send(answer);
    }
}

impl<A, R> Crowd<A, R> {
    /// So many are served at once.
    pub fn new(at_once: usize) -> Self {
        Self { waiting: Mutex::default(), turns: Semaphore::new(at_once) }
    }

    /// Those that wait and are like the first of them, so many at most. Whoever takes them answers them, or drops them: then
    /// they are asked again.
    pub fn take(&self, most: usize, alike: impl Fn(&A, &A) -> bool) -> Vec<Ask<A, R>> {
        let mut waiting = self.waiting.lock().expect("nothing panics while holding it");
        let (mut taken, mut left) = (Vec::<Ask<A, R>>::new(), VecDeque::new());
        // Who has gone away asks no more.
        for ask in waiting.drain(..).filter(|ask| !ask.answer.is_closed()) {
            let fits = taken.len() < most && taken.first().is_none_or(|first| alike(&first.of, &ask.of));
            if fits {
                ask.taken.store(true, Ordering::Relaxed);
                taken.push(ask);
            } else {
                left.push_back(ask);
            }
        }
        *waiting = left;
        taken
    }

    /// Asks, and serves where there is a turn; `serve` takes some that wait, and answers them.
    pub async fn ask<F>(&self, of: impl Fn() -> A, serve: impl Fn() -> F) -> Result<R, Error>
    where
        F: Future<Output = Result<(), Error>>,
    {
        loop {
            let (answer, mut answered) = oneshot::channel();
            let taken = Arc::new(AtomicBool::new(false));
            let ask = Ask { of: of(), taken: taken.clone(), answer };
            self.waiting.lock().expect("nothing panics while holding it").push_back(ask);
            let turn = tokio::select! {
                biased;
                answer = &mut answered => match answer {
                    Ok(answer) => return Ok(answer),
                    // Whoever served it gave up, or was refused: it is asked again.
                    Err(_) => continue,
                },
                turn = self.turns.acquire() => turn.map_err(|_| Error::Closed)?,
            };
            // Others that are about to ask come along.
            tokio::task::yield_now().await;
            let mut served = Ok(());
            while !taken.load(Ordering::Relaxed) {
                served = serve().await;
            }
            drop(turn);
            match answered.await {
                Ok(answer) => return Ok(answer),
                // A failure to serve others is told to them, when they ask again.
                Err(_) => served?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::Crowd;
    use crate::error::Error;

    /// Asks for the double of numbers, all at once; answers them, and how often somebody served.
    async fn doubled(numbers: std::ops::Range<u32>, alike: fn(&u32, &u32) -> bool) -> (Vec<u32>, usize) {
        let (crowd, served) = (Arc::new(Crowd::<u32, u32>::new(2)), Arc::new(AtomicUsize::new(0)));
        let slow = Arc::new(Notify::new());
        let tasks: Vec<_> = numbers
            .map(|number| {
                let (crowd, served, slow) = (crowd.clone(), served.clone(), slow.clone());
                tokio::spawn(async move {
                    let serve = || async {
                        served.fetch_add(1, Ordering::Relaxed);
                        let asks = crowd.take(100, alike);
                        // A database takes its time, in which everybody else has had many turns.
                        slow.notified().await;
                        asks.into_iter().for_each(|ask| {
                            let double = ask.of * 2;
                            ask.answer(double);
                        });
                        Ok(())
                    };
                    crowd.ask(|| number, serve).await.expect("nothing fails")
                })
            })
            .collect();
        let mut answers = Vec::new();
        for task in tasks {
            while !task.is_finished() {
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                slow.notify_one();
            }
            answers.push(task.await.expect("nothing panics"));
        }
        (answers, served.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn all_that_wait_are_served_in_one_go_and_nobody_asks_for_nothing() {
        let (answers, served) = doubled(0..50, |_, _| true).await;
        assert_eq!(answers, (0..50).map(|number| number * 2).collect::<Vec<_>>());
        assert_eq!(served, 1);
    }

    #[tokio::test]
    async fn what_is_not_alike_is_served_apart_and_all_of_it() {
        let (answers, served) = doubled(0..50, |one, other| one % 5 == other % 5).await;
        assert_eq!(answers, (0..50).map(|number| number * 2).collect::<Vec<_>>());
        assert!((5..=6).contains(&served), "{served}");
    }

    #[tokio::test]
    async fn a_failure_is_told_to_who_asked_and_the_next_one_is_served() {
        let crowd = Crowd::<u32, u32>::new(1);
        let fails = || async {
            drop(crowd.take(100, |_, _| true));
            Err(Error::Closed)
        };
        assert!(matches!(crowd.ask(|| 1, fails).await, Err(Error::Closed)));
        let serves = || async {
            crowd.take(100, |_, _| true).into_iter().for_each(|ask| ask.answer(7));
            Ok(())
        };
        assert_eq!(crowd.ask(|| 1, serves).await.expect("it is served"), 7);
    }
}
