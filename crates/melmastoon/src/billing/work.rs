//! What billing does with the events of others: it keeps folios.

use karwan::{Consumer, Error, Received, TenantTx, Verdict, Work};

use super::SERVICE;
use super::folio::Folio;
use crate::payment::{CashReconciled, IntentRefunded, RefundReason};
use crate::reservation::{BookingCancelled, BookingConfirmed};

karwan::consumers! {
    platform: &crate::platform::PLATFORM,
    kinds: crate::hotel::kinds(),
    folios => crate::given::a_stay_is_confirmed_cancelled_and_refunded,
}

/// What spans call a folio.
const FOLIO: &str = "folio";

/// Adds what this service does to a node's work.
pub fn work(work: Work) -> Work {
    consumers().into_iter().fold(work, Work::consumer)
}

fn folios() -> Consumer {
    Consumer::new(SERVICE, "folios").on(confirmed).on(cancelled).on(refunded).on(cash_counted)
}

async fn confirmed(tx: TenantTx, confirmed: Received<BookingConfirmed>) -> Result<Verdict, Error> {
    let confirmed = confirmed.event;
    // One folio a booking, however often it is told.
    if tx.find::<Folio>(&confirmed.folio_id.to_string()).await?.is_none() {
        let folio = Folio::draft(&confirmed, tx.now(), || tx.fresh());
        tx.transition(FOLIO, "none", folio.state.name());
        tx.put(folio);
    }
    Ok(Verdict::Done)
}

async fn cancelled(tx: TenantTx, cancelled: Received<BookingCancelled>) -> Result<Verdict, Error> {
    let cancelled = cancelled.event;
    // Never confirmed, it has no folio: confirmed and cancelled share a key, so it would be here.
    let Some(mut folio) = tx.find::<Folio>(&cancelled.folio_id.to_string()).await? else { return Ok(Verdict::Done) };
    let before = folio.state;
    folio.cancel(&cancelled.refund, tx.now(), || tx.fresh()).into_iter().for_each(|fact| tx.emit(fact));
    if folio.state != before {
        tx.transition(FOLIO, before.name(), folio.state.name());
    }
    tx.put(folio);
    Ok(Verdict::Done)
}

async fn refunded(tx: TenantTx, refunded: Received<IntentRefunded>) -> Result<Verdict, Error> {
    let refunded = refunded.event;
    let Some(mut folio) = tx.find::<Folio>(&refunded.folio_id.to_string()).await? else {
        return Ok(match refunded.reason {
            // Captured for a booking that was never confirmed: no folio stood for it.
            RefundReason::LateCapture => Verdict::Done,
            RefundReason::Cancellation
            | RefundReason::NoShow
            | RefundReason::EarlyCheckout
            | RefundReason::DatesChange
            | RefundReason::Goodwill => Verdict::Later(format!("folio {} is not there yet", refunded.folio_id)),
        });
    };
    folio.refund(&refunded, tx.fresh(), tx.now()).into_iter().for_each(|fact| tx.emit(fact));
    tx.put(folio);
    Ok(Verdict::Done)
}

async fn cash_counted(tx: TenantTx, counted: Received<CashReconciled>) -> Result<Verdict, Error> {
    let CashReconciled { folio_id, payment_intent_id, received, .. } = counted.event;
    let Some(mut folio) = tx.find::<Folio>(&folio_id.to_string()).await? else {
        return Ok(Verdict::Later(format!("folio {folio_id} is not there yet")));
    };
    folio.payment(received, Some(payment_intent_id), tx.now(), tx.fresh());
    tx.put(folio);
    Ok(Verdict::Done)
}
