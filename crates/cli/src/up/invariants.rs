//! What must hold once everything is drained, told from the log and the vendors' own books. Each violation is named.
//!
//! Not here: whether it is drained; a booking under way breaks several of these for a moment.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use karwan::{Event, Query};
use karwan_envelope::ids::CorrelationId;
use karwan_envelope::money::Money;
use karwan_envelope::{Envelope, wire};
use karwan_sandbox::Stage;
use karwan_sandbox::gateway::Charge;
use karwan_sandbox::locks::Key;
use karwan_store::log::{Filter, LogRow, PAGE_MAX};
use karwan_store::report::Lag;
use karwan_store::{Error, Store, stored};
use melmastoon::analytics::state::Day;
use melmastoon::billing::folio::Folio;
use melmastoon::inventory::state::Night;
use melmastoon::lock_integration;
use melmastoon::lock_integration::credentials::{KeyCredentialIssued, KeyCredentialRequested, KeyCredentialRevoked};
use melmastoon::lock_integration::state::ManualKey;
use melmastoon::payment::state::FinanceAlert;
use melmastoon::payment::{IntentCaptured, IntentRefunded};
use melmastoon::reservation::BookingCancelled;
use melmastoon::rules::{self, Kept, Rules};
use melmastoon::search_aggregation::state::Month;
use melmastoon::values::PaymentRail;
use serde::de::DeserializeOwned;

use super::demo::{context, fresh};
use super::documents;
use super::node::Node;
use super::sagas;

/// The most violations that are told.
const TOLD_MAX: usize = 20;

/// What the log says, folded.
#[derive(Default)]
pub struct Told {
    /// What is told from the log alone.
    rules: Rules,
    cancelled: BTreeSet<String>,
    /// By intent: what was received by card, and what went back.
    money: BTreeMap<String, (i128, i128)>,
    /// By credential, the stay that it is for.
    keys: HashMap<String, String>,
    /// Credentials that were told as issued.
    issued: BTreeSet<String>,
    /// Those that were told as revoked, and whether the vendor did it: what was seen to by hand may still be in its books.
    revoked: HashMap<String, bool>,
}

/// The event of a row, where it is of this type.
pub fn event<E: Event + DeserializeOwned>(row: &LogRow) -> Option<E> {
    if row.subject != E::SUBJECT {
        return None;
    }
    serde_json::from_str(stored::contents(&row.envelope)?.payload).ok()
}

impl Told {
    /// Folds one row; one that cannot be read is none of the platform's.
    pub fn take(&mut self, row: &LogRow, envelope: &Envelope) {
        self.rules.take(&rules::Fact {
            event: envelope.id.bits(),
            subject: &row.subject,
            correlation: envelope.cause.correlation.bits(),
            causation: envelope.cause.causation.map(|cause| cause.bits()),
            payload: envelope.payload.get(),
        });
        if let Some(cancelled) = event::<BookingCancelled>(row) {
            self.cancelled.insert(cancelled.reservation_id.to_string());
        } else if let Some(captured) = event::<IntentCaptured>(row) {
            if captured.rail == PaymentRail::Card {
                self.money.entry(captured.payment_intent_id.to_string()).or_default().0 += micros(captured.received);
            }
        } else if let Some(refunded) = event::<IntentRefunded>(row) {
            if refunded.rail == PaymentRail::Card {
                self.money.entry(refunded.payment_intent_id.to_string()).or_default().1 += micros(refunded.amount);
            }
        } else if let Some(requested) = event::<KeyCredentialRequested>(row)
            && let Some(stay) = requested.reservation_id
        {
            self.keys.insert(requested.key_credential_id.to_string(), stay.to_string());
        } else if let Some(issued) = event::<KeyCredentialIssued>(row) {
            self.issued.insert(issued.key_credential_id.to_string());
        } else if let Some(revoked) = event::<KeyCredentialRevoked>(row) {
            self.revoked.insert(revoked.key_credential_id.to_string(), revoked.metadata.vendor_revoke_ok);
        }
    }

    /// What does not hold.
    pub fn violations(&self, kept: &Kept, charges: &[Charge], keys: &[Key]) -> Vec<String> {
        let mut all = self.rules.broken(kept);
        self.judge_money(charges, &mut all);
        self.judge_keys(keys, &mut all);
        all.truncate(TOLD_MAX);
        all
    }

