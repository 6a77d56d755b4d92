//! Running until the process is told to stop: by `SIGTERM`, as a supervisor does, or by `SIGINT`, as a terminal does.
//!
//! Signals are waited for in a thread of their own, so that the second one ends the process also where every thread of the
//! program is stuck in a handler.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::engine::{Engine, POLL};

impl Engine {
    /// Works until the process gets a `SIGTERM` or a `SIGINT`, then stops as [`Self::stop`] does and returns: the program ends
    /// by itself. A second signal ends the process at once, with exit code 143 or 130 (128 and the signal's number); what was
    /// under way is then done again by another process, when the lease has run out.
    ///
    /// An error means that the system does not let signals be waited for, and that nothing was stopped.
    pub async fn run_until_signal(self) -> io::Result<()> {
        Signals::listen()?.first().await;
        self.stop().await;
        Ok(())
    }

    /// Waits until this process has shared lanes out with the others for the first time: from then on it works.
    pub async fn at_work(&self) {
        while !self.has_lanes() {
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Waits for signals. The first one is told, the second one ends the process at once, with exit code 143 or 130.
pub struct Signals(oneshot::Receiver<()>);

impl Signals {
    /// From now on a `SIGTERM` or a `SIGINT` does not end the process by itself.
    pub fn listen() -> io::Result<Self> {
        let (tell, told) = oneshot::channel();
        let signals = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let listening = {
            let _within = signals.enter();
            [listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?]
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.block_on(obey(listening, tell)))?;
        Ok(Self(told))
    }

    /// Ends with the first signal.
    pub async fn first(self) {
        // The thread says something before it ends.
        drop(self.0.await);
    }
}

/// A signal and the exit code that it stands for.
type Listening = (Signal, i32);

fn listen(kind: SignalKind) -> io::Result<Listening> {
    Ok((signal(kind)?, 128 + kind.as_raw_value()))
}

async fn obey([mut terminate, mut interrupt]: [Listening; 2], tell: oneshot::Sender<()>) {
    either(&mut terminate, &mut interrupt).await;
    tracing::info!("told to stop: what is under way is finished; a second signal ends the process at once");
    // Nobody listens where the engine was dropped meanwhile.
    let _ = tell.send(());
    let code = either(&mut terminate, &mut interrupt).await;
    std::process::exit(code);
}

async fn either((terminate, terminated): &mut Listening, (interrupt, interrupted): &mut Listening) -> i32 {
    tokio::select! {
        // no crash point: a system's signal reaches no simulation
        _ = terminate.recv() => *terminated,
        // no crash point: the same
        _ = interrupt.recv() => *interrupted,
    }
}
