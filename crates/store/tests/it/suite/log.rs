//! The log as its readers see it: in order, without gaps, from a position of this life.

use karwan_store::consumer::Lane;
use karwan_store::log::{Apart, Behind, Filter, Position};
use karwan_store::write_set::{LaneHold, slot};
use karwan_store::{Error, TenantTx};

use crate::fixture::Fixture;
use crate::shop::{order, placed, tenant_bits};

on_both! {
    pages_follow_each_other_without_gap_or_overlap,
    a_commit_answers_a_position_behind_everything_that_it_wrote,
    filters_leave_rows_out_and_still_move_the_position,
    rows_carry_the_slot_of_their_key,
    tenants_are_read_apart_in_one_look_each_from_a_place_of_its_own,
    a_position_of_another_life_is_answered_with_reset,
    what_was_dropped_is_an_error_and_never_nothing,
    the_log_is_never_dropped_past_a_saved_position,
    numbers_are_not_used_again_after_dropping_all_of_the_log,
    concurrent_units_leave_log_and_documents_agreeing,
    stats_and_sizes_tell_what_is_there,
}

async fn place_many(fixture: &Fixture, count: usize) {
    for number in 0..count {
        fixture.place(1 + number as u64 % 2, &format!("o-{number}")).await;
    }
}

async fn pages_follow_each_other_without_gap_or_overlap(fixture: Fixture) {
    place_many(&fixture, 7).await;
    let relay = fixture.store.relay();
    let mut after = relay.start().await.expect("the log has a start");
    let (mut keys, mut pages) = (Vec::new(), 0);
    loop {
        let page = relay.page(after, &Filter::default(), 3).await.expect("the log can be read");
        assert!(page.rows.is_sorted_by_key(|row| row.seq));
        keys.extend(page.rows.into_iter().map(|row| row.key));
        (after, pages) = (page.position, pages + 1);
        if !page.more {
            break;
        }
    }
    assert_eq!(keys, ["o-0", "o-1", "o-2", "o-3", "o-4", "o-5", "o-6"]);
    assert_eq!(pages, 3);
    assert_eq!(after, relay.end().await.expect("the log has an end"));
    let empty = relay.page(after, &Filter::default(), 3).await.expect("the log can be read");
    assert_eq!((empty.rows, empty.position, empty.more), (Vec::new(), after, false));
}

async fn a_commit_answers_a_position_behind_everything_that_it_wrote(fixture: Fixture) {
    let first = fixture.place(1, "o-1").await.position;
    let silent = fixture.unit(1, async |tx: TenantTx| {
        tx.put(order("silent"));
        Ok(())
    });
    assert_eq!(silent.await.expect("the unit commits").position, first);
    let second = fixture.place(1, "o-2").await.position;
    assert!(second > first);
    assert_eq!(second, fixture.store.relay().end().await.expect("the log has an end"));
}

async fn filters_leave_rows_out_and_still_move_the_position(fixture: Fixture) {
    place_many(&fixture, 4).await;
    let relay = fixture.store.relay();
    let start = relay.start().await.expect("the log has a start");
    let keys = async |filter: Filter| {
        let page = relay.page(start, &filter, 100).await.expect("the log can be read");
        assert_eq!(page.position, relay.end().await.expect("the log has an end"));
        page.rows.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(Filter { tenant: Some(tenant_bits(2)), ..Filter::default() }).await, ["o-1", "o-3"]);
    assert_eq!(keys(Filter { key: Some("o-2".to_owned()), ..Filter::default() }).await, ["o-2"]);
    let subject = |pattern: &str| Filter { subject: Some(pattern.parse().expect("a pattern")), ..Filter::default() };
    assert_eq!(keys(subject("shop.sales.order.*.v1")).await.len(), 4);
    assert_eq!(keys(subject("shop.delivery.>")).await, Vec::<String>::new());
}

async fn rows_carry_the_slot_of_their_key(fixture: Fixture) {
    place_many(&fixture, 4).await;
    for row in fixture.log().await {
        assert_eq!(row.slot, slot(row.tenant, &row.key));
    }
}