    /// The gateway's ledger agrees with the log, to the micro-unit.
    fn judge_money(&self, charges: &[Charge], all: &mut Vec<String>) {
        let mut books: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
        for charge in charges {
            if charge.refunded_micros > charge.captured_micros || charge.captured_micros > charge.amount.micros {
                all.push(format!("the gateway gave back or took too much: {}", charge.id));
            }
            let book = books.entry(&charge.reference).or_default();
            if charge.voided && charge.refunded_micros != charge.captured_micros {
                let (took, gave) = (charge.captured_micros, charge.refunded_micros);
                all.push(format!(
                    "a charge that was undone took {took} micro-units and gave back {gave}: {}",
                    charge.id
                ));
            }
            // A charge that was undone was never told as captured.
            if charge.voided && !self.money.contains_key(&charge.reference) {
                continue;
            }
            *book = (book.0 + i128::from(charge.captured_micros), book.1 + i128::from(charge.refunded_micros));
        }
        for (intent, told) in &self.money {
            let book = books.get(intent.as_str()).copied().unwrap_or_default();
            if book != *told {
                all.push(format!("money of {intent}: the log says {told:?}, the gateway {book:?}"));
            }
        }
        for (reference, book) in books {
            if book.0 > 0 && !self.money.contains_key(reference) {
                all.push(format!(
                    "the gateway took {} micro-units for {reference}, and the log knows nothing of it",
                    book.0
                ));
            }
        }
    }

    /// No key opens after a cancellation, no stay has two, and those that open are those that are told to.
    fn judge_keys(&self, keys: &[Key], all: &mut Vec<String>) {
        let mut live: BTreeMap<&str, usize> = BTreeMap::new();
        for key in keys.iter().filter(|key| key.live) {
            let stay = self.keys.get(&key.credential).map_or("nobody", String::as_str);
            *live.entry(stay).or_default() += 1;
        }
        for (stay, count) in live {
            if count > 1 && stay != "nobody" {
                all.push(format!("{count} live keys for {stay}"));
            }
            if self.cancelled.contains(stay) || stay == "nobody" {
                all.push(format!("a key opens for {stay}, which is cancelled or unknown"));
            }
        }
        self.judge_told(keys, all);
    }

    /// The maker's books and the log have the same keys. One that nobody asked for is told of before.
    fn judge_told(&self, keys: &[Key], all: &mut Vec<String>) {
        let live: BTreeSet<&str> = keys.iter().filter(|key| key.live).map(|key| key.credential.as_str()).collect();
        for key in live.iter().filter(|key| self.keys.contains_key(**key)) {
            match self.revoked.get(*key) {
                Some(true) => all.push(format!("a key opens that was told as revoked: {key}")),
                // Somebody looked after the door.
                Some(false) => {}
                None if self.issued.contains(*key) => {}
                None => all.push(format!("a key opens that was never told as issued: {key}")),
            }
        }
        for key in self.issued.iter().filter(|key| !self.revoked.contains_key(*key) && !live.contains(key.as_str())) {
            all.push(format!("a key was told as issued and not as revoked, and opens nothing: {key}"));
        }
    }
}

fn micros(money: Money) -> i128 {
    money.amount_micro.get()
}

/// Reads the whole log.
pub async fn told(node: &Node) -> Result<Told, Error> {
    let (relay, mut told) = (node.store.relay(), Told::default());
    let (mut position, end) = (relay.start().await?, relay.end().await?);
    while position.seq < end.seq {
        let page = relay.page(position, &Filter::default(), PAGE_MAX).await?;
        for row in &page.rows {
            let decode = |profile| wire::decode(profile, node.store.catalogue().directory(), row.envelope.as_bytes());
            if let Some(decoded) = node.profiles.iter().find_map(|profile| decode(profile).ok()) {
                told.take(row, &decoded.envelope);
            }
        }
        if page.position == position {
            break;
        }
        position = page.position;
    }
    Ok(told)
}

