//! Pauses, and the story of a key.

use karwan_store::operator::{Deed, Entry, Fate, Happened, LetterFilter, State};

use super::{ann, bury, handle, hold, lane, letters, order_rows, park, parked, target, told_actions};
use crate::fixture::Fixture;
use crate::shop::tenant_bits;

on_both! {
    a_paused_key_is_told_to_its_lane_alone,
    a_key_that_goes_on_makes_what_waited_for_it_due,
    a_paused_consumer_is_suspended_with_who_and_why,
    a_key_tells_its_whole_story,
    the_story_of_one_tenants_key_has_nothing_of_another_tenants,
    letters_are_found_by_every_filter,
    letters_come_page_by_page,
}

async fn a_paused_key_is_told_to_its_lane_alone(fixture: Fixture) {
    let operator = fixture.operator();
    let keys: Vec<String> = (0..8).map(|number| format!("o-{number}")).collect();
    for key in &keys {
        assert!(operator.pause_key(&ann(), "mailer", tenant_bits(1), key).await.expect("it is not paused"));
    }
    assert!(!operator.pause_key(&ann(), "mailer", tenant_bits(1), "o-0").await.expect("it is paused"));
    let mut found = Vec::new();
    for number in 0..4 {
        let lane = karwan_store::consumer::Lane { number, of: 4, ..lane() };
        found.extend(fixture.store.paused_keys(&lane).await.expect("they can be asked for"));
    }
    found.sort();
    let all: Vec<_> = keys.iter().map(|key| (tenant_bits(1), key.clone())).collect();
    assert_eq!(found, all, "each in one lane");
    let other = karwan_store::consumer::Lane { consumer: "biller".to_owned(), ..lane() };
    assert_eq!(fixture.store.paused_keys(&other).await.expect("they can be asked for"), []);
    assert!(operator.resume_key(&ann(), "mailer", tenant_bits(1), "o-3").await.expect("it is paused"));
    assert!(!operator.resume_key(&ann(), "mailer", tenant_bits(1), "o-3").await.expect("it goes on"));
    assert_eq!(fixture.store.paused_keys(&lane()).await.expect("they can be asked for").len(), 7);
    assert_eq!(told_actions(&fixture).await.len(), 9, "what changed nothing is no action");
}

async fn a_key_that_goes_on_makes_what_waited_for_it_due(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 1).await;
    let hold = hold(&fixture).await;
    fixture.operator().pause_key(&ann(), "mailer", tenant_bits(1), "o-1").await.expect("it is not paused");
    let waiting = rows[0].clone().parked(None, 0, "its key is paused".to_owned());
    let failed = rows[1].clone().parked(None, 2, "no answer".to_owned());
    fixture.store.park(&hold, &[waiting, failed]).await.expect("the lane is held");
    fixture.operator().resume_key(&ann(), "mailer", tenant_bits(1), "o-1").await.expect("it is paused");
    let due: Vec<_> =
        fixture.store.parked(&lane(), 10).await.expect("it can be asked").iter().map(|it| it.due).collect();
    assert_eq!(due, [Some(0), None]);
}

async fn a_paused_consumer_is_suspended_with_who_and_why(fixture: Fixture) {
    let operator = fixture.operator();
    assert!(operator.pause_consumer(&ann(), "mailer").await.expect("it is not paused"));
    assert!(!operator.pause_consumer(&ann(), "mailer").await.expect("it is paused"));
    let suspended = fixture.store.suspensions().await.expect("they can be asked for");
    assert_eq!(suspended[0].reason, "paused by ann: the vendor is back");
    assert!(operator.resume_consumer(&ann(), "mailer").await.expect("it is paused"));
    assert_eq!(fixture.store.suspensions().await.expect("they can be asked for"), []);
    let told = ["resume-consumer ann the vendor is back", "pause-consumer ann the vendor is back"];
    assert_eq!(told_actions(&fixture).await, told);
}

fn told(entry: &Entry) -> String {
    match &entry.what {
        Happened::Logged { subject, fates, .. } => {
            let fate = |(consumer, fate): &(String, Fate)| match fate {
                Fate::Handled => format!("{consumer} handled"),
                Fate::Published => format!("{consumer} published"),
                Fate::Deleted(action) => format!("{consumer} deleted by {}", action.who.actor),
                Fate::Letter { state, attempts, .. } => format!("{consumer} {} {attempts}", state.name()),
                Fate::Behind(_) => format!("{consumer} behind"),
                Fate::Ahead => format!("{consumer} ahead"),
                Fate::Passed => format!("{consumer} passed"),
            };
            let fates: Vec<String> = fates.iter().map(fate).collect();
            format!("{}: {}", subject.split('.').nth(3).unwrap_or_default(), fates.join(", "))
        }
        Happened::Failed { number, error, .. } => format!("failed {number} {error}"),
        Happened::Acted(action) => format!("{} by {}", action.verb.name(), action.who.actor),
    }
}

