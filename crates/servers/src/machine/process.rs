//! Processes: signals, children, and waiting for what has no other signal.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(3);

/// Looks again and again until `look` gives something, at most for `at_most`.
pub fn until<T>(at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if started.elapsed() > at_most {
            return None;
        }
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "a server in another process gives no signal that could be waited for")]
fn pause() {
    std::thread::sleep(PAUSE);
}

/// Waits for the end of a child, at most for so long.
pub fn ended(child: &mut Child, at_most: Duration) -> Option<ExitStatus> {
    until(at_most, || child.try_wait().ok().flatten())
}

/// Sends a signal (`QUIT`, `KILL`) to processes in one go; one that has gone is no error.
pub fn signal(name: &str, pids: &[u32]) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "signal=$1; shift; kill -s \"$signal\" \"$@\"", "sh", name]);
    shell.args(pids.iter().map(u32::to_string)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Whether a process was still there to be signalled is found out by waiting for its end.
    let _ = shell.status();
}

/// The children of a process: from `/proc`, else from `ps`.
pub fn children(parent: u32) -> Vec<u32> {
    if let Ok(text) = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
        return text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    }
    let mut ps = Command::new("ps");
    ps.args(["-A", "-o", "pid=,ppid="]).stdin(Stdio::null());
    let printed = ps.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let pairs = printed.lines().filter_map(|line| {
        let mut words = line.split_whitespace().map(str::parse::<u32>);
        Some((words.next()?.ok()?, words.next()?.ok()?))
    });
    pairs.filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
}

/// Whether a process runs; one that has ended but was not yet waited for does not.
pub fn runs(pid: u32) -> bool {
    if Path::new("/proc/self/stat").exists() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        return state.is_some_and(|state| !matches!(state, 'Z' | 'X'));
    }
    let mut probe = Command::new("sh");
    probe.args(["-c", "kill -0 \"$1\"", "sh"]).arg(pid.to_string());
    probe.stdin(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Whether a process was stopped (`SIGSTOP`), with every thread of it; the signal takes its time. Where nothing says, it was.
pub fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('T'))
    })
}
