//! Who is written to, on which ways, in which words. No clock, no I/O.

use std::collections::BTreeMap;

use karwan::envelope::money::Money;

use super::events::{BounceReason, Channel, MessagePurpose};
use super::state::Contact;
use super::templates;
use crate::reservation::{BookingCancelled, BookingConfirmed, CancelledBy};
use crate::values::{BookedRoom, BookingStatus, GuestContact, Locale};

/// What is filled into the places of a text.
pub type Values = BTreeMap<&'static str, String>;

/// A message that is to be sent: a template in a language, filled, on one way, to one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// What it is for.
    pub purpose: MessagePurpose,
    /// The way it goes.
    pub channel: Channel,
    /// Where it goes.
    pub to: String,
    /// Its language.
    pub locale: Locale,
    /// The template.
    pub template: &'static str,
    /// The template's version.
    pub version: u32,
    /// The subject of a mail.
    pub subject: Option<String>,
    /// The text.
    pub text: String,
}

/// The drafts of a template to a guest: one for every way that the template goes and the guest can be reached on, in the guest's
/// language, else in the tenant's.
pub fn drafts(
    what: (MessagePurpose, &'static str),
    guest: &GuestContact,
    tenant: &[Locale],
    values: &Values,
) -> Vec<Draft> {
    let (purpose, template) = what;
    let chain: Vec<Locale> = [guest.preferred_locale.clone()].into_iter().chain(tenant.iter().cloned()).collect();
    let Some((locale, found)) = templates::find(template, &chain) else { return Vec::new() };
    let reached = |channel: &Channel| match channel {
        Channel::Email => guest.email.clone(),
        Channel::Sms | Channel::Whatsapp => guest.phone.clone(),
        Channel::Push | Channel::InApp => None,
    };
    let draft = |channel: &Channel| {
        let mail = *channel == Channel::Email;
        Some(Draft {
            purpose,
            channel: *channel,
            to: reached(channel)?,
            locale: locale.clone(),
            template,
            version: found.version,
            subject: mail.then(|| templates::fill(&found.subject, values)),
            text: templates::fill(if mail { &found.mail } else { &found.short }, values),
        })
    };
    found.channels.iter().filter_map(draft).collect()
}

/// The confirmation: by mail, SMS and WhatsApp; who pays on arrival is told to bring cash.
pub fn confirmation(confirmed: &BookingConfirmed) -> ((MessagePurpose, &'static str), Values) {
    let cash = confirmed.status == BookingStatus::ConfirmedCashPending;
    let template = if cash { "booking_confirmation_cash" } else { "booking_confirmation" };
    let mut values = of_stay(&contact(confirmed));
    values.insert("total", amount(&confirmed.quote.total));
    values.insert("due", amount(&confirmed.balance_due));
    ((MessagePurpose::BookingConfirmation, template), values)
}

/// What the guest is told of a cancellation: by mail and SMS, with what is given back.
pub fn cancellation(cancelled: &BookingCancelled) -> ((MessagePurpose, &'static str), Values) {
    let template = match cancelled.cancelled_by {
        CancelledBy::Saga => "booking_failed",
        CancelledBy::Guest | CancelledBy::Staff if cancelled.refund.refundable => "booking_cancellation",
        CancelledBy::Guest | CancelledBy::Staff => "booking_cancellation_kept",
    };
    let mut values = of_stay(&cancelled_contact(cancelled));
    values.insert("refund", amount(&cancelled.refund.amount));
    ((MessagePurpose::BookingCancellation, template), values)
}

/// How the guest of a booking is reached.
pub fn contact(confirmed: &BookingConfirmed) -> Contact {
    Contact {
        reservation_id: confirmed.reservation_id,
        property_id: confirmed.property_id,
        property_name: confirmed.property_name.clone(),
        guest: confirmed.guest.clone(),
        stay: confirmed.stay,
        rooms: printed(&confirmed.rooms),
        cancelled: false,
    }
}

/// How the guest of a cancelled booking is reached.
pub fn cancelled_contact(cancelled: &BookingCancelled) -> Contact {
    Contact {
        reservation_id: cancelled.reservation_id,
        property_id: cancelled.property_id,
        property_name: cancelled.property_name.clone(),
        guest: cancelled.guest.clone(),
        stay: cancelled.stay,
        rooms: printed(&cancelled.rooms),
        cancelled: true,
    }
}

/// What every message about a stay can print.
pub fn of_stay(contact: &Contact) -> Values {
    Values::from([
        ("guest", contact.guest.full_name.clone()),
        ("property", contact.property_name.clone()),
        ("reservation", contact.reservation_id.to_string()),
        ("checkIn", contact.stay.check_in.to_string()),
        ("checkOut", contact.stay.check_out.to_string()),
        ("nights", contact.stay.nights.to_string()),
        ("rooms", contact.rooms.clone()),
    ])
}

fn printed(rooms: &[BookedRoom]) -> String {
    let room = |room: &BookedRoom| match &room.room_label {
        Some(label) => format!("{} {label}", room.room_type_name),
        None => room.room_type_name.clone(),
    };
    rooms.iter().map(room).collect::<Vec<_>>().join(", ")
}

/// An amount with two places, as people write it; what is smaller is cut off.
fn amount(money: &Money) -> String {
    let cents = money.amount_micro.get() / 10_000;
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02} {}", cents.abs() / 100, cents.abs() % 100, money.currency)
}

/// Whether an address is of no use any more.
pub const fn is_permanent(reason: BounceReason) -> bool {
    match reason {
        BounceReason::UnknownAddress | BounceReason::OptedOut | BounceReason::Blocked => true,
        BounceReason::MailboxFull | BounceReason::Rejected | BounceReason::Expired => false,
    }
}
