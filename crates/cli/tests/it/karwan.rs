//! Runs the real binary and holds what it answered.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Address space of a call, in kibibytes: several times what the largest allowed input needs.
const MEMORY_KIB_MAX: u64 = 2 << 20;
/// Processor seconds of a call: an endless run is killed, a busy machine is not mistaken for one.
const CPU_SECONDS_MAX: u64 = 60;

/// A call of the binary, about to be made.
pub struct Call {
    args: Vec<OsString>,
    folder: PathBuf,
    stdin: Vec<u8>,
    environment: Vec<(String, String)>,
}

/// What the binary answered.
#[derive(Debug)]
pub struct Answer {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Calls the binary in the project's root.
#[track_caller]
pub fn karwan<A: Into<OsString> + Clone>(args: &[A]) -> Answer {
    call(args).run()
}

/// A call in the project's root, to be refined.
pub fn call<A: Into<OsString> + Clone>(args: &[A]) -> Call {
    Call {
        args: args.iter().cloned().map(Into::into).collect(),
        folder: root(),
        stdin: Vec::new(),
        environment: Vec::new(),
    }
}

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Call {
    /// Runs in this folder.
    pub fn within(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }

    /// Sets a variable of the environment.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives this on standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Makes the call, with memory and processor time bounded. No call may panic, whatever it was given.
    #[track_caller]
    pub fn run(self) -> Answer {
        let limits = format!("ulimit -v {MEMORY_KIB_MAX}; ulimit -t {CPU_SECONDS_MAX}; exec \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limits, "sh", env!("CARGO_BIN_EXE_karwan")])
            .args(&self.args)
            .current_dir(&self.folder)
            .env_remove("NO_COLOR")
            .env_remove("KARWAN_STORE")
            .env_remove("KARWAN_BROKER")
            .envs(self.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("it was piped");
        let writer = std::thread::spawn(move || {
            // A call that does not read closes the pipe, and that is its right.
            let _ = stdin.write_all(&self.stdin);
        });
        let output = child.wait_with_output().expect("the binary ends");
        writer.join().expect("the writer only writes");
        let answer = Answer {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("what is printed is text"),
            stderr: String::from_utf8(output.stderr).expect("what is printed is text"),
        };
        assert!(!answer.stderr.contains("panicked"), "{:?}: {}", self.args, answer.stderr);
        answer
    }
}

impl Answer {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {:.2000}\nstderr: {:.2000}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard output contains a text.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no `{text}` in stdout: {:.4000}", self.stdout);
        self
    }

    /// Asserts that standard error contains a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no `{text}` in stderr: {:.4000}", self.stderr);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {:.2000}", self.stdout))
    }
}
