//! One server: started, killed, started again, stopped.

use std::fs::{self, OpenOptions};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::account::Account;
use super::files::throw_away_directory;
use super::find::{Programs, find};
use super::options::{Options, configuration};
use super::process;
use super::reach::reachable;
use super::template::{Maker, SUPERUSER, without_postgres_variables};
use super::tls::{self, Certificate};
use super::watchdog::Watchdog;
use crate::Need;

/// Recovery after a crash included.
const START_MAX: Duration = Duration::from_secs(60);

/// A fast shutdown writes a checkpoint.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Ports that are tried: another process may take one between our look and the server's start.
const PORTS_TRIED_MAX: u32 = 20;

/// Below the ports that the system hands out to clients, which could otherwise take the port of a killed server.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// A Postgres server of this test process. It ends when it is dropped or when the process ends.
#[derive(Debug)]
pub struct Server {
    programs: Programs,
    /// The programs where the server's user reaches them.
    bin: PathBuf,
    account: Account,
    directory: PathBuf,
    data: PathBuf,
    port: u16,
    tls: Option<Certificate>,
    running: Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    server: Option<Child>,
    watchdog: Watchdog,
}

impl Server {
    /// Starts a server for one test.
    ///
    /// # Panics
    ///
    /// When there are programs but the server does not start; the message holds the server's log.
    pub fn start(options: Options) -> Need<Self> {
        let programs = match find(|name| std::env::var_os(name)) {
            Need::Met(programs) => programs,
            Need::Missing(reason) => return Need::Missing(reason),
        };
        Self::start_of(programs, options)
    }

    /// As [`Server::start`], of these programs.
    pub fn start_of(programs: Programs, options: Options) -> Need<Self> {
        match Self::prepared(programs, &options) {
            Ok(mut server) => match server.start_on_free_port(&options) {
                Ok(()) => Need::Met(server),
                Err(_) if options.tls && server.log().contains(tls::NOT_SUPPORTED) => {
                    Need::Missing(format!("TLS is not built into {}", server.programs.directory.display()))
                }
                Err(error) => panic!("{error}\n{}", server.log()),
            },
            Err(reason) => Need::Missing(reason),
        }
    }

    /// A server that was never started; the error says what the machine lacks.
    fn prepared(programs: Programs, options: &Options) -> Result<Self, String> {
        let directory = throw_away_directory(options.medium()).expect("the temporary directory can be written");
        let data = options.data_directory.clone().unwrap_or_else(|| directory.join("data"));
        assert!(is_free(&data), "{} is not empty", data.display());
        let watchdog = Watchdog::over(&[&directory, &data]).expect("a shell can be started");
        let account = Account::choose(&directory)?;
        account.own(&directory).expect("it is ours");
        let bin = reachable(&programs, account, &directory).expect("the programs can be read");
        let maker = Maker { bin: &bin, build: &programs.build(), account };
        let made = if options.own_cluster { maker.init_into(&data) } else { maker.copy_into(&data) };
        made.unwrap_or_else(|error| panic!("no cluster in {}: {error}", data.display()));
        let tls = if options.tls { Some(tls::certificate(&directory, account)?) } else { None };
        let running = Mutex::new(Running { server: None, watchdog });
        Ok(Self { programs, bin, account, directory, data, port: 0, tls, running })
    }

    fn start_on_free_port(&mut self, options: &Options) -> io::Result<()> {
        for _ in 0..PORTS_TRIED_MAX {
            self.port = free_port().ok_or_else(|| io::Error::other("no free port"))?;
            self.configure(options)?;
            let lost = match self.launch(&mut self.lock()) {
                Ok(()) => return Ok(()),
                Err(error) if self.log().contains("could not create any TCP/IP sockets") => error,
                Err(error) => return Err(error),
            };
            fs::write(self.log_file(), format!("port {} was taken: {lost}\n", self.port))?;
        }
        Err(io::Error::other("every port that was tried was taken"))
    }

    fn configure(&self, options: &Options) -> io::Result<()> {
        let (port, sockets) = (self.port.to_string(), self.directory.to_string_lossy());
        let mut own = vec![("port", port.as_str()), ("unix_socket_directories", &sockets)];
        let files = self.tls.as_ref().map(|tls| (tls.certificate.to_string_lossy(), tls.key.to_string_lossy()));
        if let Some((certificate, key)) = &files {
            own.extend([("ssl", "on"), ("ssl_cert_file", certificate), ("ssl_key_file", key)]);
            fs::write(self.data.join("pg_hba.conf"), tls::ACCESS)?;
        }
        fs::write(self.data.join("postgresql.conf"), configuration(options, &own))
    }

