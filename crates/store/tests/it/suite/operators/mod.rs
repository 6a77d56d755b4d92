//! What operators do: every action with who and why, nothing lost, nothing doubled, and a refused one leaves no trace.

mod bulk;
mod deeds;
mod effects;
mod keys;
mod schema;
mod undo;

use karwan_store::consumer::{Dead, Lane, Parked};
use karwan_store::log::LogRow;
use karwan_store::operator::{ActionFilter, Deed, Letter, LetterFilter, State, Target, Who};
use karwan_store::write_set::{Claim, LaneHold};
use karwan_store::{Error, TenantTx};

use crate::fixture::{Fixture, first};
use crate::shop::{changed, counter};

const LEASE_MS: i64 = 60_000;

/// The one lane of the consumer.
pub fn lane() -> Lane {
    Lane { consumer: "mailer".to_owned(), number: 0, of: 1 }
}

/// The holder of that lane, whoever it was before.
pub async fn hold(fixture: &Fixture) -> LaneHold {
    let taken = fixture.store.take_lane(&lane(), "n-1", LEASE_MS).await.expect("it can be asked for");
    LaneHold { consumer: lane().consumer, lane: 0, epoch: taken.expect("it is free").epoch }
}

/// An order that was placed and changed so often, as rows of one key.
pub async fn order_rows(fixture: &Fixture, tenant: u64, id: &str, changes: i64) -> Vec<LogRow> {
    fixture.place(tenant, id).await;
    for revision in 1..=changes {
        let change = fixture.unit(tenant, async |tx: TenantTx| {
            tx.get::<crate::shop::Order>(id).await?;
            tx.emit(changed(id, revision));
            Ok(())
        });
        change.await.expect("an order can be changed");
    }
    let rows = fixture.log().await;
    rows.into_iter().filter(|row| row.key == id && row.tenant == crate::shop::tenant_bits(tenant)).collect()
}

pub fn parked(row: &LogRow, attempts: u32) -> Parked {
    row.clone().parked(Some(4_000_000_000_000), attempts, "no answer".to_owned())
}

pub async fn park(fixture: &Fixture, hold: &LaneHold, row: &LogRow) {
    fixture.store.park(hold, &[parked(row, 1)]).await.expect("the lane is held");
}

pub async fn bury(fixture: &Fixture, hold: &LaneHold, row: &LogRow) {
    let event = Parked { due: None, ..parked(row, 7) };
    fixture.store.bury(hold, &Dead { event, at: 0 }).await.expect("the lane is held");
}

/// Handles an event, parked or live.
pub async fn handle(fixture: &Fixture, hold: &LaneHold, row: &LogRow, was_parked: bool) -> Result<(), Error> {
    let mut batch = fixture.store.batch(hold);
    let unit = batch.handle(&first(), Claim { parked: was_parked, ..row.claim() });
    unit.put(counter(&format!("mail-{}", row.event), 1));
    batch.commit().await.map(drop)
}

/// As retention leaves it: claims up to a row are gone.
pub fn claims_are_kept_behind(fixture: &Fixture, row: &LogRow) {
    fixture.forget_claims();
    fixture.spoil(&format!("INSERT INTO karwan.pruned (what, up_to) VALUES ('inbox', {})", row.seq));
}

pub fn target(row: &LogRow) -> Target {
    Target { consumer: "mailer".to_owned(), event: row.event }
}

pub fn ann() -> Who {
    Who { actor: "ann".to_owned(), reason: "the vendor is back".to_owned() }
}

pub const RETRY: Deed = Deed::Retry { out_of_order: false };
pub const RETRY_ANYHOW: Deed = Deed::Retry { out_of_order: true };

/// All letters in any state.
pub async fn letters(fixture: &Fixture) -> Vec<Letter> {
    let mut all = Vec::new();
    for state in [State::Parked, State::Dead, State::Skipped, State::Quarantined] {
        let filter = LetterFilter { state: Some(state), ..LetterFilter::default() };
        all.extend(fixture.operator().letters(&filter, None, 100).await.expect("they can be listed").letters);
    }
    all
}

/// What is known of the actions: `verb actor reason`, latest first.
pub async fn told_actions(fixture: &Fixture) -> Vec<String> {
    let page = fixture.operator().actions(&ActionFilter::default(), None, 100).await.expect("they can be listed");
    page.actions.iter().map(|it| format!("{} {} {}", it.verb.name(), it.who.actor, it.who.reason)).collect()
}

/// Everything that an action could touch, to be compared with itself later.
pub async fn state_of(fixture: &Fixture) -> String {
    let parked = fixture.store.parked(&lane(), 100).await.expect("it can be asked");
    let dead = fixture.store.dead("mailer", 0, 100).await.expect("it can be asked");
    let claims = fixture.count("SELECT count(*) FROM karwan.inbox");
    let revisions = fixture.store.revisions().await.expect("they can be asked for");
    let epoch = fixture.count("SELECT sum(epoch) FROM karwan.lane");
    let letters = letters(fixture).await;
    format!("{parked:?} {dead:?} {claims} {revisions:?} {epoch} {letters:?} {:?}", told_actions(fixture).await)
}

/// An action is refused with a code, and nothing of it stays.
pub async fn refused(fixture: &Fixture, target: &Target, deed: &Deed) -> &'static str {
    let before = state_of(fixture).await;
    let code = fixture.operator().act(&ann(), target, deed).await.expect_err("it is refused").code();
    assert_eq!(state_of(fixture).await, before);
    code
}
