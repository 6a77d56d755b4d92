use std::collections::BTreeSet;

use crate::karwan::karwan;

/// The names under "Commands:" in a help text.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A description that is too long goes on in the next line, further to the right.
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Every command that has no commands below it, as its arguments.
fn verbs() -> Vec<Vec<String>> {
    let mut verbs = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let below = commands(&help(&path));
        if below.is_empty() {
            verbs.push(path);
        } else {
            open.extend(below.into_iter().map(|name| [&path[..], &[name]].concat()));
        }
    }
    verbs.sort();
    verbs
}

fn help(path: &[String]) -> String {
    let answer = karwan(&[path, &["--help".to_owned()]].concat()).exits(0);
    assert_eq!(answer.stderr, "", "help that was asked for is data");
    answer.stdout
}

const PROMISED: &[&str] = &[
    "backup",
    "bench append",
    "bench consume",
    "bench contract",
    "bench fairness",
    "bench growth",
    "bench latency",
    "bench relay",
    "bench takeover",
    "catalog check",
    "catalog emit",
    "catalog list",
    "catalog show",
    "chaos",
    "completions",
    "config example",
    "config show",
    "consumer forget",
    "consumer list",
    "consumer pause",
    "consumer rebuild",
    "consumer resume",
    "consumer seek",
    "consumer show",
    "dlq actions",
    "dlq classify",
    "dlq delete",
    "dlq list",
    "dlq note",
    "dlq quarantine",
    "dlq repair",
    "dlq retry",
    "dlq show",
    "dlq skip",
    "dlq undo",
    "doctor",
    "envelope convert",
    "envelope validate",
    "inbox clear",
    "key pause",
    "key resume",
    "key show",
    "load",
    "log stats",
    "log tail",
    "lost",
    "migrate",
    "outbox",
    "relay",
    "replay",
    "restore",
    "retention plan",
    "retention run",
    "saga list",
    "saga retry-step",
    "saga show",
    "schema audit",
    "schema bundle",
    "schema diff",
    "schema gate",
    "schema hash",
    "topology apply",
    "topology check",
    "topology emit-nats",
    "topology show",
    "trace",
    "try booking",
    "try cancellation",
    "up",
];

#[test]
fn every_promised_verb_exists() {
    let verbs: Vec<String> = verbs().iter().map(|verb| verb.join(" ")).collect();
    assert_eq!(verbs, PROMISED);
}

#[test]
fn the_help_of_every_verb_has_an_example_of_that_verb() {
    for verb in verbs() {
        let help = help(&verb);
        let example = format!("karwan {}", verb.join(" "));
        let before_usage = help.split("Usage:").next().expect("a text has a beginning");
        assert!(before_usage.contains("Example") && before_usage.contains(&example), "{example}: {help}");
    }
}

#[test]
fn the_help_of_every_noun_has_an_example_of_one_of_its_verbs() {
    let verbs = verbs();
    let nouns: BTreeSet<&[String]> = verbs.iter().filter(|path| path.len() > 1).map(|path| &path[..1]).collect();
    assert_eq!(nouns.len(), 14, "{nouns:?}");
    for noun in nouns {
        let help = help(noun);
        let before_usage = help.split("Usage:").next().expect("a text has a beginning");
        let example = before_usage.lines().find_map(|line| line.strip_prefix("Example: karwan ")).unwrap_or_default();
        let shown = verbs.iter().any(|verb| verb.starts_with(noun) && example.starts_with(&verb.join(" ")));
        assert!(shown, "{noun:?}: {help}");
    }
}

#[test]
fn no_line_of_help_is_broken_in_the_middle_of_a_sentence() {
    for verb in verbs() {
        for line in help(&verb).lines() {
            assert!(line.chars().count() <= 100, "{verb:?}: {line}");
            // A wrapped line that ends in one short leftover was cut at the width, not where its author meant.
            let leftover = line.split_whitespace().count() == 1 && line.starts_with(|it: char| it.is_ascii_lowercase());
            assert!(!leftover, "{verb:?}: {line}");
        }
    }
}

/// What goes on in the next line says so, or half a command would be pasted.
#[test]
fn no_example_is_cut_at_the_width() {
    for verb in verbs() {
        let help = help(&verb);
        let lines: Vec<&str> = help.lines().collect();
        for two in lines.windows(2).filter(|two| two[0].starts_with("  karwan ") && !two[0].ends_with('\\')) {
            assert!(two[1].is_empty() || two[1].contains("karwan "), "{verb:?}: {}", two.join("\n"));
        }
    }
}

#[test]
fn version_is_an_answer() {
    let answer = karwan(&["--version"]).exits(0);
    assert_eq!(answer.stdout, format!("karwan {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn bad_usage_exits_64_and_says_so_on_standard_error() {
    let misuses: &[&[&str]] = &[
        &[],
        &["catalog"],
        &["catalogue"],
        &["catalog", "list", "--colour"],
        &["catalog", "list", "extra"],
        &["catalog", "list", "--format", "xml"],
        &["catalog", "show"],
        &["schema", "diff", "only-one.json"],
        &["schema", "diff", "a.json", "b.json", "--format", "sarif"],
        &["schema", "gate"],
        &["schema", "bundle"],
        &["schema", "hash"],
        &["envelope", "validate", "--profile", "amqp"],
        &["envelope", "convert"],
        &["envelope", "convert", "--from", "learning"],
        &["bench", "contract", "--events", "many"],
        &["bench", "append", "--events", "15"],
        &["bench", "append", "--store", "sqlite:x", "--pairs", "0"],
        &["bench", "consume", "--store", "sqlite:x", "--events", "0"],
        &["bench", "takeover", "--store", "sqlite:x", "--rate", "0"],
        &["completions"],
        &["migrate"],
        &["migrate", "--store", "postgres://localhost/x", "--grant", "=service"],
        &["log", "stats"],
        &["log", "tail"],
        &["log", "tail", "--store", "sqlite:x", "--tenant", "somebody"],
        &["log", "tail", "--store", "sqlite:x", "--subject", "a..b"],
        &["log", "tail", "--store", "sqlite:x", "--from", "1-2-3"],
        &["log", "tail", "--store", "sqlite:x", "--from", "1", "--last", "2"],
        &["log", "tail", "--store", "sqlite:x", "--last", "0"],
        &["consumer", "seek", "x.y", "--store", "sqlite:x", "--reason", "r"],
        &["consumer", "seek", "x.y", "--store", "sqlite:x", "--to", "1"],
        &["replay", "--store", "sqlite:x", "--reason", "r"],
        &["retention", "run", "--store", "sqlite:x"],
        &["retention", "plan", "--store", "sqlite:x", "--claim-days", "29"],
        &["schema", "audit", "--store", "sqlite:x", "a.json", "b.json", "c.json"],
        &["doctor"],
        &["backup", "--store", "sqlite:x"],
        &["restore", "--store", "sqlite:x"],
        &["restore", "--store", "sqlite:x", "copy.db", "--resume", "--reason", "r"],
        &["restore", "--store", "sqlite:x", "--resume"],
        &["restore", "--store", "sqlite:x", "copy.db", "--reason", "r"],
        &["chaos", "--kills", "0"],
        &["chaos-actor"],
        &["config", "show", "--format", "toml"],
    ];
    for misuse in misuses {
        let answer = karwan(misuse);
        assert_eq!(answer.code, Some(64), "{misuse:?}");
        assert_eq!(answer.stdout, "", "{misuse:?}");
        assert!(answer.stderr.contains("Usage:") || answer.stderr.contains("--help"), "{misuse:?}: {}", answer.stderr);
    }
}