    /// Starts the process and returns when it takes connections.
    fn launch(&self, running: &mut Running) -> io::Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(self.log_file())?;
        let mut postgres = self.account.command(&self.bin.join("postgres"), &self.directory);
        without_postgres_variables(&mut postgres);
        postgres.arg("-D").arg(&self.data).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        std::os::unix::process::CommandExt::process_group(&mut postgres, 0);
        let mut child = postgres.spawn()?;
        running.watchdog.tell(Some(child.id()))?;
        let outcome = process::until(START_MAX, || match child.try_wait() {
            Ok(None) => self.is_ready(child.id()).then_some(Ok(())),
            Ok(Some(status)) => Some(Err(io::Error::other(format!("the server ended with {status}")))),
            Err(error) => Some(Err(error)),
        });
        match outcome {
            Some(Ok(())) => {
                running.server = Some(child);
                Ok(())
            }
            Some(Err(error)) => {
                running.watchdog.tell(None)?;
                Err(error)
            }
            None => {
                process::signal("KILL", &[child.id()]);
                child.wait()?;
                running.watchdog.tell(None)?;
                Err(io::Error::other(format!("the server was not ready in {} s", START_MAX.as_secs())))
            }
        }
    }

    /// The server writes its number and its state into the first and eighth line of a file. A killed one leaves it.
    fn is_ready(&self, pid: u32) -> bool {
        let state = fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = state.lines().map(str::trim).collect();
        lines.first() == Some(&pid.to_string().as_str()) && lines.get(7) == Some(&"ready")
    }

    /// Ends the server as a crash does: the postmaster and everything it started are killed at once (`SIGKILL`), and
    /// nothing is written any more. Returns when they are gone. No power cut: what the server wrote, the system keeps.
    ///
    /// # Panics
    ///
    /// When the server does not run.
    pub fn kill(&self) {
        let mut running = self.lock();
        let mut child = running.server.take().expect("the server runs");
        // Stopped first, so that it starts no child behind our back.
        process::signal("STOP", &[child.id()]);
        let mut all = process::children(child.id());
        all.push(child.id());
        process::signal("KILL", &all);
        child.wait().expect("it is our child");
        let gone = process::until(STOP_MAX, || all.iter().all(|pid| !process::runs(*pid)).then_some(()));
        gone.expect("nothing survives SIGKILL");
        running.watchdog.tell(None).expect("the watchdog stands");
    }

    /// Stops the server in good order (connections are cut, a checkpoint is written). Does nothing when it does not run.
    pub fn stop(&self) {
        let mut running = self.lock();
        let Some(mut child) = running.server.take() else { return };
        process::signal("INT", &[child.id()]);
        if process::ended(&mut child, STOP_MAX).is_none() {
            process::signal("KILL", &[child.id()]);
            child.wait().expect("it is our child");
        }
        running.watchdog.tell(None).expect("the watchdog stands");
    }

    /// Starts a killed or stopped server again: the same data, the same port, the same settings.
    ///
    /// # Panics
    ///
    /// When it runs already, or does not start; the message holds the server's log.
    pub fn start_again(&self) {
        let mut running = self.lock();
        assert!(running.server.is_none(), "the server runs already");
        self.launch(&mut running).unwrap_or_else(|error| panic!("{error}\n{}", self.log()));
    }

    /// `postgres://user@127.0.0.1:port/database`. Every user is let in without a password.
    pub fn url(&self, database: &str, user: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// The user that may do everything.
    pub fn superuser(&self) -> &str {
        SUPERUSER
    }

    /// The port on 127.0.0.1; a server that was started again keeps it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory of the Unix socket.
    pub fn socket_directory(&self) -> &Path {
        &self.directory
    }

    /// Where the cluster lies.
    pub fn data_directory(&self) -> &Path {
        &self.data
    }

    /// Major and minor version.
    pub fn version(&self) -> (u32, u32) {
        self.programs.version
    }

    /// The certificate that a client has to trust, of a server with TLS. It is made out to `localhost` and 127.0.0.1.
    pub fn authority(&self) -> Option<&Path> {
        self.tls.as_ref().map(|tls| tls.authority.as_path())
    }

    /// What the server wrote into its log so far.
    pub fn log(&self) -> String {
        fs::read(self.log_file()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The programs it was started from.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    fn log_file(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// A test that panicked while it held the lock left nothing half done that another could trip over.
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    /// Ends it at once; then the watchdog, dropped after this, removes the directory.
    fn drop(&mut self) {
        let mut running = self.lock();
        if let Some(mut child) = running.server.take() {
            process::signal("QUIT", &[child.id()]);
            if process::ended(&mut child, STOP_MAX).is_none() {
                process::signal("KILL", &[child.id()]);
                // It cannot survive this, and a drop has nobody to tell.
                let _ = child.wait();
            }
            let _ = running.watchdog.tell(None);
        }
    }
}

/// Whether the directory does not exist, or holds nothing.
fn is_free(directory: &Path) -> bool {
    !directory.exists() || fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// A port that nobody listens at now. Processes begin at different places, so that they seldom want the same.
fn free_port() -> Option<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let span = PORTS.end - PORTS.start;
    let begin = (std::process::id().wrapping_mul(97) % u32::from(span)) as u16;
    (0..span).find_map(|_| {
        let offset = (u32::from(begin) + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % u32::from(span);
        let port = PORTS.start + offset as u16;
        TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
    })
}
