//! Rows as files, before they are dropped: JSON lines, and a manifest beside each that says what is in it.
//!
//! Invariant: a manifest stands only beside a file that is whole and on the disk. A run that was cut off writes its file again.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{BeforeDrop, Stretch};
use crate::error::Error;
use crate::log::{Filter, LogRow, PAGE_MAX, Position};
use crate::relay::RelayTx;
use crate::stored::tenant_of;

/// Writes rows into a folder, which is made where it is missing. Only its owner can read the files: they hold every tenant's
/// events as they were stored.
#[derive(Debug)]
pub struct Export {
    folder: PathBuf,
}

/// A row as it is written; these names are stable.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    seq: i64,
    at: i64,
    tenant: String,
    subject: &'a str,
    key: &'a str,
    event: String,
    /// The stored text, byte for byte.
    envelope: &'a str,
}

/// What a file holds; these names are stable.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    file: String,
    incarnation: i64,
    after: i64,
    up_to: i64,
    rows: u64,
    bytes: u64,
    sha256: String,
}

impl Export {
    /// Into this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn failed(&self) -> impl Fn(std::io::Error) -> Error + '_ {
        |cause| Error::Export { folder: self.folder.display().to_string(), cause }
    }
}

impl BeforeDrop for Export {
    async fn before_drop(&mut self, stretch: Stretch, relay: &RelayTx) -> Result<(), Error> {
        std::fs::create_dir_all(&self.folder).map_err(self.failed())?;
        let name = format!("log-{:020}-{:020}", stretch.after + 1, stretch.up_to);
        let path = self.folder.join(format!("{name}.jsonl"));
        let mut file = Whole::begin(&path).map_err(self.failed())?;
        let start = relay.start().await?;
        let mut position = Position { seq: stretch.after, ..start };
        while position.seq < stretch.up_to {
            let page = relay.page(position, &Filter::default(), PAGE_MAX).await?;
            for row in page.rows.iter().take_while(|row| row.seq <= stretch.up_to) {
                file.line(row).map_err(self.failed())?;
            }
            let reached = page.rows.last().map_or(page.position.seq, |row| row.seq.max(position.seq));
            if !page.more || reached >= stretch.up_to {
                break;
            }
            position = page.position;
        }
        let (rows, bytes, sha256) = file.end(&path).map_err(self.failed())?;
        let manifest = Manifest {
            file: format!("{name}.jsonl"),
            incarnation: start.incarnation,
            after: stretch.after,
            up_to: stretch.up_to,
            rows,
            bytes,
            sha256,
        };
        let beside = self.folder.join(format!("{name}.manifest.json"));
        let text = serde_json::to_string_pretty(&manifest).expect("texts and numbers are JSON");
        let mut whole = Whole::begin(&beside).map_err(self.failed())?;
        whole.write(format!("{text}\n").as_bytes()).map_err(self.failed())?;
        whole.end(&beside).map_err(self.failed())?;
        // The names themselves must survive a power cut too.
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(self.failed())
    }
}

/// A file that appears whole or not at all.
struct Whole {
    file: BufWriter<File>,
    part: PathBuf,
    rows: u64,
    bytes: u64,
    digest: Sha256,
}

impl Whole {
    fn begin(path: &Path) -> std::io::Result<Self> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        Ok(Self { file: BufWriter::new(file), part, rows: 0, bytes: 0, digest: Sha256::new() })
    }

    fn line(&mut self, row: &LogRow) -> std::io::Result<()> {
        let line = Line {
            seq: row.seq,
            at: row.at,
            tenant: match tenant_of(row.tenant) {
                karwan_envelope::cause::Tenant::One(id) => id.to_string(),
                karwan_envelope::cause::Tenant::Platform => karwan_envelope::cause::PLATFORM.to_owned(),
            },
            subject: &row.subject,
            key: &row.key,
            event: row.event.to_string(),
            envelope: &row.envelope,
        };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        self.rows += 1;
        self.write(&text)
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
        self.file.write_all(bytes)
    }

    /// Puts it in its place; answers rows, bytes and digest.
    fn end(self, path: &Path) -> std::io::Result<(u64, u64, String)> {
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(&self.part, path)?;
        let hex = self.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((self.rows, self.bytes, hex))
    }
}
