//! The library knows no platform: a team that never heard of hotels uses it for events of its own.

use super::excepted;
use crate::finding::Finding;
use crate::project::SourceFile;

/// The crates that know no platform.
const NEUTRAL: &[&str] = &["crates/derive/src/", "crates/envelope/src/", "crates/registry/src/"];

/// Words of the platforms; a plural `s` counts as well.
const PLATFORM_WORDS: &[&str] =
    &["hotel", "reservation", "booking", "guest", "room", "course", "lesson", "melmastoon", "panorama"];

/// Judges one file. A file that must name a platform, such as a wire form called after one, says at its head
/// `// tidy: names a platform because …`.
pub fn judge(file: &SourceFile) -> Vec<Finding> {
    let neutral = NEUTRAL.iter().any(|crate_| file.path.starts_with(crate_));
    if !neutral || excepted(file.text(), "names a platform") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in file.text().lines().enumerate() {
        for word in words(line).filter(|word| is_platform_word(word)) {
            let message = format!("`{word}` belongs to a platform, and this crate knows none");
            findings.push(Finding::at(&file.path, index + 1, "platform-word", message));
        }
    }
    findings
}

fn is_platform_word(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let singular = word.strip_suffix('s').unwrap_or(&word);
    PLATFORM_WORDS.contains(&word.as_str()) || PLATFORM_WORDS.contains(&singular)
}

/// Runs of letters, cut again where a small letter is followed by a capital: `RoomId` and `room_id` both hold `room`.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_ascii_alphabetic()).flat_map(|run| {
        let bytes = run.as_bytes();
        let is_cut = |at: &usize| bytes[at - 1].is_ascii_lowercase() && bytes[*at].is_ascii_uppercase();
        let mut cuts: Vec<usize> = (1..bytes.len()).filter(is_cut).collect();
        cuts.insert(0, 0);
        cuts.push(bytes.len());
        let pieces: Vec<&str> = cuts.windows(2).map(|pair| &run[pair[0]..pair[1]]).collect();
        pieces.into_iter().filter(|piece| !piece.is_empty())
    })
}
