//! The trail: every event once, in a chain that shows every change.

use std::collections::BTreeSet;

use karwan::Work;
use melmastoon::audit::decide::{broken_at, event_hash};
use melmastoon::audit::events::{AuditOutcome, EntryAppended};
use melmastoon::audit::{self as audit, work};

use crate::desk::{Desk, run};
use crate::told;

/// R-113, C-43: all that is published, and nothing of its own.
#[test]
fn audit_consumes_every_subject_but_its_own() {
    let consumed: BTreeSet<&str> = work::consumers().iter().flat_map(|consumer| consumer.subjects()).collect();
    let published = melmastoon::events();
    assert!(published.len() > 90, "the catalogue is whole");
    for event in published {
        let row = (event.row)();
        let wanted = row.owner != audit::SERVICE && !row.local_only;
        assert_eq!(consumed.contains(event.subject), wanted, "{}", event.subject);
    }
}

#[test]
fn every_event_is_entered_once_and_the_chain_is_whole() {
    run(async || {
        let mut desk = Desk::open(audit::kinds(), work::work(Work::new())).await;
        for number in 10..30 {
            let booking = told::confirmed(number);
            desk.tell(&booking).await;
            if number % 2 == 0 {
                desk.tell(&told::cancelled(&booking)).await;
            }
            desk.tell(&told::committed(&booking, 5, 4)).await;
        }
        desk.settle().await;
        let log = desk.log().await;
        let events: Vec<_> = log.iter().filter(|envelope| envelope.producer.service != audit::SERVICE).collect();
        let entries = desk.told::<EntryAppended>().await;
        assert_eq!(entries.len(), events.len());
        assert_eq!(broken_at(&entries), None);
        for event in &events {
            let of = |entry: &&EntryAppended| {
                entry.source.as_ref().is_some_and(|source| source.event_id == event.id.to_string())
            };
            let found: Vec<_> = entries.iter().filter(of).collect();
            let [entry] = &found[..] else { panic!("{} is entered once: {found:?}", event.subject) };
            assert_eq!(entry.resource_id, event.key);
            assert_eq!(entry.source.as_ref().map(|source| source.event_hash.clone()), Some(event_hash(event)));
        }
        desk.replay(&["audit-service.trail"], work::work(Work::new())).await;
        assert_eq!(desk.log().await.len(), log.len(), "replaying changes nothing");
        desk.close().await;
    });
}

#[test]
fn whoever_changes_drops_or_moves_an_entry_is_found_out() {
    run(async || {
        let desk = Desk::open(audit::kinds(), work::work(Work::new())).await;
        for number in 10..15 {
            desk.tell(&told::confirmed(number)).await;
        }
        desk.settle().await;
        let good = desk.told::<EntryAppended>().await;
        assert_eq!(broken_at(&good), None);
        let mut changed = good.clone();
        changed[2].action = "booking.cancelled".to_owned();
        let mut dropped = good.clone();
        dropped.remove(2);
        let mut moved = good.clone();
        moved.swap(2, 3);
        for bad in [changed, dropped, moved] {
            assert_eq!(broken_at(&bad), Some(3));
        }
        desk.close().await;
    });
}

///
#[test]
fn a_refund_that_is_not_made_leaves_an_entry() {
    run(async || {
        let desk = Desk::open(audit::kinds(), work::work(Work::new())).await;
        let booking = told::confirmed(10);
        let mut cancelled = told::cancelled(&booking);
        cancelled.refund.refundable = false;
        desk.tell(&cancelled).await;
        desk.settle().await;
        let entries = desk.told::<EntryAppended>().await;
        let said: Vec<_> = entries.iter().map(|it| (it.action.as_str(), it.outcome, it.reason.as_deref())).collect();
        assert_eq!(
            said,
            [
                ("booking.cancelled", AuditOutcome::Succeeded, Some("guest_request")),
                ("refund.skipped", AuditOutcome::NoOp, Some("non_refundable")),
            ]
        );
        desk.close().await;
    });
}

/// Nothing of a payload comes into the trail but a code.
#[test]
fn no_entry_repeats_what_an_event_says_of_a_person() {
    run(async || {
        let desk = Desk::open(audit::kinds(), work::work(Work::new())).await;
        desk.tell(&told::confirmed(10)).await;
        desk.settle().await;
        for entry in desk.told::<EntryAppended>().await {
            let said = serde_json::to_string(&entry).expect("it can be printed");
            assert!(!said.contains("Zarghuna") && !said.contains("example.af") && !said.contains("+93"), "{said}");
        }
        desk.close().await;
    });
}