async fn tenants_are_read_apart_in_one_look_each_from_a_place_of_its_own(fixture: Fixture) {
    place_many(&fixture, 9).await;
    let relay = fixture.store.relay();
    let end = relay.end().await.expect("the log has an end").seq;
    let all = relay.rows(0, end, &Filter::default(), 100).await.expect("the log can be read");
    let of = |tenant: u64, after| Behind { tenant: tenant_bits(tenant), after };
    let read = async |behind: &[Behind], until, limit, envelopes_of| {
        let asked = Apart { behind: behind.to_vec(), until, limit, envelopes_of };
        relay.rows_apart(&asked).await.expect("the log can be read")
    };
    let told = async |behind: &[Behind], until, limit| {
        let lists = read(behind, until, limit, None).await;
        lists.into_iter().map(|list| list.into_iter().map(|row| row.key).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    // One that is asked for twice, from two places, and one that nobody has.
    let behind = [of(2, 0), of(1, all[3].seq), of(3, 0), of(1, 0)];
    assert_eq!(
        told(&behind, end, 3).await,
        [vec!["o-1", "o-3", "o-5"], vec!["o-4", "o-6", "o-8"], vec![], vec!["o-0", "o-2", "o-4"]]
    );
    assert_eq!(told(&behind[..2], all[4].seq, 9).await, [vec!["o-1", "o-3"], vec!["o-4"]]);
    assert_eq!(told(&[], end, 9).await, Vec::<Vec<String>>::new());
    let lists = read(&behind[..1], end, 1, Some(["shop.sales.order.paid.v1".into()].into())).await;
    assert_eq!((lists[0][0].key.as_str(), lists[0][0].envelope.as_str()), ("o-1", ""));
    assert_eq!(read(&behind[..1], end, 1, None).await[0][0], all[1]);
}

async fn a_position_of_another_life_is_answered_with_reset(fixture: Fixture) {
    let here = fixture.place(1, "o-1").await.position;
    let elsewhere = Position { incarnation: here.incarnation - 1, ..here };
    match fixture.store.relay().page(elsewhere, &Filter::default(), 10).await {
        Err(Error::Reset { asked, now }) => assert_eq!((asked, now), (elsewhere, here)),
        other => panic!("{other:?}"),
    }
    let fixture = fixture.reopened().await;
    fixture.store.relay().page(here, &Filter::default(), 10).await.expect("a reopened store is the same life");
}

async fn what_was_dropped_is_an_error_and_never_nothing(fixture: Fixture) {
    place_many(&fixture, 5).await;
    let relay = fixture.store.relay();
    let start = relay.start().await.expect("the log has a start");
    let rows = fixture.log().await;
    let floor = fixture.store.drop_log(rows[2].seq).await.expect("the log can be dropped");
    // A store may drop in stretches, and then less than was asked for.
    assert!(floor <= rows[2].seq);
    if floor > start.seq {
        let below = relay.page(start, &Filter::default(), 10).await;
        assert!(matches!(below, Err(Error::BelowFloor { floor: at, .. }) if at == floor), "{below:?}");
    }
    let left: Vec<i64> = fixture.log().await.iter().map(|row| row.seq).collect();
    let expected: Vec<i64> = rows.iter().map(|row| row.seq).filter(|seq| *seq > floor).collect();
    assert_eq!(left, expected);
    assert_eq!(relay.start().await.expect("the log has a start").seq, floor);
    assert!(fixture.order(1, "o-0").await.is_some(), "documents are not dropped with the log");
}

async fn the_log_is_never_dropped_past_a_saved_position(fixture: Fixture) {
    place_many(&fixture, 5).await;
    let rows = fixture.log().await;
    let lane = Lane { consumer: "mailer".to_owned(), number: 0, of: 1 };
    let taken = fixture.store.take_lane(&lane, "n-1", 5_000).await.expect("it can be asked for").expect("it is free");
    assert!(fixture.store.drop_log(rows[4].seq).await.expect("nothing is dropped") <= taken.position);
    let hold = LaneHold { consumer: lane.consumer, lane: 0, epoch: taken.epoch };
    fixture.store.save_position(&hold, rows[1].seq, false).await.expect("the lane is held");
    let floor = fixture.store.drop_log(rows[4].seq).await.expect("the log can be dropped");
    assert!(floor <= rows[1].seq, "{floor}");
    assert!(fixture.log().await.iter().any(|row| row.seq == rows[2].seq), "the lane's next row is gone");
}

async fn numbers_are_not_used_again_after_dropping_all_of_the_log(fixture: Fixture) {
    place_many(&fixture, 3).await;
    let end = fixture.store.relay().end().await.expect("the log has an end");
    fixture.store.drop_log(end.seq).await.expect("the log can be dropped");
    assert_eq!(fixture.store.relay().end().await.expect("the log has an end"), end);
    let fixture = fixture.reopened().await;
    let next = fixture.place(1, "later").await.position;
    assert!(next.seq > end.seq);
    let page = fixture.store.relay().page(end, &Filter::default(), 10).await.expect("the log can be read");
    assert_eq!(page.rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["later"]);
}

async fn concurrent_units_leave_log_and_documents_agreeing(fixture: Fixture) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200_u64 {
        let store = fixture.store.clone();
        tasks.spawn(async move {
            let id = format!("o-{}", number / 2);
            // Every order is placed by two: one of them is refused.
            let place = async |tx: TenantTx| {
                tx.put(order(&id));
                tx.emit(placed(&id));
                Ok::<(), Error>(())
            };
            store.unit(&crate::shop::context(1 + number / 2 % 3), place).await.is_ok()
        });
    }
    let mut committed = 0;
    while let Some(placed) = tasks.join_next().await {
        committed += usize::from(placed.expect("no task panics"));
    }
    assert_eq!(committed, 100);
    let rows = fixture.log().await;
    assert_eq!(rows.len(), 100);
    for number in 0..100_u64 {
        let (tenant, id) = (1 + number % 3, format!("o-{number}"));
        assert!(fixture.order(tenant, &id).await.is_some());
        assert_eq!(rows.iter().filter(|row| row.key == id && row.tenant == tenant_bits(tenant)).count(), 1);
    }
}

async fn stats_and_sizes_tell_what_is_there(fixture: Fixture) {
    place_many(&fixture, 3).await;
    let stats = fixture.store.stats().await.expect("it can be told");
    assert_eq!(stats.subjects, [("shop.sales.order.placed.v1".to_owned(), 3)]);
    assert_eq!((stats.end.seq, stats.safe), (fixture.log().await[2].seq, stats.end.seq));
    let sizes = fixture.store.sizes().await.expect("it can be told");
    assert!(sizes.iter().any(|size| size.table.ends_with("log") && size.bytes > 0), "{sizes:?}");
}
