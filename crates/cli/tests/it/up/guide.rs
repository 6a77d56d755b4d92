//! `docs/guides/first-five-minutes.md`, followed to the letter: its commands in their order, and what it says that they print.

use std::collections::HashMap;
use std::time::Instant;

use super::terminal::OnTerminal;
use super::{LONG, pause};
use crate::folder::Folder;
use crate::karwan::{call, root};

/// Where a node is that nobody gave a port; a test takes a free one.
const USUAL: &str = "http://127.0.0.1:7070";
/// Facts that come some seconds after their cause, when `karwan try` may have stopped looking.
const STRAGGLERS: [&str; 2] = ["snapshot.computed", "listing.indexed"];

/// Payment waits for both of these, and names the one that came last.
const EITHER: [&str; 2] = ["← booking.held", "← allocation.committed"];

/// A command of the guide, and what stands below it.
struct Step {
    command: String,
    printed: Vec<String>,
}

/// The commands of all `console` blocks.
fn steps(guide: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in guide.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (false, _) => {}
            (true, line) => match line.strip_prefix("$ ") {
                Some(command) => steps.push(Step { command: command.to_owned(), printed: Vec::new() }),
                None => steps.last_mut().expect("a block begins with a command").printed.push(line.to_owned()),
            },
        }
    }
    steps
}

/// An id that is another one every time: 26 letters and digits, behind a prefix or none. Tenants of the demo keep theirs.
fn is_id(word: &str) -> bool {
    let bare = word.split_once('_').map_or(word, |(_, bare)| bare);
    bare.len() == 26
        && bare.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit())
        && !word.starts_with("tnt_")
}

/// A word without what may stand around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|it: char| "+(),:".contains(it))
}

/// A line with what varies left out: ids, times, rates, and how many events there were.
fn shape(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let varies = |place: usize| {
        let word = bare(words[place]);
        let next = words.get(place + 1).copied().unwrap_or_default();
        let is_number = word.parse::<f64>().is_ok();
        let is_instant = word.len() == 24 && word.ends_with('Z') && word.starts_with("20");
        is_id(word)
            || is_number && (word.contains('.') || ["ms", "ms,", "events"].contains(&next))
            || is_instant
            || word.ends_with("/s")
    };
    let shown = |place: usize| if varies(place) { "#" } else { words[place] };
    (0..words.len()).map(shown).collect::<Vec<_>>().join(" ")
}

/// Whether a printed line is what the guide has; `…` stands for anything.
fn is_as(line: &str, guide: &str) -> bool {
    let (line, guide) = (shape(line), shape(guide));
    let line = if guide.contains(" intent.") { line.replace(EITHER[0], EITHER[1]) } else { line };
    match guide.split_once('…') {
        Some((begins, ends)) => line.starts_with(begins) && line.ends_with(ends),
        None => line == guide,
    }
}

/// The lines of the guide that were not printed; what was printed in place of the guide's ids is kept.
fn missing(step: &Step, printed: &[String], ids: &mut HashMap<String, String>) -> Vec<String> {
    let mut missing = Vec::new();
    for guide in &step.printed {
        if guide.trim().is_empty() || guide.trim() == "…" || STRAGGLERS.iter().any(|what| guide.contains(what)) {
            continue;
        }
        match printed.iter().find(|line| is_as(line, guide)) {
            None => missing.push(guide.clone()),
            Some(line) => {
                let words = |line: &str| line.split_whitespace().map(|word| bare(word).to_owned()).collect::<Vec<_>>();
                let pairs = words(guide).into_iter().zip(words(line)).filter(|(guide, _)| is_id(guide));
                for (guide, printed) in pairs {
                    ids.entry(guide).or_insert(printed);
                }
            }
        }
    }
    missing
}

/// Runs a command in a folder; one that only looks is repeated until what the guide shows has happened.
fn run(folder: &Folder, step: &Step, ids: &mut HashMap<String, String>) {
    let words = step.command.strip_prefix("karwan ").unwrap_or_else(|| panic!("not run: {}", step.command));
    let words: Vec<String> =
        words.split_whitespace().map(|word| ids.get(word).cloned().unwrap_or_else(|| word.to_owned())).collect();
    let looks = words.starts_with(&["saga".to_owned(), "list".to_owned()]);
    let since = Instant::now();
    loop {
        let answer = call(&words).within(folder.path()).run().exits(0);
        let printed: Vec<String> = answer.stdout.lines().chain(answer.stderr.lines()).map(str::to_owned).collect();
        let missing = missing(step, &printed, ids);
        if missing.is_empty() {
            return;
        }
        assert!(looks && since.elapsed() < LONG, "`{}` does not print {missing:#?}, but {printed:#?}", step.command);
        pause();
    }
}

