//! How a stream stands to what its relay has saved of it. A position that was saved for another stream of its name, or for one
//! that has lost messages since, says nothing of what is published.

use karwan_broker::{Broker, Error as BrokerError, Room, StreamEnd};
use karwan_envelope::time::{Clock as _, SystemClock, Timestamp};
use karwan_store::Observer;
use karwan_store::log::Seq;
use karwan_store::relay_state::{Kept, RelayState, kept};

use crate::exit::Failure;

/// How a stream stands to what was saved of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stand {
    /// No relay has saved anything of it.
    Unsaved,
    /// It has what was published, as far as its age and its limits let it.
    Keeps,
    /// It is the same one, and holds no message any more.
    Emptied,
    /// There is none.
    Gone,
    /// Another one of its name.
    MadeAnew,
    /// It ends before what was published.
    Shorter,
}

impl Stand {
    pub fn of(saved: Option<RelayState>, found: Option<&StreamEnd>) -> Self {
        let Some(found) = found else { return Self::Gone };
        let Some(saved) = saved else { return Self::Unsaved };
        let created = found.created.parse::<Timestamp>().map_or(0, Timestamp::unix_ms);
        if saved.stream_seq == 0 && found.last_seq == 0 {
            return Self::Keeps;
        }
        match () {
            () if saved.stream_created != created => Self::MadeAnew,
            () if saved.stream_seq.unsigned_abs() > found.last_seq => Self::Shorter,
            () if found.first_seq > found.last_seq => Self::Emptied,
            () => Self::Keeps,
        }
    }

    /// Whether what its relay has passed was published to this very stream, and was not lost with another.
    pub fn is_published(self) -> bool {
        matches!(self, Self::Keeps | Self::Emptied)
    }

    /// Its relay publishes again what it lacks.
    pub fn went_backwards(self) -> bool {
        matches!(self, Self::Gone | Self::MadeAnew | Self::Shorter)
    }

    /// Its name for programs, which is stable.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unsaved => "unsaved",
            Self::Keeps => "keeps",
            Self::Emptied => "emptied",
            Self::Gone => "gone",
            Self::MadeAnew => "made-anew",
            Self::Shorter => "shorter",
        }
    }
}

/// What a broker says of a stream, beside what its relay has saved.
pub struct Seen {
    pub stand: Stand,
    pub saved: Option<RelayState>,
    pub end: Option<StreamEnd>,
    /// None where there is no stream.
    pub room: Option<Room>,
}

impl Seen {
    /// Asks both.
    pub async fn of(store: &Observer, broker: &Broker, relay: &str, stream: &str) -> Result<Self, Failure> {
        let saved = store.relay_state(relay).await?;
        let end = found(broker, stream).await?;
        let room = match &end {
            Some(_) => Some(broker.room(stream).await?),
            None => None,
        };
        Ok(Self { stand: Stand::of(saved, end.as_ref()), saved, end, room })
    }

    /// Where its relay goes on, where that is not where it was: by the last message that the stream still has, else by what the
    /// log has; behind what consumers may have forgotten, as the relay does.
    pub async fn goes_on(&self, store: &Observer) -> Result<Option<Seq>, Failure> {
        if !self.stand.went_backwards() {
            return Ok(None);
        }
        let relay = store.relay();
        let floor = relay.start().await?.seq;
        let lives = relay.lives().await?;
        let of_mark =
            self.end.as_ref().and_then(|end| end.position).and_then(|mark| match kept(&lives, mark.incarnation) {
                Kept::All => Some(mark.seq),
                Kept::UpTo(copied) => Some(mark.seq.min(copied)),
                Kept::Foreign => None,
            });
        let from = of_mark.unwrap_or(floor).max(floor);
        let Some(saved) = self.saved.filter(|saved| from < saved.seq) else { return Ok(Some(from)) };
        Ok(Some(from.max(relay.published_again(saved.seq, SystemClock.now().unix_ms()).await?)))
    }
}

/// Where a stream ends; none where there is no stream.
pub async fn found(broker: &Broker, stream: &str) -> Result<Option<StreamEnd>, Failure> {
    match broker.stream_end(stream).await {
        Ok(end) => Ok(Some(end)),
        Err(BrokerError::StreamGone { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use karwan_broker::StreamEnd;
    use karwan_store::relay_state::RelayState;

    use super::Stand;

    fn check((stream_seq, stream_created): (i64, i64), (first_seq, last_seq): (u64, u64), stand: Stand) {
        let created = "1970-01-01T00:00:00.005Z".to_owned();
        let found = StreamEnd { created, first_seq, last_seq, last_at: None, position: None, unmarked: false };
        let saved = RelayState { seq: 40, stream_seq, stream_created };
        assert_eq!(Stand::of(Some(saved), Some(&found)), stand);
    }

    #[test]
    fn a_stream_is_told_from_one_that_was_made_anew_lost_its_end_or_was_emptied() {
        check((9, 5), (1, 9), Stand::Keeps);
        check((9, 5), (4, 12), Stand::Keeps);
        check((9, 5), (10, 9), Stand::Emptied);
        check((9, 4), (1, 0), Stand::MadeAnew);
        check((9, 4), (1, 9), Stand::MadeAnew);
        check((9, 5), (1, 7), Stand::Shorter);
        // Nothing of this stream's was ever in the log: another one of its name is as good.
        check((0, 4), (1, 0), Stand::Keeps);
        assert_eq!(Stand::of(None, None), Stand::Gone);
    }
}
