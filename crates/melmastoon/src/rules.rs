//! What must hold of a drained hotel, recomputed from its log. Each violation is named.
//!
//! The simulation and the node's own check share it. Pure: facts in, one by one; what does not hold out. Not here: whether it is
//! drained, and what only the vendors' books can tell.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use karwan::Event;
use karwan::envelope::money::Micros;
use karwan::envelope::time::Date;
use serde::de::DeserializeOwned;

use crate::analytics::decide::{of_cancelled, of_confirmed};
use crate::analytics::state::{Day, Sums};
use crate::billing::folio::Folio;
use crate::house_time::day;
use crate::ids::{AllocationId, FolioId, PropertyId, ReservationId, RoomId, RoomTypeId};
use crate::inventory::{AllocatedRoom, AllocationCommitted, AllocationReleased};
use crate::lock_integration::credentials::{KeyCredentialIssued, KeyCredentialRequested};
use crate::payment::{CashReconciled, IntentCaptured, IntentFailed, IntentRefunded, PaymentPurpose, RefundReason};
use crate::property::PropertyCreated;
use crate::reservation::{BookingCancelled, BookingConfirmed, BookingHeld};
use crate::search_aggregation::state::Month;

/// A fact of the log, as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Fact<'a> {
    /// The event.
    pub event: u128,
    /// Its subject.
    pub subject: &'a str,
    /// The trace.
    pub correlation: u128,
    /// The event that led to it.
    pub causation: Option<u128>,
    /// What it says, as JSON.
    pub payload: &'a str,
}

impl Fact<'_> {
    /// What it says, where it is of this type.
    pub fn of<E: Event + DeserializeOwned>(&self) -> Option<E> {
        (self.subject == E::SUBJECT).then(|| serde_json::from_str(self.payload).ok()).flatten()
    }
}

/// Everything that is told from the log alone.
#[derive(Debug, Default)]
pub struct Rules {
    /// Rooms and nights.
    pub nights: Nights,
    /// Causes and traces.
    pub traces: Traces,
    /// What folios must add up to.
    pub folios: Folios,
    /// What days must add up to.
    pub figures: Figures,
}

impl Rules {
    /// Takes the next fact of the log.
    pub fn take(&mut self, fact: &Fact<'_>) {
        self.nights.take(fact);
        self.traces.take(fact);
        self.folios.take(fact);
        self.figures.take(fact);
    }
}

/// No room-night is sold twice, at any moment of the log; and as many are taken as those who list them say.
#[derive(Debug, Default)]
pub struct Nights {
    /// Who has which room and night.
    taken: HashMap<(RoomId, Date), AllocationId>,
    /// And the other way round, so that a release looks at nothing else.
    of: HashMap<AllocationId, Vec<(RoomId, Date)>>,
    /// How many rooms of a type are taken.
    by_type: BTreeMap<(RoomTypeId, Date), i64>,
    broken: Vec<String>,
}

fn nights(room: &AllocatedRoom) -> impl Iterator<Item = Date> + use<> {
    (room.dates.from.unix_days()..room.dates.until.unix_days()).map(Date::from_unix_days)
}

impl Nights {
    fn take(&mut self, fact: &Fact<'_>) {
        if let Some(committed) = fact.of::<AllocationCommitted>() {
            let id = committed.allocation_id;
            for room in &committed.rooms {
                for night in nights(room) {
                    *self.by_type.entry((room.room_type_id, night)).or_default() += 1;
                    let Some(room_id) = room.room_id else { continue };
                    if let Some(other) = self.taken.insert((room_id, night), id).filter(|other| *other != id) {
                        self.broken.push(format!("a room-night is sold twice: {room_id}, {night}: {other} and {id}"));
                    }
                    self.of.entry(id).or_default().push((room_id, night));
                }
            }
        } else if let Some(released) = fact.of::<AllocationReleased>() {
            for place in self.of.remove(&released.allocation_id).unwrap_or_default() {
                self.taken.remove(&place);
            }
            for room in &released.rooms {
                nights(room).for_each(|night| *self.by_type.entry((room.room_type_id, night)).or_default() -= 1);
            }
        }
    }

    /// Who has which room and night at the end.
    pub fn taken(&self) -> BTreeMap<(RoomId, Date), AllocationId> {
        self.taken.iter().map(|(place, id)| (*place, *id)).collect()
    }

    /// What does not hold of the log.
    pub fn broken(&self) -> &[String] {
        &self.broken
    }

