//! Moving a consumer through the log while it runs, and taking its claims back so that it handles events anew.
//!
//! In one transaction, in which no write of the consumer's lanes is under way, their epochs go up and their positions are
//! set: whoever held a lane loses it, and whoever takes it goes on from there. What was handled before is read again and
//! passed over, because it is claimed; only where claims are taken back is an event handled again. Then the operator holds
//! the lanes meanwhile, and goes through the log in its order, so that a consumer that comes back early has lost a beginning
//! of its claims and never a hole: order within a key holds. Letters keep their claims: what was given up, skipped or
//! quarantined has commands of its own.

use serde::{Deserialize, Serialize};

use super::in_hand::{Again, InHand};
use super::{Operator, Verb, Who};
use crate::error::Error;
use crate::lanes::{Declared, Found, Lanes, Move, Which};
use crate::log::{Filter, LogRow, PAGE_MAX, Position, Seq, SubjectPattern};
use crate::relay::RelayTx;
use crate::store::Store;
use crate::write_set::TenantBits;

/// A place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where it begins now.
    Start,
    /// Where it ends now.
    End,
    /// Behind this number of the store's present life.
    Seq(Seq),
    /// Behind this position.
    Position(Position),
    /// Before the first row that entered the log at this instant or later, milliseconds after 1970.
    Time(i64),
}

/// Where a consumer was moved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The recorded action; 0 where nothing was done yet.
    pub action: i64,
    /// How far its lanes were.
    pub was: Vec<Seq>,
    /// Where they are now.
    pub now: Vec<Seq>,
    /// How many claims were taken back.
    pub cleared: u64,
}

/// Which events; nothing in it means all.
#[derive(Debug, Clone, Default)]
pub struct Chosen {
    /// Of some subjects.
    pub subject: Option<SubjectPattern>,
    /// Of one tenant.
    pub tenant: Option<TenantBits>,
    /// Of one key.
    pub key: Option<String>,
}

impl Chosen {
    /// Whether it is one of them.
    pub fn has(&self, row: &LogRow) -> bool {
        self.subject.as_ref().is_none_or(|subject| subject.matches(&row.subject))
            && self.tenant.is_none_or(|tenant| tenant == row.tenant)
            && self.key.as_ref().is_none_or(|key| *key == row.key)
    }
}

/// Hears how far it is: numbers of the log that were looked at, and how many there are.
pub type Steps<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

/// What is needed to undo a move.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// How far the lanes were.
    pub was: Vec<Seq>,
    /// Where they went.
    #[serde(default)]
    pub to: Vec<Seq>,
    #[serde(default)]
    pub cleared: u64,
}

impl Kept {
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers are JSON")
    }
}

/// How far lanes were, as an action keeps it.
pub(crate) fn was_text(was: &[Seq]) -> String {
    Kept { was: was.to_vec(), ..Kept::default() }.text()
}

impl Operator {
    /// What [`Self::seek`] would do.
    pub async fn would_seek(&self, consumer: &str, place: Place) -> Result<Moved, Error> {
        let (_, found, to) = self.in_feed(consumer, place).await?;
        would_go(consumer, found, to)
    }

    /// Moves a consumer, back or forth. What it has handled stays handled. One that a stream feeds goes to a number of its
    /// stream, or to its start; whether the stream has that number, its broker says when it is read. Back it goes only where
    /// no claim was ever dropped: how old the events behind a number are, its broker has to be asked.
    pub async fn seek(&self, who: &Who, consumer: &str, place: Place) -> Result<Moved, Error> {
        who.signed()?;
        let (lanes, _, to) = self.in_feed(consumer, place).await?;
        self.go(who, consumer, (lanes, to)).await
    }

    /// What [`Self::seek_in_stream`] would do.
    pub async fn would_seek_in_stream(&self, consumer: &str, number: Seq) -> Result<Moved, Error> {
        let (_, found) = self.lanes_of(consumer).await?;
        would_go(consumer, found, number)
    }

    /// Moves a consumer that a stream feeds behind a number of its stream. That the stream has it, and that what was handled
    /// behind it is still known, is for the caller to see to, who has asked its broker.
    pub async fn seek_in_stream(&self, who: &Who, consumer: &str, number: Seq) -> Result<Moved, Error> {
        who.signed()?;
        let (lanes, _) = self.lanes_of(consumer).await?;
        self.go(who, consumer, (lanes, number)).await
    }

