//! Running other programs: quietly, for their output, or forwarding what they print while it is read.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result, ensure};

/// Runs to the end. What the program prints goes to our stderr: our stdout is for results.
pub fn run(mut command: Command) -> Result<()> {
    let shown = shown(&command);
    let status = command.stdout(std::io::stderr()).status().with_context(|| format!("starting `{shown}`"))?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// Runs to the end and gives its stdout; the error carries its stderr.
pub fn output(mut command: Command) -> Result<Vec<u8>> {
    let shown = shown(&command);
    let output = command.output().with_context(|| format!("starting `{shown}`"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{shown}` ended with {}: {}", output.status, complaint.trim());
    Ok(output.stdout)
}

/// As [`output`], as text without surrounding white space.
pub fn text(command: Command) -> Result<String> {
    let shown = shown(&command);
    let bytes = output(command)?;
    let text = String::from_utf8(bytes).with_context(|| format!("`{shown}` printed something that is not UTF-8"))?;
    Ok(text.trim().to_owned())
}

/// Runs to the end, forwards every line to our stderr, and hands each line to `seen` as well.
pub fn follow(mut command: Command, mut seen: impl FnMut(&str)) -> Result<ExitStatus> {
    let shown = shown(&command);
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.with_context(|| format!("starting `{shown}`"))?;
    let (sender, lines) = mpsc::sync_channel::<String>(LINES_WAITING_MAX);
    let stdout = forward(child.stdout.take().expect("stdout was asked for"), sender.clone());
    let stderr = forward(child.stderr.take().expect("stderr was asked for"), sender);
    for line in lines {
        eprintln!("{line}");
        seen(&line);
    }
    for reader in [stdout, stderr] {
        reader.join().expect("a reader thread only reads and sends");
    }
    child.wait().with_context(|| format!("waiting for `{shown}`"))
}

/// Lines read but not yet printed; a full channel makes the program wait.
const LINES_WAITING_MAX: usize = 1024;

fn forward(source: impl Read + Send + 'static, sender: mpsc::SyncSender<String>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(source).split(b'\n') {
            // A broken pipe ends the output, as the end of it does.
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if sender.send(line).is_err() {
                return;
            }
        }
    })
}

fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let words = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
}
