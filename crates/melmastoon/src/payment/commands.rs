//! What a caller asks of payment: to take a gateway's notice, to count cash, to repair a refund.

use karwan::store::query::PAGE_MAX;
use karwan::{Context, Query, Store, TenantTx};

use super::decide::Count;
use super::port::{Notice, Told};
use super::state::{Case, FinanceAlert, Intent};
use super::work::{REFUND_SPAN, ask_back, came, stepped, went_back};
use crate::ids::{PaymentIntentId, RefundId, ReservationId};
use crate::kept_cause::KeptCause;
use crate::refusal::Refusal;

/// Takes what a gateway tells by itself. Told twice, too late or out of order it changes nothing; what it changes belongs to the
/// trace of the intent, not to the webhook's.
pub async fn notice(store: &Store, context: &Context, notice: &Notice) -> Result<(), Refusal> {
    let known = store.tenant(context).find::<Intent>(&notice.intent.to_string()).await?;
    let known = known.ok_or_else(|| Refusal::not_found("payment intent", notice.intent))?;
    let context = KeptCause::context(Some(&known.cause), context);
    let unit = async |tx: TenantTx| {
        let mut intent = intent(&tx, notice.intent).await?;
        let before = intent.clone();
        match &notice.told {
            Told::Captured(done) => came(&tx, &mut intent, done).await?,
            Told::Declined(reason) => {
                intent.failed(*reason, 1, tx.now()).into_iter().for_each(|fact| tx.emit(fact));
            }
            Told::Refunded { refund, .. } => went_back(&tx, &mut intent, *refund).await?,
        }
        // Mostly the answer to the call came first: nothing is written then, and nobody waits for a commit.
        if intent != before {
            stepped(&tx, before.state.name(), &intent);
            tx.put(intent);
        }
        Ok(())
    };
    store.unit::<_, Refusal, _>(&context, unit).await.map(drop)
}

/// Counts the cash that a reservation promised.
pub async fn reconcile_cash(
    store: &Store,
    context: &Context,
    reservation: ReservationId,
    count: &Count,
) -> Result<(), Refusal> {
    let unit = async |tx: TenantTx| {
        let case = tx.find::<Case>(&reservation.to_string()).await?;
        let case = case.ok_or_else(|| Refusal::not_found("payment of", reservation))?;
        if case.cancelled {
            return Err(Refusal::invalid("reservationId", "the booking is cancelled: hand the cash back"));
        }
        let id = case.intent.ok_or_else(|| Refusal::not_found("payment of", reservation))?;
        let mut intent = intent(&tx, id).await?;
        let before = intent.state.name();
        let counted = intent.counted(count, tx.now());
        tx.emit(counted.ok_or_else(|| Refusal::invalid("received", "no cash in this currency is pending"))?);
        stepped(&tx, before, &intent);
        tx.put(intent);
        Ok(())
    };
    store.unit::<_, Refusal, _>(context, unit).await.map(drop)
}

/// What finance has to look at: all of it, since each is money of a guest.
pub async fn finance_alerts(store: &Store, context: &Context) -> Result<Vec<FinanceAlert>, Refusal> {
    let open = || Query::<FinanceAlert>::new().equal("open", true).limit(PAGE_MAX);
    let (unit, mut alerts) = (store.tenant(context), Vec::new());
    let mut page = unit.query(open()).await?;
    loop {
        alerts.append(&mut page.items);
        let Some(next) = page.next else { return Ok(alerts) };
        page = unit.query(open().after(next)).await?;
    }
}

/// Asks once more for a refund that failed. Where nobody had answered, under the same key: what was done after all is not done
/// twice. Where the gateway had declined it, under another: it would answer the old one as it did (`port`). Whether it is asked
/// for once more: one that has not failed is still being asked for, or done.
pub async fn retry_refund(store: &Store, context: &Context, refund: RefundId) -> Result<bool, Refusal> {
    let alert = store.tenant(context).find::<FinanceAlert>(&refund.to_string()).await?;
    let alert = alert.ok_or_else(|| Refusal::not_found("failed refund", refund))?;
    let known = store.tenant(context).find::<Intent>(&alert.payment_intent_id.to_string()).await?;
    let context = KeptCause::context(known.as_ref().map(|known| &known.cause), context);
    let unit = async |tx: TenantTx| {
        let mut intent = intent(&tx, alert.payment_intent_id).await?;
        let gateway_ref = intent.gateway_ref.clone().unwrap_or_default();
        let Some(row) = intent.refund_again(refund) else { return Ok(false) };
        tx.transition(REFUND_SPAN, "failed", row.state.name());
        ask_back(&tx, &intent, &row, gateway_ref);
        tx.put(intent);
        Ok(true)
    };
    Ok(store.unit::<_, Refusal, _>(&context, unit).await?.answer)
}

async fn intent(tx: &TenantTx, id: PaymentIntentId) -> Result<Intent, Refusal> {
    tx.find::<Intent>(&id.to_string()).await?.ok_or_else(|| Refusal::not_found("payment intent", id))
}
