//! Frozen selections: an action on many letters touches those that were shown, and none that came later.

use std::time::Duration;

use karwan_envelope::ids::EventId;
use tokio::time::Instant;

use super::Operator;
use super::action::{Deed, Who};
use super::desk::values;
use super::letter::{LETTERS_MAX, LetterFilter, Target};
use super::list::letters;
use crate::error::Error;

/// The most letters of one selection.
pub const SELECTION_MAX: usize = 10_000;

/// Letters that were chosen at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Its number.
    pub id: i64,
    /// When, milliseconds after 1970, by the store's clock.
    pub at: i64,
    /// Who chose.
    pub actor: String,
    /// How, in words.
    pub filter: String,
    /// Which, by consumer and place.
    pub members: Vec<Target>,
}

/// What became, or would become, of one member.
#[derive(Debug)]
pub struct Judged {
    /// The letter.
    pub target: Target,
    /// The number of the action, 0 in a dry run; or why it was refused.
    pub outcome: Result<i64, Error>,
}

/// Told of every letter of an action on many: how many are done, of how many, and what became of this one.
pub type Told<'a> = &'a (dyn Fn(usize, usize, &Judged) + Send + Sync);

/// How an action on many goes on.
#[derive(Clone, Copy)]
pub struct Bulk<'a> {
    /// The most letters a second; none is as fast as the store is.
    pub per_second: Option<u32>,
    /// Who hears of each.
    pub told: Told<'a>,
}

impl Operator {
    /// Freezes what a filter finds now, at most [`SELECTION_MAX`] letters. A filter that wants everything needs `all`.
    pub async fn select(&self, who: &Who, filter: &LetterFilter, all: bool) -> Result<Selection, Error> {
        who.signed()?;
        if *filter == LetterFilter::default() && !all {
            return Err(Error::SelectsAll);
        }
        let mut desk = self.desk().await?;
        let mut members = Vec::new();
        let mut after = None;
        loop {
            let page = letters(&mut desk, filter, after.as_ref(), LETTERS_MAX).await?;
            members.extend(page.letters.into_iter().map(|letter| letter.target));
            if members.len() > SELECTION_MAX {
                return Err(Error::TooLarge {
                    what: "letters of a selection",
                    actual: members.len(),
                    max: SELECTION_MAX,
                });
            }
            let Some(next) = page.next else { break };
            after = Some(next);
        }
        let at = desk.now().await?;
        let told = words(filter);
        let stored: Vec<(&str, String)> =
            members.iter().map(|it| (it.consumer.as_str(), format!("{:032x}", it.event.bits()))).collect();
        let stored = serde_json::to_string(&stored).expect("texts are JSON");
        let sql = "INSERT INTO karwan.selection (at, actor, filter, members) VALUES ($1, $2, $3, $4) RETURNING id";
        let row = desk.row(sql, values![at, who.actor.as_str(), told.as_str(), stored.as_str()]).await?;
        let id = row.map_or(0, |row| row.int(0));
        desk.commit().await?;
        Ok(Selection { id, at, actor: who.actor.clone(), filter: told, members })
    }

    /// A selection by its number.
    pub async fn selection(&self, id: i64) -> Result<Selection, Error> {
        let mut desk = self.look().await?;
        let sql = "SELECT at, actor, filter, members FROM karwan.selection WHERE id = $1";
        let row = desk.row(sql, values![id]).await?.ok_or(Error::NoSuch { what: "selection", id })?;
        let stored: Vec<(String, String)> = serde_json::from_str(&row.text(3)).unwrap_or_default();
        let member = |(consumer, event): (String, String)| {
            let event = EventId::from_bits(u128::from_str_radix(&event, 16).ok()?);
            Some(Target { consumer, event })
        };
        let members = stored.into_iter().filter_map(member).collect();
        Ok(Selection { id, at: row.int(0), actor: row.text(1), filter: row.text(2), members })
    }

    /// What an action on a selection would do: everything is tried, and nothing stays.
    pub async fn dry_run(&self, who: &Who, selection: i64, deed: &Deed) -> Result<Vec<Judged>, Error> {
        let mut judged = Vec::new();
        for target in self.selection(selection).await?.members {
            let outcome = self.would(who, &target, deed).await.map(|()| 0);
            judged.push(Judged { target, outcome: these(outcome)? });
        }
        Ok(judged)
    }

