//! What notification does with bookings, keys and its carrier's answers: it writes to guests, and keeps what became of it.

use std::sync::Arc;

use karwan::{Answered, Call, Consumer, Error, Performer, Policy, Received, Refusal, TenantTx, Verdict, Work};

use super::SERVICE;
use super::decide::{self, Draft};
use super::events::{
    BounceReason, Channel, MessageBounced, MessageDelivered, MessageDispatched, MessagePurpose, Recipient,
};
use super::port::{Carrier, Notice, Outgoing, Ruling, SEND, Told};
use super::state::{Contact, Languages, Message, MessageState};
use crate::ids::{KeyCredentialId, MessageId, tenant_of};
use crate::lock_integration::KeyCredentialIssued;
use crate::reservation::{BookingCancelled, BookingConfirmed};
use crate::tenant::{SettingsChanged, TenantCreated};
use crate::values::Locale;

/// How often a carrier is asked before a message counts as lost; one attempt more says so.
pub const SEND_ATTEMPTS: u32 = 7;
/// What spans call a message.
const MESSAGE: &str = "message";

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::notification::kinds(),
    bookings => crate::told::a_booking_is_confirmed_and_cancelled,
    keys => crate::told::a_key_is_issued,
    languages => crate::told::a_tenant_comes_and_changes_its_settings,
}

/// Adds what this service does to a node's work.
pub fn work(work: Work, carrier: Arc<dyn Carrier>) -> Work {
    let call = move |call: Call<Outgoing>| {
        let carrier = carrier.clone();
        async move {
            if call.attempt > SEND_ATTEMPTS {
                return Ok(Ruling::Bounced(BounceReason::Expired));
            }
            match carrier.send(call.told).await {
                // It would be called wrong again: the guest is not reached this way, and whoever asks sees so.
                Err(Refusal::Never(_)) => Ok(Ruling::Bounced(BounceReason::Rejected)),
                ruled => ruled,
            }
        }
    };
    let work = consumers().into_iter().fold(work, Work::consumer);
    let policy = Policy { attempts_max: SEND_ATTEMPTS + 2, ..Policy::default() };
    work.performer(Performer::new(SERVICE, SEND, call, answered).policy(policy).at_once(32).target(way))
}

/// Ways fail apart: a carrier whose SMS are down still takes mail.
fn way(message: &Outgoing) -> String {
    let way = match message.channel {
        Channel::Email => "email",
        Channel::Sms => "sms",
        Channel::Whatsapp => "whatsapp",
        Channel::Push => "push",
        Channel::InApp => "in_app",
    };
    way.to_owned()
}

fn bookings() -> Consumer {
    Consumer::new(SERVICE, "bookings").background().on(confirmed).on(cancelled)
}

fn keys() -> Consumer {
    Consumer::new(SERVICE, "keys").background().on(issued)
}

fn languages() -> Consumer {
    Consumer::new(SERVICE, "languages").on(tenant_created).on(settings_changed)
}

async fn tenant_created(tx: TenantTx, created: Received<TenantCreated>) -> Result<Verdict, Error> {
    remember(&tx, 0, created.event.settings.locales).await
}

async fn settings_changed(tx: TenantTx, changed: Received<SettingsChanged>) -> Result<Verdict, Error> {
    remember(&tx, changed.event.version, changed.event.settings.locales).await
}

/// The newest settings win.
async fn remember(tx: &TenantTx, version: u32, locales: Vec<Locale>) -> Result<Verdict, Error> {
    let known: Option<Languages> = tx.find(Languages::ID).await?;
    if known.is_none_or(|known| known.version < version) {
        tx.put(Languages { version, locales });
    }
    Ok(Verdict::Done)
}

async fn confirmed(tx: TenantTx, confirmed: Received<BookingConfirmed>) -> Result<Verdict, Error> {
    let confirmed = confirmed.event;
    // Read, so that it is written as new or over what an earlier delivery wrote.
    tx.find::<Contact>(&confirmed.reservation_id.to_string()).await?;
    let contact = decide::contact(&confirmed);
    let (what, values) = decide::confirmation(&confirmed);
    write(&tx, &contact, decide::drafts(what, &contact.guest, &tenant(&tx).await?, &values), None);
    tx.put(contact);
    Ok(Verdict::Done)
}

async fn cancelled(tx: TenantTx, cancelled: Received<BookingCancelled>) -> Result<Verdict, Error> {
    let cancelled = cancelled.event;
    tx.find::<Contact>(&cancelled.reservation_id.to_string()).await?;
    let contact = decide::cancelled_contact(&cancelled);
    let (what, values) = decide::cancellation(&cancelled);
    write(&tx, &contact, decide::drafts(what, &contact.guest, &tenant(&tx).await?, &values), None);
    tx.put(contact);
    Ok(Verdict::Done)
}

