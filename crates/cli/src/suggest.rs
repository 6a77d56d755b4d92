//! The name that one most likely meant.

/// The longest name that is compared; none of ours is longer.
pub const NAME_CHARS_MAX: usize = 200;
/// The shortest part of a name that still means something.
const PART_CHARS_MIN: usize = 4;

/// The known name that is the fewest letters away, else one that contains what was written.
pub fn nearest<'a>(known: impl IntoIterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    if name.chars().count() > NAME_CHARS_MAX {
        return None;
    }
    let names: Vec<&str> = known.into_iter().collect();
    let near = names.iter().map(|other| (distance(name, other), *other)).min();
    let near = near.filter(|(letters, other)| *letters <= other.len() / 4).map(|(_, other)| other);
    near.or_else(|| names.into_iter().find(|other| name.len() >= PART_CHARS_MIN && other.contains(name)))
}

/// A name as it may be repeated in a message.
pub fn quoted(name: &str) -> String {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    format!("`{}`", name.escape_debug())
}

/// How many letters must be put in, taken out or replaced.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}