    /// Where a listing counts other nights as taken than the log.
    pub fn listed(&self, month: &Month) -> Vec<String> {
        let differ = month.nights.iter().filter_map(|(night, shown)| {
            let taken = self.by_type.get(&(month.room_type_id, *night)).copied().unwrap_or_default();
            let (of, shown) = (month.room_type_id, i64::from(shown.taken.1));
            (taken != shown).then(|| format!("{shown} rooms of {of} are listed as taken on {night}, and {taken} are"))
        });
        differ.collect()
    }
}

/// What a request, a deadline of a request or an outside says first; everything else follows from something.
const ROOTS: [&str; 22] = [
    "reservation.booking.held",
    "reservation.booking.cancelled",
    "payment.cash.reconciled",
    "pricing.quote.expired",
    "pricing.rate_plan.published",
    "pricing.calendar.updated",
    "pricing.rate_plan.archived",
    "tenant.tenant.created",
    "tenant.tenant.suspended",
    "tenant.role.granted",
    "tenant.settings.changed",
    "property.property.created",
    "property.room_type.published",
    "property.room.added",
    "property.room.archived",
    "property.amenity.changed",
    "inventory.stop_sell.activated",
    "inventory.stop_sell.cleared",
    "iam.user.created",
    "iam.user.deactivated",
    "lock_integration.vendor_webhook.received",
    "lock_integration.vendor_webhook.processed",
];

/// What follows from an event names it and shares its trace; only a request begins one; a saga has one.
#[derive(Debug, Default)]
pub struct Traces {
    /// The trace of every event.
    known: HashMap<u128, u128>,
    /// The trace of every hold.
    sagas: HashMap<ReservationId, u128>,
    held: HashMap<ReservationId, bool>,
    broken: Vec<String>,
}

/// Whether an event of this subject may begin a trace.
pub fn begins(subject: &str) -> bool {
    let (_, own) = subject.split_once('.').unwrap_or(("", subject));
    let own = own.rsplit_once('.').map_or(own, |(name, _)| name);
    ROOTS.contains(&own)
}

impl Traces {
    fn take(&mut self, fact: &Fact<'_>) {
        let Fact { event, subject, correlation, causation, .. } = *fact;
        match causation.map(|cause| self.known.get(&cause)) {
            Some(Some(trace)) if *trace == correlation => {}
            Some(Some(_)) => self.broken.push(format!("an event's cause is of another trace: {subject}")),
            Some(None) => self.broken.push(format!("an event's cause is not in the log before it: {subject}")),
            None if begins(subject) => {}
            None => self.broken.push(format!("an event has no cause: {subject}")),
        }
        self.known.insert(event, correlation);
        if let Some(held) = fact.of::<BookingHeld>() {
            self.sagas.insert(held.reservation_id, correlation);
            self.held.insert(held.reservation_id, false);
        } else if let Some(cancelled) = fact.of::<BookingCancelled>() {
            self.held.insert(cancelled.reservation_id, true);
        } else if let Some(of) = step(fact) {
            if fact.subject == <BookingConfirmed as Event>::SUBJECT {
                self.held.insert(of, true);
            }
            if self.sagas.get(&of).is_some_and(|trace| *trace != correlation) {
                self.broken.push(format!("the saga of {of} has another trace in {subject}"));
            }
        }
    }

    /// What does not hold.
    pub fn broken(&self) -> Vec<String> {
        let open = self.held.iter().filter(|(_, ended)| !**ended);
        let open = open.map(|(id, _)| format!("a booking never ended: {id}"));
        self.broken.iter().cloned().chain(open).collect()
    }
}

/// The reservation whose booking saga this fact is a step of.
fn step(fact: &Fact<'_>) -> Option<ReservationId> {
    let paid = |purpose: PaymentPurpose, of: ReservationId| (purpose == PaymentPurpose::Booking).then_some(of);
    None.or_else(|| fact.of::<AllocationCommitted>().map(|it| it.reservation_id))
        .or_else(|| fact.of::<IntentCaptured>().and_then(|it| paid(it.purpose, it.reservation_id)))
        .or_else(|| fact.of::<IntentFailed>().and_then(|it| paid(it.purpose, it.reservation_id)))
        .or_else(|| fact.of::<BookingConfirmed>().map(|it| it.reservation_id))
        .or_else(|| fact.of::<KeyCredentialRequested>().and_then(|it| it.reservation_id))
        .or_else(|| fact.of::<KeyCredentialIssued>().and_then(|it| it.reservation_id))
}

