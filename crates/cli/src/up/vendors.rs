//! The vendors that a node calls: their sandboxes, and our clients of them.

use std::sync::Arc;

use karwan_envelope::time::SystemClock;
use karwan_sandbox::{Stage, StageOptions, gateway, locks, messages};
use melmastoon::hotel::Vendors;
use melmastoon::lock_integration::latch::{self, Latch};
use melmastoon::notification::carrier::{self, HttpCarrier};
use melmastoon::payment::card::{self, Card};

use super::error::Error;
use super::place::Place;

/// Starts the sandboxes, with the books that they left.
pub async fn open(place: &Place) -> Result<Stage, Error> {
    let options = StageOptions { folder: Some(place.sandbox()), ..StageOptions::lifelike() };
    Ok(Stage::open(&options).await?)
}

/// Has webhooks sent to this node.
pub async fn listen(stage: &Stage, public: &str) {
    stage.gateway.notify(format!("{public}/webhooks/v1/{}", card::PROVIDER)).await;
    stage.locks.notify(format!("{public}/webhooks/v1/{}", latch::PROVIDER)).await;
    stage.messages.notify(format!("{public}/webhooks/v1/{}", carrier::PROVIDER)).await;
}

/// Our clients.
pub fn clients(stage: &Stage) -> Vendors {
    let card = card::Account {
        url: stage.gateway.url(),
        merchant: gateway::MERCHANT.to_owned(),
        secret: gateway::SECRET.to_owned(),
    };
    let latch =
        latch::Account { url: stage.locks.url(), client: locks::CLIENT.to_owned(), secret: locks::SECRET.to_owned() };
    let carrier = carrier::Account { url: stage.messages.url(), token: messages::TOKEN.to_owned() };
    Vendors {
        card: Arc::new(Card::new(card, Arc::new(SystemClock))),
        locks: Arc::new(Latch::new(latch)),
        messages: Arc::new(HttpCarrier::new(carrier)),
    }
}
