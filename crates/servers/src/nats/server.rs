//! One server: started, killed, frozen, started again, with or without what it had stored.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::find::{Program, Version, find};
use super::options::{Options, configuration};
use crate::Need;
use crate::machine::places::throw_away_directory;
use crate::machine::process;
use crate::machine::running::{Running, STOP_MAX, on_free_port};
use crate::machine::tls::{self, Certificate};

/// The greeting comes at once, or the server is not ready.
const GREETING_MAX: Duration = Duration::from_millis(500);

/// A NATS server of this process. It ends when it is dropped or when the process ends.
#[derive(Debug)]
pub struct Server {
    program: Program,
    directory: PathBuf,
    port: u16,
    options: Options,
    tls: Option<Certificate>,
    running: Running,
}

impl Server {
    /// Starts a private server.
    ///
    /// # Panics
    ///
    /// When there is a program but the server does not start; the message holds the server's log.
    pub fn start(options: Options) -> Need<Self> {
        Self::try_start(options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Server::start`], where the caller wants to say itself that it did not start; the error holds the server's log.
    pub fn try_start(options: Options) -> io::Result<Need<Self>> {
        match find(|name| std::env::var_os(name)) {
            Need::Met(program) => Self::try_start_of(program, options),
            Need::Missing(reason) => Ok(Need::Missing(reason)),
        }
    }

    /// As [`Server::start`], of this program.
    pub fn start_of(program: Program, options: Options) -> Need<Self> {
        Self::try_start_of(program, options).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_start_of(program: Program, options: Options) -> io::Result<Need<Self>> {
        let directory = throw_away_directory("nats", options.medium())?;
        let running = Running::over(&[&directory])?;
        let tls = match options.tls.then(|| tls::certificate(&directory)).transpose() {
            Ok(tls) => tls,
            Err(reason) => return Ok(Need::Missing(reason)),
        };
        let mut server = Self { program, directory, port: 0, options, tls, running };
        let started = server.start_on_free_port();
        started.map_err(|error| io::Error::other(format!("{error}\n{}", server.log())))?;
        Ok(Need::Met(server))
    }

    fn start_on_free_port(&mut self) -> io::Result<()> {
        let log = self.log_file();
        let taken = |port: u16, lost: &io::Error| {
            let taken = fs::read_to_string(&log).unwrap_or_default().contains("address already in use");
            if taken {
                fs::write(&log, format!("port {port} was taken: {lost}\n"))?;
            }
            Ok(taken)
        };
        on_free_port(
            |port| {
                self.port = port;
                let files = self.tls.as_ref().map(|tls| (tls.certificate.as_path(), tls.key.as_path()));
                let text = configuration(&self.options, port, &self.store_directory(), files);
                fs::write(self.configuration_file(), text)?;
                self.restart()
            },
            taken,
        )
    }

    /// Whether it greets a client, which it does after it has recovered its streams.
    fn greets(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut line = String::new();
        stream.set_read_timeout(Some(GREETING_MAX)).is_ok()
            && BufReader::new(stream).read_line(&mut line).is_ok()
            && line.starts_with("INFO ")
    }

    /// Ends the server as a crash does (`SIGKILL`). No power cut: what the server wrote, the system keeps.
    ///
    /// # Panics
    ///
    /// When the server does not run.
    pub fn kill(&self) {
        self.running.kill();
    }

    /// Stops the server in good order. Does nothing when it does not run.
    pub fn stop(&self) {
        self.running.end("INT").expect("it is our child");
    }

    /// Starts a killed or stopped server again: the same store, the same port, the same configuration.
    ///
    /// # Panics
    ///
    /// When it runs already, or does not start; the message holds the server's log.
    pub fn start_again(&self) {
        self.restart().unwrap_or_else(|error| panic!("{error}\n{}", self.log()));
    }

    /// As [`Server::start_again`], where the caller wants to say itself that it did not start.
    pub fn restart(&self) -> io::Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(self.log_file())?;
        let mut nats = Command::new(&self.program.path);
        nats.arg("-c").arg(self.configuration_file()).current_dir(&self.directory).process_group(0);
        nats.envs(self.options.environment.iter().map(|(name, value)| (name, value)));
        nats.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.running.launch(&mut nats, |_| self.greets())
    }

    /// Puts another text behind the configuration, in place of [`Options::configuration`], and has the running server read it:
    /// soon, not at once.
    ///
    /// # Panics
    ///
    /// When the server does not run, or its file cannot be written.
    pub fn reload(&self, text: &str) {
        let files = self.tls.as_ref().map(|tls| (tls.certificate.as_path(), tls.key.as_path()));
        let options = Options { configuration: text.to_owned(), ..self.options.clone() };
        let text = configuration(&options, self.port, &self.store_directory(), files);
        fs::write(self.configuration_file(), text).expect("it is our file");
        process::signal("HUP", &[self.running.pid().expect("the server runs")]);
    }

    /// As [`Server::start_again`], with nothing stored: a broker that was lost for good and replaced.
    ///
    /// # Panics
    ///
    /// As [`Server::start_again`].
    pub fn start_again_empty(&self) {
        assert_eq!(self.running.pid(), None, "the server runs already");
        let store = self.store_directory();
        if store.exists() {
            fs::remove_dir_all(&store).expect("nobody uses the store of a server that does not run");
        }
        self.start_again();
    }

    /// Stops the server's clock, so to say (`SIGSTOP`): it answers nobody until [`Server::thaw`]. Returns when it has stopped.
    ///
    /// # Panics
    ///
    /// When the server does not run.
    pub fn freeze(&self) {
        let pid = self.signal("STOP");
        process::until(STOP_MAX, || process::is_stopped(pid).then_some(())).expect("nothing runs on after SIGSTOP");
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) -> u32 {
        let pid = self.running.pid().expect("the server runs");
        process::signal(name, &[pid]);
        pid
    }

    /// `nats://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The same with a user and a password.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("nats://{user}:{password}@127.0.0.1:{}", self.port)
    }

    /// `tls://user:password@localhost:port?ca=…`, of a server with TLS, whose certificate names that host.
    ///
    /// # Panics
    ///
    /// When the server has no TLS.
    pub fn tls_url_as(&self, user: &str, password: &str) -> String {
        let authority = &self.tls.as_ref().expect("a server with TLS").authority;
        format!("tls://{user}:{password}@localhost:{}?ca={}", self.port, authority.display())
    }

    /// The port on 127.0.0.1; a server that was started again keeps it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.program.version
    }

    /// The program it was started from.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Where its streams lie.
    pub fn store_directory(&self) -> PathBuf {
        self.directory.join("store")
    }

    /// What the server wrote into its log so far.
    pub fn log(&self) -> String {
        fs::read(self.log_file()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The directory that goes with the server.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn log_file(&self) -> PathBuf {
        self.directory.join("log")
    }

    fn configuration_file(&self) -> PathBuf {
        self.directory.join("nats.conf")
    }
}

impl Drop for Server {
    /// Ends it at once; then the watchdog, dropped after this, removes the directory.
    fn drop(&mut self) {
        // A drop has nobody to tell.
        let _ = self.running.end("KILL");
    }
}
