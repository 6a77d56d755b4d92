//! Versions of the server, and what each can do.

use std::fmt;

/// A server's version: major, minor and patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Before this, `filter_subjects` is ignored without a word: a consumer would get the whole stream.
    pub const OLDEST: Self = Self(2, 10, 0);

    /// From here on a stream takes atomic batches.
    pub const ATOMIC: Self = Self(2, 12, 0);

    /// From here on one synchronisation of the disk covers a whole atomic batch.
    pub const DURABLE: Self = Self(2, 15, 0);

    /// From a greeting: `2.15.1`, `2.11.0-RC.1`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(['-', '+']).next()?.split('.').map(|part| part.parse().ok());
        let version = Self(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_as_servers_greet_and_ordered_by_number() {
        assert_eq!(Version::parse("2.15.1"), Some(Version(2, 15, 1)));
        assert_eq!(Version::parse("2.11.0-RC.1"), Some(Version(2, 11, 0)));
        assert_eq!(Version::parse("two"), None);
        assert!(Version(2, 9, 10) < Version::OLDEST && Version(2, 10, 0) >= Version::OLDEST);
    }
}
