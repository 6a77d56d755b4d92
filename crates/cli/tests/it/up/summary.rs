//! What a node says when it is up: what can be done, by commands that can be pasted.

use super::{Node, until};
use crate::folder::Folder;
use crate::karwan::call;

/// What it says up to the end of its summary.
fn said(node: &Node) -> Vec<String> {
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains("For machines:")) {
        lines.push(node.log.recv_timeout(super::LONG).expect("it says more"));
    }
    lines
}

/// The commands among these lines, in words.
fn hints(lines: &[String]) -> Vec<Vec<String>> {
    // What a command does stands behind it, some spaces away.
    let command =
        |line: &String| line.strip_prefix("  karwan ").map(|rest| rest.split("  ").next().unwrap_or(rest).to_owned());
    let words = |text: String| text.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect();
    lines.iter().filter_map(command).map(words).collect()
}

/// The words of `karwan up` without its name and its directory, which whoever starts it gives.
fn started(folder: &Folder, words: &[&str]) -> Node {
    let node = Node::told(&folder.at("my data"), &[&["--port", "0", "--log", "human"], words].concat());
    until("the node", || node.has_announced());
    node
}

#[test]
fn a_store_without_tenants_says_how_to_have_some_and_the_command_does_it() {
    let folder = Folder::new();
    let node = started(&folder, &["--store", "sqlite:my store.db", "--services", "tenant,pricing"]);
    let lines = said(&node);
    assert_eq!(node.stop(), Some(0));
    assert!(lines.iter().any(|line| line.contains("no tenants yet")), "{lines:?}");
    let data = folder.name("my data");
    let again =
        format!("  karwan up --demo --store 'sqlite:my store.db' --data '{data}' --port 0 --services tenant,pricing");
    assert!(lines.contains(&again), "{again}: {lines:?}");
    // Pasted, but for the directory, which is given already.
    let node = started(&folder, &["--demo", "--store", "sqlite:my store.db", "--services", "tenant,pricing"]);
    let lines = said(&node);
    assert!(lines.iter().any(|line| line.contains("serai")) && !lines.iter().any(|line| line.contains("no tenants")));
    assert_eq!(node.stop(), Some(0));
    // It has some now, also where nobody asks for those of the demo.
    let node = started(&folder, &["--store", "sqlite:my store.db", "--empty"]);
    let lines = said(&node);
    assert!(!lines.iter().any(|line| line.contains("no tenants") || line.contains("serai")), "{lines:?}");
    assert!(hints(&lines).iter().any(|words| words[0] == "saga"), "{lines:?}");
    assert_eq!(node.stop(), Some(0));
}

/// In another folder than the node's, so that they find it by what they say alone.
#[test]
fn the_commands_of_the_summary_find_their_node_when_they_are_pasted() {
    let folder = Folder::new();
    let node = started(&folder, &[]);
    let lines = said(&node);
    let data = folder.name("my data");
    let hints: Vec<String> =
        lines.iter().filter(|line| line.starts_with("  karwan ")).map(|line| line.trim().to_owned()).collect();
    assert!(hints.len() >= 4, "{lines:?}");
    for hint in hints {
        let (command, rest) = hint.split_once(&format!(" --data '{data}'")).unwrap_or_else(|| panic!("{hint}"));
        assert!(rest.starts_with(' '), "{hint}");
        let words: Vec<&str> = command.split_whitespace().skip(1).chain(["--data", &data]).collect();
        call(&words).run().exits(0);
    }
    assert_eq!(node.stop(), Some(0));
}