    /// Does the same to every letter of a selection, each in a transaction of its own. A refused one stays as it is, and the
    /// others go on; a store that is away ends it, and repeating it goes on where it stopped.
    pub async fn act_on_all(
        &self,
        who: &Who,
        selection: i64,
        deed: &Deed,
        bulk: Bulk<'_>,
    ) -> Result<Vec<Judged>, Error> {
        who.signed()?;
        let members = self.selection(selection).await?.members;
        let (mut pace, all) = (bulk.per_second.map(|rate| Pace::of(rate, Instant::now())), members.len());
        let mut judged = Vec::new();
        for (place, target) in members.into_iter().enumerate() {
            if let Some(pace) = &mut pace {
                tokio::time::sleep_until(pace.turn(Instant::now())).await;
            }
            let outcome = these(self.act(who, &target, deed).await)?;
            let one = Judged { target, outcome };
            (bulk.told)(place + 1, all, &one);
            judged.push(one);
        }
        Ok(judged)
    }
}

/// So many a second and no more, whatever happened before: time that was lost is not made up for.
struct Pace {
    every: Duration,
    next: Instant,
}

impl Pace {
    fn of(per_second: u32, now: Instant) -> Self {
        Self { every: Duration::from_secs(1) / per_second.max(1), next: now }
    }

    /// When the next one's turn is.
    fn turn(&mut self, now: Instant) -> Instant {
        let turn = self.next.max(now);
        self.next = turn + self.every;
        turn
    }
}

/// A refusal is the letter's; a store that is away, or an action that is wrong for all, ends it.
fn these(outcome: Result<i64, Error>) -> Result<Result<i64, Error>, Error> {
    match outcome {
        Err(error) if error.is_away() => Err(error),
        Err(error @ (Error::Unsigned { .. } | Error::SignOff { .. } | Error::Permission { .. })) => Err(error),
        other => Ok(other),
    }
}

/// A filter in words, for whoever reads the selection later.
fn words(filter: &LetterFilter) -> String {
    let LetterFilter { consumer, tenant, subject, key, event, state, error, since, until } = filter;
    let parts = [
        consumer.as_ref().map(|it| format!("consumer {it}")),
        tenant.map(|it| format!("tenant {it:032x}")),
        subject.as_ref().map(|it| format!("subject {it}")),
        key.as_ref().map(|it| format!("key {it}")),
        event.map(|it| format!("event {it}")),
        state.map(|it| format!("state {}", it.name())),
        error.as_ref().map(|it| format!("error with {it:?}")),
        since.map(|it| format!("since {it}")),
        until.map(|it| format!("until {it}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "all".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Pace;

    /// When each of these has its turn, in milliseconds, where each takes so long.
    fn turns(per_second: u32, took_ms: &[u64]) -> Vec<u128> {
        let (began, mut spent) = (Instant::now(), Duration::ZERO);
        let mut pace = Pace::of(per_second, began);
        let turn = |took: &u64| {
            let turn = pace.turn(began + spent) - began;
            spent = turn + Duration::from_millis(*took);
            turn.as_millis()
        };
        took_ms.iter().map(turn).collect()
    }

    #[test]
    fn the_first_goes_at_once_and_the_others_at_the_rate() {
        assert_eq!(turns(4, &[0; 5]), [0, 250, 500, 750, 1000]);
        assert_eq!(turns(10_000, &[0; 21])[20], 2);
    }

    #[test]
    fn what_takes_longer_than_the_rate_is_not_waited_for() {
        assert_eq!(turns(10, &[300, 300, 0, 0]), [0, 300, 600, 700]);
    }

    /// A store that stood still is not flooded when it goes on.
    #[test]
    fn behind_one_that_took_long_nothing_is_made_up_for() {
        assert_eq!(turns(2, &[0, 10_000, 0, 0, 0]), [0, 500, 10_500, 11_000, 11_500]);
    }

    #[test]
    fn in_no_second_are_there_more_than_the_rate() {
        for per_second in [1, 3, 7, 60] {
            let took: Vec<u64> = (0..300).map(|number| if number % 50 == 7 { 3_000 } else { number % 5 }).collect();
            let turns = turns(per_second, &took);
            let within = |from: u128| turns.iter().filter(|turn| (from..from + 999).contains(turn)).count();
            assert!(turns.iter().all(|turn| within(*turn) <= per_second as usize), "{per_second}: {turns:?}");
        }
    }
}
