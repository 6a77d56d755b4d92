//! An operator who retries whatever fails, and processes that work on the same keys at that moment.
//!
//! The operator is this process; those who hold the lanes are others. Letters are retried as soon as they are seen, so that a retry
//! meets an attempt that is under way, a parked event that was handled since, a dead one whose successor is about to run, and a
//! lane that is passing to another process.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

use karwan_store::Error;
use karwan_store::operator::{Deed, LETTERS_MAX, LetterFilter, Operator, State, Target, Who};

use super::node::{CONSUMER, Program};
use super::yard::{Yard, until};
use super::{rounds, with_fed_yard, with_yard};
use crate::shop;

const KEYS: usize = 8;
/// Events of a key that are committed together: the first one of them to die has a successor that is about to run.
const BURST: usize = 2;
/// Of one producer: then a key rests longer than its attempts take, also where others are at work, so that a dead one may be its
/// last for a while.
const REST: Duration = Duration::from_millis(700);
/// What has failed waits so long for an operator, who needs a second on a busy machine.
const RETRY_MS: i64 = 3_000;

/// So many letters are retried after a look: on a busy machine the others would be old news.
const AT_ONCE: usize = 3;

/// What an operator was answered.
#[derive(Debug, Default)]
struct Answers {
    /// It was parked, and is due at once.
    parked: u64,
    /// It was dead, and is parked again.
    dead: u64,
    /// It was handled meanwhile: there is nothing to retry, which is what was wanted.
    handled: u64,
    /// Later events of its key ran.
    passed: u64,
    /// Those: they stay so.
    stay: HashSet<Target>,
}

impl Answers {
    /// Everything that can meet has met so often. Whether later events of a key ran that a stream delivered, its consumer's store
    /// cannot know: a dead one of those is never retried in order.
    fn are_enough(&self, times: u64, fed: bool) -> bool {
        self.parked >= 5 * times && (fed || self.dead >= times) && self.passed >= times
    }
}

/// Retries the newest letters that there are, in order alone.
async fn retry_some(operator: &Operator, answers: &mut Answers) {
    let who = Who { actor: "ann".to_owned(), reason: "INC-7".to_owned() };
    let filter = LetterFilter { consumer: Some(CONSUMER.to_owned()), ..LetterFilter::default() };
    let page = operator.letters(&filter, None, LETTERS_MAX).await.expect("letters can be listed");
    let mut letters = page.letters;
    letters.retain(|letter| !answers.stay.contains(&letter.target));
    // The key of a dead one has gone on, and its successor is about to run.
    letters.sort_by_key(|letter| (letter.state != State::Dead, Reverse(letter.seq)));
    for letter in letters.into_iter().take(AT_ONCE) {
        let answer = operator.act(&who, &letter.target, &Deed::Retry { out_of_order: false }).await;
        match answer {
            Ok(_) if letter.state == State::Dead => answers.dead += 1,
            Ok(_) => answers.parked += 1,
            Err(Error::Claimed { .. }) => answers.handled += 1,
            Err(Error::OutOfOrder { .. }) => {
                answers.passed += 1;
                answers.stay.insert(letter.target);
            }
            Err(error) => panic!("a retry of {:?} is answered with {error:?}", letter.target),
        }
    }
}

#[test]
fn retries_that_meet_the_live_path_lose_double_and_reorder_nothing() {
    with_yard(retried_while_others_work);
}

/// The same of a consumer in another database than its events'. One process at a time is fed; the other one follows it, and takes over when it is killed.
#[test]
fn retries_that_meet_what_a_stream_delivers_lose_double_and_reorder_nothing() {
    with_fed_yard(retried_while_others_work);
}

async fn retried_while_others_work(yard: Yard) {
    let programs = ["a", "b"].map(|name| Program {
        lanes: 4,
        slow_ms: 40,
        failing: 35,
        attempts_max: 2,
        retry_ms: RETRY_MS,
        ..yard.program(name)
    });
    let fed = yard.fixture.broker().is_some();
    let mut processes = programs.each_ref().map(|program| yard.start(program));
    for process in processes.iter().filter(|_| !fed) {
        yard.at_work(process).await;
    }
    yard.holder().await;
    let operator = Operator::new(&yard.fixture.owner, vec![shop::catalogue()]);
    let (producing, mut answers) = (yard.produce_in_bursts(KEYS, BURST, REST), Answers::default());
    for round in 0..rounds(2) {
        until("all that can meet", async || {
            retry_some(&operator, &mut answers).await;
            answers.are_enough(3 * (round + 1), fed).then_some(())
        })
        .await;
        // Lanes pass to somebody else, who loads what operators have parked in them.
        let holder = yard.holder().await;
        let victim = usize::from(programs[1].name == holder);
        let heir = yard.start(&programs[victim]);
        std::mem::replace(&mut processes[victim], heir).kill();
    }
    producing.end().await;
    let judgement = yard.judged().await;
    let dead: usize = yard.psql("SELECT count(*) FROM karwan.dead").parse().expect("a number");
    let told = (judgement.lost, judgement.doubled, judgement.inverted, judgement.torn);
    assert_eq!(
        told,
        (dead, 0, 0, 0),
        "what is not handled is dead, and nothing else is wrong: {answers:?}, {judgement:?}"
    );
    let acted = yard.psql("SELECT count(*) FROM karwan.action WHERE verb = 'retry' AND actor = 'ann'");
    assert_eq!(acted, (answers.parked + answers.dead).to_string(), "every retry is written down, and no other");
}
