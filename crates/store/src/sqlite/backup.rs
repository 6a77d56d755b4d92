//! Copies: taken while the store is in use, and put where no store is yet.
//!
//! Invariant: a copy appears under its name whole or not at all. It is written beside it, synced, and renamed.

use std::fs::File;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, params};

use karwan_envelope::time::{Clock as _, SystemClock};

use crate::backup::Copied;
use crate::error::Error;
use crate::migrate::Progress;
use crate::sqlite::error::{file_said, name, said};
use crate::sqlite::file;

/// Pages copied between two reports of progress.
const STEP_PAGES: i32 = 1_000;

/// A consistent copy of a store, also of one that another process writes.
pub(super) fn backup(path: &Path, out: &Path, progress: Progress<'_>) -> Result<Copied, Error> {
    let (path, out) = (file::absolute(path)?, file::absolute(out)?);
    file::must_exist(&path)?;
    let pages = copy(&path, &out, progress, |_| Ok(()))?;
    let done = vec![format!("{} copied to {}, {pages} pages", name(&path), out.display())];
    Ok(Copied { done, to_do: vec![format!("keep {} where this machine's loss does not take it", out.display())] })
}

/// Puts a copy in the place of a store that does not exist yet: another life, suspended.
pub(super) fn restore(path: &Path, from: &Path, progress: Progress<'_>) -> Result<Copied, Error> {
    let (path, from) = (file::absolute(path)?, file::absolute(from)?);
    file::must_exist(&from)?;
    let _lock = file::lock(&path)?;
    let pages = copy(&from, &path, progress, |connection| {
        // Two restores of one copy must not be the same life, so lives are counted by the clock.
        let sql = "UPDATE meta SET incarnation = max(incarnation + 1, ?), suspended = true";
        connection.execute(sql, params![SystemClock.now().unix_ms()])?;
        let sql = "INSERT INTO life SELECT incarnation, (SELECT coalesce(max(seq), 0) FROM log) FROM meta";
        connection.execute(sql, [])?;
        // Whoever held a lane held it in the life before, and no epoch of that life comes again.
        connection.execute_batch(
            "UPDATE lane SET holder = NULL, epoch = max(epoch + 1, (SELECT incarnation FROM meta)); DELETE FROM node;",
        )
    })?;
    let done = vec![
        format!("{} copied to {}, {pages} pages", from.display(), name(&path)),
        "a new life has begun: positions of the one before are answered with reset".to_owned(),
        "effects and relay are suspended".to_owned(),
    ];
    let resume = format!("karwan restore --store {} --resume --reason …", name(&path));
    Ok(Copied { done, to_do: vec![format!("once this is the store that may call the outside: {resume}")] })
}

/// Copies a store under a new name; `change` is made before the copy appears. Answers the pages.
fn copy(
    from: &Path,
    to: &Path,
    progress: Progress<'_>,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<u64, Error> {
    if to.exists() {
        return Err(Error::TargetExists { target: to.display().to_string() });
    }
    let partial = file::beside(to, ".partial");
    let copied = copy_to(from, &partial, progress, change).and_then(|pages| {
        let moved = sync(&partial).and_then(|()| std::fs::rename(&partial, to)).and_then(|()| sync_folder(to));
        moved.map_err(|error| file_said(to, error)).map(|()| pages)
    });
    if copied.is_err() {
        remove(&partial);
    }
    copied
}

fn copy_to(
    from: &Path,
    partial: &Path,
    progress: Progress<'_>,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<u64, Error> {
    // What an interrupted copy left would be taken for a part of this one.
    remove(partial);
    let source = file::reader(from)?;
    file::admitted(from, &source)?;
    // One snapshot for all steps: without it every commit of the writer would start the copy over.
    let snapshot = source.unchecked_transaction().map_err(|error| said(from, error))?;
    source.query_row("SELECT count(*) FROM meta", [], |_| Ok(())).map_err(|error| said(from, error))?;
    let mut target = Connection::open(partial).map_err(|error| said(partial, error))?;
    let pages = {
        let backup = Backup::new(&source, &mut target).map_err(|error| said(partial, error))?;
        loop {
            let step = backup.step(STEP_PAGES).map_err(|error| said(partial, error))?;
            let (left, total) = (backup.progress().remaining, backup.progress().pagecount);
            progress("pages", (total - left).max(0) as u64, total.max(0) as u64);
            match step {
                StepResult::Done => break total.max(0) as u64,
                StepResult::More => {}
                // Busy or locked: another process writes the copy, which nobody should.
                _ => return Err(Error::InUse { store: name(partial) }),
            }
        }
    };
    drop(snapshot);
    change(&target).map_err(|error| said(partial, error))?;
    // A copy lies still: without a write-ahead log it can be read from a folder where nothing may be written.
    let still = target.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()));
    still.map_err(|error| said(partial, error))?;
    sound(&target).map_err(|error| said(partial, error))?.map_or(Ok(()), |reason| {
        Err(Error::Damaged { store: name(from), reason: format!("the copy is damaged ({reason}), and was not kept") })
    })?;
    target.close().map_err(|(_, error)| said(partial, error))?;
    Ok(pages)
}

/// What is wrong with a database; none where nothing is.
pub(super) fn sound(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let word: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((word != "ok").then_some(word))
}

fn remove(partial: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // Mostly there is none; what cannot be removed makes the copy fail with a reason of its own.
        drop(std::fs::remove_file(file::beside(partial, suffix)));
    }
}

fn sync(path: &Path) -> std::io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}

/// A rename is durable when its folder is.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