    async fn go(&self, who: &Who, consumer: &str, (mut lanes, to): (Lanes, Seq)) -> Result<Moved, Error> {
        let by = (consumer, who, self.clock.now().unix_ms());
        let (found, held) = lanes.move_lanes(by, |found| moved(consumer, found, to, None)).await?;
        let now = vec![to; found.lanes.len()];
        Ok(Moved { action: held.action, was: found.lanes, now, cleared: 0 })
    }

    /// The same, and takes the claims of chosen events from there on back: they are handled again, in their order.
    pub async fn seek_and_clear(
        &self,
        who: &Who,
        consumer: &str,
        (place, chosen): (Place, &Chosen),
        told: Steps<'_>,
    ) -> Result<Moved, Error> {
        who.signed()?;
        let (lanes, _, to) = self.at(consumer, place).await?;
        let in_hand = self.take(lanes, (who, consumer), (Again::Seek, to)).await?;
        self.through(in_hand, (to, chosen), told).await
    }

    /// Takes the claims of chosen events from a place on back, and moves nothing: whoever reads them again handles them again.
    pub async fn clear_inbox(
        &self,
        who: &Who,
        consumer: &str,
        (place, chosen): (Place, &Chosen),
        told: Steps<'_>,
    ) -> Result<Moved, Error> {
        who.signed()?;
        let (lanes, _, from) = self.at(consumer, place).await?;
        let in_hand = self.take(lanes, (who, consumer), (Again::Clear, from)).await?;
        self.through(in_hand, (from, chosen), told).await
    }

    /// What [`Self::undo_seek`] would do, and the number of the action that it would undo.
    pub async fn would_undo_seek(&self, consumer: &str, action: Option<i64>) -> Result<(i64, Moved), Error> {
        let mut lanes = Lanes::open(&self.address).await?;
        let (done, kept) = self.undoable(&mut lanes, consumer, action).await?;
        let found = lanes.find(consumer).await?;
        let now = restored(consumer, &kept, &found)?;
        Ok((done, Moved { action: 0, was: found.lanes, now, cleared: 0 }))
    }

    /// Moves a consumer back to where it was before an action, the last one if none is named. One that was sent back and has
    /// passed that place meanwhile stays where it is.
    pub async fn undo_seek(&self, who: &Who, consumer: &str, action: Option<i64>) -> Result<Moved, Error> {
        who.signed()?;
        let mut lanes = Lanes::open(&self.address).await?;
        let (done, kept) = self.undoable(&mut lanes, consumer, action).await?;
        let by = (consumer, who, self.clock.now().unix_ms());
        let mut now = Vec::new();
        let (found, held) = lanes
            .move_lanes(by, |found| {
                now = restored(consumer, &kept, found)?;
                let detail = Kept { was: found.lanes.clone(), to: now.clone(), cleared: 0 }.text();
                Ok(Move { to: now.clone(), hold: None, verb: Verb::Undo, detail, undoes: Some(done) })
            })
            .await?;
        Ok(Moved { action: held.action, was: found.lanes, now, cleared: 0 })
    }

    /// The number of an action that moved lanes of a consumer, the last one if none is named, and what it kept; refused where it
    /// cannot be undone.
    async fn undoable(&self, lanes: &mut Lanes, consumer: &str, action: Option<i64>) -> Result<(i64, Kept), Error> {
        let which = action.map_or(Which::LastOf(consumer, &[Verb::Seek, Verb::Forget]), Which::Number);
        let refused = |action: i64, reason: &str| Error::CannotUndo { action, reason: reason.to_owned() };
        let done = match (lanes.action(which).await?, action) {
            (Some(done), _) => done,
            (None, Some(action)) => return Err(refused(action, "there is no such action")),
            (None, None) => {
                let found = lanes.find(consumer).await?;
                self.known(lanes, consumer, &found).await?;
                return Err(Error::NoSeek { consumer: consumer.to_owned() });
            }
        };
        if done.undone_by.is_some() {
            return Err(refused(done.id, "it was undone before"));
        }
        let verb = Verb::named(&done.verb).filter(|verb| matches!(verb, Verb::Seek | Verb::Forget));
        if verb.is_none() || done.consumer.as_deref() != Some(consumer) {
            return Err(refused(done.id, "it moved no lanes of this consumer"));
        }
        let kept = serde_json::from_str(&done.detail).map_err(|_| refused(done.id, "it kept no positions"))?;
        Ok((done.id, kept))
    }

