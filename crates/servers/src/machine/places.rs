//! Where things lie: throw-away directories, the project's own cache.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names that a directory is tried under before giving up.
const NAMES_MAX: u32 = 10_000;

/// The longest path of a throw-away directory: a socket in it must stay below the 104 bytes that macOS allows.
const DIRECTORY_BYTES_MAX: usize = 70;

/// A file system in memory, on Linux. A cluster is a thousand small files and a database three hundred more: on a busy
/// disk making them takes seconds, here a tenth.
const MEMORY: &str = "/dev/shm";

/// Less room than this in memory is left alone: each database takes 8 MB, and other servers want their share.
const MEMORY_FREE_KB_MIN: u64 = 4 * 1024 * 1024;

/// Where a throw-away directory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// In memory, where there is enough.
    Any,
    /// On a disk.
    Disk,
}

/// A new directory that nobody else uses, named after what it is for: where `TMPDIR` says, else in memory when that will
/// do, else in the temporary directory; in `/tmp` when the path would be too long for a socket.
pub fn throw_away_directory(what: &str, medium: Medium) -> io::Result<PathBuf> {
    let base = match std::env::var_os("TMPDIR").filter(|value| !value.is_empty()) {
        None if medium == Medium::Any && has_room(MEMORY) => PathBuf::from(MEMORY),
        Some(_) | None => fs::canonicalize(std::env::temp_dir())?,
    };
    let base = if base.as_os_str().len() + 32 > DIRECTORY_BYTES_MAX { PathBuf::from("/tmp") } else { base };
    for number in 0..NAMES_MAX {
        let directory = base.join(format!("karwan-{what}-{}-{number}", std::process::id()));
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{NAMES_MAX} throw-away directories exist in {}", base.display())))
}

fn has_room(memory: &str) -> bool {
    let mut df = Command::new("df");
    let asked = df.args(["-Pk", memory]).env("LC_ALL", "C").stdin(Stdio::null()).output();
    asked.is_ok_and(|output| free_kb(&String::from_utf8_lossy(&output.stdout)) >= Some(MEMORY_FREE_KB_MIN))
}

/// The fourth column of the second line that `df -Pk` prints; `None` for what is no file system in memory.
fn free_kb(printed: &str) -> Option<u64> {
    let line = printed.lines().nth(1).filter(|line| line.starts_with("tmpfs") || line.starts_with("shm"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

/// The project's own cache, as `cargo xtask` has it.
pub(crate) fn cache_directory(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("KARWAN_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("karwan")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("karwan")))
        .unwrap_or_else(|| std::env::temp_dir().join("karwan"))
}

/// The process that a script starts is not the one whose number we know.
pub(crate) fn starts_with_shebang(file: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0; 2];
    fs::File::open(file).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *b"#!"
}

#[cfg(test)]
mod tests {
    use super::free_kb;

    #[test]
    fn only_a_file_system_in_memory_has_room_in_memory() {
        let head = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n";
        assert_eq!(free_kb(&format!("{head}tmpfs  24681000  1000  24680000  1% /dev/shm\n")), Some(24_680_000));
        assert_eq!(free_kb(&format!("{head}/dev/sda 24681000  1000  24680000  1% /\n")), None);
    }
}
