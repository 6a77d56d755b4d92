//! The demo's tenants are furnished once: also by a first start that is killed in the middle, and after the log has forgotten
//! how they were.

use std::sync::Arc;

use karwan_envelope::time::{ManualClock, Timestamp};
use karwan_store::log::{Filter, LogRow, PAGE_MAX};
use karwan_store::operator::{Operator, Who};
use karwan_store::retention::{Days, Nothing};
use karwan_store::{Address, Store, stored};
use karwan_testkit::postgres::Server;
use serde_json::{Value, json};

use super::edge::now;
use super::place::{On, Place};
use super::{Node, until};

/// Who furnishes, as subjects name them: nobody else tells anything before somebody books.
const FURNISHERS: [&str; 4] = ["iam", "tenant", "property", "pricing"];
/// Facts that furnishing tells.
const FACTS: usize = 66;
/// Kills of one first start.
const KILLS: usize = 6;

/// Everything that a log has.
async fn rows(address: &Address) -> Result<Vec<LogRow>, karwan_store::Error> {
    let relay = Store::observe(address).await?.relay();
    let mut rows = Vec::new();
    let mut position = relay.start().await?;
    loop {
        let page = relay.page(position, &Filter::default(), PAGE_MAX).await?;
        rows.extend(page.rows);
        position = page.position;
        if !page.more {
            return Ok(rows);
        }
    }
}

fn waited_for<A>(future: impl Future<Output = A>) -> A {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// What furnishing has told: whose, what, and of which room, role or account. A store that is not there yet has nothing.
fn told(address: &Address) -> Vec<(u128, String, Option<String>)> {
    let is_furniture =
        |row: &LogRow| row.subject.split('.').nth(1).is_some_and(|service| FURNISHERS.contains(&service));
    let which = |row: &LogRow| {
        let contents = stored::contents(&row.envelope).expect("it is an envelope");
        let payload: Value = serde_json::from_str(contents.payload).expect("JSON");
        let name = ["label", "role", "email"].into_iter().find_map(|name| payload[name].as_str());
        name.map(str::to_owned)
    };
    let rows = waited_for(rows(address)).unwrap_or_default();
    let mut told: Vec<_> =
        rows.iter().filter(|row| is_furniture(row)).map(|row| (row.tenant, row.subject.clone(), which(row))).collect();
    told.sort();
    told
}

/// Books in each house, and waits for the end.
fn both_houses_sell(node: &Node) {
    for house in ["serai", "lodge"] {
        let begun = node.tell("try", &json!({ "tenant": house, "fault": null, "cancel": null }));
        let text = |name: &str| begun[name].as_str().expect("a text");
        let path = format!("booking/{}/{}", text("tenant"), text("reservation"));
        until("the confirmation", || node.control(&path) == json!("confirmed"));
    }
}

/// Starts on a fresh store, kills when so many facts are told, starts again, and so on; what was told when a start was left alone.
fn killed(place: &Place, moments: &[usize]) -> Vec<(u128, String, Option<String>)> {
    for moment in moments {
        let node = place.begun();
        until("its moment", || told(&place.address()).len() >= *moment && place.folder.at("data").is_dir());
        node.kill();
    }
    let node = place.up(&[]);
    both_houses_sell(&node);
    assert_eq!(node.violations(), json!([]));
    assert_eq!(node.stop(), Some(0));
    told(&place.address())
}

/// On one store: what differs from a start that nobody disturbed.
fn check(on: On, server: Option<&'static Server>, seed: u64) {
    let undisturbed = std::thread::spawn(move || killed(&Place::new(on, server), &[]));
    let mut moments: Vec<usize> = (0..KILLS as u64)
        .map(|kill| ((seed + kill).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % FACTS)
        .collect();
    moments.sort_unstable();
    let ended = killed(&Place::new(on, server), &moments);
    let undisturbed = undisturbed.join().expect("nobody kills it");
    assert_eq!(undisturbed.len(), FACTS, "{undisturbed:#?}");
    assert_eq!(ended, undisturbed, "seed={seed}, {on:?}, killed when so many facts were told: {moments:?}");
}

#[test]
fn a_first_start_that_is_killed_makes_nothing_twice_and_leaves_nothing_out() {
    let seed = u64::from(std::process::id());
    println!("seed={seed}");
    let server = karwan_testkit::postgres().or_skip();
    let stores = [Some(On::Sqlite), server.map(|_| On::Postgres)];
    std::thread::scope(|scope| {
        for on in stores.into_iter().flatten() {
            scope.spawn(move || check(on, server, seed));
        }
    });
}

#[test]
fn what_the_log_has_forgotten_is_not_made_again() {
    let place = Place::new(On::Sqlite, None);
    let node = place.up(&[]);
    both_houses_sell(&node);
    // Nobody has anything left to read.
    assert_eq!(node.violations(), json!([]));
    assert_eq!(node.stop(), Some(0));
    assert!(told(&place.address()).len() >= FACTS);
    // Long after.
    let later =
        ManualClock::at(Timestamp::from_unix_ms(i64::try_from(now()).expect("seconds") * 1_000 + 40 * 86_400_000));
    let operator = Operator::new(&place.address(), Vec::new()).with_clock(Arc::new(later));
    let who = Who { actor: "anna".to_owned(), reason: "a test".to_owned() };
    waited_for(operator.retain(&who, &Days::default(), &mut Nothing, &|_, _| {})).expect("it can run");
    assert_eq!(told(&place.address()), [], "rows are left");
    let node = place.up(&[]);
    both_houses_sell(&node);
    // Half a log would tell of money that nobody knows.
    node.karwan(&["load", "--bookings", "1", "--tenants", "1"])
        .exits(1)
        .says("what must hold cannot be checked: rows up to");
    assert_eq!(node.stop(), Some(0));
    assert_eq!(told(&place.address()), []);
}
