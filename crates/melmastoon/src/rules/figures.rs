//! The figures of days.

use std::collections::{BTreeMap, BTreeSet};

use karwan::envelope::time::Date;

use super::Fact;
use crate::analytics::decide::{converted, of_cancelled, of_confirmed};
use crate::analytics::state::{Day, Sums};
use crate::house_time::day;
use crate::ids::{PropertyId, ReservationId};
use crate::payment::{IntentRefunded, RefundReason};
use crate::property::PropertyCreated;
use crate::reservation::{BookingCancelled, BookingConfirmed};

/// The sums of every day are those of a recomputation from the log, in the property's currency.
#[derive(Debug, Default)]
pub struct Figures {
    zones: BTreeMap<PropertyId, String>,
    /// Of those who pay in another currency: the rate that was frozen with their price.
    rates: BTreeMap<ReservationId, String>,
    days: BTreeMap<(PropertyId, Date), Sums>,
}

impl Figures {
    pub(super) fn take(&mut self, fact: &Fact<'_>) {
        if let Some(it) = fact.of::<PropertyCreated>() {
            self.zones.insert(it.property_id, it.time_zone);
        } else if let Some(it) = fact.of::<BookingConfirmed>() {
            let frozen = &it.quote.currency_snapshot;
            if frozen.guest_currency != frozen.property_currency {
                self.rates.insert(it.reservation_id, frozen.rate.clone());
            }
            let deltas = of_confirmed(&it, self.zone(it.property_id));
            deltas.into_iter().for_each(|(date, sums)| self.add(it.property_id, date, sums));
        } else if let Some(it) = fact.of::<BookingCancelled>() {
            let deltas = of_cancelled(&it, self.zone(it.property_id));
            deltas.into_iter().for_each(|(date, sums)| self.add(it.property_id, date, sums));
        } else if let Some(it) = fact.of::<IntentRefunded>()
            && it.reason != RefundReason::LateCapture
        {
            let amount = it.amount.amount_micro;
            let refunds_micro = self.rates.get(&it.reservation_id).map_or(amount, |rate| converted(amount, rate));
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
    pub(super) fn broken(&self, days: &[Day]) -> Vec<String> {
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
    use karwan::envelope::money::Micros;
    use karwan::envelope::time::Date;

    use crate::analytics::state::{Day, Sums};
    use crate::payment::RefundReason;
    use crate::rules::Kept;
    use crate::rules::made::Made;
    use crate::told;

    fn counted(date: Date, sums: Sums) -> Day {
        let facts_until = told::at(told::may(1), "00:00:00");
        Day { property_id: told::property(), date, share: 0, sums, facts_until, awaited: false }
    }

    #[test]
    fn a_day_with_other_sums_than_the_log_is_named() {
        let booking = told::confirmed(10);
        let mut made = Made::default();
        made.tell(&told::property_created());
        made.tell(&booking);
        made.is_named("and the log says", &Kept::default());
        let deltas = crate::analytics::decide::of_confirmed(&booking, "Asia/Kabul");
        let days: Vec<Day> = deltas.into_iter().map(|(date, sums)| counted(date, sums)).collect();
        made.holds("counted are", &Kept { days: days.clone(), ..Kept::default() });
        let days = [days.as_slice(), &[counted(told::may(1), Sums { sold: 1, ..Sums::default() })]].concat();
        made.is_named("counted are", &Kept { days, ..Kept::default() });
    }

    /// What goes back in dollars is counted in afghanis, at the rate of its price.
    #[test]
    fn a_refund_that_is_counted_in_the_guests_currency_is_named() {
        let booking = told::in_dollars(told::confirmed(10), "70.5");
        let mut made = Made::default();
        made.tell(&told::property_created());
        let deltas = crate::analytics::decide::of_confirmed(&booking, "Asia/Kabul");
        made.tell(&booking);
        made.tell(&told::refunded(&booking, RefundReason::Cancellation, told::dollars(7)));
        let with = |micros: i128| {
            let refund = Sums { refunds_micro: Micros::new(micros), ..Sums::default() };
            let days = deltas.iter().map(|(date, sums)| counted(*date, *sums));
            Kept { days: days.chain([counted(told::may(1), refund)]).collect(), ..Kept::default() }
        };
        made.is_named("counted are", &with(7_000_000));
        made.holds("counted are", &with(493_500_000));
    }
}
