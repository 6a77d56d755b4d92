//! What a vendor has done, one JSON line each, kept in a file.
//!
//! A line is written before its answer goes out, and not forced to the disk: it survives the end of the process, not of the
//! machine. A last line that was cut off was never answered, and is dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a vendor cannot work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its books cannot be read or written.
    #[error("the sandbox cannot use {}", .path.display())]
    File {
        /// Where they are.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A line is not one of its own.
    #[error("line {line} of {} is none of this sandbox's", .path.display())]
    Line {
        /// Where the books are.
        path: PathBuf,
        /// Which line.
        line: usize,
    },
    /// It cannot listen.
    #[error("the sandbox cannot listen on loopback")]
    Listen(#[source] io::Error),
}

/// A file of lines; without a path nothing is kept.
pub(crate) struct Journal {
    file: Option<File>,
}

impl Journal {
    /// Opens a journal, and answers what is in it.
    pub fn open<T: DeserializeOwned>(path: Option<&Path>) -> Result<(Self, Vec<T>), Error> {
        let Some(path) = path else { return Ok((Self { file: None }, Vec::new())) };
        let failed = |cause| Error::File { path: path.to_owned(), cause };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.create(true).truncate(false).read(true).write(true).open(path).map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        let lines = text[..whole].lines().enumerate();
        let read = |(number, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|_| Error::Line { path: path.to_owned(), line: number + 1 })
        };
        let entries = lines.map(read).collect::<Result<_, _>>()?;
        Ok((Self { file: Some(file) }, entries))
    }

    /// Keeps a line.
    pub fn keep(&mut self, entry: &impl Serialize) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}
