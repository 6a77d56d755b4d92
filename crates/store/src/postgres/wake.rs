//! Telling other processes that facts were committed, and hearing it from them.
//!
//! Coalesced: one NOTIFY for all commits of [`PAUSE`], on a connection of its own, never in a unit's transaction (a commit that
//! notifies takes a lock that all such commits share, and cannot be prepared). Where it cannot be had, as through a pooler that
//! shares sessions, readers find out by looking.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_postgres::AsyncMessage;

use super::connect::Target;
use crate::bell::Bell;
use crate::error::Error;

const CHANNEL: &str = "karwan_log";
/// The least time between two notifications.
const PAUSE: Duration = Duration::from_millis(2);
/// How long to wait before another connection is tried.
const AGAIN: Duration = Duration::from_secs(1);

/// The task that does it, as long as the store is open.
pub(super) struct Waking(tokio::task::JoinHandle<()>);

impl Drop for Waking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Waking {
    pub fn start(target: Target, bell: Arc<Bell>) -> Self {
        Self(tokio::spawn(async move {
            loop {
                if let Err(error) = exchange(&target, &bell).await {
                    tracing::debug!(error = %error, "processes cannot wake each other; they look by themselves");
                }
                tokio::time::sleep(AGAIN).await;
            }
        }))
    }
}

/// Until the connection ends.
async fn exchange(target: &Target, bell: &Arc<Bell>) -> Result<(), Error> {
    let bad = |cause| super::error::error(&target.shown, cause);
    let (client, mut connection) = target.connect_for_messages().await?;
    let heard = bell.clone();
    let (told, mut own_process) = tokio::sync::oneshot::channel();
    let mut hearing = Hearing(tokio::spawn(async move {
        let mut me = None;
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            me = me.or_else(|| own_process.try_recv().ok());
            if let AsyncMessage::Notification(notification) = message
                && Some(notification.process_id()) != me
            {
                heard.echo();
            }
        }
    }));
    let me: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await.map_err(bad)?.get(0);
    // Nobody is left to be told where the connection has ended.
    let _ = told.send(me);
    client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(bad)?;
    let notify = || async { client.batch_execute(&format!("NOTIFY {CHANNEL}")).await.map_err(bad) };
    tokio::select! {
        told = tell(bell.own(), notify) => told,
        _ = &mut hearing.0 => Ok(()),
    }
}

/// Tells others whenever the bell was rung, once for all that was meanwhile; until nobody can ring it any more.
async fn tell<F>(mut own: watch::Receiver<()>, notify: impl Fn() -> F) -> Result<(), Error>
where
    F: Future<Output = Result<(), Error>>,
{
    while own.changed().await.is_ok() {
        notify().await?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

struct Hearing(tokio::task::JoinHandle<()>);

impl Drop for Hearing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{PAUSE, tell};
    use crate::bell::Bell;

    #[tokio::test(start_paused = true)]
    async fn many_commits_are_told_by_few_notifications() {
        let (bell, told) = (Bell::default(), Cell::new(0));
        let telling = tell(bell.own(), || {
            told.set(told.get() + 1);
            std::future::ready(Ok(()))
        });
        let ringing = async {
            for round in 0..3 {
                (0..100).for_each(|_| bell.ring());
                tokio::time::sleep(PAUSE / 2).await;
                assert_eq!(told.get(), 2 * round + 1, "the first of a hundred is told at once");
                (0..100).for_each(|_| bell.ring());
                bell.echo();
                tokio::time::sleep(PAUSE * 10).await;
                assert_eq!(told.get(), 2 * round + 2, "and all others together");
            }
        };
        tokio::select! {
            biased;
            _ = telling => panic!("the bell is still there"),
            () = ringing => {}
        }
    }
}
