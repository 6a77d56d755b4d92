//! What a node says when it is up: what can be done, by commands that can be pasted.

use std::path::Path;
use std::process::Command;

use super::{Node, until};
use crate::folder::Folder;

/// What it says up to the end of its summary.
fn said(node: &Node) -> Vec<String> {
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains("For machines:")) {
        lines.push(node.log.recv_timeout(super::LONG).expect("it says more"));
    }
    lines
}

/// The commands among these lines, as they can be pasted: what they do stands some spaces behind them.
fn hints(lines: &[String]) -> Vec<&str> {
    let indented = lines.iter().filter(|line| line.starts_with("  karwan "));
    indented.filter_map(|line| line.trim_start().split("  ").next()).collect()
}

/// Runs a command in a shell, where nothing but the binary is known of the node.
fn paste(command: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_karwan")).parent().expect("it stands in a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let ran = Command::new("sh")
        .args(["-c", command])
        .env("PATH", path)
        .env_remove("KARWAN_STORE")
        .current_dir("/")
        .output()
        .expect("a shell");
    assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
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
    assert!(hints(&lines).iter().any(|hint| hint.starts_with("karwan saga list")), "{lines:?}");
    assert_eq!(node.stop(), Some(0));
}

/// In another folder than the node's, so that they find it by what they say alone.
#[test]
fn the_commands_of_the_summary_find_their_node_when_they_are_pasted() {
    let folder = Folder::new();
    let node = started(&folder, &[]);
    let lines = said(&node);
    let hints = hints(&lines);
    assert!(hints.len() >= 4, "{lines:?}");
    hints.into_iter().for_each(paste);
    assert_eq!(node.stop(), Some(0));
}
