use serde_json::json;

use super::place::{Place, SUBJECT, TENANT, file};
use crate::karwan::karwan;

#[test]
fn a_store_without_consumers_says_so() {
    let (_folder, address) = file();
    karwan(&["consumer", "list", "--store", &address]).exits(0).says("no consumer has run");
    assert_eq!(karwan(&["consumer", "list", "--store", &address, "--format", "json"]).exits(0).json(), json!([]));
    karwan(&["consumer", "show", "x.y", "--store", &address])
        .exits(1)
        .says("no consumer `x.y`")
        .says("none has run yet");
}

#[test]
fn lanes_owners_and_lag_are_told() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["pay_1", "pay_2", "pay_3"]);
    let lanes = "INSERT INTO karwan.lane (consumer, lane, position, epoch, holder, until) VALUES
        ('billing.clerk', 0, 1, 4, 'n-1', now() + interval '5 s'), ('billing.clerk', 1, 3, 2, NULL, NULL),
        ('effect.charge', 0, 0, 1, NULL, NULL)";
    place.database.psql(lanes).expect("a superuser can do that");
    let all = karwan(&["consumer", "list", "--store", &place.url(), "--format", "json"]).exits(0).json();
    assert_eq!(all.as_array().map(Vec::len), Some(2), "{all}");
    let clerk =
        karwan(&["consumer", "show", "billing.clerk", "--store", &place.url(), "--format", "json"]).exits(0).json();
    assert_eq!((&clerk["behind"], &clerk["position"], &clerk["parked"]), (&json!(2), &json!(1), &json!(0)));
    assert_eq!(clerk["behindEvents"], json!(null), "it has never said what it handles");
    let declared = "INSERT INTO karwan.lane_count VALUES ('billing.clerk', 2);
        INSERT INTO karwan.declared (consumer, forward_only, rebuildable, subjects)
        VALUES ('billing.clerk', false, false, ARRAY['x.y'])";
    place.database.psql(declared).expect("a superuser can do that");
    let show = ["consumer", "show", "billing.clerk", "--store", &place.url()];
    karwan(&show).exits(0).prints("behind 2 numbers, 0 of them its events");
    let grown = format!("UPDATE karwan.declared SET subjects = ARRAY['x.y', '{SUBJECT}']");
    place.database.psql(&grown).expect("a superuser can do that");
    let waits = "SELECT count(*) FROM karwan.log WHERE seq > CASE WHEN slot % 2 = 0 THEN 1 ELSE 3 END";
    let waits: i64 = place.database.psql(waits).expect("a superuser can").parse().expect("a number");
    let told = karwan(&[&show[..], &["--format", "json"]].concat()).exits(0).json();
    assert_eq!(told["behindEvents"], json!(waits), "by the positions of their lanes");
    karwan(&show).exits(0).prints(&format!("behind 2 numbers, {waits} of them its events"));
    let old = "UPDATE karwan.log SET at = now() - interval '10 min';
        INSERT INTO karwan.dead (consumer, event_id, seq, logged, tenant_id, subject, key, attempts, error, envelope)
        SELECT 'billing.clerk', event_id, seq, at, tenant_id, subject, key, 7, 'no such account', envelope FROM karwan.log LIMIT 1";
    place.database.psql(old).expect("a superuser can do that");
    let late = karwan(&[&show[..], &["--format", "json"]].concat()).exits(0).json();
    assert!(late["behindMs"].as_i64().is_some_and(|ms| ms >= 600_000), "{late}");
    assert_eq!(late["dead"], json!(1));
    karwan(&["consumer", "list", "--store", &place.url()]).exits(0).prints("10 min");
    let streamed = "UPDATE karwan.declared SET stream = 'PAYMENT'";
    place.database.psql(streamed).expect("a superuser can do that");
    karwan(&show).exits(0).prints("fed from PAYMENT");
    assert_eq!(clerk["lanes"][0]["holder"], "n-1");
    assert_eq!(clerk["lanes"][1]["holder"], json!(null));
    karwan(&show).exits(0).prints("n-1");
    karwan(&["consumer", "list", "--store", &place.url()]).exits(0).prints("billing.clerk").prints("HELD BY");
}

#[test]
fn calls_to_the_outside_are_told_with_what_failed() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let effects = format!(
        "INSERT INTO karwan.effect (tenant_id, id, seq, kind, key, slot, body, state, attempts, due, error, cause) VALUES
        ('{TENANT}', gen_random_uuid(), 1, 'charge', 'card-1', 0, '1', 'waiting', 2, now() + interval '1 h', 'no connection', '{{}}'),
        ('{TENANT}', gen_random_uuid(), 2, 'charge', 'card-2', 0, '2', 'waiting', 0, 'epoch', NULL, '{{}}'),
        ('{TENANT}', gen_random_uuid(), 3, 'charge', 'card-3', 0, '3', 'done', 0, 'epoch', NULL, '{{}}')"
    );
    place.database.psql(&effects).expect("a superuser can do that");
    let told = karwan(&["consumer", "show", "effect.charge", "--store", &place.url(), "--format", "json"]);
    let told = told.exits(0).json();
    assert_eq!((&told["open"], &told["waiting"], &told["dead"]), (&json!(2), &json!(1), &json!(0)));
    assert_eq!((&told["error"], &told["lanes"]), (&json!("no connection"), &json!([])));
    karwan(&["consumer", "list", "--store", &place.url()])
        .exits(0)
        .prints("effect.charge")
        .prints("no connection")
        .prints("nobody");
    karwan(&["consumer", "show", "effect.charge", "--store", &place.url()])
        .exits(0)
        .prints("2 open")
        .prints("last error: no connection");
    karwan(&["consumer", "show", "effect.mail", "--store", &place.url()]).exits(1).says("effect.charge");
}
