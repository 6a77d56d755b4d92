//! Who waits for something new in the log is woken when this process commits facts, or when another says that it did; who waits
//! for effects, when this process commits some.
//!
//! A wake-up may be missing (an append from plain SQL, a lost connection) or mean nothing: whoever waits also looks by itself
//! from time to time.

use tokio::sync::watch;

/// Rung when facts or effects were committed.
pub(crate) struct Bell {
    heard: watch::Sender<()>,
    /// By this process alone: what others need to be told of.
    own: watch::Sender<()>,
    /// Effects were committed by this process.
    effects: watch::Sender<()>,
}

impl Default for Bell {
    fn default() -> Self {
        Self { heard: watch::Sender::new(()), own: watch::Sender::new(()), effects: watch::Sender::new(()) }
    }
}

impl Bell {
    /// This process committed facts.
    pub fn ring(&self) {
        self.own.send_replace(());
        self.heard.send_replace(());
    }

    /// This process committed effects.
    pub fn ring_for_effects(&self) {
        self.effects.send_replace(());
    }

    pub fn listen_for_effects(&self) -> Listening {
        Listening(self.effects.subscribe())
    }

    /// Another process committed facts.
    pub fn echo(&self) {
        self.heard.send_replace(());
    }

    pub fn own(&self) -> watch::Receiver<()> {
        self.own.subscribe()
    }

    pub fn listen(&self) -> Listening {
        Listening(self.heard.subscribe())
    }
}

/// Somebody who waits for something new.
pub struct Listening(watch::Receiver<()>);

impl Listening {
    /// Waits until the bell was rung since it was heard last; for ever where the store is gone.
    pub async fn rung(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
