//! Simulations, one a seed: `simulate [--seeds N] [--seed S] [--without claim|version|epoch] [--trace]`.
//!
//! Without `--seed` the first one is drawn, and printed. Ends at the first seed that goes wrong, with what went wrong and
//! the command that plays it again.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool: printing is its work")]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_testkit::simulation::{Plan, Report, Rule, run};

/// How many seeds between two lines of progress.
const TELL_EVERY: u64 = 200;

/// What was asked for.
struct Asked {
    first: u64,
    seeds: u64,
    plan: Plan,
    /// The rule that is left out, as it was named.
    without: Option<String>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match parse(&words) {
        Ok(asked) => simulate(&asked),
        Err(reason) => {
            eprintln!("simulate: {reason}");
            ExitCode::from(64)
        }
    }
}

fn parse(mut words: &[&str]) -> Result<Asked, String> {
    let (mut first, mut seeds, mut plan, mut without) = (None, 1, Plan::default(), None);
    loop {
        words = match words {
            [] => break,
            ["--trace", rest @ ..] => {
                plan.tell = true;
                rest
            }
            ["--seed", number, rest @ ..] => {
                first = Some(number.parse().map_err(|_| format!("--seed takes a number, not `{number}`"))?);
                rest
            }
            ["--seeds", number, rest @ ..] => {
                seeds = number.parse().map_err(|_| format!("--seeds takes a number, not `{number}`"))?;
                rest
            }
            ["--without", rule, rest @ ..] => {
                without = Some((*rule).to_owned());
                plan.without = Some(match *rule {
                    "claim" => Rule::Claim,
                    "version" => Rule::Version,
                    "epoch" => Rule::Epoch,
                    other => return Err(format!("no such rule: `{other}`")),
                });
                rest
            }
            [other, ..] => return Err(format!("what is `{other}`?")),
        };
    }
    // Short enough to be typed.
    let first = first.unwrap_or_else(|| OsRandom.bits() % 1_000_000_000);
    Ok(Asked { first, seeds, plan, without })
}

fn simulate(asked: &Asked) -> ExitCode {
    println!("seeds {} to {}", asked.first, asked.first + asked.seeds.saturating_sub(1));
    let began = Instant::now();
    let (next, done, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let red: Mutex<Option<(u64, Report)>> = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= asked.seeds {
                        return;
                    }
                    let seed = asked.first + number;
                    let report = run(&Plan { seed, ..asked.plan });
                    for line in &report.lines {
                        println!("{line}");
                    }
                    if asked.seeds == 1 {
                        println!("seed {seed}: trace {:016x}, {:?}", report.trace, report.counts);
                    }
                    if !report.violations.is_empty() {
                        stop.store(true, Ordering::Relaxed);
                        red.lock().expect("nothing panics while holding it").get_or_insert((seed, report));
                        return;
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of(TELL_EVERY) {
                        eprintln!("{done} of {} seeds, {:.1} a second", asked.seeds, rate(done, began));
                    }
                }
            });
        }
    });
    let done = done.into_inner();
    match red.into_inner().expect("nothing panics while holding it") {
        None => {
            println!("{done} seeds are well, {:.1} a second", rate(done, began));
            ExitCode::SUCCESS
        }
        Some((seed, report)) => {
            println!("seed {seed} is not well ({done} others were):");
            for violation in &report.violations {
                println!("  {violation}");
            }
            let without = asked.without.as_ref().map(|rule| format!(" --without {rule}")).unwrap_or_default();
            println!("again: cargo xtask slow sim --seed {seed}{without}");
            ExitCode::FAILURE
        }
    }
}

fn rate(done: u64, began: Instant) -> f64 {
    done as f64 / began.elapsed().as_secs_f64()
}
