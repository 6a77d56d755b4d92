//! What is asked of a running server, through the programs that come with it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::server::Server;
use super::template::without_postgres_variables;

/// A database of a server. It is thrown away with the server.
#[derive(Debug, Clone)]
pub struct Database<'s> {
    server: &'s Server,
    name: String,
}

impl Database<'_> {
    /// Its name, unique in its server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its server.
    pub fn server(&self) -> &Server {
        self.server
    }

    /// Where the superuser finds it.
    pub fn url(&self) -> String {
        self.server.url(&self.name, self.server.superuser())
    }

    /// Where this user finds it.
    pub fn url_as(&self, user: &str) -> String {
        self.server.url(&self.name, user)
    }

    /// Runs SQL as the superuser; see [`Server::psql`].
    pub fn psql(&self, sql: &str) -> Result<String, String> {
        self.server.psql(&self.name, sql)
    }

    /// Runs SQL as this user; see [`Server::psql_as`].
    pub fn psql_as(&self, user: &str, sql: &str) -> Result<String, String> {
        self.server.psql_as(user, &self.name, sql)
    }
}

impl Server {
    /// A new, empty database: UTF-8, collation C.
    ///
    /// # Panics
    ///
    /// When the server does not run.
    pub fn database(&self) -> Database<'_> {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let made = self.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        made.unwrap_or_else(|error| panic!("{name}: {error}"));
        Database { server: self, name }
    }

    /// Runs SQL as the superuser until the first error. Gives what the statements print: a line for each row, values
    /// separated by `|`, without the last line break. The error is what psql says.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        self.psql_as(self.superuser(), database, sql)
    }

    /// As [`Server::psql`], as this user.
    pub fn psql_as(&self, user: &str, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.client("psql", user, database);
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"]);
        let printed = fed(psql, sql.as_bytes())?;
        let text = String::from_utf8(printed).map_err(|error| error.to_string())?;
        Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
    }

    /// The whole database as `pg_dump` writes it, in its own format. Users are no part of a database, so no part of this.
    pub fn dump(&self, database: &str) -> Result<Vec<u8>, String> {
        let mut pg_dump = self.client("pg_dump", self.superuser(), database);
        pg_dump.arg("--format=custom");
        fed(pg_dump, &[])
    }

    /// Reads a dump into a database that exists; the users it names must exist as well.
    pub fn restore(&self, database: &str, dump: &[u8]) -> Result<(), String> {
        let mut pg_restore = self.client("pg_restore", self.superuser(), database);
        pg_restore.args(["--exit-on-error", "--single-transaction"]);
        fed(pg_restore, dump).map(drop)
    }

    /// The path of a program that came with this server (`pgbench`, `pg_basebackup`, …), whether it exists or not.
    pub fn bin(&self, name: &str) -> PathBuf {
        self.programs().directory.join(name)
    }

    /// A client program that connects as this user; it takes the Unix socket, so TLS settings do not matter to it.
    fn client(&self, program: &str, user: &str, database: &str) -> Command {
        let mut command = Command::new(self.bin(program));
        without_postgres_variables(&mut command);
        command.arg("-h").arg(self.socket_directory()).arg("-p").arg(self.port().to_string());
        command.args(["-U", user, "-d", database]).env("PGCLIENTENCODING", "UTF8");
        command
    }
}

/// Runs a program to the end with this input, and gives its output; the error is what it complained of.
fn fed(mut command: Command, input: &[u8]) -> Result<Vec<u8>, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    let mut stdin = child.stdin.take().expect("it was asked for");
    let output = std::thread::scope(|scope| {
        // In a thread of its own: a program that prints before it has read everything must not wait for us.
        // One that ends without reading everything says why in its own words.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output()
    });
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(if complaint.is_empty() { output.status.to_string() } else { complaint })
}
