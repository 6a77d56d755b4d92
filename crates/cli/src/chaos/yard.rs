//! The servers and processes that trouble is made for: started, killed, stopped, started again.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use karwan_servers::{Medium, Need, nats, postgres, process, throw_away_directory};
use karwan_store::{Address, bare};

use super::actor::{ACTOR, Actor, Role};
use super::plan::{Act, Cast, Victim};
use super::platform;
use super::trial::Rule;
use crate::bench::scratch::Scratch;
use crate::exit::Failure;

/// How long a process that was told to end may take.
const END_MAX: Duration = Duration::from_secs(150);

/// Everything that is started.
pub struct Yard {
    /// Removed at the end of a run that went well.
    folder: PathBuf,
    processes: Vec<Process>,
    /// Of the producers and of the watch.
    databases: [Database; 2],
    broker: nats::Server,
}

struct Database {
    name: &'static str,
    server: postgres::Server,
    /// As a login that is bound by every policy.
    node: Address,
    /// The same with its password, for processes.
    url: String,
}

struct Process {
    actor: Actor,
    child: Option<Child>,
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Who works, in this order.
const ROLES: [(&str, Role); 8] = [
    ("producer-1", Role::Producer),
    ("producer-2", Role::Producer),
    ("relay-1", Role::Relay),
    ("relay-2", Role::Relay),
    ("guide-1", Role::Guide),
    ("guide-2", Role::Guide),
    ("watch-1", Role::Watch),
    ("watch-2", Role::Watch),
];
/// Those who can be stopped for a while: whoever holds leases.
const LEASED: std::ops::Range<usize> = 2..8;

impl Yard {
    /// Servers are started, and databases made.
    pub async fn new(without: Option<Rule>) -> Result<Self, Failure> {
        let folder = throw_away_directory("chaos", Medium::Any)?;
        fs::create_dir(folder.join("ledger"))?;
        let broker = have(nats::Server::try_start(nats::Options::default()), "a NATS server")?;
        let databases =
            [Database::new("postgres-1", true, without).await?, Database::new("postgres-2", false, without).await?];
        let actor = |(name, role): (&str, Role)| Actor {
            name: name.to_owned(),
            role,
            store: databases[usize::from(role == Role::Watch)].url.clone(),
            broker: broker.url(),
            ledger: folder.join("ledger").join(name),
            without,
        };
        let processes = ROLES.map(|role| Process { actor: actor(role), child: None }).into();
        Ok(Self { folder, processes, databases, broker })
    }

    /// Those whom a plan can be made for.
    pub fn cast(&self) -> Cast {
        Cast { all: self.processes.len() + self.databases.len() + 1, leased: LEASED }
    }

    /// Everybody begins to work.
    pub fn begin(&mut self) -> Result<(), Failure> {
        (0..self.processes.len()).try_for_each(|number| self.start(number))
    }

    /// What somebody is called.
    pub fn name(&self, victim: Victim) -> &str {
        let servers = victim.0.checked_sub(self.processes.len());
        match servers {
            None => &self.processes[victim.0].actor.name,
            Some(number) => self.databases.get(number).map_or("nats", |database| database.name),
        }
    }

    /// Does something to somebody.
    pub fn act(&mut self, victim: Victim, act: Act) -> Result<(), Failure> {
        let Some(number) = victim.0.checked_sub(self.processes.len()) else { return self.act_on(victim.0, act) };
        let started = match (self.databases.get(number), act) {
            (Some(database), Act::Kill) => {
                database.server.kill();
                Ok(())
            }
            (Some(database), Act::Start) => database.server.restart(),
            (None, Act::Kill) => {
                self.broker.kill();
                Ok(())
            }
            (None, Act::Start) => self.broker.restart(),
            // They hold no leases, and are never stopped.
            (_, Act::Freeze | Act::Thaw) => Ok(()),
        };
        Ok(started.with_context(|| format!("{} does not come back", self.name(victim)))?)
    }

    fn act_on(&mut self, number: usize, act: Act) -> Result<(), Failure> {
        let process = &mut self.processes[number];
        match act {
            Act::Start => return self.start(number),
            Act::Kill => {
                let mut child = process.child.take().with_context(|| format!("{} does not run", process.actor.name))?;
                if let Some(status) = child.try_wait()? {
                    return Err(self.ended(number, status));
                }
                child.kill()?;
                child.wait()?;
            }
            Act::Freeze => self.signal(number, "STOP"),
            Act::Thaw => self.signal(number, "CONT"),
        }
        Ok(())
    }

