//! The base of the append with one event a transaction: pgbench, sending the statement that the store sends.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, anyhow};
use karwan_store::Address;
use tokio_postgres::Client;

use super::bare::Rows;
use crate::bench::scratch::Scratch;
use crate::exit::Failure;

/// The tenant of its events.
const TENANT: &str = "0190c2f0-0000-7000-8000-0000000fffff";

/// pgbench, ready to run.
pub struct Pgbench {
    program: PathBuf,
    /// Without the password.
    url: String,
    password: String,
    script: String,
    envelope: String,
}

impl Pgbench {
    /// Looks beside the server, then on the PATH; the inner error says why the line is skipped.
    pub async fn find(client: &Client, scratch: &Scratch, rows: &Rows) -> Result<Result<Self, String>, Failure> {
        let Some(program) = program(client).await else {
            return Ok(Err("pgbench is neither beside the server nor on the PATH".to_owned()));
        };
        let Address::Postgres(url) = &scratch.node else {
            return Ok(Err("pgbench speaks to Postgres alone".to_owned()));
        };
        let script = format!("\\set serial random(1, 9000000000000000000)\n{};\n", statement());
        let url = url.replacen(&format!(":{}@", scratch.password), "@", 1);
        let (password, envelope) = (scratch.password.clone(), rows.envelope_text());
        Ok(Ok(Self { program, url, password, script, envelope }))
    }

    /// Transactions a second, as pgbench counts them.
    pub async fn run(&self, callers: usize, events: u32) -> Result<f64, Failure> {
        let each = (events as usize / callers).max(1);
        let mut command = std::process::Command::new(&self.program);
        command.args(["-n", "-M", "prepared", "-f", "-", "-j", "2"]);
        command.args(["-c", &callers.to_string(), "-t", &each.to_string()]);
        command.arg("-D").arg(format!("envelope={}", self.envelope)).arg(&self.url);
        command.env("PGPASSWORD", &self.password).env("PGAPPNAME", "karwan bench");
        // As the store's own connections are.
        let plans = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off";
        command.env("PGOPTIONS", format!("-c role=karwan_app {plans}"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let script = self.script.clone();
        let ran = tokio::task::spawn_blocking(move || {
            use std::io::Write as _;
            let mut child = command.spawn()?;
            child.stdin.take().expect("it was piped").write_all(script.as_bytes())?;
            child.wait_with_output()
        });
        let output = ran.await.context("pgbench broke off")?.context("pgbench does not start")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let rate = printed.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        match rate.filter(|_| output.status.success()) {
            Some(rate) => Ok(rate),
            None => Err(anyhow!("pgbench: {}", String::from_utf8_lossy(&output.stderr).trim()).into()),
        }
    }
}

/// Only a superuser is told where the server's programs are; elsewhere the PATH has to do.
async fn program(client: &Client) -> Option<PathBuf> {
    let sql = "SELECT setting FROM pg_config WHERE name = 'BINDIR'";
    let beside = client.query_one(sql, &[]).await.ok().map(|row| PathBuf::from(row.get::<_, String>(0)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = beside.into_iter().chain(std::env::split_paths(&path));
    places.map(|place| place.join("pgbench")).find(|program| Path::is_file(program))
}

/// A flush of one unit with one fact. No colon may stand in a literal: pgbench would take what follows for a variable.
fn statement() -> String {
    let one_tenant = format!("'{{{TENANT}}}'");
    let arguments = [
        ("tenants", "text", one_tenant.as_str()),
        ("locks", "bigint[]", "ARRAY[:serial]"),
        ("unit_tenant", "uuid[]", &one_tenant),
        ("unit", "uuid[]", "ARRAY[gen_random_uuid()]"),
        ("tenant", "uuid[]", &one_tenant),
        ("subject", "integer[]", "ARRAY[1]"),
        ("key", "text[]", "ARRAY['pay_' || :serial::text]"),
        ("slot", "smallint[]", "ARRAY[7]"),
        ("event", "uuid[]", "ARRAY[gen_random_uuid()]"),
        ("idem", "text[]", "ARRAY['pay_' || :serial::text || '-capture']"),
        ("hash", "uuid[]", "ARRAY[gen_random_uuid()]"),
        ("envelope", "text[]", "ARRAY[:envelope]"),
        ("intent", "integer[]", "ARRAY[1]"),
    ];
    let arguments: Vec<String> =
        arguments.iter().map(|(name, of, value)| format!("p_{name} => {value}::{of}")).collect();
    format!("SELECT karwan.flush_set({})", arguments.join(", "))
}