/// What the log says of a folio, in micro-units.
#[derive(Debug, Default)]
struct Due {
    confirmed: bool,
    price: i128,
    /// What a cancellation keeps; none while the booking stands.
    fee: Option<i128>,
    received: i128,
    given_back: i128,
}

/// A confirmed booking has one folio, others have none; its entries are what was received and given back.
#[derive(Debug, Default)]
pub struct Folios(BTreeMap<FolioId, Due>);

impl Folios {
    fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<BookingConfirmed>() {
            let due = self.0.entry(it.folio_id).or_default();
            (due.confirmed, due.price) = (true, it.quote.total.amount_micro.get());
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            self.0.entry(it.folio_id).or_default().fee = Some(it.refund.fee.amount_micro.get());
        } else if let Some(it) = fact.of::<IntentCaptured>() {
            self.0.entry(it.folio_id).or_default().received += it.received.amount_micro.get();
        } else if let Some(it) = fact.of::<CashReconciled>() {
            self.0.entry(it.folio_id).or_default().received += it.received.amount_micro.get();
        } else if let Some(it) = fact.of::<IntentRefunded>() {
            self.0.entry(it.folio_id).or_default().given_back += it.amount.amount_micro.get();
        }
    }

    /// What does not hold of these folios, which are all there are.
    pub fn broken(&self, folios: &[Folio]) -> Vec<String> {
        let mut broken = Vec::new();
        let mut found: BTreeMap<FolioId, u32> = BTreeMap::new();
        for folio in folios {
            let id = folio.folio_id;
            *found.entry(id).or_default() += 1;
            let Some(due) = self.0.get(&id).filter(|due| due.confirmed) else {
                broken.push(format!("folio {id} is of no confirmed booking"));
                continue;
            };
            let sums = folio.sums();
            let (charges, payments, refunds) = (due.fee.unwrap_or(due.price), due.received, due.given_back);
            if (sums.charges, sums.payments, sums.refunds) != (charges, payments, refunds) {
                broken.push(format!("folio {id}: {sums:?}, and the log says {due:?}"));
            }
        }
        for (id, _) in self.0.iter().filter(|(_, due)| due.confirmed) {
            match found.get(id) {
                Some(1) => {}
                count => broken.push(format!("a confirmed booking has {} folios: {id}", count.unwrap_or(&0))),
            }
        }
        broken
    }
}

/// The sums of every day are those of a recomputation from the log.
#[derive(Debug, Default)]
pub struct Figures {
    zones: BTreeMap<PropertyId, String>,
    days: BTreeMap<(PropertyId, Date), Sums>,
}

impl Figures {
    fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<PropertyCreated>() {
            self.zones.insert(it.property_id, it.time_zone);
        } else if let Some(it) = fact.of::<BookingConfirmed>() {
            let deltas = of_confirmed(&it, self.zone(it.property_id));
            deltas.into_iter().for_each(|(date, sums)| self.add(it.property_id, date, sums));
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            let deltas = of_cancelled(&it, self.zone(it.property_id));
            deltas.into_iter().for_each(|(date, sums)| self.add(it.property_id, date, sums));
        } else if let Some(it) = fact.of::<IntentRefunded>()
            && it.reason != RefundReason::LateCapture
        {
            let refunds_micro = Micros::new(it.amount.amount_micro.get());
            let date = day(it.refunded_at, self.zone(it.property_id));
            self.add(it.property_id, date, Sums { refunds_micro, ..Sums::default() });
        }
    }

    fn zone(&self, property: PropertyId) -> &str {
        self.zones.get(&property).map_or("UTC", String::as_str)
    }

    fn add(&mut self, property: PropertyId, date: Date, sums: Sums) {
        *self.days.entry((property, date)).or_default() += sums;
    }

    /// What does not hold of these days, which are all there are.
    pub fn broken(&self, days: &[Day]) -> Vec<String> {
        let mut shown: BTreeMap<(PropertyId, Date), Sums> = BTreeMap::new();
        days.iter().for_each(|day| *shown.entry((day.property_id, day.date)).or_default() += day.sums);
        let places = self.days.keys().chain(shown.keys()).collect::<BTreeSet<_>>();
        let none = Sums::default();
        let differ = places.into_iter().filter_map(|place| {
            let (counted, told) = (shown.get(place).unwrap_or(&none), self.days.get(place).unwrap_or(&none));
            let (property, date) = place;
            (counted != told).then(|| format!("{property}, {date}: counted are {counted:?}, and the log says {told:?}"))
        });
        differ.collect()
    }
}