/// What services keep, of all tenants.
async fn kept(node: &Node) -> Result<Kept, Error> {
    let mut kept = Kept::default();
    for tenant in sagas::tenants(&node.store).await? {
        let context = context(tenant, "reservation-service", CorrelationId::from_bits(fresh()));
        let unit = node.store.tenant(&context);
        kept.folios.extend(documents::all::<Folio>(&unit, Query::new).await?);
        kept.days.extend(documents::all::<Day>(&unit, Query::new).await?);
        kept.months.extend(documents::all::<Month>(&unit, Query::new).await?);
        kept.nights.extend(documents::all::<Night>(&unit, Query::new).await?);
        kept.alerts.extend(documents::all::<FinanceAlert>(&unit, Query::new).await?);
        kept.manual.extend(documents::all::<ManualKey>(&unit, Query::new).await?);
    }
    Ok(kept)
}

/// Refuses where retention has dropped rows: documents and vendors' books are whole, and by half a log nothing can be judged.
pub async fn is_whole(node: &Node) -> Result<(), Error> {
    let floor = node.store.relay().start().await?.seq;
    if floor > 0 { Err(Error::BelowFloor { asked: 0, floor }) } else { Ok(()) }
}

/// What does not hold now.
pub async fn check(node: &Node) -> Result<Vec<String>, Error> {
    is_whole(node).await?;
    let Stage { gateway, locks, .. } = &node.stage;
    Ok(told(node).await?.violations(&kept(node).await?, &gateway.charges(), &locks.keys()))
}

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Events that consumers have not handled, and calls that are open.
    pub work: u64,
    /// Keys that are neither made nor ended nor left to the front desk: between two attempts no call of theirs is open. Looked
    /// for only where there is no work.
    pub keys: u64,
}

impl UnderWay {
    /// Whether that is nothing.
    pub const fn is_nothing(self) -> bool {
        self.work == 0 && self.keys == 0
    }
}

/// How much is under way.
pub async fn under_way(node: &Node) -> Result<UnderWay, Error> {
    let work = work(node).await?;
    if work > 0 {
        return Ok(UnderWay { work, keys: 0 });
    }
    match keys(node).await? {
        // A key may have been made between the two looks, and what follows of it is work.
        0 => Ok(UnderWay { work: self::work(node).await?, keys: 0 }),
        keys => Ok(UnderWay { work, keys }),
    }
}

async fn keys(node: &Node) -> Result<u64, Error> {
    let mut keys = 0;
    for tenant in sagas::tenants(&node.store).await? {
        let context = context(tenant, lock_integration::SERVICE, CorrelationId::from_bits(fresh()));
        keys += lock_integration::commands::under_way(&node.store, &context).await?.len() as u64;
    }
    Ok(keys)
}

/// Events that consumers have not handled, and calls that are open.
pub async fn work(node: &Node) -> Result<u64, Error> {
    let observer = Store::observe(&node.address).await?;
    let mut work: i64 = observer.effects().await?.iter().map(|effect| effect.open).sum();
    let declared = observer.declared().await?;
    for consumer in observer.consumers().await? {
        // By what it handles: the position of a lane with nothing to do is saved late.
        if let Lag::Events { count, .. } = observer.lag(&consumer, &declared).await? {
            work += count;
        }
        work += consumer.parked;
    }
    Ok(work.unsigned_abs())
}

/// Whether nothing is under way: consumers are at the end, no call is open, no key waits for another.
pub async fn is_drained(node: &Node) -> Result<bool, Error> {
    Ok(under_way(node).await?.is_nothing())
}

#[cfg(test)]
mod tests {
    use karwan_sandbox::gateway::{Amount, Charge};
    use karwan_sandbox::locks::Key;

    use super::Told;

    /// A charge under a reference, of which so much was taken and given back.
    fn charge(reference: &str, captured_micros: i64, refunded_micros: i64) -> Charge {
        Charge {
            id: format!("ch_{reference}"),
            key: reference.to_owned(),
            account: "serai".to_owned(),
            reference: reference.to_owned(),
            instrument: "card".to_owned(),
            amount: Amount { micros: 100, currency: "AFN".to_owned() },
            captured_micros,
            refunded_micros,
            voided: false,
        }
    }

    #[track_caller]
    fn money(charges: &[Charge], expected: &[&str]) {
        let mut told = Told::default();
        told.money.insert("pay_1".to_owned(), (100, 40));
        let mut broken = Vec::new();
        told.judge_money(charges, &mut broken);
        assert_eq!(broken, expected);
    }