    /// Takes a consumer's lanes away, so that it holds nothing back; its letters stay. Refused while somebody runs it.
    /// Started again, it begins where the log begins.
    pub async fn forget(&self, who: &Who, consumer: &str) -> Result<Moved, Error> {
        who.signed()?;
        self.places(consumer).await?;
        let mut lanes = Lanes::open(&self.address).await?;
        let (found, action) = lanes.forget((consumer, who, self.clock.now().unix_ms())).await?;
        Ok(Moved { action, was: found.lanes, now: Vec::new(), cleared: 0 })
    }

    /// No release of a consumer will handle a subject again: those without a handler for it pass its events by from now on.
    /// Answers the action; none where no release has handled it. Refused while somebody who lives does; a release that handles
    /// it again says so when it starts.
    pub async fn forget_subject(&self, who: &Who, consumer: &str, subject: &str) -> Result<Option<i64>, Error> {
        who.signed()?;
        let mut lanes = Lanes::open(&self.address).await?;
        lanes.forget_subject((consumer, who, self.clock.now().unix_ms()), subject).await
    }

    /// How far the lanes of a consumer are, whatever feeds it.
    pub async fn places(&self, consumer: &str) -> Result<Vec<Seq>, Error> {
        let mut lanes = Lanes::open(&self.address).await?;
        let found = lanes.find(consumer).await?;
        if found.lanes.is_empty() {
            self.known(&mut lanes, consumer, &found).await?;
        }
        Ok(found.lanes)
    }

    /// Consumers of some subjects, as they have declared it.
    pub async fn consumers_of(&self, subjects: &SubjectPattern) -> Result<Vec<Declared>, Error> {
        let declared = Lanes::open(&self.address).await?.declared().await?;
        Ok(declared.into_iter().filter(|it| it.subjects.iter().any(|of| subjects.matches(of))).collect())
    }

    /// The log and who has handled what, to look at.
    pub async fn relay(&self) -> Result<RelayTx, Error> {
        Ok(Store::observe(&self.address).await?.relay())
    }

    /// What a consumer that has run here says of itself.
    pub async fn declared(&self, consumer: &str) -> Result<Declared, Error> {
        let mut lanes = Lanes::open(&self.address).await?;
        let found = lanes.find(consumer).await?;
        self.known(&mut lanes, consumer, &found).await?;
        Ok(Declared { consumer: consumer.to_owned(), ..found.declared })
    }

    /// Goes through the log in its order, a page at a time, gives all chosen events again, and lets go.
    pub(super) async fn through(
        &self,
        mut in_hand: InHand,
        (from, chosen): (Seq, &Chosen),
        told: Steps<'_>,
    ) -> Result<Moved, Error> {
        let relay = self.relay().await?;
        let Chosen { subject, tenant, key } = chosen.clone();
        let filter = Filter { subject, tenant, key, ..Filter::default() };
        let (end, mut position) = (relay.end().await?, relay.start().await?);
        let total = (end.seq - from).max(0).unsigned_abs();
        position.seq = position.seq.max(from);
        loop {
            let page = relay.page(position, &filter, PAGE_MAX).await?;
            in_hand.give(&page.rows).await?;
            position = page.position;
            told((position.seq - from).clamp(0, end.seq - from).unsigned_abs(), total);
            // What is committed meanwhile has not been handled: nobody else may.
            if !page.more || position.seq >= end.seq {
                return in_hand.let_go().await;
            }
        }
    }

    /// What is known of a consumer that has lanes, and the number behind which a place of the log lies.
    pub(super) async fn at(&self, consumer: &str, place: Place) -> Result<(Lanes, Found, Seq), Error> {
        let (lanes, found) = self.lanes_of(consumer).await?;
        match &found.declared.stream {
            Some(stream) => Err(Error::StreamFed { consumer: consumer.to_owned(), stream: stream.clone() }),
            None => Ok((lanes, found, self.seq_of(place).await?)),
        }
    }

