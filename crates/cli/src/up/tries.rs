//! What `karwan try` has a node do: a booking or a cancellation, with something going wrong on purpose.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use karwan::TenantId;
use karwan_envelope::ids::CorrelationId;
use karwan_envelope::mint::{OsRandom, Random as _};
use karwan_sandbox::{gateway, locks};
use karwan_store::operator::{Operator, Who};
use melmastoon::ids::{GuestId, PaymentMethodId, ReservationId};
use melmastoon::lock_integration::decide::issue_key;
use melmastoon::reservation::Channel;
use melmastoon::reservation::commands::{self, Hold};
use melmastoon::values::{BookingStatus, GuestContact, Offer, PaymentChoice, PaymentRail};
use serde::{Deserialize, Serialize};

use super::demo::{AHEAD, Furnished, Room, context, fresh};
use super::node::Node;
use super::part_takers::{TAKE_PART, running};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Inventory does not answer within half a minute, and answers too late
    HoldExpired,
    /// There are fewer rooms than are asked for
    Oversold,
    /// The card is declined
    PaymentDeclined,
    /// The card is charged, and the gateway's answer never comes
    PaymentTimeout,
    /// The maker of locks refuses the key
    VendorError,
    /// The key is made, and the answer of its maker never comes
    KeyTimeout,
    /// The guest will pay in cash on arrival
    CashPending,
    /// The gateway declines the refund; asked again, it makes it
    RefundFailed,
}

impl Fault {
    /// Those that a booking can meet; a refund is none of its steps.
    pub const OF_BOOKING: [Self; 7] = [
        Self::HoldExpired,
        Self::Oversold,
        Self::PaymentDeclined,
        Self::PaymentTimeout,
        Self::VendorError,
        Self::KeyTimeout,
        Self::CashPending,
    ];
    /// Those that leave a booking to cancel.
    pub const OF_CANCELLATION: [Self; 5] =
        [Self::PaymentTimeout, Self::VendorError, Self::KeyTimeout, Self::CashPending, Self::RefundFailed];
}

/// What is tried.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// A tenant of the demo.
    pub tenant: Option<String>,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// The booking to cancel; where there is none, one is made.
    pub cancel: Option<String>,
    /// Refused where nobody runs a service without which it does not end; begun all the same where that is not asked for.
    #[serde(default)]
    pub to_its_end: bool,
}

/// What was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The tenant.
    pub tenant: String,
    /// Its name.
    pub title: String,
    /// Its property.
    pub property: String,
    /// The reservation.
    pub reservation: String,
    /// The trace.
    pub correlation: String,
    /// Where the log stood before.
    pub position: String,
    /// Facts that end it.
    pub expects: Vec<String>,
    /// Services that would take part, and that nobody runs.
    #[serde(default)]
    pub without: Vec<String>,
}

/// Starts a booking or a cancellation.
pub async fn start(node: &Arc<Node>, ask: &Ask) -> Result<Started, String> {
    let place = match &ask.tenant {
        None => node.houses.first(),
        Some(name) => node.houses.iter().find(|it| it.house.name == *name || it.house.tenant().to_string() == *name),
    };
    let Some(place) = place else {
        let known: Vec<&str> = node.houses.iter().map(|place| place.house.name.as_str()).collect();
        return Err(match &ask.tenant {
            Some(name) if !known.is_empty() => {
                format!("no tenant of the demo is called `{name}`; there are {}", known.join(", "))
            }
            _ => "this node has no demo: start one with `karwan up --demo`".to_owned(),
        });
    };
    let runs = running(node).await?;
    if ask.to_its_end {
        ask.can_end(&runs)?;
    }
    let correlation = CorrelationId::from_bits(fresh());
    let position = node.store.relay().end().await.map_err(|error| error.to_string())?;
    let (reservation, expects) = match &ask.cancel {
        None => book(node, place, correlation, (ask.fault, &runs)).await?,
        Some(id) => cancel(node, place, correlation, id, (ask.fault, &runs)).await?,
    };
    let without = TAKE_PART.iter().filter(|(part, _)| !runs.contains(part));
    Ok(Started {
        tenant: place.house.tenant().to_string(),
        title: place.house.title.clone(),
        property: place.house.property.clone(),
        reservation: reservation.to_string(),
        correlation: correlation.to_string(),
        position: position.to_string(),
        expects: expects.into_iter().map(str::to_owned).collect(),
        without: without.map(|(part, _)| (*part).to_owned()).collect(),
    })
}

