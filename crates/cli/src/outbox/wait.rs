//! Waits until a broker has what the log has.

use std::time::{Duration, Instant};

use karwan_broker::{Broker, StreamEnd};
use karwan_store::Observer;
use karwan_store::log::Seq;
use karwan_store::outbox::RELAYS;
use karwan_store::relay_state::RelayState;

use super::stand::{Stand, found};
use crate::exit::Failure;
use crate::output;
use crate::progress::Progress;

/// As often as positions are saved.
const LOOK: Duration = Duration::from_millis(200);
/// After so long it is said which relay is waited for, and again.
const TELL: Duration = Duration::from_secs(10);

/// Until every relay of the store has published what the log has now; says how long it took.
pub async fn until_published(store: &Observer, broker: &Broker) -> Result<(), Failure> {
    let (end, began, progress) = (store.relay().end().await?.seq, Instant::now(), Progress::new());
    let mut told = Instant::now();
    loop {
        let (open, behind) = unpublished(store, broker, end).await?;
        let Some((relay, run)) = open else { break };
        progress.tell("published", (end - behind).max(0).unsigned_abs(), end.unsigned_abs());
        if told.elapsed() >= TELL {
            let why = if run { "is behind" } else { "is run by nobody: start `karwan relay`" };
            output::note(&format!("{relay} {why}"));
            told = Instant::now();
        }
        tokio::time::sleep(LOOK).await;
    }
    drop(progress);
    output::note(&format!("everything up to {end} is published; waited {:.1} s", began.elapsed().as_secs_f64()));
    Ok(())
}

/// A relay that has not published everything, and whether somebody runs it; and by how much the last of them is behind.
async fn unpublished(store: &Observer, broker: &Broker, end: Seq) -> Result<(Option<(String, bool)>, Seq), Failure> {
    let (mut open, mut behind, mut relays) = (None, 0, 0);
    for report in store.consumers().await? {
        let Some(stream) = report.consumer.strip_prefix(RELAYS) else { continue };
        relays += 1;
        let state = store.relay_state(&report.consumer).await?;
        let found = found(broker, stream).await?;
        if !is_published(state, found.as_ref(), end) {
            behind = behind.max(end - state.map_or(0, |state| state.seq));
            open = Some((report.consumer.clone(), report.run_by().is_some()));
        }
    }
    // The first one may be about to start.
    if relays == 0 {
        return Ok((Some(("a relay of this store".to_owned(), false)), end));
    }
    Ok((open, behind))
}

/// Whether a stream has everything up to a number: its relay has come so far with this very stream.
fn is_published(saved: Option<RelayState>, found: Option<&StreamEnd>, end: Seq) -> bool {
    saved.is_some_and(|saved| saved.seq >= end) && Stand::of(saved, found).is_published()
}

#[cfg(test)]
mod tests {
    use karwan_broker::StreamEnd;
    use karwan_store::relay_state::RelayState;

    use super::is_published;

    fn check(seq: i64, (stream_seq, stream_created): (i64, i64), last_seq: u64, published: bool) {
        let found = StreamEnd {
            created: "1970-01-01T00:00:00.005Z".to_owned(),
            first_seq: 1,
            last_seq,
            last_at: None,
            position: None,
            unmarked: false,
        };
        let state = RelayState { seq, stream_seq, stream_created };
        assert_eq!(is_published(Some(state), Some(&found), 40), published);
    }

    #[test]
    fn a_position_counts_for_the_stream_that_it_was_saved_for() {
        check(40, (9, 5), 9, true);
        check(39, (9, 5), 9, false);
        // Its stream was made anew, or has lost messages: the relay will find out.
        check(40, (9, 4), 0, false);
        check(40, (9, 5), 7, false);
        // Nothing of this stream's was ever in the log.
        check(40, (0, 4), 0, true);
        assert!(!is_published(None, None, 40));
    }
}