/// Brings the guest the key: a reference that is exchanged once, never the key itself.
async fn issued(tx: TenantTx, issued: Received<KeyCredentialIssued>) -> Result<Verdict, Error> {
    let issued = issued.event;
    let (Some(reservation_id), Some(delivery)) = (issued.reservation_id, issued.delivery) else {
        return Ok(Verdict::Done);
    };
    let Some(contact) = tx.find::<Contact>(&reservation_id.to_string()).await? else {
        return Ok(Verdict::Later(format!("the confirmation of {reservation_id} has not come yet")));
    };
    if contact.cancelled {
        return Ok(Verdict::Done);
    }
    let mut values = decide::of_stay(&contact);
    values.insert("key", delivery.deep_link.unwrap_or_else(|| delivery.artifact.opaque_ref.to_string()));
    let what = (MessagePurpose::KeyDelivery, "key_delivery");
    let drafts = decide::drafts(what, &contact.guest, &tenant(&tx).await?, &values);
    write(&tx, &contact, drafts, Some(issued.key_credential_id));
    Ok(Verdict::Done)
}

/// The tenant's languages; they may be a little old.
async fn tenant(tx: &TenantTx) -> Result<Vec<Locale>, Error> {
    let known: Option<Languages> = tx.peek(Languages::ID).await?;
    Ok(known.map_or_else(Vec::new, |known| known.locales))
}

/// Records messages and the calls that hand them over.
fn write(tx: &TenantTx, contact: &Contact, drafts: Vec<Draft>, key: Option<KeyCredentialId>) {
    for draft in drafts {
        let message_id: MessageId = tx.fresh();
        tx.put(Message {
            message_id,
            purpose: draft.purpose,
            channel: draft.channel,
            recipient: Recipient::Guest { guest_id: contact.guest.guest_id },
            locale: draft.locale.clone(),
            template: draft.template.to_owned(),
            template_version: draft.version,
            reservation_id: contact.reservation_id,
            property_id: contact.property_id,
            key_credential_id: key,
            provider_ref: None,
            early: None,
            state: MessageState::Queued,
            cause: Some((&tx.context().cause).into()),
        });
        let outgoing = Outgoing {
            idempotency_key: message_id.to_string(),
            tenant: tenant_of(tx.context().tenant),
            message: message_id,
            channel: draft.channel,
            to: draft.to,
            locale: draft.locale,
            subject: draft.subject,
            text: draft.text,
        };
        tx.effect(SEND, &message_id.to_string(), &outgoing);
    }
}

async fn answered(tx: TenantTx, answered: Answered<Outgoing, Ruling>) -> Result<(), Error> {
    let mut message: Message = tx.get(&answered.told.message.to_string()).await?;
    match answered.answer {
        Ruling::Taken(taken) => {
            let dispatched_at = tx.now();
            message.provider_ref = Some(taken.provider_ref);
            message.state = MessageState::Dispatched(dispatched_at);
            tx.transition(MESSAGE, MessageState::Queued.name(), message.state.name());
            tx.emit(MessageDispatched {
                message_id: message.message_id,
                purpose: message.purpose,
                channel: message.channel,
                recipient: message.recipient.clone(),
                locale: message.locale.clone(),
                template: message.template.clone(),
                template_version: message.template_version,
                reservation_id: Some(message.reservation_id),
                property_id: Some(message.property_id),
                key_credential_id: message.key_credential_id,
                provider: taken.provider,
                attempt: 1,
                dispatched_at,
            });
            if let Some(early) = message.early.take() {
                told(&tx, &mut message, &early);
            }
        }
        Ruling::Bounced(reason) => {
            let told = Told::Bounced(reason);
            let notice = Notice { notice_id: String::new(), message: message.message_id, at: tx.now(), told };
            self::told(&tx, &mut message, &notice);
        }
    }
    tx.put(message);
    Ok(())
}

/// What a provider says of a message that it has; whether that is news.
pub(super) fn told(tx: &TenantTx, message: &mut Message, notice: &Notice) -> bool {
    match (notice.told, message.state) {
        (Told::Delivered, MessageState::Dispatched(dispatched_at)) => {
            tx.transition(MESSAGE, message.state.name(), MessageState::Delivered.name());
            message.state = MessageState::Delivered;
            tx.emit(MessageDelivered {
                message_id: message.message_id,
                purpose: message.purpose,
                channel: message.channel,
                recipient: message.recipient.clone(),
                reservation_id: Some(message.reservation_id),
                attempt: 1,
                dispatched_at,
                delivered_at: notice.at,
            });
            true
        }
        (Told::Bounced(reason), MessageState::Dispatched(_) | MessageState::Queued) => {
            tx.transition(MESSAGE, message.state.name(), MessageState::Bounced(reason).name());
            message.state = MessageState::Bounced(reason);
            tx.emit(MessageBounced {
                message_id: message.message_id,
                purpose: message.purpose,
                channel: message.channel,
                recipient: message.recipient.clone(),
                reservation_id: Some(message.reservation_id),
                property_id: Some(message.property_id),
                attempt: 1,
                reason,
                permanent: decide::is_permanent(reason),
                next_attempt_at: None,
                fallback_channel: None,
                bounced_at: notice.at,
            });
            true
        }
        // Told before, or after the end.
        (Told::Delivered, _) | (Told::Bounced(_), MessageState::Delivered | MessageState::Bounced(_)) => false,
    }
}
