//! The process of one server: started, stopped and started again, with a watchdog beside it that outlives everybody.

use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ports::{PORTS_TRIED_MAX, free_port};
use super::process;
use super::watchdog::Watchdog;

/// Recovery after a crash included.
const START_MAX: Duration = Duration::from_secs(60);

/// A server in good order writes down what it knows.
pub(crate) const STOP_MAX: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Debug)]
pub(crate) struct Running(Mutex<State>);

#[derive(Debug)]
struct State {
    server: Option<Child>,
    watchdog: Watchdog,
}

impl Running {
    /// Nothing runs yet; the directories go with the watchdog.
    pub(crate) fn over(directories: &[&Path]) -> io::Result<Self> {
        Ok(Self(Mutex::new(State { server: None, watchdog: Watchdog::over(directories)? })))
    }

    /// Starts the process and returns when it is ready, as its number says; refuses where it runs already.
    pub(crate) fn launch(&self, command: &mut Command, is_ready: impl Fn(u32) -> bool) -> io::Result<()> {
        let mut state = self.lock();
        if state.server.is_some() {
            return Err(io::Error::other("the server runs already"));
        }
        let mut child = command.spawn()?;
        state.watchdog.tell(Some(child.id()))?;
        let outcome = process::until(START_MAX, || match child.try_wait() {
            Ok(None) => is_ready(child.id()).then_some(Ok(())),
            Ok(Some(status)) => Some(Err(io::Error::other(format!("the server ended with {status}")))),
            Err(error) => Some(Err(error)),
        });
        let outcome = outcome.unwrap_or_else(|| {
            process::signal("KILL", &[child.id()]);
            child.wait()?;
            Err(io::Error::other(format!("the server was not ready in {} s", START_MAX.as_secs())))
        });
        match outcome {
            Ok(()) => state.server = Some(child),
            Err(_) => state.watchdog.tell(None)?,
        }
        outcome
    }

    /// Ends it by a signal, which it may heed in good order; kills it where it does not. Nothing where it does not run.
    pub(crate) fn end(&self, signal: &str) -> io::Result<()> {
        let mut state = self.lock();
        let Some(mut child) = state.server.take() else { return Ok(()) };
        // One that was frozen would not hear that it should end.
        process::signal("CONT", &[child.id()]);
        process::signal(signal, &[child.id()]);
        if process::ended(&mut child, STOP_MAX).is_none() {
            process::signal("KILL", &[child.id()]);
            child.wait()?;
        }
        state.watchdog.tell(None)
    }

    /// Ends it and what it has started at once, by `SIGKILL`; returns when they are gone.
    ///
    /// # Panics
    ///
    /// When it does not run.
    pub(crate) fn kill(&self) {
        let mut state = self.lock();
        let mut child = state.server.take().expect("the server runs");
        // Stopped first, so that it starts no child behind our back.
        process::signal("STOP", &[child.id()]);
        let mut all = process::children(child.id());
        all.push(child.id());
        process::signal("KILL", &all);
        child.wait().expect("it is our child");
        let gone = process::until(STOP_MAX, || all.iter().all(|pid| !process::runs(*pid)).then_some(()));
        gone.expect("nothing survives SIGKILL");
        state.watchdog.tell(None).expect("the watchdog stands");
    }

    /// The process, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.lock().server.as_ref().map(Child::id)
    }

    /// A test that panicked while it held the lock left nothing half done that another could trip over.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tries free ports until a server starts on one; `taken` says whether it failed because somebody else was faster.
pub(crate) fn on_free_port(
    mut start: impl FnMut(u16) -> io::Result<()>,
    taken: impl Fn(u16, &io::Error) -> io::Result<bool>,
) -> io::Result<()> {
    for _ in 0..PORTS_TRIED_MAX {
        let port = free_port().ok_or_else(|| io::Error::other("no free port"))?;
        match start(port) {
            Ok(()) => return Ok(()),
            Err(error) if taken(port, &error)? => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("every port that was tried was taken"))
}
