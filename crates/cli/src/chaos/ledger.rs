//! What was attempted and what is known to be committed, in files outside of every database.
//!
//! A line is written and on the disk before what it announces begins, and after what it confirms has ended. A producer that is
//! killed in between finds in its file what it has to ask about again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// How far a walker is known to be. Its steps are numbered from 1, and taken one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Walked {
    /// The highest step that was attempted.
    pub tried: u64,
    /// The highest step that is known to be committed.
    pub done: u64,
}

/// All walkers by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger(pub BTreeMap<String, Walked>);

/// A line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// The step is about to be committed.
    Try,
    /// It is committed.
    Done,
}

impl Line {
    const fn word(self) -> &'static str {
        match self {
            Self::Try => "try",
            Self::Done => "done",
        }
    }
}

impl Ledger {
    /// What the files of a folder say together.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut ledger = Self::default();
        for entry in std::fs::read_dir(folder)? {
            ledger.add(&std::fs::read_to_string(entry?.path())?);
        }
        Ok(ledger)
    }

    /// What one file says.
    pub fn of(file: &Path) -> io::Result<Self> {
        let mut ledger = Self::default();
        match std::fs::read_to_string(file) {
            Ok(text) => ledger.add(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(ledger)
    }

    fn add(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.split(' ');
            let (word, walker, step) = (words.next(), words.next(), words.next().and_then(|step| step.parse().ok()));
            let (Some(word), Some(walker), Some(step)) = (word, walker, step) else { continue };
            let walked = self.0.entry(walker.to_owned()).or_default();
            walked.tried = walked.tried.max(step);
            if word == Line::Done.word() {
                walked.done = walked.done.max(step);
            }
        }
    }

    /// How many steps are known to be committed.
    pub fn committed(&self) -> u64 {
        self.0.values().map(|walked| walked.done).sum()
    }
}

/// The file of one producer, written by all of its tasks.
#[derive(Debug, Clone)]
pub struct Pen(Arc<Mutex<File>>);

impl Pen {
    /// Goes on behind what was written before.
    pub fn open(file: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Mutex::new(OpenOptions::new().create(true).append(true).open(file)?))))
    }

    /// Writes a line, in one piece, and waits for the disk.
    pub fn note(&self, line: Line, walker: &str, step: u64) -> io::Result<()> {
        let mut file = self.0.lock().expect("nothing panics while holding it");
        file.write_all(format!("{} {walker} {step}\n", line.word()).as_bytes())?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledger, Walked};

    #[test]
    fn a_step_that_was_tried_is_not_known_to_be_done() {
        let mut ledger = Ledger::default();
        ledger.add("try w-1 1\ndone w-1 1\ntry w-1 2\ntry w-2 1\n");
        assert_eq!(ledger.0["w-1"], Walked { tried: 2, done: 1 });
        assert_eq!(ledger.0["w-2"], Walked { tried: 1, done: 0 });
        assert_eq!(ledger.committed(), 1);
    }
}
