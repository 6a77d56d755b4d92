//! What a node prints where somebody watches, and where nobody does.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use karwan_testkit::Need;
use serde_json::Value;

use super::{Node, until};
use crate::folder::Folder;
use crate::karwan::call;

/// The guest of every booking that is tried.
const GUEST: [&str; 4] = ["Zarghuna", "Anaa", "example.af", "93700"];

/// A node on a terminal of its own, as somebody starts it in a folder.
pub struct OnTerminal {
    /// Who plays the terminal; with it, the node goes.
    terminal: Child,
    folder: PathBuf,
    lines: Receiver<String>,
}

impl OnTerminal {
    /// `karwan` with these words, in a folder where nothing ran before; waits until it is ready.
    pub fn up(folder: &Path, words: &str) -> Need<Self> {
        // Util-linux's: others have no such flags.
        let known = Command::new("script").arg("--version").stdin(Stdio::null()).output();
        if !known.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("util-linux")) {
            return Need::Missing("no `script` of util-linux to play a terminal".to_owned());
        }
        let mut terminal = Command::new("script")
            .args(["--quiet", "--return", "--command"])
            .arg(format!("exec '{}' {words}", env!("CARGO_BIN_EXE_karwan")))
            .arg("/dev/null")
            .env_remove("KARWAN_STORE")
            .env_remove("KARWAN_BROKER")
            .env("SHELL", "/bin/sh")
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let (tell, lines) = channel();
        let shown = terminal.stdout.take().expect("it was piped");
        std::thread::spawn(move || {
            // Nobody listens any more when the test is over.
            BufReader::new(shown).lines().map_while(Result::ok).all(|line| tell.send(line).is_ok())
        });
        let node = Self { terminal, folder: folder.to_owned(), lines };
        until("the node's card", || node.folder.join("karwan-data").join("node.json").exists());
        Need::Met(node)
    }

    /// What its card says.
    pub fn card(&self) -> Value {
        let text = std::fs::read(self.folder.join("karwan-data").join("node.json")).expect("a node has a card");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// What was shown since it was last looked, up to a line with this.
    pub fn shown_until(&self, text: &str) -> Vec<String> {
        let mut shown = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(super::LONG) {
            shown.push(line.trim_end_matches('\r').to_owned());
            if line.contains(text) {
                return shown;
            }
        }
        panic!("`{text}` is not shown: {shown:?}");
    }

    /// Stops it, as a supervisor does: its exit code, and what else it showed.
    pub fn stop(mut self) -> (Option<i32>, Vec<String>) {
        let sent = Command::new("kill").args(["-TERM", &self.card()["pid"].to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let code = self.terminal.wait().expect("it ends").code();
        (code, self.lines.iter().map(|line| line.trim_end_matches('\r').to_owned()).collect())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Its terminal hangs up.
        drop(self.terminal.kill());
        drop(self.terminal.wait());
    }
}

/// Books in the node of a folder, with a card, and answers the trace.
fn book(folder: &Folder) -> String {
    let shown = call(&["try", "booking"]).within(folder.path()).run().exits(0).stdout;
    shown.split("trace ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a trace").to_owned()
}

fn is_object(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object())
}

fn names_nobody(lines: &[String]) {
    for line in lines {
        assert!(!GUEST.iter().any(|part| line.contains(part)), "{line}");
    }
}

/// Lines about events for machines, each an object that says which event, which trace and whose.
fn for_machines(lines: &[String], trace: &str) {
    names_nobody(lines);
    let mut of_trace = 0;
    for line in lines {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for name in ["at", "level", "message", "eventId", "correlationId", "tenantId"] {
            assert!(object.get(name).is_some(), "{name}: {line}");
        }
        let is_text = |name: &str| object[name].is_string();
        assert_eq!(is_text("correlationId"), is_text("tenantId"), "who has a trace has a tenant: {line}");
        of_trace += usize::from(object["correlationId"] == trace && is_text("eventId") && is_text("tenantId"));
    }
    assert!(of_trace > 20, "{of_trace} of {trace}: {lines:?}");
}

#[test]
fn on_a_terminal_the_log_is_for_people() {
    let folder = Folder::new();
    let Some(node) = OnTerminal::up(folder.path(), "up --port 0 --verbose").or_skip() else { return };
    let trace = book(&folder);
    let shown = node.shown_until("key_credential.issued");
    let (code, rest) = node.stop();
    assert_eq!(code, Some(0));
    let shown = [shown, rest].concat();
    assert!(shown.iter().any(|line| line.starts_with("karwan is up at http://127.0.0.1:")), "{shown:?}");
    assert!(shown.iter().any(|line| line.contains("karwan try booking")), "what to try is said: {shown:?}");
    names_nobody(&shown);
    assert!(!shown.iter().any(|line| is_object(line)), "{shown:?}");
    let about = |line: &&String| line.starts_with("info: ") && line.contains(&format!("correlationId={trace}"));
    let about: Vec<&String> = shown.iter().filter(about).collect();
    assert!(about.len() > 20, "{shown:?}");
    for line in about {
        assert!(line.contains(" eventId=") && line.contains(" tenantId=tnt_"), "{line}");
    }
}

#[test]
fn where_nobody_watches_the_log_is_for_machines() {
    let folder = Folder::new();
    let node = Node::told(&folder.at("karwan-data"), &["--port", "0", "--verbose"]);
    until("the node", || node.has_announced());
    let trace = book(&folder);
    super::signal(&node.child, "TERM");
    // It ends with the node.
    for_machines(&node.log.iter().collect::<Vec<_>>(), &trace);
}

#[test]
fn a_form_of_the_log_that_is_asked_for_is_had_wherever_it_goes() {
    let folder = Folder::new();
    let Some(node) = OnTerminal::up(folder.path(), "up --port 0 --log json --verbose").or_skip() else { return };
    let trace = book(&folder);
    let (code, shown) = node.stop();
    assert_eq!(code, Some(0));
    for_machines(&shown, &trace);
    let folder = Folder::new();
    let node = Node::told(&folder.at("karwan-data"), &["--port", "0", "--log", "human", "--empty"]);
    until("the node", || node.has_announced());
    super::signal(&node.child, "TERM");
    let shown: Vec<String> = node.log.iter().collect();
    assert!(shown[0].starts_with("karwan is up at http://127.0.0.1:"), "{shown:?}");
    assert!(!shown.iter().any(|line| is_object(line)), "{shown:?}");
}