#[cfg(test)]
mod tests {
    use karwan::Event;
    use serde::Serialize;

    use super::{Day, Fact, Folio, Rules, Sums};
    use crate::told;

    /// A log that is made up.
    #[derive(Default)]
    struct Made {
        rules: Rules,
        next: u128,
    }

    impl Made {
        /// The next event, of a trace, led to by another; its number.
        fn tell<E: Event + Serialize>(&mut self, event: &E, correlation: u128, causation: Option<u128>) -> u128 {
            self.next += 1;
            let payload = serde_json::to_string(event).expect("it can be written");
            self.rules.take(&Fact { event: self.next, subject: E::SUBJECT, correlation, causation, payload: &payload });
            self.next
        }
    }

    fn has(broken: &[String], what: &str) -> bool {
        broken.iter().any(|it| it.contains(what))
    }

    #[test]
    fn only_a_request_begins_a_trace_and_what_follows_stays_in_it() {
        let mut made = Made::default();
        let root = made.tell(&told::tenant_created(), 1, None);
        made.tell(&told::confirmed(10), 1, Some(root));
        assert_eq!(made.rules.traces.broken(), Vec::<String>::new());
        made.tell(&told::confirmed(11), 1, None);
        assert!(has(&made.rules.traces.broken(), "has no cause"));
        made.tell(&told::confirmed(12), 2, Some(root));
        assert!(has(&made.rules.traces.broken(), "of another trace"));
        made.tell(&told::confirmed(13), 1, Some(99));
        assert!(has(&made.rules.traces.broken(), "not in the log"));
    }

    #[test]
    fn a_night_is_sold_again_only_after_it_was_released() {
        let (one, mut two) = (told::confirmed(10), told::confirmed(11));
        two.rooms.clone_from(&one.rooms);
        let mut made = Made::default();
        let root = made.tell(&told::tenant_created(), 1, None);
        made.tell(&told::committed(&one, 1, 0), 1, Some(root));
        made.tell(&told::released(&one, 1, 1), 1, Some(root));
        made.tell(&told::committed(&two, 1, 0), 1, Some(root));
        assert_eq!(made.rules.nights.broken(), Vec::<String>::new());
        assert!(!made.rules.nights.taken().is_empty());
        made.tell(&told::committed(&one, 1, 0), 1, Some(root));
        assert!(has(made.rules.nights.broken(), "sold twice"));
    }

    #[test]
    fn a_confirmed_booking_has_one_folio_with_the_sums_of_the_log() {
        let booking = told::confirmed_in_cash(10);
        let mut made = Made::default();
        let root = made.tell(&told::tenant_created(), 1, None);
        made.tell(&booking, 1, Some(root));
        let mut lines = 0;
        let line = || {
            lines += 1;
            told::id(lines)
        };
        let mut folio = Folio::draft(&booking, booking.confirmed_at, line);
        let folios = &made.rules.folios;
        assert_eq!(folios.broken(&[folio.clone()]), Vec::<String>::new());
        assert!(has(&folios.broken(&[]), "has 0 folios"));
        assert!(has(&folios.broken(&[folio.clone(), folio.clone()]), "has 2 folios"));
        folio.payment(told::afghanis(1), None, booking.confirmed_at, told::id(90));
        assert!(has(&folios.broken(&[folio]), "the log says"));
    }

    #[test]
    fn a_day_has_the_sums_of_the_log() {
        let booking = told::confirmed(10);
        let mut made = Made::default();
        let root = made.tell(&told::property_created(), 1, None);
        made.tell(&booking, 1, Some(root));
        assert!(!made.rules.figures.broken(&[]).is_empty(), "nothing was counted");
        let day = |date, sums| Day {
            property_id: booking.property_id,
            date,
            share: 0,
            sums,
            facts_until: booking.confirmed_at,
            awaited: false,
        };
        let deltas = crate::analytics::decide::of_confirmed(&booking, "Asia/Kabul");
        let days: Vec<Day> = deltas.into_iter().map(|(date, sums)| day(date, sums)).collect();
        assert_eq!(made.rules.figures.broken(&days), Vec::<String>::new());
        let twice = [days.as_slice(), &[day(told::may(1), Sums { sold: 1, ..Sums::default() })]].concat();
        assert_eq!(made.rules.figures.broken(&twice).len(), 1);
    }
}