    #[test]
    fn whatever_the_gateway_s_ledger_says_otherwise_than_the_log_is_named() {
        money(&[charge("pay_1", 100, 40)], &[]);
        money(&[charge("pay_1", 100, 39)], &["money of pay_1: the log says (100, 40), the gateway (100, 39)"]);
        money(&[], &["money of pay_1: the log says (100, 40), the gateway (0, 0)"]);
        let twice = [charge("pay_1", 100, 40), charge("pay_1", 100, 0)];
        money(&twice, &["money of pay_1: the log says (100, 40), the gateway (200, 40)"]);
        let unknown = "the gateway took 100 micro-units for pay_2, and the log knows nothing of it";
        money(&[charge("pay_1", 100, 40), charge("pay_2", 100, 0)], &[unknown]);
        // Undone before anybody was told of it.
        let undone = Charge { voided: true, ..charge("pay_2", 100, 100) };
        money(&[charge("pay_1", 100, 40), undone.clone()], &[]);
        let kept = "a charge that was undone took 100 micro-units and gave back 60: ch_pay_2";
        money(&[charge("pay_1", 100, 40), Charge { refunded_micros: 60, ..undone }], &[kept]);
        let unknown = "the gateway took 101 micro-units for pay_2, and the log knows nothing of it";
        let too_much = "the gateway gave back or took too much: ch_pay_2";
        money(&[charge("pay_1", 100, 40), charge("pay_2", 101, 0)], &[too_much, unknown]);
    }

    /// What a maker of locks has of a key.
    fn key(credential: &str) -> Key {
        Key {
            reference: format!("ref_{credential}"),
            operation: credential.to_owned(),
            account: "serai".to_owned(),
            credential: credential.to_owned(),
            site: "kabul".to_owned(),
            doors: vec!["101".to_owned()],
            kind: "mobile".to_owned(),
            live: true,
        }
    }

    /// What is wrong with these keys, where two were asked for, and these were told as issued and as revoked.
    fn keys(issued: &[&str], revoked: &[(&str, bool)], is_over: bool, keys: &[Key]) -> Vec<String> {
        let mut told = Told::default();
        told.keys.extend(["key_1", "key_2"].map(|key| (key.to_owned(), "rsv_1".to_owned())));
        told.issued.extend(issued.iter().map(|key| (*key).to_owned()));
        told.revoked.extend(revoked.iter().map(|(key, by_vendor)| ((*key).to_owned(), *by_vendor)));
        told.cancelled.extend(is_over.then(|| "rsv_1".to_owned()));
        let mut broken = Vec::new();
        told.judge_keys(keys, &mut broken);
        broken
    }

    #[test]
    fn a_key_that_opens_for_nobody_or_twice_is_named() {
        let both = ["key_1", "key_2"];
        assert_eq!(keys(&["key_1"], &[], false, &[key("key_1")]), Vec::<String>::new());
        assert_eq!(keys(&both, &[], false, &both.map(key)), ["2 live keys for rsv_1"]);
        let over = "a key opens for rsv_1, which is cancelled or unknown";
        assert_eq!(keys(&["key_1"], &[], true, &[key("key_1")]), [over]);
        let ended = Key { live: false, ..key("key_1") };
        assert_eq!(keys(&["key_1"], &[("key_1", true)], true, &[ended]), Vec::<String>::new());
        let nobody = "a key opens for nobody, which is cancelled or unknown";
        assert_eq!(keys(&[], &[], false, &[key("key_3")]), [nobody]);
    }

    #[test]
    fn a_key_that_the_log_and_the_maker_of_locks_do_not_agree_about_is_named() {
        let silent = "a key opens that was never told as issued: key_1";
        assert_eq!(keys(&[], &[], false, &[key("key_1")]), [silent]);
        let back = "a key opens that was told as revoked: key_1";
        assert_eq!(keys(&["key_1"], &[("key_1", true)], false, &[key("key_1")]), [back]);
        let nothing = "a key was told as issued and not as revoked, and opens nothing: key_1";
        assert_eq!(keys(&["key_1"], &[], false, &[]), [nothing]);
        assert_eq!(keys(&["key_1"], &[], false, &[Key { live: false, ..key("key_1") }]), [nothing]);
        // The desk has seen to the door, and the maker has never ended the key.
        assert_eq!(keys(&["key_1"], &[("key_1", false)], false, &[key("key_1")]), Vec::<String>::new());
    }
}