    /// The same for a move that takes no claims back: also of a consumer that a stream feeds, to a number of it.
    async fn in_feed(&self, consumer: &str, place: Place) -> Result<(Lanes, Found, Seq), Error> {
        let (lanes, found) = self.lanes_of(consumer).await?;
        let to = match (&found.declared.stream, place) {
            (Some(_), Place::Start) => 0,
            (Some(_), Place::Seq(seq)) => seq,
            (Some(_), Place::End | Place::Position(_) | Place::Time(_)) | (None, _) => {
                return self.at(consumer, place).await;
            }
        };
        match &found.declared.stream {
            Some(stream) if goes_back(&found, to) && found.claims_floor.is_some() && !found.declared.rebuildable => {
                Err(Error::StreamFed { consumer: consumer.to_owned(), stream: stream.clone() })
            }
            _ => Ok((lanes, found, to)),
        }
    }

    /// What is known of a consumer that has lanes.
    async fn lanes_of(&self, consumer: &str) -> Result<(Lanes, Found), Error> {
        let mut lanes = Lanes::open(&self.address).await?;
        let found = lanes.find(consumer).await?;
        self.known(&mut lanes, consumer, &found).await?;
        Ok((lanes, found))
    }

    /// The number behind which a place lies.
    async fn seq_of(&self, place: Place) -> Result<Seq, Error> {
        let relay = self.relay().await?;
        match place {
            Place::Start => Ok(relay.start().await?.seq),
            Place::End => relay.safe().await,
            Place::Seq(seq) => Ok(seq),
            Place::Position(asked) => {
                let now = relay.end().await?;
                if asked.incarnation == now.incarnation { Ok(asked.seq) } else { Err(Error::Reset { asked, now }) }
            }
            Place::Time(at) => {
                let start = relay.start().await?;
                let first = relay.page(start, &Filter::default(), 1).await?.rows.pop();
                match first.filter(|first| start.seq > 0 && first.at > at) {
                    Some(first) => Err(Error::BeforeFloor { asked: at, floor: start.seq, from: first.at }),
                    None => Ok(relay.position_at(at).await?.seq),
                }
            }
        }
    }

    /// Refuses a consumer that has no lanes, and says which there are.
    pub(super) async fn known(&self, lanes: &mut Lanes, consumer: &str, found: &Found) -> Result<(), Error> {
        let reads_the_log = |name: &str| !name.starts_with(crate::effect::LANES) && !name.starts_with("relay.");
        if !found.lanes.is_empty() && reads_the_log(consumer) {
            return Ok(());
        }
        let known = lanes.consumers().await?.into_iter().filter(|name| reads_the_log(name)).collect();
        Err(Error::ConsumerUnknown { consumer: consumer.to_owned(), known })
    }
}

fn would_go(consumer: &str, found: Found, to: Seq) -> Result<Moved, Error> {
    let now = admitted(consumer, &found, to)?;
    Ok(Moved { action: 0, was: found.lanes, now, cleared: 0 })
}

fn goes_back(found: &Found, to: Seq) -> bool {
    found.lanes.iter().any(|position| *position > to)
}

pub(super) fn moved(consumer: &str, found: &Found, to: Seq, hold: Option<String>) -> Result<Move, Error> {
    let now = admitted(consumer, found, to)?;
    let detail = Kept { was: found.lanes.clone(), to: now.clone(), cleared: 0 }.text();
    Ok(Move { to: now, hold, verb: Verb::Seek, detail, undoes: None })
}

/// Where the lanes go, where the consumer may go there. What was handled behind a number of a stream, its broker was asked.
fn admitted(consumer: &str, found: &Found, to: Seq) -> Result<Vec<Seq>, Error> {
    let highest = found.lanes.iter().copied().max().unwrap_or_default();
    if found.declared.forward_only && goes_back(found, to) {
        return Err(Error::ForwardOnly { consumer: consumer.to_owned(), position: highest, asked: to });
    }
    if found.declared.stream.is_none() {
        readable(consumer, found, to)?;
    }
    Ok(vec![to; found.lanes.len()])
}

