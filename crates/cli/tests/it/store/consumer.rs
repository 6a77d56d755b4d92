use serde_json::json;

use super::place::{Place, TENANT, file};
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
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    let clerk =
        karwan(&["consumer", "show", "billing.clerk", "--store", &place.url(), "--format", "json"]).exits(0).json();
    assert_eq!((&clerk["behind"], &clerk["position"], &clerk["parked"]), (&json!(2), &json!(1), &json!(0)));
    assert_eq!(clerk["lanes"][0]["holder"], "n-1");
    assert_eq!(clerk["lanes"][1]["holder"], json!(null));
    karwan(&["consumer", "show", "billing.clerk", "--store", &place.url()])
        .exits(0)
        .prints("behind 2 numbers")
        .prints("n-1");
    karwan(&["consumer", "list", "--store", &place.url()]).exits(0).prints("billing.clerk").prints("HELD BY");
}
