//! Pages that people follow: the commands of one, run by a shell.

use std::path::Path;
use std::process::Command;

use crate::karwan::root;

/// Variables that a command of a page may name.
pub type Names = Vec<(&'static str, String)>;

/// Those that every page needs: where the binary is.
pub fn environment() -> Names {
    let binary = Path::new(env!("CARGO_BIN_EXE_karwan")).parent().expect("a folder").display().to_string();
    vec![("PATH", format!("{binary}:{}", std::env::var("PATH").unwrap_or_default()))]
}

/// The commands of a page, in order.
pub fn commands(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).expect("the page is there");
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(|block| block.lines().filter_map(|line| line.strip_prefix("$ ")));
    lines.map(str::to_owned).collect()
}

/// Runs a command, which must end well; answers what it said on standard error.
#[track_caller]
pub fn shell(command: &str, folder: &Path, names: &Names) -> String {
    let output = prepared(command, folder, names).output().expect("a shell runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{command}: {said}");
    said
}

/// A command of a page, about to be run in a folder.
pub fn prepared(command: &str, folder: &Path, names: &Names) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {command}")]).current_dir(folder);
    shell.env_remove("KARWAN_STORE").env_remove("KARWAN_BROKER").envs(names.iter().map(|(name, value)| (name, value)));
    shell
}
