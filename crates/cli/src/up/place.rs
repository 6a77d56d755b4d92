//! The data directory: whose it is, and how a running node is found in it.
//!
//! Invariants: one living node a directory (`node.lock` is held as long as it lives, however it ends); `node.json`, which has
//! the token, is readable by its owner alone and appears whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Error;

/// The directory, where nothing else is said.
pub const DEFAULT: &str = "karwan-data";
/// The file of the embedded store in it.
pub const STORE: &str = "karwan.db";
const LOCK: &str = "node.lock";
const CARD: &str = "node.json";
/// Names the store to whose bookings the vendors' books belong.
const OWNER: &str = "store";
/// How often, and how long in between, a lock is tried that somebody else has: a program that is just being started holds for a
/// moment what its parent held.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// What a running node says of itself to commands beside it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Card {
    /// Where it is asked: loopback.
    pub control: String,
    /// What it wants to see with every request.
    pub token: String,
    /// Where everybody finds it.
    pub public: String,
    /// Its store; it may hold a password.
    pub store: String,
    /// Its process.
    pub pid: u32,
}

/// A directory that is ours.
pub struct Place {
    folder: PathBuf,
    /// The lock lives as long as the open file.
    lock: File,
}

impl Place {
    /// Makes the directory, and takes it.
    pub async fn take(folder: &Path) -> Result<Self, Error> {
        let unusable = |cause: io::Error| Error::Data { folder: folder.to_owned(), cause };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
        let path = folder.join(LOCK);
        let mut options = OpenOptions::new();
        let mut lock =
            options.create(true).truncate(false).read(true).write(true).mode(0o600).open(&path).map_err(unusable)?;
        let mut tries = 0;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                    tries += 1;
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let mut pid = String::new();
                    let known = lock.read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
                    let pid = known.then(|| pid.trim().to_owned());
                    return Err(Error::DataInUse { folder: folder.to_owned(), pid });
                }
                Err(TryLockError::Error(cause)) => return Err(unusable(cause)),
            }
        }
        lock.set_len(0).and_then(|()| lock.write_all(std::process::id().to_string().as_bytes())).map_err(unusable)?;
        // What a killed node left says where nobody is any more.
        let _ = fs::remove_file(folder.join(CARD));
        Ok(Self { folder: folder.to_owned(), lock })
    }

    /// Refuses a store, by its name, where the directory is another one's.
    pub fn admit(&self, store: &str) -> Result<(), Error> {
        match fs::read_to_string(self.folder.join(OWNER)) {
            Ok(owner) if owner.trim() == store => Ok(()),
            Ok(owner) => Err(Error::DataOfOtherStore { folder: self.folder.clone(), store: owner.trim().to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(cause) => Err(Error::Data { folder: self.folder.clone(), cause }),
        }
    }

    /// From now on this is the directory of one store, which has been opened.
    pub fn keep_for(&self, store: &str) -> Result<(), Error> {
        let unusable = |cause| Error::Data { folder: self.folder.clone(), cause };
        fs::write(self.folder.join(OWNER), store).map_err(unusable)
    }

    /// The file of the embedded store.
    pub fn store(&self) -> PathBuf {
        self.folder.join(STORE)
    }

    /// Where the sandbox vendors keep their books.
    pub fn sandbox(&self) -> PathBuf {
        self.folder.join("sandbox")
    }

    /// Where it is written down which bookings are stalled on purpose.
    pub fn stalls(&self) -> PathBuf {
        self.folder.join("stalls")
    }

    /// Tells commands beside this process where it is.
    pub fn announce(&self, card: &Card) -> Result<(), Error> {
        let unusable = |cause: io::Error| Error::Data { folder: self.folder.clone(), cause };
        let text = serde_json::to_vec_pretty(card).map_err(|error| unusable(error.into()))?;
        let (new, path) = (self.folder.join("node.json.new"), self.folder.join(CARD));
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new).map_err(unusable)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(unusable)?;
        fs::rename(new, path).map_err(unusable)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(CARD));
        let _ = self.lock.unlock();
    }
}

/// What the node in a directory says of itself.
pub fn card(folder: &Path) -> Result<Card, Error> {
    let missing = || Error::NotRunning { folder: folder.to_owned() };
    let text = match fs::read(folder.join(CARD)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
        Err(cause) => return Err(Error::Data { folder: folder.to_owned(), cause }),
    };
    let card: Card = serde_json::from_slice(&text).map_err(|_| missing())?;
    // One that was killed has left its card.
    match File::open(folder.join(LOCK)).map(|lock| lock.try_lock_shared()) {
        Ok(Err(TryLockError::WouldBlock)) => Ok(card),
        _ => Err(missing()),
    }
}
