//! Every receive of the engine is a crash point: the simulation can end a node where it has just heard something.

use crate::finding::Finding;
use crate::project::SourceFile;

/// Where nodes of a simulation live.
const ENGINE: &str = "crates/engine/src/";
/// What waits for somebody else in the process.
const RECEIVES: &[&str] =
    &[".recv()", ".changed()", ".notified()", ".rung()", ".comes()", ".join_next()", ".join_next_with_id()"];
/// What makes it a crash point, and within how many lines.
const HEARD: (&str, usize) = (".heard(", 10);
/// What says why there is none, on the line or above it.
const NONE: &str = "// no crash point: ";

/// Judges one file of the engine.
pub fn judge(file: &SourceFile) -> Vec<Finding> {
    let path = file.path.as_str();
    if !path.starts_with(ENGINE) || !path.ends_with(".rs") {
        return Vec::new();
    }
    let text = file.text();
    let lines: Vec<&str> = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(call) = RECEIVES.iter().find(|call| line.contains(**call)) else { continue };
        let excepted = lines[index.saturating_sub(1)..=index].iter().any(|line| line.contains(NONE));
        let heard = lines[index..].iter().take(HEARD.1).any(|line| line.contains(HEARD.0));
        if !excepted && !heard {
            let message = format!(
                "`{call}` is followed by no `store.heard(…)`: no simulation ends a node there (or say `{NONE}` and why)"
            );
            findings.push(Finding::at(path, index + 1, "crash-point", message));
        }
    }
    findings
}