async fn a_key_tells_its_whole_story(fixture: Fixture) {
    let rows = order_rows(&fixture, 1, "o-1", 4).await;
    let hold = hold(&fixture).await;
    handle(&fixture, &hold, &rows[0], false).await.expect("it is new");
    bury(&fixture, &hold, &rows[1]).await;
    fixture.store.park(&hold, &[parked(&rows[2], 2), parked(&rows[3], 0)]).await.expect("the lane is held");
    fixture.operator().act(&ann(), &target(&rows[1]), &Deed::Skip).await.expect("it is dead");
    fixture.operator().pause_key(&ann(), "mailer", tenant_bits(1), "o-1").await.expect("it is not paused");
    let story = fixture.operator().key_story(tenant_bits(1), "o-1", None).await.expect("it can be told");
    let mut entries: Vec<String> = story.entries.iter().map(told).collect();
    let events: Vec<String> = entries.iter().filter(|it| it.contains(": ")).cloned().collect();
    let expected = [
        "placed: mailer handled",
        "changed: mailer skipped 7",
        "changed: mailer parked 2",
        "changed: mailer behind",
        "changed: mailer ahead",
    ];
    assert_eq!(events, expected);
    entries.retain(|it| !it.contains(": "));
    entries.sort();
    assert_eq!(entries, ["failed 1 no answer", "failed 1 no answer", "pause-key by ann", "skip by ann"]);
    assert!(story.entries.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order of time");
    assert_eq!((story.pauses.len(), story.pauses[0].actor.as_str(), story.cut), (1, "ann", false));
    let other = fixture.operator().key_story(tenant_bits(1), "o-1", Some("biller")).await.expect("it can be told");
    assert_eq!((other.entries.len(), other.pauses.len()), (5, 0), "{:?}", other.entries);
}

async fn the_story_of_one_tenants_key_has_nothing_of_another_tenants(fixture: Fixture) {
    let theirs = order_rows(&fixture, 2, "o-1", 0).await;
    let mine = order_rows(&fixture, 1, "o-1", 0).await;
    let hold = hold(&fixture).await;
    park(&fixture, &hold, &theirs[0]).await;
    fixture.operator().pause_key(&ann(), "mailer", tenant_bits(2), "o-1").await.expect("it is not paused");
    let story = fixture.operator().key_story(tenant_bits(1), "o-1", None).await.expect("it can be told");
    assert_eq!((story.entries.len(), story.pauses.len()), (1, 0));
    assert!(matches!(&story.entries[0].what, Happened::Logged { event, .. } if *event == mine[0].event));
    let filter = LetterFilter { tenant: Some(tenant_bits(1)), ..LetterFilter::default() };
    let found = fixture.operator().letters(&filter, None, 10).await.expect("they can be listed");
    assert_eq!(found.letters, []);
}

async fn letters_are_found_by_every_filter(fixture: Fixture) {
    let one = order_rows(&fixture, 1, "o-1", 1).await;
    let two = order_rows(&fixture, 2, "o-2", 0).await;
    let hold = hold(&fixture).await;
    bury(&fixture, &hold, &one[0]).await;
    park(&fixture, &hold, &one[1]).await;
    let other = two[0].clone().parked(None, 3, "out of stock".to_owned());
    fixture.store.park(&hold, &[other]).await.expect("the lane is held");
    assert_eq!(letters(&fixture).await.len(), 3);
    let found = async |filter: LetterFilter| {
        let page = fixture.operator().letters(&filter, None, 10).await.expect("they can be listed");
        page.letters.iter().map(|letter| format!("{} {}", letter.key, letter.state.name())).collect::<Vec<_>>()
    };
    let all = LetterFilter::default;
    assert_eq!(found(all()).await, ["o-1 dead", "o-1 parked", "o-2 parked"]);
    assert_eq!(found(LetterFilter { state: Some(State::Dead), ..all() }).await, ["o-1 dead"]);
    assert_eq!(found(LetterFilter { tenant: Some(tenant_bits(2)), ..all() }).await, ["o-2 parked"]);
    assert_eq!(found(LetterFilter { key: Some("o-1".to_owned()), ..all() }).await.len(), 2);
    assert_eq!(found(LetterFilter { consumer: Some("biller".to_owned()), ..all() }).await.len(), 0);
    assert_eq!(found(LetterFilter { error: Some("stock".to_owned()), ..all() }).await, ["o-2 parked"]);
    let other = LetterFilter { event: Some(two[0].event), ..all() };
    assert_eq!(found(other).await, ["o-2 parked"]);
    let subject = "shop.*.order.changed.v1".parse().ok();
    assert_eq!(found(LetterFilter { subject, ..all() }).await, ["o-1 parked"]);
    assert_eq!(found(LetterFilter { since: Some(two[0].at + 3_600_000), ..all() }).await.len(), 0);
    assert_eq!(found(LetterFilter { until: Some(two[0].at + 3_600_000), ..all() }).await.len(), 3);
}

async fn letters_come_page_by_page(fixture: Fixture) {
    let hold = hold(&fixture).await;
    for number in 0..5 {
        let rows = order_rows(&fixture, 1, &format!("o-{number}"), 0).await;
        park(&fixture, &hold, &rows[0]).await;
    }
    let (operator, mut after, mut keys) = (fixture.operator(), None, Vec::new());
    loop {
        let page = operator.letters(&LetterFilter::default(), after.as_ref(), 2).await.expect("they can be listed");
        assert!(page.letters.len() <= 2);
        keys.extend(page.letters.into_iter().map(|letter| letter.key));
        let Some(next) = page.next else { break };
        after = Some(next);
    }
    assert_eq!(keys, ["o-0", "o-1", "o-2", "o-3", "o-4"]);
}
