//! Files a reader can hold in mind.

use super::excepted;
use crate::finding::Finding;
use crate::project::SourceFile;

/// Past this a file says why it is long.
pub const LINES_EXPLAINED: usize = 500;

/// Past this it is split.
pub const LINES_MAX: usize = 800;

/// Judges one file: Rust outside tests for its length, any text for having none.
pub fn judge(file: &SourceFile) -> Vec<Finding> {
    let Some(text) = &file.text else { return Vec::new() };
    if text.trim().is_empty() {
        return vec![Finding::on(&file.path, "empty-file", "holds nothing: delete it")];
    }
    if !file.is_rust() || is_test(&file.path) {
        return Vec::new();
    }
    match lines_outside_tests(text) {
        lines if lines > LINES_MAX => {
            vec![Finding::on(&file.path, "file-size", format!("{lines} lines, the most is {LINES_MAX}: split it"))]
        }
        lines if lines > LINES_EXPLAINED && !excepted(text, "long") => {
            let message = format!(
                "{lines} lines: past {LINES_EXPLAINED} the head of the file says `// tidy: long because …`, or it is split"
            );
            vec![Finding::on(&file.path, "file-size", message)]
        }
        _ => Vec::new(),
    }
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests") || path.ends_with("/tests.rs")
}

/// Tests at the end of a file do not count.
fn lines_outside_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests {"));
    tests.unwrap_or(lines.len())
}
