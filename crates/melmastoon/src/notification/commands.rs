//! What callers ask of notification: what was sent about a stay; and what its carrier tells by itself.

use karwan::{Context, Error, Query, Store, TenantTx};

use super::port::Notice;
use super::state::{Message, MessageState};
use super::work::told;
use crate::ids::ReservationId;
use crate::kept_cause::KeptCause;
use crate::refusal::Refusal;

/// The most messages about one stay that are answered.
pub const MESSAGES_MAX: usize = 100;

/// The messages about a stay.
pub async fn about(store: &Store, context: &Context, reservation: ReservationId) -> Result<Vec<Message>, Error> {
    let about = Query::new().equal("reservation", reservation.to_string()).limit(MESSAGES_MAX);
    Ok(store.tenant(context).query(about).await?.items)
}

/// Takes a notice of the carrier's, whose signature was good; whether it was news. One that comes before the answer to the call
/// is kept until that is here. What it changes belongs to the trace of the message, not to the webhook's.
pub async fn hear(store: &Store, context: &Context, notice: &Notice) -> Result<bool, Refusal> {
    let known = store.tenant(context).find::<Message>(&notice.message.to_string()).await?;
    let context = KeptCause::context(known.as_ref().and_then(|known| known.cause.as_ref()), context);
    let unit = async |tx: TenantTx| {
        let message: Option<Message> = tx.find(&notice.message.to_string()).await?;
        let mut message = message.ok_or_else(|| Refusal::not_found("message", notice.message))?;
        let news = if message.state == MessageState::Queued {
            message.early.replace(notice.clone()).is_none()
        } else {
            told(&tx, &mut message, notice)
        };
        tx.put(message);
        Ok(news)
    };
    Ok(store.unit::<_, Refusal, _>(&context, unit).await?.answer)
}
