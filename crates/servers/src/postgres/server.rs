//! One server: started, killed, started again, stopped.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::account::Account;
use super::find::{Programs, find};
use super::options::{Options, configuration};
use super::reach::reachable;
use super::template::{Maker, SUPERUSER, without_postgres_variables};
use crate::Need;
use crate::machine::places::throw_away_directory;
use crate::machine::running::{Running, on_free_port};
use crate::machine::tls::{self, Certificate};

/// What a server without TLS in it says when it is asked for it.
const NO_TLS: &str = "SSL is not supported by this build";

/// Who may connect to one with TLS: over TCP only with it.
const TLS_ACCESS: &str = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";

/// A Postgres server of this process. It ends when it is dropped or when the process ends.
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
    running: Running,
}

impl Server {
    /// Starts a private server.
    ///
    /// # Panics
    ///
    /// When there are programs but the server does not start; the message holds the server's log.
    pub fn start(options: Options) -> Need<Self> {
        Self::try_start(options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Server::start`], where the caller wants to say itself that it did not start; the error holds the server's log.
    pub fn try_start(options: Options) -> io::Result<Need<Self>> {
        match find(|name| std::env::var_os(name)) {
            Need::Met(programs) => Self::try_start_of(programs, options),
            Need::Missing(reason) => Ok(Need::Missing(reason)),
        }
    }

    /// As [`Server::start`], of these programs.
    pub fn start_of(programs: Programs, options: Options) -> Need<Self> {
        Self::try_start_of(programs, options).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_start_of(programs: Programs, options: Options) -> io::Result<Need<Self>> {
        let mut server = match Self::prepared(programs, &options)? {
            Need::Met(server) => server,
            Need::Missing(reason) => return Ok(Need::Missing(reason)),
        };
        match server.start_on_free_port(&options) {
            Ok(()) => Ok(Need::Met(server)),
            Err(_) if options.tls && server.log().contains(NO_TLS) => {
                Ok(Need::Missing(format!("TLS is not built into {}", server.programs.directory.display())))
            }
            Err(error) => Err(io::Error::other(format!("{error}\n{}", server.log()))),
        }
    }

    /// A server that was never started, or what the machine lacks.
    fn prepared(programs: Programs, options: &Options) -> io::Result<Need<Self>> {
        let directory = throw_away_directory("pg", options.medium())?;
        let data = options.data_directory.clone().unwrap_or_else(|| directory.join("data"));
        if !is_free(&data) {
            return Err(io::Error::other(format!("{} is not empty", data.display())));
        }
        let running = Running::over(&[&directory, &data])?;
        let account = match Account::choose(&directory) {
            Ok(account) => account,
            Err(reason) => return Ok(Need::Missing(reason)),
        };
        account.own(&directory)?;
        let bin = reachable(&programs, account, &directory)?;
        let maker = Maker { bin: &bin, build: &programs.build(), account };
        let made = if options.own_cluster { maker.init_into(&data) } else { maker.copy_into(&data) };
        made.map_err(|error| io::Error::other(format!("no cluster in {}: {error}", data.display())))?;
        let tls = match options.tls.then(|| tls::certificate(&directory)).transpose() {
            Ok(tls) => tls,
            Err(reason) => return Ok(Need::Missing(reason)),
        };
        if let Some(tls) = &tls {
            account.own(&tls.key)?;
        }
        Ok(Need::Met(Self { programs, bin, account, directory, data, port: 0, tls, running }))
    }

    fn start_on_free_port(&mut self, options: &Options) -> io::Result<()> {
        let log = self.log_file();
        let taken = |port: u16, lost: &io::Error| {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let taken = text.contains("could not create any TCP/IP sockets");
            if taken {
                fs::write(&log, format!("port {port} was taken: {lost}\n"))?;
            }
            Ok(taken)
        };
        on_free_port(
            |port| {
                self.port = port;
                self.configure(options)?;
                self.restart()
            },
            taken,
        )
    }

    fn configure(&self, options: &Options) -> io::Result<()> {
        let (port, sockets) = (self.port.to_string(), self.directory.to_string_lossy());
        let mut own = vec![("port", port.as_str()), ("unix_socket_directories", &sockets)];
        let files = self.tls.as_ref().map(|tls| (tls.certificate.to_string_lossy(), tls.key.to_string_lossy()));
        if let Some((certificate, key)) = &files {
            own.extend([("ssl", "on"), ("ssl_cert_file", certificate), ("ssl_key_file", key)]);
            fs::write(self.data.join("pg_hba.conf"), TLS_ACCESS)?;
        }
        fs::write(self.data.join("postgresql.conf"), configuration(options, &own))
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
        self.running.kill();
    }

    /// Stops the server in good order (connections are cut, a checkpoint is written). Does nothing when it does not run.
    pub fn stop(&self) {
        self.running.end("INT").expect("it is our child");
    }

    /// Starts a killed or stopped server again: the same data, the same port, the same settings.
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
        let mut postgres = self.account.command(&self.bin.join("postgres"), &self.directory);
        without_postgres_variables(&mut postgres);
        postgres.arg("-D").arg(&self.data).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        std::os::unix::process::CommandExt::process_group(&mut postgres, 0);
        self.running.launch(&mut postgres, |pid| self.is_ready(pid))
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
}

impl Drop for Server {
    /// Ends it at once; then the watchdog, dropped after this, removes the directory.
    fn drop(&mut self) {
        // A drop has nobody to tell.
        let _ = self.running.end("QUIT");
    }
}

/// Whether the directory does not exist, or holds nothing.
fn is_free(directory: &Path) -> bool {
    !directory.exists() || fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}