/// How a booking stands, as a word; its refusal's code where it was refused.
pub async fn status(node: &Node, tenant: &str, reservation: &str) -> Result<String, String> {
    let tenant: TenantId = tenant.parse().map_err(|_| "no such tenant".to_owned())?;
    let id: ReservationId = reservation.parse().map_err(|_| "no such reservation".to_owned())?;
    let context = context(tenant, "reservation-service", CorrelationId::from_bits(fresh()));
    Ok(match commands::status(&node.store, &context, id).await {
        Ok(BookingStatus::Held) => "held".to_owned(),
        Ok(BookingStatus::Confirmed) => "confirmed".to_owned(),
        Ok(BookingStatus::ConfirmedCashPending) => "confirmed, cash pending".to_owned(),
        Ok(BookingStatus::Cancelled) => "cancelled".to_owned(),
        Ok(other) => format!("{other:?}").to_lowercase(),
        Err(refused) => format!("refused: {}", refused.code()),
    })
}

/// A guest's wish for an offer.
pub fn wish(offer: Offer, rail: PaymentRail, method: PaymentMethodId) -> Hold {
    Hold {
        offer,
        guest: GuestContact {
            guest_id: GuestId::from_bits(fresh()),
            full_name: "Zarghuna Anaa".to_owned(),
            email: Some("zarghuna@example.af".to_owned()),
            phone: Some("+93700123456".to_owned()),
            preferred_locale: "ps".parse().expect("a locale"),
        },
        special_requests: None,
        payment: PaymentChoice { rail, payment_method_id: (rail == PaymentRail::Card).then_some(method) },
        channel: Channel::TenantSite,
        booking_intent_id: None,
    }
}

/// Days ahead that follow from chance.
pub fn ahead(chance: u64) -> i32 {
    let days = u64::from((AHEAD.end - AHEAD.start).unsigned_abs());
    AHEAD.start + i32::try_from(chance % days).unwrap_or_default()
}

async fn book(
    node: &Arc<Node>,
    place: &Furnished,
    correlation: CorrelationId,
    (fault, runs): (Option<Fault>, &BTreeSet<&'static str>),
) -> Result<(ReservationId, Vec<&'static str>), String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let context = place.house.context("reservation-service", correlation);
    let method = PaymentMethodId::from_bits(fresh());
    let stage = &node.stage;
    let card = |fault| stage.gateway.fault(&method.to_string(), fault).map_err(|error| told(&error));
    let mut door = None;
    let (mut rail, mut room) = (PaymentRail::Card, (Room::Double, 1));
    let mut expects = vec!["booking.confirmed"];
    if runs.contains("lock_integration") {
        expects.push("key_credential.issued");
    }
    match fault {
        None | Some(Fault::RefundFailed | Fault::HoldExpired) => {}
        Some(Fault::PaymentTimeout) => card(gateway::Fault::TimeoutAfterCharge)?,
        Some(Fault::PaymentDeclined) => {
            card(gateway::Fault::Decline)?;
            expects = vec!["intent.failed", "booking.cancelled", "allocation.released"];
        }
        Some(Fault::Oversold) => {
            room = (Room::Suite, 2);
            expects = vec!["oversell.blocked", "booking.cancelled"];
        }
        Some(Fault::CashPending) => {
            rail = PaymentRail::CashPending;
            expects = vec!["booking.confirmed"];
        }
        Some(Fault::VendorError) => {
            door = Some(locks::Fault::Reject);
            expects = vec!["booking.confirmed", "key_credential.failed"];
        }
        Some(Fault::KeyTimeout) => door = Some(locks::Fault::TimeoutAfterIssue),
    }
    if fault == Some(Fault::RefundFailed) {
        card(gateway::Fault::RefundDecline)?;
    }
    let offer = place.offer(&node.store, &context, room, ahead(OsRandom.bits())).await.map_err(|error| told(&error))?;
    let wish = wish(offer, rail, method);
    let placed = commands::hold(&node.store, &context, &wish).await.map_err(|error| told(&error))?;
    if let Some(fault) = door {
        // The stay's first key, and no other: neither one that is asked for again nor another guest's.
        let operation = issue_key(&placed.reservation_id, 1);
        stage.locks.fault(&operation, fault).map_err(|error| told(&error))?;
    }
    if fault == Some(Fault::HoldExpired) {
        stall(node, place.house.tenant(), placed.reservation_id).await?;
        // The rooms come too late, and go back.
        expects = vec!["booking.cancelled", "allocation.released"];
    }
    commands::confirm(&node.store, &context, placed.reservation_id).await.map_err(|error| told(&error))?;
    Ok((placed.reservation_id, expects))
}

/// Longer than a lane's holder takes to learn of a key that was stopped.
const A_BEAT: Duration = Duration::from_millis(1_500);
/// How often it is looked whether the saga has given up.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Stops inventory for one booking until the saga has given it up: its answer comes too late. It is written down first, so that a
/// node that ends meanwhile takes it up when it is started again.
async fn stall(node: &Arc<Node>, tenant: TenantId, id: ReservationId) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", node.stalls.display());
    std::fs::create_dir_all(&node.stalls).map_err(told)?;
    std::fs::write(node.stalls.join(id.to_string()), tenant.to_string()).map_err(told)?;
    let operator = Operator::new(&node.address, Vec::new());
    let paused = operator.pause_key(&who(), STALLED, tenant.bits(), &id.to_string()).await;
    paused.map_err(|error| error.to_string())?;
    tokio::time::sleep(A_BEAT).await;
    tokio::spawn(resume(node.clone(), tenant, id));
    Ok(())
}

