//! How a test says that it was skipped.
//!
//! The harness knows only passed and failed. A skipped test returns early, which the harness counts as passed; so it
//! also appends a line to the file that `KARWAN_SKIPS` names, and `cargo xtask test` takes it out of the passed ones.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::path::Path;

/// Records the running test as skipped: in the file that `KARWAN_SKIPS` names, else on stderr.
#[track_caller]
pub fn record(reason: &str) {
    let caller = Location::caller();
    let line = line(&running_test(), caller.file(), reason);
    let written = std::env::var_os("KARWAN_SKIPS").map(|file| append(Path::new(&file), &line));
    match written {
        Some(Ok(())) => {}
        // Nothing better is left than to say it where a person may look.
        Some(Err(_)) | None => drop(writeln!(std::io::stderr(), "skipped: {line}")),
    }
}

/// One line: the test and the file it stands in, a tab, the reason.
pub fn line(test: &str, file: &str, reason: &str) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} ({})\t{}", one_line(test), one_line(file), one_line(reason))
}

/// Appends a line at once, so that tests of several processes do not mix theirs.
pub fn append(file: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// nextest tells the name in the environment; the harness itself names the thread after the test.
fn running_test() -> String {
    let told = std::env::var("NEXTEST_TEST_NAME").ok().filter(|name| !name.is_empty());
    told.or_else(|| std::thread::current().name().map(str::to_owned)).unwrap_or_else(|| "a test".to_owned())
}
