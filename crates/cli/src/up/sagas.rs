//! Sagas of a node: those under way, and those that ended with something left for a person.

use karwan::{Error, Query, Store, TenantId};
use karwan_envelope::ids::CorrelationId;
use karwan_envelope::time::{Clock as _, SystemClock};
use karwan_store::Address;
use melmastoon::ids::ReservationId;
use melmastoon::lock_integration::state::{Credential, KeyState, ManualKey, ManualTask};
use melmastoon::lock_integration::{self, commands as locks, port as lock_port};
use melmastoon::payment::state::FinanceAlert;
use melmastoon::payment::{commands as payment, port as payment_port};
use melmastoon::refusal::Refusal;
use melmastoon::repair::{self, Part};
use melmastoon::reservation;
use melmastoon::reservation::booking::{Booking, State};
use melmastoon::sagas;
use serde::{Deserialize, Serialize};

use super::demo::{context, fresh};
use super::documents;
use super::node::Node;

/// Calls that were given up are read so many at a time.
const CALLS_PAGE: usize = 200;
/// How long a saga may be under way before it is called stuck: its own deadline and some grace.
const GRACE_MS: i64 = 60_000;

/// A saga that somebody may want to look at; these names are stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Whose.
    pub tenant: String,
    /// The stay.
    pub reservation: String,
    /// `booking` or `cancellation`.
    pub saga: String,
    /// `running` or `partial`.
    pub state: String,
    /// What it waits for.
    pub waits_for: String,
    /// Since when or until when, as text.
    pub when: String,
    /// Whether a person has to act.
    pub stuck: bool,
}

/// Some sagas, and how many there are besides.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listed {
    /// Those that need a person first.
    pub rows: Vec<Row>,
    /// How many are not among them.
    pub more: usize,
}

/// Those of all tenants; those that need a person first.
pub async fn list(node: &Node) -> Result<Vec<Row>, Refusal> {
    let mut rows = Vec::new();
    for tenant in tenants(&node.store).await? {
        rows.extend(of_tenant(node, tenant).await?);
    }
    rows.extend(given_up(node).await?);
    rows.sort_by_key(|row| !row.stuck);
    Ok(rows)
}

/// At most so many of them, of those that need a person or of all.
pub async fn some(node: &Node, stuck: bool, limit: usize) -> Result<Listed, Refusal> {
    let mut rows = list(node).await?;
    rows.retain(|row| row.stuck || !stuck);
    let more = rows.len().saturating_sub(limit);
    rows.truncate(limit);
    Ok(Listed { rows, more })
}

/// Whoever has told anything.
pub async fn tenants(store: &Store) -> Result<Vec<TenantId>, Error> {
    let relay = store.relay();
    let (start, end) = (relay.start().await?, relay.safe().await?);
    let tenants = relay.tenants(start.seq, end).await?.into_iter().filter(|tenant| *tenant != 0);
    Ok(tenants.map(TenantId::from_bits).collect())
}

/// Counts what was under way when a node stopped, each service's part by itself, so that their ends are not counted as another's.
pub async fn count(store: &Store, address: &Address) -> Result<(), Error> {
    let (mut held, mut requested, mut ending) = (0, 0, 0);
    for tenant in tenants(store).await? {
        let unit = store.tenant(&context(tenant, reservation::SERVICE, CorrelationId::from_bits(fresh())));
        held += documents::all(&unit, bookings_held).await?.len();
        requested += documents::all(&unit, || keys("requested")).await?.len();
        ending += documents::all(&unit, || keys("ending")).await?.len();
    }
    let count = |service: &str, saga: &str, under_way: usize| {
        store.metrics().sagas(service, saga, i64::try_from(under_way).unwrap_or(i64::MAX));
    };
    count(reservation::SERVICE, sagas::BOOKING, held);
    count(lock_integration::SERVICE, sagas::BOOKING, requested);
    count(lock_integration::SERVICE, sagas::CANCELLATION, ending);
    // A refund is under way as long as its call is: no index of intents tells it.
    let refunds = Store::observe(address).await?.effects().await?;
    let open = refunds.iter().filter(|effect| effect.kind == payment_port::REFUND).map(|effect| effect.open).sum();
    store.metrics().sagas(melmastoon::payment::SERVICE, sagas::CANCELLATION, open);
    Ok(())
}

fn bookings_held() -> Query<Booking> {
    Query::new().equal("status", "held")
}

fn keys(state: &'static str) -> Query<Credential> {
    Query::new().equal("state", state)
}

/// Calls about a reservation that were given up: nobody asks again by itself. The saga that each is of.
const CALLS: [(&str, &str); 4] = [
    (payment_port::CHARGE, "booking"),
    (payment_port::VOID, "booking"),
    (payment_port::REFUND, "cancellation"),
    (lock_port::CALL, "booking"),
];

