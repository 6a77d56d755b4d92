//! `cargo xtask`: picks the verb.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line tool: printing is its work")]

use std::process::ExitCode;

use xtask::project::Project;
use xtask::{check, emit, lint, requirements, slow, test_run};

const USAGE: &str = "\
Usage: cargo xtask VERB

  lint                      formatting, clippy, tidy, licences, requirements, gates, docs; every step runs, failures are listed at the end
  test                      finds or installs what the tests need, runs them, ends with `N passed, N failed, N skipped`
  check                     lint, then test
  emit                      writes catalog/ anew from the event types
  requirements              counts of docs/requirements.md; fails when the page is not true
  slow proptest --cases N   the tests with N cases for each property
  slow processes [--rounds N]  the tests that kill, stop and replace real processes, N times each (default 15)
  slow upgrade [--from COMMIT]
                            rolling upgrades from the program of COMMIT (default: the base that the schema gate compares with)
  slow postgres             the tests that start Postgres, with version 15 or 16 and with version 18
  slow sim --seeds N [--seed S] [--without RULE]
                            N simulations of several processes; a seed that goes wrong is printed, and --seed plays it again;
                            RULE (claim, version or epoch) is left out, to see what goes wrong without it
  slow hotel --seeds N [--seed S]
                            N hotels whose guests, services and gateway misbehave, one a seed, and N seeds of each test that has
                            some; a seed that breaks a rule is printed with it, and --seed plays it again
  slow kills [--moments N] [--seed S]
                            kills a node in the middle of each fault, N times (default 3) on each store, and once so that it is
                            back after the saga's deadline
  slow chaos [--kills N] [--seed S] [--without RULE]
                            `karwan chaos` with N kills (default 200); RULE (ack, park, sequence or epoch) is left out,
                            to see what goes wrong without it
  slow chaos --trials [--kills N] [--seeds N] [--seed S] [--without RULE]
                            leaves out each rule in turn (or RULE alone) until chaos, with N kills (default 40) and up to N
                            seeds (default 12, from 1 on), finds what goes wrong; fails where it does not
  help                      this text

Environment:
  KARWAN_BASE               git ref the schema gate compares with (default: origin/main, else HEAD~1)
  KARWAN_OVERRIDE_TICKET    incident ticket that lets the schema gate pass a breaking change
  KARWAN_CACHE              where tools are installed (default: $XDG_CACHE_HOME/karwan, else ~/.cache/karwan)
  KARWAN_PROMTOOL           Prometheus's checker that `test` uses (default: found, or out of the distribution's package)
  KARWAN_PYTHON             interpreter to prefer
  KARWAN_NATS_BIN           the NATS server, 2.10 or newer, that `test` uses (default: found or installed)
  KARWAN_POSTGRES_BIN       directory with the programs of the Postgres that `test` uses (default: found or installed)
";

/// `EX_USAGE` of sysexits: the command was used wrongly.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let project = match Project::find() {
        Ok(project) => project,
        Err(error) => return ended(Err(error)),
    };
    match words.as_slice() {
        ["lint"] => ended(lint::run(&project)),
        ["test"] => ended(test_run::run(&project, None)),
        ["check"] => ended(check::run(&project)),
        ["emit"] => ended(emit::run(&project)),
        ["requirements"] => ended(requirements::run(&project)),
        ["slow", rest @ ..] => match slow::parse(rest) {
            Ok(suite) => ended(slow::run(&project, &suite)),
            Err(reason) => usage(&reason),
        },
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        [] => usage("a verb is needed"),
        [verb, ..] => usage(&format!("no such command: `{}` (verb `{verb}`)", words.join(" "))),
    }
}

fn usage(reason: &str) -> ExitCode {
    eprintln!("xtask: {reason}\n\n{USAGE}");
    ExitCode::from(EXIT_USAGE)
}

fn ended(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