/// The guide without its section on Postgres, and that section.
fn parts() -> (String, String) {
    let guide = std::fs::read_to_string(root().join("docs/guides/first-five-minutes.md")).expect("there is a guide");
    let (before, rest) = guide.split_once("\n## On Postgres\n").expect("it has a section on Postgres");
    let (section, after) = rest.split_once("\n## ").expect("another one follows");
    (format!("{before}\n## {after}"), section.to_owned())
}

#[test]
fn the_same_goes_on_postgres_as_its_section_says() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let (database, folder) = (server.database(), Folder::new());
    let login = format!("guide_{}", database.name());
    database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
    let (guide, section) = parts();
    let [migrate, up] = &steps(&section)[..] else { panic!("{section}") };
    let here = |command: &str| {
        let command = command.strip_prefix("karwan ").expect("it is ours");
        let command = command.replace("postgres://owner@localhost/hotel", &database.url());
        let command = command.replace("postgres://node@localhost/hotel", &database.url_as(&login));
        command.replace("--grant node", &format!("--grant {login}"))
    };
    let words: Vec<String> = here(&migrate.command).split_whitespace().map(str::to_owned).collect();
    call(&words).within(folder.path()).run().exits(0);
    let up_here = here(&up.command).replace(&database.url_as(&login), &format!("'{}'", database.url_as(&login)));
    let Some(node) = OnTerminal::up(folder.path(), &format!("{up_here} --port 0")).or_skip() else { return };
    let public = node.card()["public"].as_str().expect("an address").to_owned();
    let shown: Vec<String> =
        node.shown_until("For machines:").iter().map(|line| line.replace(&public, USUAL)).collect();
    let mut ids = HashMap::new();
    assert_eq!(missing(up, &shown, &mut ids), Vec::<String>::new(), "{shown:#?}");
    let booked: Vec<Step> = steps(&guide).into_iter().filter(|step| step.command == "karwan try booking").collect();
    assert_eq!(booked.len(), 1);
    run(&folder, &booked[0], &mut ids);
    assert_eq!(node.stop().0, Some(0));
}

#[test]
fn the_first_five_minutes_go_as_their_guide_says() {
    let (guide, _) = parts();
    let steps = steps(&guide);
    let [first, rest @ ..] = &steps[..] else { panic!("the guide has commands") };
    let up = first.command.strip_prefix("cargo run --release -- ").expect("it begins with starting a node");
    let folder = Folder::new();
    let Some(node) = OnTerminal::up(folder.path(), &format!("{up} --port 0")).or_skip() else { return };
    let public = node.card()["public"].as_str().expect("an address").to_owned();
    let shown = node.shown_until("For machines:");
    let shown: Vec<String> = shown.iter().map(|line| line.replace(&public, USUAL)).collect();
    let mut ids = HashMap::new();
    assert_eq!(missing(first, &shown, &mut ids), Vec::<String>::new(), "{shown:#?}");
    assert!(rest.len() >= 6, "all blocks are found: {}", rest.len());
    for step in rest {
        run(&folder, step, &mut ids);
    }
    assert_eq!(node.stop().0, Some(0));
}

#[test]
fn only_what_varies_is_left_out_of_a_line() {
    for (line, guide, same) in [
        ("   +0.031 s  a-service  x.held  ← y", "+9.999 s  a-service  x.held  ← y", true),
        ("   +0.031 s  a-service  x.held  ← y", "+9.999 s  b-service  x.held  ← y", false),
        ("100 bookings in 3.0 s: 95 confirmed", "100 bookings in 4.0 s: 95 confirmed", true),
        ("100 bookings in 3.0 s: 95 confirmed", "100 bookings in 4.0 s: 94 confirmed", false),
        ("confirm p50 1959 ms, p99 2 ms", "confirm p50 7 ms, p99 8 ms", true),
        ("on sqlite:/tmp/x/karwan.db", "on sqlite:…/karwan.db", true),
        ("on sqlite:/tmp/x/other.db", "on sqlite:…/karwan.db", false),
        ("rsv_01M7MBC8ZVFMEBR8RS9FVA2S5M ended", "rsv_01M7MBCG2FFPCBPXNNWRJ4T2VJ ended", true),
        ("tnt_01J31F0000E008000000000001 ended", "tnt_01J31F0000E008000000000002 ended", false),
    ] {
        assert_eq!(is_as(line, guide), same, "{line}, {guide}");
    }
}