    fn signal(&self, number: usize, signal: &str) {
        if let Some(child) = &self.processes[number].child {
            process::signal(signal, &[child.id()]);
        }
    }

    fn start(&mut self, number: usize) -> Result<(), Failure> {
        let log = self.log(number);
        let process = &mut self.processes[number];
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let child = Command::new(std::env::current_exe()?)
            .arg("chaos-actor")
            .env(ACTOR, serde_json::to_string(&process.actor).map_err(anyhow::Error::from)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        process.child = Some(child.context("a process of its own cannot be started")?);
        Ok(())
    }

    fn log(&self, number: usize) -> PathBuf {
        self.folder.join(&self.processes[number].actor.name)
    }

    /// Ends producers, which finish what they began, or everybody else, in good order.
    pub fn end(&mut self, producers: bool) -> Result<(), Failure> {
        let meant = |process: &Process| (process.actor.role == Role::Producer) == producers;
        let numbers: Vec<usize> = (0..self.processes.len()).filter(|number| meant(&self.processes[*number])).collect();
        // All of them at once: nobody takes over from somebody who ends a moment later.
        for number in numbers.iter().copied() {
            match &mut self.processes[number].child {
                Some(child) if producers => drop(child.stdin.take()),
                Some(_) | None => self.signal(number, "TERM"),
            }
        }
        for number in numbers {
            let Some(mut child) = self.processes[number].child.take() else { continue };
            match tokio::task::block_in_place(|| process::ended(&mut child, END_MAX)) {
                Some(status) if status.success() => {}
                Some(status) => return Err(self.ended(number, status)),
                None => return Err(anyhow!("{} does not end", self.processes[number].actor.name).into()),
            }
        }
        Ok(())
    }

    fn ended(&self, number: usize, status: std::process::ExitStatus) -> Failure {
        let text = fs::read_to_string(self.log(number)).unwrap_or_default();
        let last: Vec<&str> = text.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        anyhow!("{} ended with {status}: {}", self.processes[number].actor.name, last.join("\n")).into()
    }

    /// Where the ledger lies.
    pub fn ledger(&self) -> PathBuf {
        self.folder.join("ledger")
    }

    /// The databases of the producers and of the watch.
    pub fn stores(&self) -> [&Address; 2] {
        self.databases.each_ref().map(|database| &database.node)
    }

    /// The broker's address.
    pub fn broker(&self) -> String {
        self.broker.url()
    }

    /// The ledger and what the processes said, kept for whoever looks for the cause.
    pub fn keep(self) -> PathBuf {
        self.folder
    }

    /// Nothing is left.
    pub fn remove(self) -> Result<(), Failure> {
        let folder = self.folder.clone();
        drop(self);
        Ok(fs::remove_dir_all(folder)?)
    }
}

impl Database {
    /// Beats may be answered late: whoever wakes after its lease then works on for a moment before it learns of that.
    async fn new(name: &'static str, late_beats: bool, without: Option<Rule>) -> Result<Self, Failure> {
        let server = have(postgres::Server::try_start(postgres::Options::default()), "Postgres")?;
        let url = server.url("postgres", server.superuser());
        let scratch = Scratch::make(&url, &*platform::catalogue()?, &platform::kinds()).await?;
        if late_beats {
            bare::answer_beats_late(&scratch.owner).await?;
        }
        if let Some(rule) = without {
            rule.leave_out_in(&scratch.owner).await?;
        }
        let node = scratch.node.clone();
        let Address::Postgres(url) = node.clone() else { return Err(anyhow!("a server's database has a URL").into()) };
        Ok(Self { name, server, node, url })
    }
}

/// What a machine lacks is said, with the remedy; so is a server that does not start, with what it said.
fn have<T>(need: io::Result<Need<T>>, what: &str) -> Result<T, Failure> {
    match need {
        Ok(Need::Met(thing)) => Ok(thing),
        Ok(Need::Missing(reason)) => Err(anyhow!("chaos starts {what} of its own, and cannot: {reason}").into()),
        Err(error) => {
            let help = "look at what it said, at free memory and disk (TMPDIR), and at the program itself";
            Err(anyhow!("{error}")
                .context(format!("chaos starts {what} of its own, and it does not start: {help}"))
                .into())
        }
    }
}
