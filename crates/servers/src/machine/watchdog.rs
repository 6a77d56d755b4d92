//! The process that cleans up after a server, however the process that started it ends.
//!
//! It waits at a pipe whose other end only that process holds (Rust opens pipes so that no started program inherits
//! them). Each line in the pipe is the process number of the server, empty while there is none. At the end of the pipe
//! it stops the server and removes its directories. In a process group of its own, it is not reached by Ctrl-C.

use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `$@`: directories to remove. `QUIT` is the signal for an immediate end: Postgres needs no checkpoint then and leaves no
/// shared memory behind; what does not follow within ten seconds (a stopped process, say) is killed. A Postgres that was
/// killed leaves a piece of shared memory, whose number stands in the seventh line of a file of its own.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ] && kill -s QUIT "$pid" 2>/dev/null; then
    tries=0
    while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
    kill -s KILL "$pid" 2>/dev/null
fi
for directory in "$@"; do
    memory=$(sed -n '7s/.* //p' "$directory/postmaster.pid" 2>/dev/null)
    [ -n "$memory" ] && ipcrm -m "$memory" 2>/dev/null
done
rm -rf -- "$@"
"#;

/// Stands by one server.
pub(crate) struct Watchdog {
    process: Child,
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watchdog({})", self.process.id())
    }
}

impl Watchdog {
    /// From now on the directories are removed at the end.
    pub(crate) fn over(directories: &[&Path]) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh"]).args(directories).current_dir("/").process_group(0);
        // A stream of ours that it held open would make a test runner wait for it.
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { process: shell.spawn()? })
    }

    /// Says which process is the server, or that there is none.
    pub(crate) fn tell(&mut self, server: Option<u32>) -> io::Result<()> {
        let line = server.map_or_else(String::new, |pid| pid.to_string());
        let pipe = self.process.stdin.as_mut().expect("the pipe is open as long as the watchdog stands");
        pipe.write_all(format!("{line}\n").as_bytes())
    }
}

impl Drop for Watchdog {
    /// Returns when everything is removed.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // Nothing is left to be done about a watchdog that cannot be waited for.
        let _ = self.process.wait();
    }
}