/// Goes on waiting for the sagas that were stalled when a node ended.
pub fn take_up(node: &Arc<Node>) {
    let Ok(files) = std::fs::read_dir(&node.stalls) else { return };
    for file in files.filter_map(Result::ok) {
        let id = file.file_name().to_str().and_then(|name| name.parse::<ReservationId>().ok());
        let tenant = std::fs::read_to_string(file.path()).ok().and_then(|text| text.parse::<TenantId>().ok());
        match tenant.zip(id) {
            Some((tenant, id)) => drop(tokio::spawn(resume(node.clone(), tenant, id))),
            // Nothing was stopped before it was written down whole.
            None => drop(std::fs::remove_file(file.path())),
        }
    }
}

/// Lets a stalled booking go on as soon as its saga does not wait for it any more.
async fn resume(node: Arc<Node>, tenant: TenantId, id: ReservationId) {
    let (name, key) = (tenant.to_string(), id.to_string());
    // A booking that was not confirmed yet counts as held, until its hold has run out.
    while status(&node, &name, &key).await.is_ok_and(|status| status == "held") {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    let operator = Operator::new(&node.address, Vec::new());
    match operator.resume_key(&who(), STALLED, tenant.bits(), &key).await {
        Ok(_) => drop(std::fs::remove_file(node.stalls.join(key))),
        Err(error) => tracing::warn!(error = %error, "a key that was stopped on purpose is not resumed"),
    }
}

/// Who is stalled, and by whom.
const STALLED: &str = "inventory-service.allocations";

fn who() -> Who {
    Who { actor: "karwan try".to_owned(), reason: "a fault on purpose: hold-expired".to_owned() }
}

async fn cancel(
    node: &Arc<Node>,
    place: &Furnished,
    correlation: CorrelationId,
    id: &str,
    (fault, runs): (Option<Fault>, &BTreeSet<&'static str>),
) -> Result<(ReservationId, Vec<&'static str>), String> {
    let id: ReservationId = id.parse().map_err(|_| format!("`{id}` is no reservation"))?;
    let context = place.house.context("reservation-service", correlation);
    commands::cancel_for_guest(&node.store, &context, id).await.map_err(|error| error.to_string())?;
    let mut expects = vec!["booking.cancelled", "allocation.released"];
    if runs.contains("payment") && !matches!(fault, Some(Fault::RefundFailed | Fault::CashPending)) {
        expects.push("intent.refunded");
    }
    if runs.contains("lock_integration") && !matches!(fault, Some(Fault::VendorError | Fault::CashPending)) {
        expects.push("key_credential.revoked");
    }
    Ok((id, expects))
}