/// Whether everything behind a number is still there: the rows, and the claims of those that were handled.
pub(super) fn readable(consumer: &str, found: &Found, from: Seq) -> Result<(), Error> {
    let Found { floor, end, claims_floor, declared, .. } = found;
    let forgotten = claims_floor.filter(|floor| from < *floor);
    if from < *floor {
        return Err(Error::BelowFloor { asked: from, floor: *floor });
    }
    if from > *end {
        return Err(Error::BeyondEnd { asked: from, end: *end });
    }
    match forgotten {
        Some(floor) if goes_back(found, from) && !declared.rebuildable => {
            Err(Error::ClaimsGone { consumer: consumer.to_owned(), asked: from, floor })
        }
        _ => Ok(()),
    }
}

/// Where lanes were before a move. A consumer that is parted otherwise by now begins at the lowest of the places: what it has
/// handled it passes over.
fn restored(consumer: &str, kept: &Kept, found: &Found) -> Result<Vec<Seq>, Error> {
    let count = if found.lanes.is_empty() { kept.was.len() } else { found.lanes.len() };
    let lowest = kept.was.iter().copied().min().unwrap_or_default();
    let former = if kept.was.len() == count { kept.was.clone() } else { vec![lowest; count] };
    let went_back = kept.to.iter().max() < kept.was.iter().max();
    let places: Vec<Seq> = (0..count)
        .map(|lane| {
            let now = found.lanes.get(lane).copied().unwrap_or_default();
            if went_back { former[lane].max(now) } else { former[lane] }
        })
        .collect();
    match places.iter().copied().min() {
        Some(asked) if asked < found.floor && found.declared.stream.is_none() => {
            Err(Error::BelowFloor { asked, floor: found.floor })
        }
        // Claims may have gone since, also where the rows are there.
        Some(asked) if found.declared.stream.is_none() && goes_back(found, asked) => {
            readable(consumer, found, asked).map(|()| places)
        }
        _ => Ok(places),
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, admitted, restored};
    use crate::error::Error;
    use crate::lanes::{Declared, Found};

    fn found(lanes: &[i64]) -> Found {
        let declared = Declared::default();
        Found { lanes: lanes.to_vec(), floor: 10, end: 100, claims_floor: Some(20), declared }
    }

    #[test]
    fn a_consumer_goes_where_rows_and_claims_are_still_there() {
        assert_eq!(admitted("c", &found(&[50, 60]), 30).expect("both are there"), [30, 30]);
        assert!(matches!(admitted("c", &found(&[50]), 9), Err(Error::BelowFloor { asked: 9, floor: 10 })));
        assert!(matches!(admitted("c", &found(&[50]), 101), Err(Error::BeyondEnd { asked: 101, end: 100 })));
        assert!(matches!(admitted("c", &found(&[50]), 19), Err(Error::ClaimsGone { floor: 20, .. })));
        let rebuilt = Declared { rebuildable: true, ..Declared::default() };
        assert!(admitted("c", &Found { declared: rebuilt, ..found(&[50]) }, 19).is_ok());
        assert!(admitted("c", &found(&[12]), 15).is_ok(), "forward, nothing is handled twice");
    }

    #[test]
    fn a_consumer_that_never_goes_back_is_not_sent_back() {
        let declared = Declared { forward_only: true, ..Declared::default() };
        let found = Found { declared, ..found(&[50, 60]) };
        assert!(matches!(admitted("c", &found, 59), Err(Error::ForwardOnly { .. })));
        assert!(admitted("c", &found, 60).is_ok());
    }

    #[test]
    fn undoing_never_passes_over_what_was_not_handled() {
        let back = Kept { was: vec![50, 60], to: vec![30, 30], cleared: 0 };
        assert_eq!(restored("c", &back, &found(&[31, 70])).expect("it is there"), [50, 70]);
        let forth = Kept { was: vec![50, 60], to: vec![90, 90], cleared: 0 };
        assert_eq!(restored("c", &forth, &found(&[95, 95])).expect("it is there"), [50, 60]);
        assert_eq!(restored("c", &forth, &found(&[95, 95, 95])).expect("it is there"), [50, 50, 50]);
        let low = Kept { was: vec![5], to: vec![90], cleared: 0 };
        assert!(matches!(restored("c", &low, &found(&[95])), Err(Error::BelowFloor { asked: 5, floor: 10 })));
        let forgotten = Kept { was: vec![15], to: vec![90], cleared: 0 };
        assert!(matches!(
            restored("c", &forgotten, &found(&[95])),
            Err(Error::ClaimsGone { asked: 15, floor: 20, .. })
        ));
    }
}