async fn given_up(node: &Node) -> Result<Vec<Row>, Error> {
    let observer = Store::observe(&node.address).await?;
    let mut rows = Vec::new();
    for (kind, saga) in CALLS {
        let mut after = 0;
        loop {
            let dead = observer.dead_effects(kind, after, CALLS_PAGE).await?;
            let Some(last) = dead.last() else { break };
            after = last.number;
            rows.extend(dead.into_iter().map(|dead| Row {
                tenant: crate::tenant::shown(dead.effect.of.tenant),
                reservation: dead.effect.key,
                saga: saga.to_owned(),
                state: "partial".to_owned(),
                waits_for: format!("an operator: the call {kind} was given up (karwan dlq list)"),
                when: format!("since {}", crate::instant::shown(dead.at)),
                stuck: true,
            }));
        }
    }
    Ok(rows)
}

async fn of_tenant(node: &Node, tenant: TenantId) -> Result<Vec<Row>, Refusal> {
    let context = context(tenant, "reservation-service", CorrelationId::from_bits(fresh()));
    let (unit, now) = (node.store.tenant(&context), SystemClock.now());
    let held = documents::all(&unit, bookings_held).await?;
    let mut rows: Vec<Row> = held.iter().map(|booking| running(tenant, booking, now.unix_ms())).collect();
    // Those that wait, longest first: what was seen to has no such instant.
    let keys = documents::all(&unit, || Query::<ManualKey>::new().ordered_by("waits_since")).await?;
    rows.extend(keys.iter().map(|key| Row {
        tenant: tenant.to_string(),
        reservation: key.reservation_id.to_string(),
        saga: if key.task == ManualTask::Issue { "booking" } else { "cancellation" }.to_owned(),
        state: "partial".to_owned(),
        waits_for: format!("the front desk: key {} ({:?})", key.key_credential_id, key.failure),
        when: format!("since {}", key.since),
        stuck: true,
    }));
    let asked = locks::under_way(&node.store, &context).await?;
    rows.extend(asked.iter().filter_map(|key| between_attempts(tenant, key)));
    let alerts = payment::finance_alerts(&node.store, &context).await?;
    rows.extend(alerts.iter().map(|alert: &FinanceAlert| Row {
        tenant: tenant.to_string(),
        reservation: alert.reservation_id.to_string(),
        saga: "cancellation".to_owned(),
        state: "partial".to_owned(),
        waits_for: format!("finance: refund {} ({:?})", alert.refund_id, alert.reason),
        when: format!("since {}", alert.raised_at),
        stuck: true,
    }));
    Ok(rows)
}

/// A key whose vendor has failed and is asked again by itself: nobody has to act, and somebody may want to know.
fn between_attempts(tenant: TenantId, key: &Credential) -> Option<Row> {
    let next = key.next_attempt_at?;
    let issuing = key.state == KeyState::Requested;
    let failures = key.failures;
    Some(Row {
        tenant: tenant.to_string(),
        reservation: key.reservation_id.to_string(),
        saga: if issuing { "booking" } else { "cancellation" }.to_owned(),
        state: "running".to_owned(),
        waits_for: format!("the maker of locks: key {} (failures: {failures})", key.key_credential_id),
        when: format!("asked again at {next}"),
        stuck: false,
    })
}

fn running(tenant: TenantId, booking: &Booking, now_ms: i64) -> Row {
    let waits_for = match &booking.state {
        State::Held { allocated: false, paid: None } => "an allocation and a payment",
        State::Held { allocated: false, paid: Some(_) } => "an allocation",
        State::Held { allocated: true, .. } => "a payment",
        State::Draft | State::Confirmed(_) | State::ConfirmedCashPending(_) | State::Cancelled { .. } => "nothing",
    };
    Row {
        tenant: tenant.to_string(),
        reservation: booking.reservation_id.to_string(),
        saga: "booking".to_owned(),
        state: "running".to_owned(),
        waits_for: waits_for.to_owned(),
        when: format!("until {}", booking.hold_expires_at),
        stuck: now_ms > booking.hold_expires_at.unix_ms() + GRACE_MS,
    }
}

/// Tries again what a saga has left for a person: a key, a refund, a revocation. Answers what became of each part; a refusal
/// where none could be tried.
pub async fn retry(node: &Node, tenant: &str, reservation: &str) -> Result<Vec<String>, String> {
    let tenant: TenantId = tenant.parse().map_err(|_| format!("`{tenant}` is no tenant"))?;
    let id: ReservationId = reservation.parse().map_err(|_| format!("`{reservation}` is no reservation"))?;
    let context = |service: &str| context(tenant, service, CorrelationId::from_bits(fresh()));
    let parts = repair::retry(&node.store, context, id).await.map_err(|refusal| refusal.to_string())?;
    if parts.is_empty() {
        return Err(format!("nothing of {id} waits for a person; calls that were given up are in `karwan dlq list`"));
    }
    let told: Vec<String> = parts.iter().map(ToString::to_string).collect();
    // Where something of it is done, whoever asked learns of the rest beside it.
    if parts.iter().all(|part| matches!(part, Part::Refused(..))) { Err(told.join("; ")) } else { Ok(told) }
}
