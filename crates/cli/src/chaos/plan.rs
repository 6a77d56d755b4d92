//! Who is killed or stopped, and when: decided by a seed before anything is done. Pure.

use karwan_envelope::mint::{Random as _, SeededRandom};

/// A process or a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Victim(pub usize);

/// What is done to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Ended with `SIGKILL`.
    Kill,
    /// Started again.
    Start,
    /// Stopped with `SIGSTOP`.
    Freeze,
    /// Let go on.
    Thaw,
}

/// One thing that is done, so many milliseconds after the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deed {
    /// When.
    pub at_ms: u64,
    /// To whom.
    pub victim: Victim,
    /// What.
    pub act: Act,
}

/// How long trouble goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// So many kills at most.
    pub kills: u64,
    /// So many milliseconds at most.
    pub ms: u64,
}

/// Between two kills, in milliseconds.
const BETWEEN: (u64, u64) = (150, 1_400);
/// How long a killed one stays away.
const AWAY: (u64, u64) = (0, 1_200);
/// One kill in so many is followed by another one at once.
const TOGETHER: u64 = 5;
/// Before one kill in so many, somebody is stopped for about the life of a lease.
const FREEZES: u64 = 2;
/// How much longer than a lease that is.
const PAST_LEASE: (u64, u64) = (50, 550);

/// Those whom things are done to.
#[derive(Debug, Clone)]
pub struct Cast {
    /// How many there are.
    pub all: usize,
    /// How many of them hold leases.
    pub leased: std::ops::Range<usize>,
}

/// The whole of it, in the order of time. The same seed gives the same plan.
pub fn plan(seed: u64, size: Size, cast: &Cast, lease_ms: u64) -> Vec<Deed> {
    let random = SeededRandom::new(seed);
    let below = |bound: u64| random.bits() % bound.max(1);
    let within = |(from, to): (u64, u64)| from + below(to - from);
    // Until when somebody is away or stopped.
    let mut busy = vec![0; cast.all];
    let (mut deeds, mut now, mut kills) = (Vec::new(), 0, 0);
    while kills < size.kills {
        now += if kills > 0 && below(TOGETHER) == 0 { 0 } else { within(BETWEEN) };
        if now > size.ms {
            break;
        }
        if below(FREEZES) == 0 {
            let number = cast.leased.start + below(cast.leased.len() as u64) as usize;
            let until = now + lease_ms + within(PAST_LEASE);
            if busy[number] < now {
                busy[number] = until;
                let deed = |at_ms, act| Deed { at_ms, victim: Victim(number), act };
                deeds.extend([deed(now, Act::Freeze), deed(until, Act::Thaw)]);
            }
        }
        let free: Vec<usize> = (0..cast.all).filter(|number| busy[*number] < now).collect();
        let until = now + within(AWAY);
        // Where everybody is away, somebody comes back before the next kill.
        let Some(number) = free.get(below(free.len() as u64) as usize).copied() else { continue };
        busy[number] = until;
        let deed = |at_ms, act| Deed { at_ms, victim: Victim(number), act };
        deeds.extend([deed(now, Act::Kill), deed(until, Act::Start)]);
        kills += 1;
    }
    deeds.sort_by_key(|deed| deed.at_ms);
    deeds
}

#[cfg(test)]
mod tests {
    use super::{Act, Cast, Deed, Size, plan};

    const CAST: Cast = Cast { all: 11, leased: 2..8 };

    fn deeds(seed: u64, kills: u64) -> Vec<Deed> {
        plan(seed, Size { kills, ms: u64::MAX }, &CAST, 1_500)
    }

    #[test]
    fn a_seed_decides_over_everything() {
        assert_eq!(deeds(7, 50), deeds(7, 50));
        assert_ne!(deeds(7, 50), deeds(8, 50));
    }

    #[test]
    fn whoever_is_killed_or_stopped_was_there_and_comes_back() {
        for seed in 0..50 {
            let mut away = [false; CAST.all];
            let mut kills = 0;
            for Deed { victim, act, .. } in deeds(seed, 40) {
                let (was, gone) = (away[victim.0], matches!(act, Act::Kill | Act::Freeze));
                assert_ne!(was, gone, "seed={seed}: {act:?}");
                away[victim.0] = gone;
                kills += u32::from(act == Act::Kill);
                assert!(act != Act::Freeze || CAST.leased.contains(&victim.0));
            }
            assert_eq!((away, kills), ([false; CAST.all], 40), "seed={seed}");
        }
    }

    #[test]
    fn time_ends_it_too() {
        let deeds = plan(7, Size { kills: u64::MAX, ms: 60_000 }, &CAST, 1_500);
        let kills = deeds.iter().filter(|deed| deed.act == Act::Kill);
        assert!(kills.clone().count() > 20 && kills.clone().all(|deed| deed.at_ms <= 60_000));
    }
}
