use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use karwan_testkit::{nats, postgres};

/// Whether the servers can be had that chaos starts.
fn servers() -> Option<()> {
    let variable = |name: &str| std::env::var_os(name);
    postgres::find(variable).or_skip()?;
    nats::find(variable).or_skip().map(drop)
}

/// Without the bounds on memory of other calls: servers run below it.
fn chaos(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_karwan"));
    command.arg("chaos").args(args).env_remove("KARWAN_SKIPS");
    command
}

/// Runs it to its end, and passes on what it tells meanwhile: a run that is broken off has said how far it came.
#[expect(clippy::print_stderr, reason = "shown with a test that fails or is ended")]
fn followed(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let told = BufReader::new(child.stderr.take().expect("it was asked for"));
    let mut stderr = String::new();
    for line in told.lines() {
        let line = line.expect("what is printed is text");
        eprintln!("{line}");
        stderr.push_str(&line);
        stderr.push('\n');
    }
    let output = child.wait_with_output().expect("it is our child");
    Output { stderr: stderr.into_bytes(), ..output }
}

fn texts(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("what is printed is text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The plan of this seed has the broker, a database, a relay, a consumer of the log and one of the stream; 200 kills are in
/// `cargo xtask slow chaos`.
#[test]
fn five_kills_lose_double_and_reorder_nothing() {
    if servers().is_none() {
        return;
    }
    let output = followed(chaos(&["--kills", "5", "--seed", "163"]));
    let (code, stdout, stderr) = texts(output);
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let kills = "seed 163: 5 kills (guide-1 1, nats 1, postgres-1 1, relay-1 1, watch-1 1) and 2 stops";
    assert!(stdout.starts_with(kills), "{stdout}");
    assert!(stderr.starts_with("seed 163\n") && stderr.contains("kill -9 nats"), "{stderr}");
    let (places, rest) = stdout.split_once("well: ").expect("a verdict");
    assert_eq!(rest, "nothing is lost, applied twice or out of order\n");
    let counts = places.lines().skip(2).map(|line| line.split_whitespace().rev().take(5).collect::<Vec<_>>());
    let counts: Vec<Vec<&str>> = counts.collect();
    assert_eq!(counts.len(), 5, "{stdout}");
    for place in counts {
        assert_eq!(place[..4], ["0"; 4], "{stdout}");
        assert!(place[4].parse::<u64>().is_ok_and(|events| events > 100), "{stdout}");
    }
}

/// The plan of this seed kills until the time is over, a moment after everybody has begun.
#[test]
fn after_so_many_minutes_nobody_is_killed_any_more() {
    if servers().is_none() {
        return;
    }
    let (code, stdout, stderr) = texts(followed(chaos(&["--minutes", "0.03", "--seed", "7"])));
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let kills = stdout.strip_prefix("seed 7: ").and_then(|rest| rest.split(' ').next());
    let kills: u64 = kills.and_then(|kills| kills.parse().ok()).unwrap_or_else(|| panic!("{stdout}"));
    // One has a second and a half before the next.
    assert!((1..=12).contains(&kills), "{stdout}");
    assert!(stdout.contains("well: nothing is lost, applied twice or out of order\n"), "{stdout}");
}

#[test]
fn a_time_that_is_none_is_bad_usage() {
    for wrong in ["0", "no", "-1", "NaN", "inf"] {
        crate::karwan::karwan(&["chaos", &format!("--minutes={wrong}")]).exits(64).says("0.01 to 10000");
    }
}

#[test]
fn a_machine_without_a_server_is_told_what_to_do() {
    let output = chaos(&["--kills", "1"]).env("KARWAN_NATS_BIN", "nowhere").output().expect("the binary starts");
    let (code, stdout, stderr) = texts(output);
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(
        stderr.contains("error: chaos starts a NATS server of its own, and cannot: KARWAN_NATS_BIN: nowhere"),
        "{stderr}"
    );
}
